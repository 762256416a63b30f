//! What access tokens say.

use std::time::Duration;

::settings::settings! {
    /// What access tokens say, and which of them open what. Keys are the `tokens` crate's.
    #[derive(Debug, Clone)]
    pub struct TokenSettings {
        /// Claim `iss`, if not the service's external URL.
        #[setting(variables = ["GOTRUE_JWT_ISSUER"], key = "auth.jwt_issuer")]
        pub issuer: Option<String> = None,
        /// Life of an access token.
        #[setting(variables = ["GOTRUE_JWT_EXP", "JWT_EXPIRY"], key = "auth.jwt_expiry")]
        pub expiry: Duration = Duration::from_secs(3600),
        /// Audience of users and tokens when a request names none.
        #[setting(variables = ["GOTRUE_JWT_AUD"])]
        pub audience: String = "authenticated".to_owned(),
        /// Postgres role of new users.
        #[setting(variables = ["GOTRUE_JWT_DEFAULT_GROUP_NAME"])]
        pub default_role: String = "authenticated".to_owned(),
        /// Algorithms of tokens that are taken; empty for each key's own.
        #[setting(variables = ["GOTRUE_JWT_VALID_METHODS"])]
        pub methods: Vec<String> = Vec::new(),
        /// Roles whose tokens administer users.
        #[setting(variables = ["GOTRUE_JWT_ADMIN_ROLES"])]
        pub admin_roles: Vec<String> = vec!["service_role".to_owned(), "supabase_admin".to_owned()],
    }
}

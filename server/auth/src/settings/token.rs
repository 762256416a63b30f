//! Contents of access tokens.

use std::time::Duration;

::settings::settings! {
    /// Contents of access tokens, and which tokens are accepted. The crate `tokens` has the keys.
    #[derive(Debug, Clone)]
    pub struct TokenSettings {
        /// The claim `iss` of access tokens. If it is not set, it is the service's external URL.
        #[setting(variables = ["GOTRUE_JWT_ISSUER"], key = "auth.jwt_issuer")]
        pub issuer: Option<String> = None,
        /// How long an access token is valid.
        #[setting(variables = ["GOTRUE_JWT_EXP", "JWT_EXPIRY"], key = "auth.jwt_expiry")]
        pub expiry: Duration = Duration::from_secs(3600),
        /// The audience (`aud`) of new users and their tokens if the request names none.
        #[setting(variables = ["GOTRUE_JWT_AUD"])]
        pub audience: String = "authenticated".to_owned(),
        /// The Postgres role of new users.
        #[setting(variables = ["GOTRUE_JWT_DEFAULT_GROUP_NAME"])]
        pub default_role: String = "authenticated".to_owned(),
        /// The algorithms that are accepted in tokens. Empty: the algorithm of each key.
        #[setting(variables = ["GOTRUE_JWT_VALID_METHODS"])]
        pub methods: Vec<String> = Vec::new(),
        /// The roles whose tokens may administer users.
        #[setting(variables = ["GOTRUE_JWT_ADMIN_ROLES"])]
        pub admin_roles: Vec<String> = vec!["service_role".to_owned(), "supabase_admin".to_owned()],
    }
}

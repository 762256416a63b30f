use std::time::Duration;

/// What access tokens say, and which of them open what. Keys are the `tokens` crate's.
#[derive(Debug, Clone)]
pub struct TokenSettings {
    /// Claim `iss` (`JWT_ISSUER`). None, the default, means the service's external URL.
    pub issuer: Option<String>,
    /// Life of an access token (`JWT_EXP`). Default one hour.
    pub expiry: Duration,
    /// Audience of users and tokens when a request names none (`JWT_AUD`). Default `authenticated`.
    pub audience: String,
    /// Postgres role of new users (`JWT_DEFAULT_GROUP_NAME`). Default `authenticated`.
    pub default_role: String,
    /// Algorithms of tokens that are taken (`JWT_VALID_METHODS`). Empty, the default: each key's own.
    pub methods: Vec<String>,
    /// Roles whose tokens administer users (`JWT_ADMIN_ROLES`). Default `service_role`, `supabase_admin`.
    pub admin_roles: Vec<String>,
}

impl Default for TokenSettings {
    fn default() -> TokenSettings {
        TokenSettings {
            issuer: None,
            expiry: Duration::from_secs(3600),
            audience: "authenticated".to_owned(),
            default_role: "authenticated".to_owned(),
            methods: Vec::new(),
            admin_roles: vec!["service_role".to_owned(), "supabase_admin".to_owned()],
        }
    }
}

use std::time::Duration;

/// This service as somebody else's OAuth 2.1 server.
#[derive(Debug, Clone)]
pub struct OauthServerSettings {
    /// Whether it is one (`OAUTH_SERVER_ENABLED`). Default false.
    pub enabled: bool,
    /// Clients may register themselves, RFC 7591 (`OAUTH_SERVER_ALLOW_DYNAMIC_REGISTRATION`). Default false.
    pub allow_dynamic_registration: bool,
    /// The site's page that asks for consent, a path below the site's URL (`OAUTH_SERVER_AUTHORIZATION_PATH`).
    /// Default `/oauth/consent`.
    pub authorization_path: String,
    /// How long a user may think about consent (`OAUTH_SERVER_AUTHORIZATION_TTL`). Default ten minutes.
    pub authorization_ttl: Duration,
    /// Scope of requests that name none (`OAUTH_SERVER_DEFAULT_SCOPE`). Default `email`.
    pub default_scope: String,
}

impl Default for OauthServerSettings {
    fn default() -> OauthServerSettings {
        OauthServerSettings {
            enabled: false,
            allow_dynamic_registration: false,
            authorization_path: "/oauth/consent".to_owned(),
            authorization_ttl: Duration::from_secs(600),
            default_scope: "email".to_owned(),
        }
    }
}

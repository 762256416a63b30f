//! This service as somebody else's OAuth 2.1 server.

use std::time::Duration;

::settings::settings! {
    /// This service as somebody else's OAuth 2.1 server.
    #[derive(Debug, Clone)]
    pub struct OauthServerSettings {
        /// Whether it is one.
        #[setting(variables = ["GOTRUE_OAUTH_SERVER_ENABLED"], key = "auth.oauth_server.enabled")]
        pub enabled: bool = false,
        /// Clients may register themselves, RFC 7591.
        #[setting(
            variables = ["GOTRUE_OAUTH_SERVER_ALLOW_DYNAMIC_REGISTRATION"],
            key = "auth.oauth_server.allow_dynamic_registration"
        )]
        pub allow_dynamic_registration: bool = false,
        /// The site's page that asks for consent, a path below the site's URL.
        #[setting(
            variables = ["GOTRUE_OAUTH_SERVER_AUTHORIZATION_PATH"],
            key = "auth.oauth_server.authorization_url_path"
        )]
        pub authorization_path: String = "/oauth/consent".to_owned(),
        /// How long a user may think about consent.
        #[setting(variables = ["GOTRUE_OAUTH_SERVER_AUTHORIZATION_TTL"], check = not_zero)]
        pub authorization_ttl: Duration = Duration::from_secs(600),
        /// Scope of requests that name none.
        #[setting(variables = ["GOTRUE_OAUTH_SERVER_DEFAULT_SCOPE"])]
        pub default_scope: String = "email".to_owned(),
    }
}

fn not_zero(span: Duration) -> Result<Duration, &'static str> {
    if span.is_zero() { Err("a duration such as 10m") } else { Ok(span) }
}

//! This service as an OAuth 2.1 server for other applications.

use std::time::Duration;

::settings::settings! {
    /// This service as an OAuth 2.1 server for other applications.
    #[derive(Debug, Clone)]
    pub struct OauthServerSettings {
        /// Whether other applications may use this service as an OAuth server.
        #[setting(variables = ["GOTRUE_OAUTH_SERVER_ENABLED"], key = "auth.oauth_server.enabled")]
        pub enabled: bool = false,
        /// Whether applications may register themselves as clients (RFC 7591).
        #[setting(
            variables = ["GOTRUE_OAUTH_SERVER_ALLOW_DYNAMIC_REGISTRATION"],
            key = "auth.oauth_server.allow_dynamic_registration"
        )]
        pub allow_dynamic_registration: bool = false,
        /// The path of the page that asks users for consent, below the site's URL.
        #[setting(
            variables = ["GOTRUE_OAUTH_SERVER_AUTHORIZATION_PATH"],
            key = "auth.oauth_server.authorization_url_path"
        )]
        pub authorization_path: String = "/oauth/consent".to_owned(),
        /// How long a user has time to give consent.
        #[setting(variables = ["GOTRUE_OAUTH_SERVER_AUTHORIZATION_TTL"], check = not_zero)]
        pub authorization_ttl: Duration = Duration::from_secs(600),
        /// The scope of requests that name no scope.
        #[setting(variables = ["GOTRUE_OAUTH_SERVER_DEFAULT_SCOPE"])]
        pub default_scope: String = "email".to_owned(),
    }
}

fn not_zero(span: Duration) -> Result<Duration, &'static str> {
    if span.is_zero() { Err("a duration such as 10m") } else { Ok(span) }
}

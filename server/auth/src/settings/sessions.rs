//! When sessions end.

use std::time::Duration;

::settings::settings! {
    /// When sessions end. This is checked only when a token is refreshed; an access token is valid until it expires.
    #[derive(Debug, Clone)]
    pub struct SessionSettings {
        /// How long a session may last after the sign-in. 0: no limit.
        #[setting(variables = ["GOTRUE_SESSIONS_TIMEBOX"], key = "auth.sessions.timebox", check = limit)]
        pub timebox: Option<Duration> = None,
        /// How long a session may last without a refresh. 0: no limit.
        #[setting(
            variables = ["GOTRUE_SESSIONS_INACTIVITY_TIMEOUT"],
            key = "auth.sessions.inactivity_timeout",
            check = limit
        )]
        pub inactivity_timeout: Option<Duration> = None,
        /// For users who have a second factor: how long after the sign-in a session may last without it. 0 or not set:
        /// no limit.
        #[setting(variables = ["GOTRUE_SESSIONS_ALLOW_LOW_AAL"], check = limit)]
        pub allow_low_aal: Option<Duration> = None,
        /// Whether a user has one session at a time. Only the session that was refreshed last can be refreshed again.
        #[setting(variables = ["GOTRUE_SESSIONS_SINGLE_PER_USER"])]
        pub single_per_user: bool = false,
        /// Tags of sessions, if each user has one session at a time: one for each tag. A session without one of these
        /// tags counts as one with the first.
        #[setting(variables = ["GOTRUE_SESSIONS_TAGS"])]
        pub tags: Vec<String> = Vec::new(),
    }
}

fn limit(span: Option<Duration>) -> Result<Option<Duration>, &'static str> {
    Ok(span.filter(|span| !span.is_zero()))
}

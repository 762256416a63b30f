//! When sessions end.

use std::time::Duration;

::settings::settings! {
    /// When sessions end. Checked at refresh only; access tokens live on until they expire.
    #[derive(Debug, Clone)]
    pub struct SessionSettings {
        /// Longest life after sign-in; 0 is no limit.
        #[setting(variables = ["GOTRUE_SESSIONS_TIMEBOX"], key = "auth.sessions.timebox", check = limit)]
        pub timebox: Option<Duration> = None,
        /// Longest time between two refreshes; 0 is no limit.
        #[setting(
            variables = ["GOTRUE_SESSIONS_INACTIVITY_TIMEOUT"],
            key = "auth.sessions.inactivity_timeout",
            check = limit
        )]
        pub inactivity_timeout: Option<Duration> = None,
        /// How long somebody with a second factor may do without it: always where it is 0 or not set.
        #[setting(variables = ["GOTRUE_SESSIONS_ALLOW_LOW_AAL"], check = limit)]
        pub allow_low_aal: Option<Duration> = None,
        /// Only the session that was refreshed last goes on.
        #[setting(variables = ["GOTRUE_SESSIONS_SINGLE_PER_USER"])]
        pub single_per_user: bool = false,
        /// Kinds of sessions that do not end each other; sessions of no kind count as the first's.
        #[setting(variables = ["GOTRUE_SESSIONS_TAGS"])]
        pub tags: Vec<String> = Vec::new(),
    }
}

fn limit(span: Option<Duration>) -> Result<Option<Duration>, &'static str> {
    Ok(span.filter(|span| !span.is_zero()))
}

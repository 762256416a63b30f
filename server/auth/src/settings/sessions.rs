use std::time::Duration;

/// When sessions end. Checked at refresh only; access tokens live on until they expire.
#[derive(Debug, Clone, Default)]
pub struct SessionSettings {
    /// Longest life after sign-in (`SESSIONS_TIMEBOX`). Default none.
    pub timebox: Option<Duration>,
    /// Longest time between two refreshes (`SESSIONS_INACTIVITY_TIMEOUT`). Default none.
    pub inactivity_timeout: Option<Duration>,
    /// How long somebody with a second factor may do without it (`SESSIONS_ALLOW_LOW_AAL`). Default none: always.
    pub allow_low_aal: Option<Duration>,
    /// Only the session that was refreshed last goes on (`SESSIONS_SINGLE_PER_USER`). Default false.
    pub single_per_user: bool,
    /// Kinds of sessions that do not end each other (`SESSIONS_TAGS`); sessions of no kind count as the first's.
    pub tags: Vec<String>,
}

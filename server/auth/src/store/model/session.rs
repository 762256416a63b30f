//! Sessions: what is known of one, what a sign-in grants, and which ones a logout ends.

use serde::Deserialize;
use uuid::Uuid;

use crate::Error;
use crate::store::model::user::User;

/// A row of `auth.sessions`, as far as tokens contain it.
#[derive(Debug, Clone, Deserialize)]
pub(crate) struct Session {
    pub(crate) id: Uuid,
    /// Unix seconds.
    pub(crate) created_at: f64,
    /// Seconds since then.
    pub(crate) age: f64,
    /// `aal1` or `aal2`.
    pub(crate) aal: Option<String>,
    pub(crate) oauth_client_id: Option<Uuid>,
    pub(crate) scopes: Option<String>,
    #[serde(flatten)]
    pub(crate) counted: Option<TokenCounter>,
}

/// The counter and the key that refresh tokens of the second format are derived from.
#[derive(Clone, Deserialize)]
pub(crate) struct TokenCounter {
    /// Encrypted, if the settings were so when it was stored.
    #[serde(rename = "refresh_token_hmac_key")]
    pub(crate) key: String,
    #[serde(rename = "refresh_token_counter")]
    pub(crate) counter: i64,
}

impl std::fmt::Debug for TokenCounter {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("TokenCounter").field("counter", &self.counter).finish_non_exhaustive()
    }
}

/// How and when a session was authenticated: an entry of claim `amr`.
#[derive(Debug, Clone, serde::Serialize, Deserialize)]
pub(crate) struct Method {
    pub(crate) method: String,
    /// Unix seconds.
    pub(crate) timestamp: i64,
    /// The identity provider of a SAML sign-in.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) provider: Option<String>,
}

/// A session after sign-in or refresh, with everything that its tokens are made of.
#[derive(Deserialize)]
pub(crate) struct GrantedSession {
    pub(crate) user: User,
    pub(crate) session: Session,
    /// Newest first.
    pub(crate) amr: Vec<Method>,
    /// `None` for the one of the second format that the session stands at.
    pub(crate) refresh_token: Option<String>,
}

::settings::words! {
    /// Which sessions of the caller end.
    pub(crate) enum LogoutScope {
        /// All.
        Global = "global",
        /// The one that the request is made with.
        Local = "local",
        /// All but that one.
        Others = "others",
    }
}

impl LogoutScope {
    /// Parses the name of a scope; global without one.
    ///
    /// Errors: `validation_failed` for an unknown name.
    pub(crate) fn parse(name: Option<&str>) -> Result<Self, Error> {
        match name.unwrap_or_default() {
            "" => Ok(Self::Global),
            name => Self::of_name(name)
                .ok_or_else(|| Error::validation(format!("Unsupported logout scope {name:?}"))),
        }
    }
}

//! What users' rows hold of the codes that were sent.

use serde::Deserialize;

::settings::words! {
    /// What a code confirms, by the column of `auth.users` and the value of the enum `auth.one_time_token_type`; there
    /// is one of each kind per user.
    #[derive(PartialOrd, Ord, Hash, Deserialize)]
    pub(crate) enum Kind {
        #[serde(rename = "confirmation_token")]
        Confirmation = "confirmation_token",
        #[serde(rename = "recovery_token")]
        Recovery = "recovery_token",
        #[serde(rename = "email_change_token_new")]
        EmailChangeNew = "email_change_token_new",
        #[serde(rename = "email_change_token_current")]
        EmailChangeCurrent = "email_change_token_current",
        #[serde(rename = "phone_change_token")]
        PhoneChange = "phone_change_token",
        #[serde(rename = "reauthentication_token")]
        Reauthentication = "reauthentication_token",
    }
}

impl Kind {
    /// Returns the column with the time at which the code was sent.
    pub(super) const fn sent_at(self) -> &'static str {
        match self {
            Self::Confirmation => "confirmation_sent_at",
            Self::Recovery => "recovery_sent_at",
            Self::EmailChangeNew | Self::EmailChangeCurrent => "email_change_sent_at",
            Self::PhoneChange => "phone_change_sent_at",
            Self::Reauthentication => "reauthentication_sent_at",
        }
    }
}

/// A code of one kind in the user's row.
#[derive(Debug, Clone, Default, Deserialize)]
pub(crate) struct PendingCode {
    /// The hash, with its prefix if the flow uses PKCE; empty if there is none.
    pub(crate) hash: String,
    /// Seconds since the last code of this kind was sent, if one was.
    pub(crate) age: Option<f64>,
}

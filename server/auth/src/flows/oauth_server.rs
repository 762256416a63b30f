//! This service as an OAuth 2.1 server: other applications ask users for access to their accounts here.
//!
//! A client sends the user's browser to [`authorize`], which leads on to the site's consent page. The page reads the
//! request and sends the user's decision ([`consent`]); the client gets a code and exchanges it for a session of its
//! own ([`token`]).

pub(crate) mod authorize;
pub(crate) mod claims;
pub(crate) mod clients;
pub(crate) mod consent;
pub(crate) mod scopes;
pub(crate) mod token;

use crate::{Code, Error, Settings};

/// Checks that the settings make this service an OAuth server.
///
/// Errors: `feature_disabled`.
pub(crate) fn require_enabled(settings: &Settings) -> Result<(), Error> {
    if settings.oauth_server.enabled {
        return Ok(());
    }
    Err(Code::FeatureDisabled.because("OAuth server is disabled"))
}

//! Proof of being human.

use std::net::IpAddr;

use crate::{Error, Settings};

/// Who judges it.
pub(crate) struct Captchas {}

impl Captchas {
    pub(crate) fn new(_settings: &Settings) -> Captchas {
        Captchas {}
    }

    /// Demands that `token` (of `gotrue_meta_security.captcha_token`, empty if it is missing) proves a human at
    /// `address`; nothing if captchas are off.
    ///
    /// Errors: `captcha_failed`.
    pub(crate) async fn check(&self, token: &str, address: IpAddr) -> Result<(), Error> {
        tracing::trace!(given = !token.is_empty(), %address, "no captcha is demanded");
        Ok(())
    }
}

//! Protection of endpoints from abuse: rate limits and captchas.

use std::sync::Arc;

use poem::Request;

use super::body::Body;
use super::callers::Callers;
use super::fields::SecurityField;
use super::request::{caller, client};
use crate::Error;
use crate::checks::captcha::Captchas;
use crate::checks::limits::{Bucket, Limits};

/// Refuses clients that ask too often, and programs where the settings require a person.
#[derive(Clone)]
pub(super) struct AbuseProtection {
    pub(super) limits: Arc<Limits>,
    pub(super) captchas: Arc<Captchas>,
    /// Administrators need no captcha.
    pub(super) callers: Callers,
}

impl AbuseProtection {
    /// Counts the request against the client's limit of `bucket`. Errors: as [`Limits::take`].
    pub(super) async fn limit(&self, request: &Request, bucket: Bucket) -> Result<(), Error> {
        let client = self.limits.client(request.headers(), caller(request)?.address);
        self.limits.take(bucket, client.as_deref()).await
    }

    /// Checks the captcha of the request, if the settings require one. Requests of administrators need none. If no
    /// captcha is required, the body is not parsed.
    ///
    /// Errors: `bad_json`; those of [`Captchas::check`].
    pub(super) async fn captcha<T>(&self, request: &Request, body: &Body<T>) -> Result<(), Error> {
        if !self.captchas.are_required() || self.callers.admin(request).await.is_ok() {
            return Ok(());
        }
        let token = body.read_as::<SecurityField>()?.token();
        self.captchas.check(&token, client(request)?.address).await
    }
}

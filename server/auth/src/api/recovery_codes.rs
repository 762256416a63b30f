//! Recovery codes of the caller, for a second factor that is lost.

use poem::Request;
use poem_openapi::payload::{Json, Response};
use poem_openapi::{Object, OpenApi};
use serde::Deserialize;
use uuid::Uuid;

use super::abuse_protection::AbuseProtection;
use super::body::Body;
use super::callers::Callers;
use super::contexts::Contexts;
use super::factors::{UnenrolledFactor, holder};
use super::session_response;
use crate::Error;
use crate::checks::limits::Bucket;
use crate::factors::recovery_code::KIND;
use crate::flows::access_token::Session;
use crate::flows::factors::recovery_codes::{self, NewCodes};
use crate::flows::services::Factors;

pub(super) struct RecoveryCodesApi {
    pub(super) callers: Callers,
    pub(super) contexts: Contexts,
    pub(super) protection: AbuseProtection,
    pub(super) factors: Factors,
}

/// How many recovery codes the caller has.
#[derive(Object)]
struct RecoveryCodesStatus {
    /// The id of their factor.
    id: Uuid,
    /// Always `recovery_code`.
    #[oai(rename = "type")]
    factor_type: String,
    /// With those that were used.
    total: usize,
    /// Those that were not used yet.
    remaining: usize,
}

/// Recovery codes that were just made.
#[derive(Object)]
struct RecoveryCodes {
    /// The id of their factor.
    id: Uuid,
    /// Always `recovery_code`.
    #[oai(rename = "type")]
    factor_type: String,
    friendly_name: String,
    total: usize,
    /// The codes, which are shown in this response alone.
    codes: Vec<String>,
}

/// Options of recovery codes.
#[derive(Object, Default, Deserialize)]
struct GenerationFields {
    /// The name that their owner has chosen; it must be unique among the factors of a user. Default: `Recovery codes`.
    friendly_name: Option<String>,
}

/// A recovery code.
#[derive(Object, Deserialize)]
struct CodeFields {
    /// In any case, with or without spaces and hyphens.
    code: Option<String>,
}

impl From<NewCodes> for RecoveryCodes {
    fn from(new: NewCodes) -> Self {
        Self {
            id: new.factor,
            factor_type: KIND.to_owned(),
            friendly_name: new.friendly_name,
            total: new.codes.len(),
            codes: new.codes,
        }
    }
}

#[OpenApi]
impl RecoveryCodesApi {
    /// Returns how many recovery codes the caller has, but none of them.
    #[oai(path = "/factors/recovery-codes", method = "get")]
    async fn status(&self, request: &Request) -> Result<Json<RecoveryCodesStatus>, Error> {
        let holder = holder(&self.callers, request).await?;
        let context = self.contexts.of(&self.factors, request, None)?;
        let set = recovery_codes::status(&context, &holder).await?;
        Ok(Json(RecoveryCodesStatus {
            id: set.factor,
            factor_type: KIND.to_owned(),
            total: set.total,
            remaining: set.unused.len(),
        }))
    }

    /// Gives the caller recovery codes. The session must have the level aal2. The body may be empty.
    #[oai(path = "/factors/recovery-codes", method = "post")]
    async fn generate(
        &self,
        request: &Request,
        body: Body<GenerationFields>,
    ) -> Result<Json<RecoveryCodes>, Error> {
        let holder = holder(&self.callers, request).await?;
        self.protection.limit(request, Bucket::FactorChallenge).await?;
        let name = body.read_or_default()?.friendly_name.unwrap_or_default();
        let context = self.contexts.of(&self.factors, request, None)?;
        recovery_codes::generate(&context, &holder, &name).await.map(|new| Json(new.into()))
    }

    /// Gives the caller other recovery codes in place of all there are. The session must have the level aal2.
    #[oai(path = "/factors/recovery-codes/regenerate", method = "post")]
    async fn regenerate(&self, request: &Request) -> Result<Json<RecoveryCodes>, Error> {
        let holder = holder(&self.callers, request).await?;
        self.protection.limit(request, Bucket::FactorChallenge).await?;
        let context = self.contexts.of(&self.factors, request, None)?;
        recovery_codes::regenerate(&context, &holder).await.map(|new| Json(new.into()))
    }

    /// Uses a recovery code up. The caller's session then has the level aal2.
    #[oai(path = "/factors/recovery-codes/verify", method = "post")]
    async fn verify(
        &self,
        request: &Request,
        body: Body<CodeFields>,
    ) -> Result<Response<Json<Session>>, Error> {
        let holder = holder(&self.callers, request).await?;
        self.protection.limit(request, Bucket::FactorVerify).await?;
        let code = body.read()?.code.unwrap_or_default();
        let context = self.contexts.of(&self.factors, request, None)?;
        recovery_codes::verify(&context, &holder, &code).await.map(session_response::plain)
    }

    /// Removes the caller's recovery codes. The session must have the level aal2.
    #[oai(path = "/factors/recovery-codes", method = "delete")]
    async fn unenroll(&self, request: &Request) -> Result<Json<UnenrolledFactor>, Error> {
        let holder = holder(&self.callers, request).await?;
        let context = self.contexts.of(&self.factors, request, None)?;
        let id = recovery_codes::unenroll(&context, &holder).await?;
        Ok(Json(UnenrolledFactor { id }))
    }
}

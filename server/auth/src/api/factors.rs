//! Second factors of the caller.

use poem::Request;
use poem_openapi::param::Path;
use poem_openapi::payload::{Json, Response};
use poem_openapi::{Object, OpenApi};
use serde::Deserialize;
use serde_json::Value;
use uuid::Uuid;

use super::abuse_protection::AbuseProtection;
use super::body::Body;
use super::callers::Callers;
use super::contexts::Contexts;
use super::session_response;
use crate::Error;
use crate::checks::limits::Bucket;
use crate::factors::FactorType;
use crate::flows::access_token::Session;
use crate::flows::factors::enroll::Enrollment;
use crate::flows::factors::verify::{Answer, WebauthnAnswer};
use crate::flows::factors::{self, Holder, challenge, enroll, unenroll, verify};
use crate::flows::services::Factors;

pub(super) struct FactorsApi {
    pub(super) callers: Callers,
    pub(super) contexts: Contexts,
    pub(super) protection: AbuseProtection,
    pub(super) factors: Factors,
}

/// The factor to enroll.
#[derive(Object, Deserialize)]
struct EnrollmentFields {
    /// `totp`, `phone` or `webauthn`.
    factor_type: Option<String>,
    /// The name that its owner has chosen; it must be unique among the factors of a user.
    friendly_name: Option<String>,
    /// The name of this site in a TOTP app. Default: the site's host.
    issuer: Option<String>,
    /// The number of a phone factor, with its country code.
    phone: Option<String>,
}

/// A factor that has been enrolled and has to be verified.
#[derive(Object)]
#[oai(skip_serializing_if_is_none)]
struct EnrolledFactor {
    id: Uuid,
    /// `totp`, `phone` or `webauthn`.
    #[oai(rename = "type")]
    factor_type: String,
    friendly_name: String,
    /// The data for an authenticator app.
    totp: Option<TotpSetup>,
    /// The phone number as it was sent.
    phone: Option<String>,
}

/// The data for an authenticator app.
#[derive(Object)]
struct TotpSetup {
    /// An SVG document.
    qr_code: String,
    /// In base32.
    secret: String,
    /// The content of the QR code.
    uri: String,
}

/// Options of a challenge.
#[derive(Object, Deserialize)]
struct ChallengeFields {
    /// `sms` (the default) or `whatsapp`; for phone factors.
    channel: Option<String>,
}

/// A challenge that has to be answered.
#[derive(Object)]
#[oai(skip_serializing_if_is_none)]
struct CreatedChallenge {
    id: Uuid,
    /// `totp`, `phone` or `webauthn`.
    #[oai(rename = "type")]
    factor_type: String,
    /// When the challenge expires, in Unix seconds.
    expires_at: i64,
    /// The WebAuthn ceremony that the browser has to perform.
    webauthn: Option<WebauthnCeremony>,
}

/// The WebAuthn ceremony that the browser has to perform.
#[derive(Object)]
struct WebauthnCeremony {
    /// `create` or `request`.
    #[oai(rename = "type")]
    ceremony: String,
    credential_options: CredentialOptions,
}

/// The argument of `navigator.credentials.create` or `.get`.
#[derive(Object)]
struct CredentialOptions {
    #[oai(rename = "publicKey")]
    public_key: Value,
}

/// The answer to a challenge.
#[derive(Object, Deserialize)]
struct VerificationFields {
    challenge_id: Option<Uuid>,
    /// For TOTP and phone factors.
    code: Option<String>,
    /// For security keys.
    webauthn: Option<WebauthnFields>,
}

/// The result of the browser's WebAuthn ceremony.
#[derive(Object, Deserialize)]
struct WebauthnFields {
    /// `create` or `request`.
    #[serde(rename = "type")]
    #[oai(rename = "type")]
    ceremony: Option<String>,
    /// The credential in the JSON format of its method `toJSON`.
    credential_response: Option<Value>,
}

/// A factor that has been removed.
#[derive(Object)]
pub(super) struct UnenrolledFactor {
    pub(super) id: Uuid,
}

#[OpenApi]
impl FactorsApi {
    /// Enrolls a second factor, which has to be verified before it is used.
    #[oai(path = "/factors", method = "post")]
    async fn enroll(
        &self,
        request: &Request,
        body: Body<EnrollmentFields>,
    ) -> Result<Json<EnrolledFactor>, Error> {
        let holder = self.holder(request).await?;
        let fields = body.read()?;
        let enrollment = Enrollment {
            factor_type: fields.factor_type.unwrap_or_default(),
            friendly_name: fields.friendly_name.unwrap_or_default(),
            issuer: fields.issuer.unwrap_or_default(),
            phone: fields.phone.unwrap_or_default(),
        };
        let context = self.contexts.of(&self.factors, request, None)?;
        let enrolled = enroll::enroll(&context, &holder, &enrollment).await?;
        let totp = enrolled.totp;
        Ok(Json(EnrolledFactor {
            id: enrolled.id,
            factor_type: enrolled.factor_type.name().to_owned(),
            friendly_name: enrollment.friendly_name,
            totp: totp.map(|totp| TotpSetup { qr_code: totp.qr_code, secret: totp.secret, uri: totp.uri }),
            phone: Some(enrollment.phone).filter(|_| enrolled.factor_type == FactorType::Phone),
        }))
    }

    /// Creates a challenge for a factor of the caller.
    #[oai(path = "/factors/:factor_id/challenge", method = "post")]
    async fn challenge(
        &self,
        request: &Request,
        factor_id: Path<String>,
        body: Body<ChallengeFields>,
    ) -> Result<Json<CreatedChallenge>, Error> {
        let holder = self.holder(request).await?;
        let factor = holder.factor(&factor_id.0)?;
        self.protection.limit(request, Bucket::FactorChallenge).await?;
        let context = self.contexts.of(&self.factors, request, None)?;
        let factor_type = factors::factor_type(&factor.factor_type)?;
        factors::require_verifiable(&self.factors.settings, factor_type)?;
        let challenge = match factor_type {
            FactorType::Totp => challenge::totp(&context, &holder, factor).await?,
            FactorType::Phone => {
                let channel = body.read()?.channel.unwrap_or_default();
                challenge::phone(&context, &holder, factor, &channel).await?
            }
            FactorType::Webauthn => {
                body.read()?;
                challenge::webauthn(&context, &holder, factor).await?
            }
        };
        Ok(Json(CreatedChallenge {
            id: challenge.id,
            factor_type: challenge.factor_type.name().to_owned(),
            expires_at: challenge.expires_at,
            webauthn: challenge.webauthn.map(|webauthn| WebauthnCeremony {
                ceremony: webauthn.ceremony.to_owned(),
                credential_options: CredentialOptions { public_key: webauthn.options },
            }),
        }))
    }

    /// Answers a challenge. The caller's session then has the level aal2.
    #[oai(path = "/factors/:factor_id/verify", method = "post")]
    async fn verify(
        &self,
        request: &Request,
        factor_id: Path<String>,
        body: Body<VerificationFields>,
    ) -> Result<Response<Json<Session>>, Error> {
        let holder = self.holder(request).await?;
        let factor = holder.factor(&factor_id.0)?;
        self.protection.limit(request, Bucket::FactorVerify).await?;
        let fields = body.read()?;
        let answer = Answer {
            challenge: fields.challenge_id.unwrap_or_default(),
            code: fields.code.unwrap_or_default(),
            webauthn: fields.webauthn.map(|webauthn| WebauthnAnswer {
                ceremony: webauthn.ceremony.unwrap_or_default(),
                response: webauthn.credential_response,
            }),
        };
        let context = self.contexts.of(&self.factors, request, None)?;
        verify::verify(&context, &holder, factor, &answer).await.map(session_response::plain)
    }

    /// Removes a factor.
    #[oai(path = "/factors/:factor_id", method = "delete")]
    async fn unenroll(
        &self,
        request: &Request,
        factor_id: Path<String>,
    ) -> Result<Json<UnenrolledFactor>, Error> {
        let holder = self.holder(request).await?;
        let factor = holder.factor(&factor_id.0)?;
        let context = self.contexts.of(&self.factors, request, None)?;
        unenroll::unenroll(&context, &holder, factor).await?;
        Ok(Json(UnenrolledFactor { id: factor.id }))
    }
}

impl FactorsApi {
    async fn holder(&self, request: &Request) -> Result<Holder, Error> {
        holder(&self.callers, request).await
    }
}

/// Returns the caller, if he may have second factors. Errors: as [`factors::holder`].
pub(super) async fn holder(callers: &Callers, request: &Request) -> Result<Holder, Error> {
    factors::holder(callers.bearer(request).await?)
}

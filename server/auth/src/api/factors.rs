//! Second factors of the caller.

use std::sync::Arc;

use poem::Request;
use poem_openapi::param::Path;
use poem_openapi::payload::{Json, Response};
use poem_openapi::{Object, OpenApi};
use serde::Deserialize;
use serde_json::Value;
use uuid::Uuid;

use super::body::Body;
use super::{request, session_answer};
use crate::factors::FactorType;
use crate::flows::access_token::Session;
use crate::flows::factors::enroll::Enrollment;
use crate::flows::factors::verify::{Answer, WebauthnAnswer};
use crate::flows::factors::{self, Holder, challenge, enroll, unenroll, verify};
use crate::limits::Bucket;
use crate::{Auth, Error};

pub(super) struct FactorsApi {
    pub(super) auth: Arc<Auth>,
}

/// A factor that is to be enrolled.
#[derive(Object, Deserialize)]
struct EnrollmentFields {
    /// `totp`, `phone` or `webauthn`.
    factor_type: Option<String>,
    /// What its owner calls it; no two factors of a user are called the same.
    friendly_name: Option<String>,
    /// What a TOTP app calls this site. Default: the site's host.
    issuer: Option<String>,
    /// The number of a phone factor, with its country code.
    phone: Option<String>,
}

/// A factor that was enrolled and is to be verified.
#[derive(Object)]
#[oai(skip_serializing_if_is_none)]
struct EnrolledFactor {
    id: Uuid,
    /// `totp`, `phone` or `webauthn`.
    #[oai(rename = "type")]
    factor_type: String,
    friendly_name: String,
    /// What sets up an authenticator app.
    totp: Option<TotpSetup>,
    /// As it was given.
    phone: Option<String>,
}

/// What sets up an authenticator app.
#[derive(Object)]
struct TotpSetup {
    /// An SVG document.
    qr_code: String,
    /// In base32.
    secret: String,
    /// What the QR code says.
    uri: String,
}

/// How a factor is challenged.
#[derive(Object, Deserialize)]
struct ChallengeFields {
    /// `sms`, the default, or `whatsapp`; of phone factors.
    channel: Option<String>,
}

/// What is to be answered.
#[derive(Object)]
#[oai(skip_serializing_if_is_none)]
struct ChallengeAnswer {
    id: Uuid,
    /// `totp`, `phone` or `webauthn`.
    #[oai(rename = "type")]
    factor_type: String,
    /// Until when, in Unix seconds.
    expires_at: i64,
    /// What a browser is to do with a security key.
    webauthn: Option<WebauthnCeremony>,
}

/// What a browser is to do with a security key.
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
    /// Of TOTP and phone factors.
    code: Option<String>,
    /// Of security keys.
    webauthn: Option<WebauthnFields>,
}

/// What a browser has got from a security key.
#[derive(Object, Deserialize)]
struct WebauthnFields {
    /// `create` or `request`.
    #[serde(rename = "type")]
    #[oai(rename = "type")]
    ceremony: Option<String>,
    /// The credential as its `toJSON` writes it.
    credential_response: Option<Value>,
}

/// A factor that is no more.
#[derive(Object)]
struct UnenrolledFactor {
    id: Uuid,
}

#[OpenApi]
impl FactorsApi {
    /// Enrols a second factor, which counts once it is verified.
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
        let context = request::context(&self.auth, request, None)?;
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

    /// Challenges the caller to show a factor.
    #[oai(path = "/factors/:factor_id/challenge", method = "post")]
    async fn challenge(
        &self,
        request: &Request,
        factor_id: Path<String>,
        body: Body<ChallengeFields>,
    ) -> Result<Json<ChallengeAnswer>, Error> {
        let holder = self.holder(request).await?;
        let factor = holder.factor(&factor_id.0)?;
        request::limit(&self.auth, request, Bucket::FactorChallenge).await?;
        let context = request::context(&self.auth, request, None)?;
        let factor_type = factors::factor_type(&factor.factor_type)?;
        factors::require_verifiable(&self.auth.settings, factor_type)?;
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
        Ok(Json(ChallengeAnswer {
            id: challenge.id,
            factor_type: challenge.factor_type.name().to_owned(),
            expires_at: challenge.expires_at,
            webauthn: challenge.webauthn.map(|webauthn| WebauthnCeremony {
                ceremony: webauthn.ceremony.to_owned(),
                credential_options: CredentialOptions { public_key: webauthn.options },
            }),
        }))
    }

    /// Answers a challenge; the caller's session rises to aal2.
    #[oai(path = "/factors/:factor_id/verify", method = "post")]
    async fn verify(
        &self,
        request: &Request,
        factor_id: Path<String>,
        body: Body<VerificationFields>,
    ) -> Result<Response<Json<Session>>, Error> {
        let holder = self.holder(request).await?;
        let factor = holder.factor(&factor_id.0)?;
        request::limit(&self.auth, request, Bucket::FactorVerify).await?;
        let fields = body.read()?;
        let answer = Answer {
            challenge: fields.challenge_id.unwrap_or_default(),
            code: fields.code.unwrap_or_default(),
            webauthn: fields.webauthn.map(|webauthn| WebauthnAnswer {
                ceremony: webauthn.ceremony.unwrap_or_default(),
                response: webauthn.credential_response,
            }),
        };
        let context = request::context(&self.auth, request, None)?;
        verify::verify(&context, &holder, factor, &answer).await.map(session_answer::plain)
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
        let context = request::context(&self.auth, request, None)?;
        unenroll::unenroll(&context, &holder, factor).await?;
        Ok(Json(UnenrolledFactor { id: factor.id }))
    }
}

impl FactorsApi {
    async fn holder(&self, request: &Request) -> Result<Holder, Error> {
        factors::holder(request::bearer(&self.auth, request).await?)
    }
}

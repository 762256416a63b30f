//! Codes that users request.

use http::StatusCode;
use poem::Request;
use poem_openapi::payload::Json;
use poem_openapi::{Object, OpenApi};
use serde::Deserialize;
use serde_json::Value;

use super::abuse_protection::AbuseProtection;
use super::body::Body;
use super::callers::Callers;
use super::contexts::Contexts;
use super::fields::{Security, SendResponse, object};
use crate::checks::limits::Bucket;
use crate::flows::pkce::Challenge;
use crate::flows::send::{self, Otp, Repeat};
use crate::flows::services::Accounts;
use crate::store::model::address::{self, Address};
use crate::{Code, Error};

pub(super) struct SendApi {
    pub(super) callers: Callers,
    pub(super) contexts: Contexts,
    pub(super) protection: AbuseProtection,
    pub(super) accounts: Accounts,
}

/// A sign-in with a code.
#[derive(Object, Deserialize)]
struct OtpFields {
    email: Option<String>,
    /// The phone number, with its country code.
    phone: Option<String>,
    /// Whether a user is created if there is none. Default: true.
    create_user: Option<bool>,
    /// An object that becomes the metadata of a new user.
    data: Option<Value>,
    /// Only for phone numbers: `sms` (the default) or `whatsapp`.
    channel: Option<String>,
    /// PKCE (RFC 7636): the link in the mail leads to a code.
    code_challenge: Option<String>,
    /// `s256` or `plain`.
    code_challenge_method: Option<String>,
    gotrue_meta_security: Option<Security>,
}

/// A request to reset a password.
#[derive(Object, Deserialize)]
struct RecoverFields {
    email: Option<String>,
    /// PKCE (RFC 7636): the link in the mail leads to a code.
    code_challenge: Option<String>,
    /// `s256` or `plain`.
    code_challenge_method: Option<String>,
    gotrue_meta_security: Option<Security>,
}

/// A request to send a confirmation again.
#[derive(Object, Deserialize)]
struct ResendFields {
    /// `signup`, `email_change`, `sms` or `phone_change`.
    #[oai(rename = "type")]
    #[serde(rename = "type")]
    kind: Option<String>,
    /// The current address.
    email: Option<String>,
    /// The current number.
    phone: Option<String>,
    /// PKCE (RFC 7636): the link in the mail leads to a code.
    code_challenge: Option<String>,
    /// `s256` or `plain`.
    code_challenge_method: Option<String>,
    gotrue_meta_security: Option<Security>,
}

#[OpenApi]
impl SendApi {
    /// Sends a code for signing in.
    #[oai(path = "/otp", method = "post")]
    async fn otp(&self, request: &Request, body: Body<OtpFields>) -> Result<Json<SendResponse>, Error> {
        self.protection.limit(request, Bucket::Otp).await?;
        self.protection.captcha(request, &body).await?;
        let fields = body.read()?;
        let (email, phone) = (fields.email.as_deref().unwrap_or(""), fields.phone.as_deref().unwrap_or(""));
        let address = match (email, phone) {
            ("", "") => return Err(Error::validation("One of email or phone must be set")),
            (_, "") if fields.channel.as_ref().is_some_and(|channel| !channel.is_empty()) => {
                return Err(Error::validation("Channel should only be specified with Phone OTP"));
            }
            (email, "") => Address::Email(address::email(email)?),
            ("", phone) => Address::Phone(address::phone(phone)?),
            _ => return Err(Error::validation("Only an email address or phone number should be provided")),
        };
        self.send(request, address, fields).await
    }

    /// Sends a mail with a link for signing in.
    #[oai(path = "/magiclink", method = "post")]
    async fn magic_link(
        &self,
        request: &Request,
        body: Body<OtpFields>,
    ) -> Result<Json<SendResponse>, Error> {
        self.protection.limit(request, Bucket::MagicLink).await?;
        self.protection.captcha(request, &body).await?;
        send::require_magic_link(&self.accounts.settings)?;
        let fields = body.read()?;
        let email = fields.email.as_deref().unwrap_or_default();
        if email.is_empty() {
            let message = "Password recovery requires an email";
            return Err(Code::ValidationFailed.at(StatusCode::UNPROCESSABLE_ENTITY, message));
        }
        let address = Address::Email(address::email(email)?);
        self.send(request, address, OtpFields { create_user: None, ..fields }).await
    }

    /// Sends a mail with a link for a user who has forgotten the password. The response does not show whether there is
    /// such a user.
    #[oai(path = "/recover", method = "post")]
    async fn recover(
        &self,
        request: &Request,
        body: Body<RecoverFields>,
    ) -> Result<Json<SendResponse>, Error> {
        self.protection.limit(request, Bucket::Recover).await?;
        self.protection.captcha(request, &body).await?;
        if !self.accounts.settings.providers.email {
            return Err(Code::EmailProviderDisabled.because("Email logins are disabled"));
        }
        let fields = body.read()?;
        let email = fields.email.unwrap_or_default();
        if email.is_empty() {
            return Err(Error::validation("Password recovery requires an email"));
        }
        let email = address::email(&email)?;
        let method = fields.code_challenge_method;
        let challenge = Challenge::parse(fields.code_challenge.as_deref(), method.as_deref())?;
        let context = self.contexts.of(&self.accounts, request, None)?;
        send::recover(&context, email, challenge).await?;
        Ok(Json(SendResponse::new(String::new())))
    }

    /// Sends a confirmation again. The response does not show whether one is pending.
    #[oai(path = "/resend", method = "post")]
    async fn resend(&self, request: &Request, body: Body<ResendFields>) -> Result<Json<SendResponse>, Error> {
        self.protection.limit(request, Bucket::Resend).await?;
        self.protection.captcha(request, &body).await?;
        let fields = body.read()?;
        let repeat = Repeat::parse(&fields.kind.unwrap_or_default())?;
        let method = fields.code_challenge_method;
        let challenge = Challenge::parse(fields.code_challenge.as_deref(), method.as_deref())?;
        let context = self.contexts.of(&self.accounts, request, None)?;
        let (email, phone) = (fields.email.unwrap_or_default(), fields.phone.unwrap_or_default());
        let address = repeat.address(&context, &email, &phone)?;
        send::resend(&context, repeat, address, challenge).await.map(SendResponse::new).map(Json)
    }

    /// Sends the caller a code that is required to change the password, if the settings demand it.
    #[oai(path = "/reauthenticate", method = "get")]
    async fn reauthenticate(&self, request: &Request) -> Result<Json<SendResponse>, Error> {
        let bearer = self.callers.bearer(request).await?;
        let context = self.contexts.of(&self.accounts, request, Some(&bearer))?;
        send::reauthenticate(&context, &bearer).await.map(SendResponse::new).map(Json)
    }
}

impl SendApi {
    async fn send(
        &self,
        request: &Request,
        address: Address,
        fields: OtpFields,
    ) -> Result<Json<SendResponse>, Error> {
        let method = fields.code_challenge_method;
        let otp = Otp {
            address,
            data: object("data", fields.data)?,
            create_user: fields.create_user.unwrap_or(true),
            channel: fields.channel.filter(|channel| !channel.is_empty()).unwrap_or_else(|| "sms".to_owned()),
            challenge: Challenge::parse(fields.code_challenge.as_deref(), method.as_deref())?,
        };
        let context = self.contexts.of(&self.accounts, request, None)?;
        send::otp(&context, otp).await.map(SendResponse::new).map(Json)
    }
}

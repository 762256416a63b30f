//! Sign-up and invitation.

use poem::Request;
use poem_openapi::payload::{Json, Response};
use poem_openapi::{Object, OpenApi, Union};
use serde::Deserialize;
use serde_json::Value;

use super::abuse_protection::AbuseProtection;
use super::body::Body;
use super::callers::Callers;
use super::contexts::Contexts;
use super::fields::{Security, object};
use super::session_response;
use crate::checks::limits::Bucket;
use crate::flows::access_token::Session;
use crate::flows::invite;
use crate::flows::pkce::Challenge;
use crate::flows::services::Accounts;
use crate::flows::sign_up::{self, SignUp, SignUpOutcome};
use crate::store::model::address;
use crate::store::model::user::User;
use crate::{Code, Error};

pub(super) struct SignUpApi {
    pub(super) callers: Callers,
    pub(super) contexts: Contexts,
    pub(super) protection: AbuseProtection,
    pub(super) accounts: Accounts,
}

/// A new account. Without an address it is anonymous.
#[derive(Object, Deserialize)]
struct SignUpFields {
    email: Option<String>,
    /// The phone number, with its country code.
    phone: Option<String>,
    password: Option<String>,
    /// An object that becomes the user's own metadata.
    data: Option<Value>,
    /// How a phone number is confirmed: `sms` (the default) or `whatsapp`.
    channel: Option<String>,
    /// PKCE (RFC 7636): the link in the mail leads to a code.
    code_challenge: Option<String>,
    /// `s256` or `plain`.
    code_challenge_method: Option<String>,
    gotrue_meta_security: Option<Security>,
}

/// An invitation.
#[derive(Object, Deserialize)]
struct InviteFields {
    email: Option<String>,
    /// An object that becomes the user's own metadata.
    data: Option<Value>,
}

/// A session; or only the user, if the address has to be confirmed first.
#[derive(Union)]
#[expect(clippy::large_enum_variant, reason = "made once, to be written out at once")]
enum SessionOrUser {
    Session(Session),
    User(User),
}

#[OpenApi]
impl SignUpApi {
    /// Creates an account.
    #[oai(path = "/signup", method = "post")]
    async fn sign_up(
        &self,
        request: &Request,
        body: Body<SignUpFields>,
    ) -> Result<Response<Json<SessionOrUser>>, Error> {
        self.protection.captcha(request, &body).await?;
        let fields = body.read()?;
        let (email, phone) = (fields.email.unwrap_or_default(), fields.phone.unwrap_or_default());
        let context = self.contexts.of(&self.accounts, request, None)?;
        let data = object("data", fields.data)?;
        if email.is_empty() && phone.is_empty() {
            if !self.accounts.settings.providers.anonymous_users {
                let message = "Anonymous sign-ins are disabled";
                return Err(Code::AnonymousProviderDisabled.because(message));
            }
            self.protection.limit(request, Bucket::AnonymousUsers).await?;
            let session = sign_up::anonymously(&context, data).await?;
            return Ok(session_response::wrap(session, SessionOrUser::Session));
        }
        self.protection.limit(request, Bucket::Signup).await?;
        let password = fields.password.unwrap_or_default();
        sign_up::check(&context, &password).await?;
        let method = fields.code_challenge_method;
        let registration = SignUp {
            address: sign_up::address(&context, &email, &phone)?,
            password,
            data,
            channel: fields.channel.filter(|channel| !channel.is_empty()).unwrap_or_else(|| "sms".to_owned()),
            challenge: Challenge::parse(fields.code_challenge.as_deref(), method.as_deref())?,
        };
        Ok(match sign_up::sign_up(&context, registration).await? {
            SignUpOutcome::Session(session) => session_response::wrap(*session, SessionOrUser::Session),
            SignUpOutcome::User(user) => Response::new(Json(SessionOrUser::User(*user))),
        })
    }

    /// Sends an invitation by mail. For administrators.
    #[oai(path = "/invite", method = "post")]
    async fn invite(&self, request: &Request, body: Body<InviteFields>) -> Result<Json<User>, Error> {
        let admin = self.callers.admin(request).await?;
        let fields = body.read()?;
        let email = address::email(&fields.email.unwrap_or_default())?;
        let context = self.contexts.of(&self.accounts, request, None)?;
        let data = object("data", fields.data)?;
        invite::invite(&context, &admin, &email, data).await.map(Json)
    }
}

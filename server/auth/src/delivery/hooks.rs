//! Hooks: functions of the database or HTTP servers of the project that take part in decisions.
//!
//! Every payload describes the call in `metadata`; every response may be `{"error": {"http_code", "message"}}`.

mod claims;
mod function;
mod http;
mod signature;

use ::http::StatusCode;
use bytes::Bytes;
use poem_openapi::types::ToJSON as _;
use postgres::Database;
use serde::Deserialize;
use serde_json::{Value, json};
use time::OffsetDateTime;
use time::format_description::well_known::Rfc3339;
use uuid::Uuid;

use self::http::HookTimeouts;
use crate::http_client::{HttpClient, check_public};
use crate::store::model::client::Client;
use crate::store::model::user::User;
use crate::{Code, Error, Hook, HookName, HookSettings};

/// A hook's decision on an attempt to authenticate with a password or a second factor.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum AttemptDecision {
    /// Goes on as if there were no hook.
    Continue,
    /// The attempt is rejected, even if it was right.
    Reject {
        /// For the user.
        message: String,
        /// Whether all sessions of the user end, too.
        logout: bool,
    },
}

/// The response of a hook about an attempt.
#[derive(Deserialize, Default)]
#[serde(default)]
struct AttemptResponse {
    decision: String,
    message: String,
    should_logout_user: bool,
}

impl AttemptResponse {
    fn decision(self, default_message: &str) -> AttemptDecision {
        if self.decision != "reject" {
            return AttemptDecision::Continue;
        }
        let message = if self.message.is_empty() { default_message.to_owned() } else { self.message };
        AttemptDecision::Reject { message, logout: self.should_logout_user }
    }
}

/// A refusal in the response of any hook.
#[derive(Deserialize)]
struct Refusal {
    error: Option<RefusalDetail>,
}

#[derive(Deserialize)]
struct RefusalDetail {
    #[serde(default)]
    http_code: Option<u16>,
    #[serde(default)]
    message: String,
}

/// What a send-email hook gets in addition to the user.
#[derive(Debug, Clone, Default, serde::Serialize)]
pub(crate) struct EmailData {
    pub(crate) token: String,
    pub(crate) token_hash: String,
    pub(crate) redirect_to: String,
    pub(crate) email_action_type: &'static str,
    pub(crate) site_url: String,
    pub(crate) token_new: String,
    pub(crate) token_hash_new: String,
    pub(crate) old_email: String,
    pub(crate) old_phone: String,
    pub(crate) provider: String,
    pub(crate) factor_type: String,
}

/// The hooks of the project.
pub(crate) struct Hooks {
    hooks: HookSettings,
    client: HttpClient,
    database: Database,
    timeouts: HookTimeouts,
}

impl Hooks {
    /// Reads the hooks. Functions are called as the login role of `database`.
    ///
    /// Errors: a sentence for a URI or a secret that cannot be used.
    pub(crate) fn new(hooks: HookSettings, client: HttpClient, database: Database) -> Result<Self, String> {
        for (name, hook) in &hooks.0 {
            check(hook).map_err(|error| format!("hook {}: {error}", name.name()))?;
        }
        Ok(Self { hooks, client, database, timeouts: HookTimeouts::default() })
    }

    /// Returns whether the hook `name` is switched on.
    pub(crate) fn is_on(&self, name: HookName) -> bool {
        self.hooks.get(name).is_some()
    }

    /// Asks whether `user` may be created. Errors: the refusal.
    pub(crate) async fn before_user_created(&self, user: &User, client: &Client<'_>) -> Result<(), Error> {
        let payload = json!({ "user": user.to_json() });
        self.call(HookName::BeforeUserCreated, payload, client).await.map(drop)
    }

    /// Tells that `user` was created. Errors: the refusal; the user stays.
    pub(crate) async fn after_user_created(&self, user: &User, client: &Client<'_>) -> Result<(), Error> {
        let payload = json!({ "user": user.to_json() });
        self.call(HookName::AfterUserCreated, payload, client).await.map(drop)
    }

    /// Lets the hook rewrite `claims` of an access token for `user`, who has come by `method`.
    ///
    /// Errors: the refusal; 500 for claims that lack something.
    pub(crate) async fn customize_access_token(
        &self,
        user: Uuid,
        claims: Value,
        method: &str,
        client: &Client<'_>,
    ) -> Result<Value, Error> {
        let payload = json!({ "user_id": user, "claims": claims, "authentication_method": method });
        let response = self.call(HookName::CustomAccessToken, payload, client).await?;
        let mut output: Value = response.as_deref().map(parse).transpose()?.unwrap_or_default();
        let missing = || Code::UnexpectedFailure.because("output claims field is missing");
        let claims = output.get_mut("claims").map(Value::take).ok_or_else(missing)?;
        claims::check(&claims)?;
        Ok(claims)
    }

    /// Asks about an attempt to sign in with a password, successful or not.
    pub(crate) async fn password_verification(
        &self,
        user: Uuid,
        valid: bool,
        client: &Client<'_>,
    ) -> Result<AttemptDecision, Error> {
        const REJECTED: &str = "Further password verification attempts will be rejected.";
        let payload = json!({ "user_id": user, "valid": valid });
        self.attempt(HookName::PasswordVerificationAttempt, payload, REJECTED, client).await
    }

    /// Asks about an attempt to verify a factor of kind `kind`, successful or not.
    pub(crate) async fn mfa_verification(
        &self,
        user: Uuid,
        (factor, kind): (Uuid, &str),
        valid: bool,
        client: &Client<'_>,
    ) -> Result<AttemptDecision, Error> {
        const REJECTED: &str = "Further MFA verification attempts will be rejected.";
        let payload = json!({ "user_id": user, "factor_id": factor, "factor_type": kind, "valid": valid });
        self.attempt(HookName::MfaVerificationAttempt, payload, REJECTED, client).await
    }

    /// Lets the hook send a mail to `user`. Errors: the refusal.
    pub(crate) async fn send_email(
        &self,
        user: &User,
        data: &EmailData,
        client: &Client<'_>,
    ) -> Result<(), Error> {
        let payload = json!({ "user": user.to_json(), "email_data": data });
        self.call(HookName::SendEmail, payload, client).await.map(drop)
    }

    /// Lets the hook send `code` to `phone`. Errors: the refusal.
    pub(crate) async fn send_sms(
        &self,
        user: &User,
        (phone, code): (&str, &str),
        is_factor: bool,
        client: &Client<'_>,
    ) -> Result<(), Error> {
        let mut sms = json!({ "otp": code, "phone": phone });
        if is_factor {
            sms["sms_type"] = "mfa".into();
        }
        let payload = json!({ "user": user.to_json(), "sms": sms });
        self.call(HookName::SendSms, payload, client).await.map(drop)
    }

    /// Asks about an attempt. `rejection` is the message for users whom the hook rejects without one.
    async fn attempt(
        &self,
        name: HookName,
        payload: Value,
        rejection: &str,
        client: &Client<'_>,
    ) -> Result<AttemptDecision, Error> {
        let response = self.call(name, payload, client).await?;
        let attempt: AttemptResponse = response.as_deref().map(parse).transpose()?.unwrap_or_default();
        Ok(attempt.decision(rejection))
    }

    /// Calls the hook `name`, if it is switched on, and returns its response, if there is one.
    async fn call(
        &self,
        name: HookName,
        mut payload: Value,
        client: &Client<'_>,
    ) -> Result<Option<Bytes>, Error> {
        let Some(hook) = self.hooks.get(name) else { return Ok(None) };
        let now = OffsetDateTime::now_utc().format(&Rfc3339);
        payload["metadata"] = json!({
            "uuid": Uuid::new_v4(),
            "time": now.map_err(|error| Error::Internal(error.to_string()))?,
            "name": event(name),
            "ip_address": client.address,
        });
        let payload = payload.to_string().into_bytes();
        let response = if hook.uri.starts_with(function::SCHEME) {
            function::call(&self.database, &hook.uri, &payload).await?
        } else {
            http::call(&self.client, hook, &payload, self.timeouts).await?
        };
        if let Some(response) = &response {
            check_refusal(response)?;
        }
        Ok(response)
    }
}

/// Returns the name of the hook in payloads.
const fn event(name: HookName) -> &'static str {
    match name {
        HookName::CustomAccessToken => "customize-access-token",
        HookName::SendEmail => "send-email",
        HookName::SendSms => "send-sms",
        HookName::MfaVerificationAttempt => "mfa-verification",
        HookName::PasswordVerificationAttempt => "password-verification",
        HookName::BeforeUserCreated => "before-user-created",
        HookName::AfterUserCreated => "after-user-created",
    }
}

/// Checks what is known before the first call. Only servers on this machine may be called without TLS.
fn check(hook: &Hook) -> Result<(), String> {
    const EXPECTED: &str =
        "expected pg-functions://<any>/<schema>/<function>, https://… or http:// on this machine";
    if hook.uri.starts_with(function::SCHEME) {
        return function::name(&hook.uri).map(drop).ok_or_else(|| EXPECTED.to_owned());
    }
    let url = url::Url::parse(&hook.uri).map_err(|error| format!("{EXPECTED}: {error}"))?;
    if hook.is_public {
        check_public(&url)?;
    }
    let is_local =
        matches!(url.host_str(), Some("localhost" | "127.0.0.1" | "[::1]" | "host.docker.internal"));
    if url.scheme() != "https" && !(url.scheme() == "http" && is_local) {
        return Err(EXPECTED.to_owned());
    }
    hook.secrets.iter().try_for_each(|secret| signature::key(secret).map(drop))
}

fn parse<T: serde::de::DeserializeOwned>(response: &[u8]) -> Result<T, Error> {
    serde_json::from_slice(response).map_err(|error| {
        tracing::warn!(%error, "a hook's response cannot be understood");
        Code::UnexpectedFailure.because("Error unmarshaling JSON output.")
    })
}

/// Checks that `response` is no refusal. A refusal without a message is none, as upstream has it.
fn check_refusal(response: &[u8]) -> Result<(), Error> {
    let refusal = serde_json::from_slice::<Refusal>(response).ok().and_then(|parsed| parsed.error);
    let Some(detail) = refusal.filter(|detail| !detail.message.is_empty()) else { return Ok(()) };
    let status = detail.http_code.and_then(|code| StatusCode::from_u16(code).ok());
    let status = status.filter(|status| status.is_client_error() || status.is_server_error());
    let status = status.unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
    let code = if status.is_server_error() { Code::UnexpectedFailure } else { Code::Unknown };
    Err(code.at(status, detail.message))
}

#[cfg(test)]
mod tests;

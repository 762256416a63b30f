//! Passkeys: sign-in with them, and their management by users.

use std::sync::Arc;

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
use super::fields::Security;
use super::session_response;
use super::shared_responses::Done;
use crate::Error;
use crate::checks::limits::Bucket;
use crate::flows::access_token::Session;
use crate::flows::bearer::Bearer;
use crate::flows::metrics::SignInMetrics;
use crate::flows::passkeys::{self, Answer, StartedCeremony};
use crate::flows::services::Passkeys;
use crate::store;

pub(super) struct PasskeysApi {
    pub(super) callers: Callers,
    pub(super) contexts: Contexts,
    pub(super) protection: AbuseProtection,
    pub(super) passkeys: Passkeys,
    pub(super) sign_in_metrics: Arc<SignInMetrics>,
}

/// A WebAuthn ceremony that has begun.
#[derive(Object)]
struct Ceremony {
    challenge_id: Uuid,
    /// The `publicKey` of `navigator.credentials.create` or `.get`.
    options: Value,
    /// When the ceremony expires, in Unix seconds.
    expires_at: i64,
}

impl From<StartedCeremony> for Ceremony {
    fn from(started: StartedCeremony) -> Self {
        Self { challenge_id: started.challenge, options: started.options, expires_at: started.expires_at }
    }
}

/// The result of a ceremony.
#[derive(Object, Deserialize)]
struct CeremonyFields {
    challenge_id: Option<String>,
    /// The credential in the JSON format of its method `toJSON`.
    credential: Option<Value>,
}

impl CeremonyFields {
    fn answer(self) -> Result<Answer, Error> {
        Answer::parse(&self.challenge_id.unwrap_or_default(), self.credential)
    }
}

/// The fields that begin a sign-in.
#[derive(Object, Deserialize, Default)]
struct AuthenticationFields {
    gotrue_meta_security: Option<Security>,
}

/// A passkey.
#[derive(Object)]
#[oai(skip_serializing_if_is_none)]
pub(super) struct PasskeyItem {
    id: Uuid,
    /// The name that its owner or its manufacturer has chosen.
    friendly_name: Option<String>,
    created_at: String,
    /// Absent if it has never been used.
    last_used_at: Option<String>,
}

impl From<store::passkeys::Passkey> for PasskeyItem {
    fn from(passkey: store::passkeys::Passkey) -> Self {
        Self {
            id: passkey.id,
            friendly_name: Some(passkey.friendly_name).filter(|name| !name.is_empty()),
            created_at: passkey.created_at,
            last_used_at: passkey.last_used_at,
        }
    }
}

/// Changes of a passkey.
#[derive(Object, Deserialize)]
struct PasskeyFields {
    /// The new name, 1 to 120 characters.
    friendly_name: Option<String>,
}

#[OpenApi]
impl PasskeysApi {
    /// Begins the registration of a passkey.
    #[oai(path = "/passkeys/registration/options", method = "post")]
    async fn registration_options(&self, request: &Request) -> Result<Json<Ceremony>, Error> {
        let bearer = self.bearer(request).await?;
        let context = self.contexts.of(&self.passkeys, request, None)?;
        Ok(Json(passkeys::start_registration(&context, &bearer).await?.into()))
    }

    /// Completes the registration of a passkey.
    #[oai(path = "/passkeys/registration/verify", method = "post")]
    async fn registration_verify(
        &self,
        request: &Request,
        body: Body<CeremonyFields>,
    ) -> Result<Json<PasskeyItem>, Error> {
        let bearer = self.bearer(request).await?;
        passkeys::require_eligible(&bearer)?;
        let answer = body.read()?.answer()?;
        let context = self.contexts.of(&self.passkeys, request, None)?;
        Ok(Json(passkeys::finish_registration(&context, &bearer, &answer).await?.into()))
    }

    /// Begins a sign-in with a passkey.
    #[oai(path = "/passkeys/authentication/options", method = "post")]
    async fn authentication_options(
        &self,
        request: &Request,
        body: Body<AuthenticationFields>,
    ) -> Result<Json<Ceremony>, Error> {
        passkeys::require_enabled(&self.passkeys.settings)?;
        self.protection.limit(request, Bucket::Passkey).await?;
        self.protection.captcha(request, &body).await?;
        let context = self.contexts.of(&self.passkeys, request, None)?;
        Ok(Json(passkeys::start_authentication(&context).await?.into()))
    }

    /// Completes a sign-in with a passkey.
    #[oai(path = "/passkeys/authentication/verify", method = "post")]
    async fn authentication_verify(
        &self,
        request: &Request,
        body: Body<CeremonyFields>,
    ) -> Result<Response<Json<Session>>, Error> {
        passkeys::require_enabled(&self.passkeys.settings)?;
        let answer = body.read()?.answer()?;
        let context = self.contexts.of(&self.passkeys, request, None)?;
        let session = passkeys::finish_authentication(&context, &answer).await;
        self.sign_in_metrics.count("passkey", &session);
        session.map(session_response::plain)
    }

    /// Returns the caller's passkeys, oldest first.
    #[oai(path = "/passkeys", method = "get")]
    async fn list(&self, request: &Request) -> Result<Json<Vec<PasskeyItem>>, Error> {
        let bearer = self.bearer(request).await?;
        let list = store::passkeys::list(&self.passkeys.database, bearer.user.id).await?;
        Ok(Json(list.into_iter().map(PasskeyItem::from).collect()))
    }

    /// Changes the name of a passkey of the caller.
    #[oai(path = "/passkeys/:passkey_id", method = "patch")]
    async fn update(
        &self,
        request: &Request,
        passkey_id: Path<String>,
        body: Body<PasskeyFields>,
    ) -> Result<Json<PasskeyItem>, Error> {
        let bearer = self.bearer(request).await?;
        let id = passkeys::parse_id(&passkey_id.0)?;
        let name = body.read()?.friendly_name.unwrap_or_default();
        let context = self.contexts.of(&self.passkeys, request, None)?;
        Ok(Json(passkeys::rename(&context, &bearer, id, &name).await?.into()))
    }

    /// Removes a passkey of the caller.
    #[oai(path = "/passkeys/:passkey_id", method = "delete")]
    async fn delete(&self, request: &Request, passkey_id: Path<String>) -> Result<Done, Error> {
        let bearer = self.bearer(request).await?;
        let context = self.contexts.of(&self.passkeys, request, None)?;
        passkeys::delete(&context, &bearer, &passkey_id.0).await?;
        Ok(Done::NoContent)
    }
}

impl PasskeysApi {
    async fn bearer(&self, request: &Request) -> Result<Bearer, Error> {
        passkeys::require_enabled(&self.passkeys.settings)?;
        self.callers.bearer(request).await
    }
}

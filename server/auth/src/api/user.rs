//! The caller's own account.

use poem::Request;
use poem_openapi::param::Query;
use poem_openapi::payload::Json;
use poem_openapi::{Object, OpenApi};
use serde::Deserialize;
use serde_json::Value;

use super::abuse_protection::AbuseProtection;
use super::body::Body;
use super::callers::Callers;
use super::contexts::Contexts;
use super::fields::object;
use super::request;
use super::shared_responses::Done;
use crate::Error;
use crate::checks::limits::Bucket;
use crate::flows::pkce::Challenge;
use crate::flows::services::Accounts;
use crate::flows::user_update::{self, Update};
use crate::store::model::session::LogoutScope;
use crate::store::model::user::User;
use crate::store::sessions;

pub(super) struct UserApi {
    pub(super) callers: Callers,
    pub(super) contexts: Contexts,
    pub(super) protection: AbuseProtection,
    pub(super) accounts: Accounts,
}

/// Changes of the account; missing fields are not changed.
#[derive(Object, Deserialize)]
struct UserFields {
    /// The new address, which has to be confirmed.
    email: Option<String>,
    /// The new number with its country code, which has to be confirmed.
    phone: Option<String>,
    /// The new password.
    password: Option<String>,
    /// The current password, if the settings require it.
    current_password: Option<String>,
    /// The code of `/reauthenticate`, if the settings require it.
    nonce: Option<String>,
    /// An object that is merged into the user's own metadata; members that are null are removed.
    data: Option<Value>,
    /// An object that is merged into the service's metadata. For administrators.
    app_metadata: Option<Value>,
    /// How the number is confirmed: `sms` (the default) or `whatsapp`.
    channel: Option<String>,
    /// PKCE (RFC 7636): the links in the mails lead to a code.
    code_challenge: Option<String>,
    /// `s256` or `plain`.
    code_challenge_method: Option<String>,
}

#[OpenApi]
impl UserApi {
    /// Returns the user whose access token is in the request.
    #[oai(path = "/user", method = "get")]
    async fn get(&self, request: &Request) -> Result<Json<User>, Error> {
        let bearer = self.callers.any_bearer(request).await?;
        if bearer.audience() != Some(self.contexts.audience(request, Some(&bearer))) {
            return Err(Error::validation("Token audience doesn't match request audience"));
        }
        Ok(Json(bearer.user))
    }

    /// Changes the user whose access token is in the request.
    #[oai(path = "/user", method = "put")]
    async fn update(&self, request: &Request, body: Body<UserFields>) -> Result<Json<User>, Error> {
        let bearer = self.callers.bearer(request).await?;
        self.protection.limit(request, Bucket::User).await?;
        let fields = body.read()?;
        let method = fields.code_challenge_method;
        let update = Update {
            email: fields.email.unwrap_or_default(),
            phone: fields.phone.unwrap_or_default(),
            password: fields.password,
            current_password: fields.current_password.unwrap_or_default(),
            nonce: fields.nonce.unwrap_or_default(),
            data: fields.data.map(|data| object("data", Some(data))).transpose()?,
            app_metadata: fields.app_metadata.map(|data| object("app_metadata", Some(data))).transpose()?,
            channel: fields.channel.unwrap_or_default(),
            challenge: Challenge::parse(fields.code_challenge.as_deref(), method.as_deref())?,
        };
        let context = self.contexts.of(&self.accounts, request, Some(&bearer))?;
        user_update::update(&context, &bearer, update).await.map(Json)
    }

    /// Ends sessions of the user whose access token is in the request. That of an OAuth client ends its own session
    /// only, whatever the scope.
    #[oai(path = "/logout", method = "post")]
    async fn logout(
        &self,
        request: &Request,
        /// `global` (the default): all sessions; `local`: this one; `others`: all except this one.
        scope: Query<Option<String>>,
    ) -> Result<Done, Error> {
        let bearer = self.callers.any_bearer(request).await?;
        let mut scope = LogoutScope::parse(scope.0.as_deref())?;
        if bearer.is_oauth_client() {
            // Without a session of the caller's own, every scope would mean all sessions of the user.
            if scope == LogoutScope::Others || bearer.session.is_none() {
                return Ok(Done::NoContent);
            }
            scope = LogoutScope::Local;
        }
        let (Accounts { database, settings, .. }, client) = (&self.accounts, request::client(request)?);
        sessions::end(database, settings, bearer.user.id, bearer.session_id(), scope, &client).await?;
        Ok(Done::NoContent)
    }
}

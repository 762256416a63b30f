//! Sessions begin and go on.

use std::sync::Arc;

use http::header::CACHE_CONTROL;
use poem::Request;
use poem_openapi::param::Query;
use poem_openapi::payload::{Json, Response};
use poem_openapi::{Object, OpenApi};
use serde::Deserialize;

use super::body::Body;
use super::request;
use crate::flows::access_token::Session;
use crate::flows::{Address, refresh, sign_in};
use crate::{Auth, Code, Error};

pub(super) struct TokenApi {
    pub(super) auth: Arc<Auth>,
}

/// The fields of all grants; which of them count depends on `grant_type`.
#[derive(Object, Deserialize)]
struct Grant {
    /// password: the user's e-mail address.
    email: Option<String>,
    /// password: the user's phone number.
    phone: Option<String>,
    /// password
    password: Option<String>,
    /// refresh_token
    refresh_token: Option<String>,
}

#[OpenApi]
impl TokenApi {
    /// Exchanges credentials for a session.
    #[oai(path = "/token", method = "post")]
    async fn token(
        &self,
        request: &Request,
        /// `password` or `refresh_token`.
        grant_type: Query<Option<String>>,
        body: Body<Grant>,
    ) -> Result<Response<Json<Session>>, Error> {
        let Body(grant) = body;
        match grant_type.0.as_deref() {
            Some("password") => self.password(request, grant).await,
            Some("refresh_token") => self.refresh_token(request, grant).await,
            _ => Err(Code::InvalidCredentials.because("unsupported_grant_type")),
        }
    }
}

impl TokenApi {
    async fn password(&self, request: &Request, grant: Grant) -> Result<Response<Json<Session>>, Error> {
        let (email, phone) = (grant.email.unwrap_or_default(), grant.phone.unwrap_or_default());
        let address = Address::from_fields(&email, &phone)?;
        let password = grant.password.unwrap_or_default();
        let (audience, client) = (request::audience(&self.auth, request, None), request::client(request)?);
        sign_in::with_password(&self.auth, address, password, audience, &client).await.map(answer)
    }

    async fn refresh_token(&self, request: &Request, grant: Grant) -> Result<Response<Json<Session>>, Error> {
        let token = grant.refresh_token.unwrap_or_default();
        let refreshed = refresh::refresh(&self.auth, &token, &request::client(request)?).await?;
        Ok(answer(refreshed.session).header("sb-auth-refresh-token-reuse", refreshed.reused.to_string()))
    }
}

/// The session, kept out of caches (RFC 6749, section 5.1), with headers that let operators follow it without
/// reading it.
fn answer(session: Session) -> Response<Json<Session>> {
    let (user, id) = (session.user_id().to_string(), session.id().to_string());
    let prefix = session.refresh_token_prefix().to_owned();
    Response::new(Json(session))
        .header(CACHE_CONTROL, "no-store")
        .header("sb-auth-user-id", user)
        .header("sb-auth-session-id", id)
        .header("sb-auth-refresh-token-prefix", prefix)
}

//! This service as an OAuth server: authorization requests, the user's consent, tokens.

use std::sync::Arc;

use http::header::{AUTHORIZATION, ORIGIN};
use poem::Request;
use poem_openapi::param::{Path, Query};
use poem_openapi::payload::{Json, Response};
use poem_openapi::{Object, OpenApi, Union};
use postgres::Database;
use serde::Deserialize;
use uuid::Uuid;

use super::body::{Body, FormOrJson};
use super::callers::Callers;
use super::contexts::Contexts;
use super::oauth_grants::ClientDetails;
use super::shared_responses::Redirect;
use super::{request, session_response};
use crate::Error;
use crate::Settings;
use crate::checks::redirects::Redirects;
use crate::flows::access_token::ClientTokens;
use crate::flows::oauth_server::authorize::{self, Request as AccessRequest};
use crate::flows::oauth_server::claims::{self, UserInfo};
use crate::flows::oauth_server::consent::{self, ConsentDecision, ConsentStep};
use crate::flows::oauth_server::token::{self, CodeGrant, Credentials};
use crate::flows::oauth_server::{clients, require_enabled};
use crate::flows::refresh;
use crate::flows::services::Sessions;

pub(super) struct OauthServerApi {
    pub(super) callers: Callers,
    pub(super) contexts: Contexts,
    pub(super) redirects: Arc<Redirects>,
    pub(super) database: Database,
    pub(super) settings: Arc<Settings>,
    pub(super) sessions: Sessions,
}

/// An authorization request, for the consent page.
#[derive(Object)]
struct Details {
    authorization_id: String,
    /// The URL that the response is sent to.
    redirect_uri: String,
    client: ClientDetails,
    user: ConsentingUser,
    /// Scopes, separated by blanks.
    scope: String,
}

/// The user whose consent is requested.
#[derive(Object)]
#[oai(skip_serializing_if_is_none)]
struct ConsentingUser {
    id: Uuid,
    email: Option<String>,
}

/// The URL to which the browser is redirected.
#[derive(Object)]
struct RedirectUrl {
    redirect_url: String,
}

/// An authorization request; or, if the user has granted the same access before, the URL to which the browser is
/// redirected.
#[derive(Union)]
enum DetailsOrRedirect {
    Details(Details),
    RedirectUrl(RedirectUrl),
}

/// The user's decision.
#[derive(Object, Deserialize)]
struct ConsentFields {
    /// `approve` or `deny`.
    action: Option<String>,
}

/// The fields of a token request.
#[derive(Object, Deserialize)]
struct TokenFields {
    /// `authorization_code` or `refresh_token`.
    grant_type: Option<String>,
    /// authorization_code: the code.
    code: Option<String>,
    /// authorization_code: the URL that the code was sent to.
    redirect_uri: Option<String>,
    /// authorization_code: the verifier of the challenge (RFC 7636).
    code_verifier: Option<String>,
    /// authorization_code: the resource that the token is for (RFC 8707).
    resource: Option<String>,
    /// refresh_token: the token.
    refresh_token: Option<String>,
    /// Required unless it is in header `Authorization`.
    client_id: Option<String>,
    /// For clients that send it in the body.
    client_secret: Option<String>,
}

/// Paths that need no API key: OAuth clients have their own credentials.
pub(super) const KEYLESS: &[&str] = &["/oauth/authorize", "/oauth/token", "/oauth/userinfo"];

#[OpenApi]
impl OauthServerApi {
    /// Receives the authorization request of a client, and redirects the browser to the consent page.
    #[oai(path = "/oauth/authorize", method = "get")]
    #[expect(clippy::too_many_arguments, reason = "the parameters of the interface")]
    async fn authorize(
        &self,
        /// The client's id.
        client_id: Query<Option<String>>,
        /// The URL that the response is sent to; must be a registered one.
        redirect_uri: Query<Option<String>>,
        /// `code` (the default).
        response_type: Query<Option<String>>,
        /// `openid`, `profile`, `email`, `phone` or `offline_access`; several are separated by blanks.
        scope: Query<Option<String>>,
        /// Returned unchanged with the response.
        state: Query<Option<String>>,
        /// The resource that the token is for (RFC 8707).
        resource: Query<Option<String>>,
        /// Required (RFC 7636).
        code_challenge: Query<Option<String>>,
        /// `S256` or `plain`.
        code_challenge_method: Query<Option<String>>,
        /// Returned unchanged in the ID token.
        nonce: Query<Option<String>>,
    ) -> Result<Redirect, Error> {
        require_enabled(&self.settings)?;
        let access_request = AccessRequest {
            client_id: client_id.0.unwrap_or_default(),
            redirect_uri: redirect_uri.0.unwrap_or_default(),
            response_type: response_type.0.unwrap_or_default(),
            scope: scope.0.unwrap_or_default(),
            state: state.0.unwrap_or_default(),
            resource: resource.0.unwrap_or_default(),
            code_challenge: code_challenge.0.unwrap_or_default(),
            code_challenge_method: code_challenge_method.0.unwrap_or_default(),
            nonce: nonce.0.unwrap_or_default(),
        };
        authorize::begin(&self.database, &self.settings, &access_request).await.map(Redirect::Found)
    }

    /// Returns an authorization request. It then belongs to the first user who requests it.
    #[oai(path = "/oauth/authorizations/:authorization_id", method = "get")]
    async fn view(
        &self,
        request: &Request,
        authorization_id: Path<String>,
    ) -> Result<Json<DetailsOrRedirect>, Error> {
        require_enabled(&self.settings)?;
        let bearer = self.callers.bearer(request).await?;
        consent::check_origin(&self.redirects, origin(request))?;
        let step = match consent::view(&self.database, &bearer, &authorization_id.0).await? {
            ConsentStep::Granted(redirect_url) => {
                DetailsOrRedirect::RedirectUrl(RedirectUrl { redirect_url })
            }
            ConsentStep::Ask(authorization, client) => DetailsOrRedirect::Details(Details {
                authorization_id: authorization.authorization_id,
                redirect_uri: authorization.redirect_uri,
                client: client.into(),
                user: ConsentingUser {
                    id: bearer.user.id,
                    email: Some(bearer.user.email).filter(|email| !email.is_empty()),
                },
                scope: authorization.scope,
            }),
        };
        Ok(Json(step))
    }

    /// Sends the user's decision about an authorization request.
    #[oai(path = "/oauth/authorizations/:authorization_id/consent", method = "post")]
    async fn decide(
        &self,
        request: &Request,
        authorization_id: Path<String>,
        body: Body<ConsentFields>,
    ) -> Result<Json<RedirectUrl>, Error> {
        require_enabled(&self.settings)?;
        let bearer = self.callers.bearer(request).await?;
        consent::check_origin(&self.redirects, origin(request))?;
        let decision = ConsentDecision::parse(&body.read()?.action.unwrap_or_default())?;
        let redirect_url = consent::decide(&self.database, &bearer, &authorization_id.0, decision).await?;
        Ok(Json(RedirectUrl { redirect_url }))
    }

    /// Exchanges a code or a refresh token for tokens. The client authenticates with its registered method.
    #[oai(path = "/oauth/token", method = "post")]
    async fn token(
        &self,
        request: &Request,
        body: FormOrJson<TokenFields>,
    ) -> Result<Response<Json<ClientTokens>>, Error> {
        require_enabled(&self.settings)?;
        let fields = body.read().ok_or_else(|| Error::oauth("invalid_request", "Invalid JSON body"))?;
        let credentials = match basic(request) {
            Some(encoded) => Credentials::of_header(encoded)?,
            None => Credentials::of_body(
                fields.client_id.as_deref().unwrap_or_default(),
                fields.client_secret.as_deref().unwrap_or_default(),
            )?,
        };
        let client = token::authenticate(&self.database, &credentials).await?;
        let grant_type = fields.grant_type.unwrap_or_default();
        token::check_grant_type(&client, &grant_type)?;
        if grant_type == clients::REFRESH_TOKEN {
            let token = fields.refresh_token.filter(|token| !token.is_empty()).ok_or_else(|| {
                Error::oauth("invalid_request", "refresh_token is required for refresh_token grant")
            })?;
            let origin = request::client(request)?;
            let refreshed = refresh::refresh(&self.sessions, &token, Some(client.id), &origin).await?;
            return Ok(session_response::wrap(refreshed.session, |session| session.into_client_tokens(None)));
        }
        let grant = CodeGrant {
            code: fields.code.unwrap_or_default(),
            redirect_uri: fields.redirect_uri.unwrap_or_default(),
            code_verifier: fields.code_verifier.unwrap_or_default(),
            resource: fields.resource.unwrap_or_default(),
        };
        let context = self.contexts.of(&self.sessions, request, None)?;
        let exchanged = token::exchange(&context, &client, &grant).await?;
        let id_token = exchanged.id_token;
        Ok(session_response::wrap(exchanged.session, |session| session.into_client_tokens(id_token)))
    }

    /// Returns the claims about the user of an access token that the client may know (OpenID Connect Core, section
    /// 5.3).
    #[oai(path = "/oauth/userinfo", method = "get")]
    async fn user_info(&self, request: &Request) -> Result<Json<UserInfo>, Error> {
        self.user_info_response(request).await
    }

    /// Returns the same as GET.
    #[oai(path = "/oauth/userinfo", method = "post")]
    async fn user_info_by_post(&self, request: &Request) -> Result<Json<UserInfo>, Error> {
        self.user_info_response(request).await
    }
}

impl OauthServerApi {
    async fn user_info_response(&self, request: &Request) -> Result<Json<UserInfo>, Error> {
        require_enabled(&self.settings)?;
        let bearer = self.callers.any_bearer(request).await?;
        Ok(Json(claims::user_info(&bearer)))
    }
}

fn origin(request: &Request) -> Option<&str> {
    // An origin that is not text does not belong to the site.
    request.headers().get(ORIGIN).map(|origin| origin.to_str().unwrap_or("null"))
}

/// Returns the text after the scheme in `Authorization: Basic …` (RFC 7617).
fn basic(request: &Request) -> Option<&str> {
    let (scheme, encoded) = request.headers().get(AUTHORIZATION)?.to_str().ok()?.split_once(' ')?;
    scheme.eq_ignore_ascii_case("basic").then_some(encoded)
}

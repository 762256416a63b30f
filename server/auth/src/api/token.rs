//! The token endpoint: sign-in and refresh.

use std::sync::Arc;

use http::header::AUTHORIZATION;
use poem::Request;
use poem_openapi::param::Query;
use poem_openapi::payload::{Json, Response};
use poem_openapi::{Object, OpenApi};
use serde::Deserialize;

use super::abuse_protection::AbuseProtection;
use super::body::Body;
use super::callers::Callers;
use super::contexts::Contexts;
use super::fields::Security;
use super::{request, session_response};
use crate::checks::limits::Bucket;
use crate::flows::access_token::Session;
use crate::flows::id_token::{self, IdTokenInput};
use crate::flows::metrics::SignInMetrics;
use crate::flows::metrics::TOKEN_GRANTS;
use crate::flows::services::{Accounts, ProviderSignIns, Sessions};
use crate::flows::{code_exchange, refresh, sign_in, web3};
use crate::store::model::address::Address;
use crate::{Code, Error};

pub(super) struct TokenApi {
    pub(super) callers: Callers,
    pub(super) contexts: Contexts,
    pub(super) protection: AbuseProtection,
    pub(super) sessions: Sessions,
    pub(super) accounts: Accounts,
    pub(super) provider_sign_ins: ProviderSignIns,
    pub(super) sign_in_metrics: Arc<SignInMetrics>,
}

/// The fields of all grants; `grant_type` determines which of them are used.
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
    /// pkce: the code from a redirect.
    auth_code: Option<String>,
    /// pkce: the verifier of the challenge.
    code_verifier: Option<String>,
    /// id_token: the token.
    id_token: Option<String>,
    /// id_token: the access token that was issued with it.
    access_token: Option<String>,
    /// id_token: the text whose SHA-256 is in claim `nonce`.
    nonce: Option<String>,
    /// id_token: the provider that has issued it.
    provider: Option<String>,
    /// id_token: the audience, for an issuer without a provider.
    client_id: Option<String>,
    /// id_token: the issuer, instead of the provider.
    issuer: Option<String>,
    /// id_token: links the identity to the caller instead of signing in.
    link_identity: Option<bool>,
    /// web3: `ethereum` or `solana`.
    chain: Option<String>,
    /// web3: the text that the wallet has signed.
    message: Option<String>,
    /// web3: 0x and 130 hexadecimal digits for Ethereum, base64 for Solana.
    signature: Option<String>,
    /// password, web3
    gotrue_meta_security: Option<Security>,
}

#[OpenApi]
impl TokenApi {
    /// Exchanges credentials for a session.
    #[oai(path = "/token", method = "post")]
    async fn token(
        &self,
        request: &Request,
        /// `password`, `refresh_token`, `pkce`, `id_token` or `web3`.
        grant_type: Query<Option<String>>,
        body: Body<Grant>,
    ) -> Result<Response<Json<Session>>, Error> {
        let requested = grant_type.0.as_deref();
        let Some(grant) = TOKEN_GRANTS.into_iter().find(|grant| Some(*grant) == requested) else {
            return Err(Code::InvalidCredentials.because("unsupported_grant_type"));
        };
        let session = self.exchange(grant, request, &body).await;
        self.sign_in_metrics.count(grant, &session);
        session
    }
}

impl TokenApi {
    /// Exchanges the credentials of `grant`, which is one of [`TOKEN_GRANTS`].
    async fn exchange(
        &self,
        grant: &str,
        request: &Request,
        body: &Body<Grant>,
    ) -> Result<Response<Json<Session>>, Error> {
        match grant {
            "password" => {
                self.protection.captcha(request, body).await?;
                self.password(request, self.count_and_read(request, Bucket::Token, body).await?).await
            }
            "refresh_token" => {
                self.refresh_token(request, self.count_and_read(request, Bucket::Refresh, body).await?).await
            }
            "pkce" => self.pkce(request, self.count_and_read(request, Bucket::Token, body).await?).await,
            "id_token" => {
                self.id_token(request, self.count_and_read(request, Bucket::Token, body).await?).await
            }
            _ => self.web3(request, body).await,
        }
    }

    /// Returns the fields of a request. The request is counted before its body is parsed, so that requests with a
    /// malformed body count against the limit, too.
    async fn count_and_read(
        &self,
        request: &Request,
        bucket: Bucket,
        body: &Body<Grant>,
    ) -> Result<Grant, Error> {
        self.protection.limit(request, bucket).await?;
        body.read()
    }

    async fn password(&self, request: &Request, grant: Grant) -> Result<Response<Json<Session>>, Error> {
        let (email, phone) = (grant.email.unwrap_or_default(), grant.phone.unwrap_or_default());
        let address = Address::of_sign_in(&email, &phone)?;
        let password = grant.password.unwrap_or_default();
        let (audience, client) = (self.contexts.audience(request, None), request::client(request)?);
        sign_in::with_password(&self.accounts, address, password, audience, &client)
            .await
            .map(session_response::plain)
    }

    async fn refresh_token(&self, request: &Request, grant: Grant) -> Result<Response<Json<Session>>, Error> {
        let token = grant.refresh_token.unwrap_or_default();
        let refreshed = refresh::refresh(&self.sessions, &token, None, &request::client(request)?).await?;
        let response = session_response::plain(refreshed.session);
        let response = response.header("sb-auth-refresh-token-reuse", refreshed.reused.to_string());
        Ok(match refreshed.reuse_causes {
            causes if causes.is_empty() => response,
            causes => response.header("sb-auth-refresh-token-reuse-cause", causes),
        })
    }

    async fn pkce(&self, request: &Request, grant: Grant) -> Result<Response<Json<Session>>, Error> {
        let (code, verifier) = (grant.auth_code.unwrap_or_default(), grant.code_verifier.unwrap_or_default());
        let context = self.contexts.of(&self.sessions, request, None)?;
        code_exchange::exchange(&context, &code, &verifier).await.map(session_response::plain)
    }

    async fn id_token(&self, request: &Request, grant: Grant) -> Result<Response<Json<Session>>, Error> {
        let input = IdTokenInput {
            id_token: grant.id_token.unwrap_or_default(),
            access_token: grant.access_token.unwrap_or_default(),
            nonce: grant.nonce.unwrap_or_default(),
            provider: grant.provider.unwrap_or_default(),
            client_id: grant.client_id.unwrap_or_default(),
            issuer: grant.issuer.unwrap_or_default(),
        };
        input.check()?;
        let bearer = match grant.link_identity {
            Some(true) if request.headers().contains_key(AUTHORIZATION) => {
                Some(self.callers.bearer(request).await?)
            }
            Some(true) => return Err(id_token::linking_needs_bearer()),
            _ => None,
        };
        let context = self.contexts.of(&self.provider_sign_ins, request, bearer.as_ref())?;
        let target = bearer.as_ref().map(|bearer| bearer.user.id);
        id_token::sign_in(&context, &input, target).await.map(session_response::plain)
    }

    async fn web3(&self, request: &Request, body: &Body<Grant>) -> Result<Response<Json<Session>>, Error> {
        self.protection.captcha(request, body).await?;
        self.protection.limit(request, Bucket::Web3).await?;
        web3::require_enabled(&self.provider_sign_ins.settings)?;
        let grant = body.read()?;
        let [chain, message, signature] =
            [grant.chain, grant.message, grant.signature].map(Option::unwrap_or_default);
        let context = self.contexts.of(&self.provider_sign_ins, request, None)?;
        web3::sign_in(&context, &chain, &message, &signature).await.map(session_response::plain)
    }
}

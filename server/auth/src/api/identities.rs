//! The caller's identities.

use poem::Request;
use poem_openapi::param::{Path, Query};
use poem_openapi::payload::Json;
use poem_openapi::{ApiResponse, Object, OpenApi};
use uuid::Uuid;

use super::callers::Callers;
use super::contexts::Contexts;
use super::external::forwarded_parameters;
use super::shared_responses::Empty;
use crate::Error;
use crate::error::refusals;
use crate::flows::external::{self, AuthorizeRequest};
use crate::flows::identities;
use crate::flows::pkce::Challenge;
use crate::flows::services::{Accounts, ProviderSignIns};

pub(super) struct IdentitiesApi {
    pub(super) callers: Callers,
    pub(super) contexts: Contexts,
    pub(super) accounts: Accounts,
    pub(super) provider_sign_ins: ProviderSignIns,
}

/// The URL that the user has to open.
#[derive(Object)]
struct Destination {
    url: String,
}

/// A redirect to a provider, or its URL for clients that do not follow redirects.
#[derive(ApiResponse)]
enum ProviderLink {
    #[oai(status = 200)]
    Url(Json<Destination>),
    #[oai(status = 302)]
    Found(#[oai(header = "Location")] String),
}

#[OpenApi]
impl IdentitiesApi {
    /// Redirects the caller to an external provider, whose identity is then linked to the caller's account.
    #[oai(path = "/user/identities/authorize", method = "get")]
    #[expect(clippy::too_many_arguments, reason = "one for each parameter of the interface")]
    async fn authorize(
        &self,
        request: &Request,
        /// The provider's name.
        provider: Query<Option<String>>,
        /// The URL that the user is finally redirected to.
        #[expect(unused_variables, reason = "read with the header of the same name")]
        redirect_to: Query<Option<String>>,
        /// Further scopes, separated by commas.
        scopes: Query<Option<String>>,
        /// PKCE (RFC 7636): the sign-in ends with a code, which is exchanged with the verifier.
        code_challenge: Query<Option<String>>,
        /// `s256` or `plain`.
        code_challenge_method: Query<Option<String>>,
        /// `true` returns the URL instead of a redirect.
        skip_http_redirect: Query<Option<String>>,
    ) -> Result<ProviderLink, Error> {
        let bearer = self.callers.bearer(request).await?;
        let context = self.contexts.of(&self.accounts, request, Some(&bearer))?;
        identities::require_manual_linking(&context)?;
        let authorize = AuthorizeRequest {
            provider: provider.0.as_deref().unwrap_or_default(),
            scopes: scopes.0.as_deref().unwrap_or_default(),
            challenge: Challenge::parse(code_challenge.0.as_deref(), code_challenge_method.0.as_deref()),
            invite_token: "",
            parameters: forwarded_parameters(request),
            target: Some(bearer.user.id),
        };
        let url = external::authorize(&context.with(&self.provider_sign_ins), authorize).await?;
        Ok(match skip_http_redirect.0.as_deref() {
            Some("true") => ProviderLink::Url(Json(Destination { url })),
            _ => ProviderLink::Found(url),
        })
    }

    /// Removes one of the caller's identities.
    #[oai(path = "/user/identities/:identity_id", method = "delete")]
    async fn unlink(&self, request: &Request, identity_id: Path<String>) -> Result<Json<Empty>, Error> {
        let bearer = self.callers.bearer(request).await?;
        let context = self.contexts.of(&self.accounts, request, Some(&bearer))?;
        identities::require_manual_linking(&context)?;
        let id = Uuid::parse_str(&identity_id.0)
            .map_err(|_| refusals::id_not_uuid("identity_id must be an UUID"))?;
        identities::unlink(&context, &bearer, id).await?;
        Ok(Json(Empty {}))
    }
}

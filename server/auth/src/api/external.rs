//! Sign-in with external providers.

use poem::Request;
use poem_openapi::param::Query;
use poem_openapi::{Object, OpenApi};

use super::body::FormFields;
use super::contexts::Contexts;
use super::shared_responses::Redirect;
use super::{error_response, request};
use crate::Error;
use crate::flows::custom_providers::RESERVED;
use crate::flows::external::{self, AuthorizeRequest, ProviderCallback};
use crate::flows::pkce::Challenge;
use crate::flows::services::ProviderSignIns;

/// Parameters for this service, which are not passed on to the provider.
const OWN: [&str; 5] = ["provider", "scopes", "invite_token", "apikey", "skip_http_redirect"];

pub(super) struct ExternalApi {
    pub(super) contexts: Contexts,
    pub(super) provider_sign_ins: ProviderSignIns,
}

/// The form that a provider posts back.
#[derive(Object)]
struct CallbackFields {
    state: Option<String>,
    code: Option<String>,
    error: Option<String>,
    error_description: Option<String>,
    /// Apple's description of the user.
    user: Option<String>,
}

/// Paths that need no API key: browsers open them from links and from other sites.
pub(super) const KEYLESS: &[&str] = &["/authorize", "/callback"];

#[OpenApi]
impl ExternalApi {
    /// Redirects the user to an external provider. Parameters that are not described here are passed on to it.
    #[oai(path = "/authorize", method = "get")]
    #[expect(clippy::too_many_arguments, reason = "one for each parameter of the interface")]
    async fn authorize(
        &self,
        request: &Request,
        /// The provider's name; `custom:…` for a provider that an administrator has defined.
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
        /// The invitation that the user accepts.
        invite_token: Query<Option<String>>,
    ) -> Result<Redirect, Error> {
        let context = self.contexts.of(&self.provider_sign_ins, request, None)?;
        let challenge = Challenge::parse(code_challenge.0.as_deref(), code_challenge_method.0.as_deref());
        let authorize = AuthorizeRequest {
            provider: provider.0.as_deref().unwrap_or_default(),
            scopes: scopes.0.as_deref().unwrap_or_default(),
            challenge,
            invite_token: invite_token.0.as_deref().unwrap_or_default(),
            parameters: forwarded_parameters(request),
            target: None,
        };
        external::authorize(&context, authorize).await.map(Redirect::Found)
    }

    /// Receives users from providers, and redirects them to the client.
    #[oai(path = "/callback", method = "get")]
    async fn callback(&self, request: &Request) -> Result<Redirect, Error> {
        self.handle_callback(request, &callback(|name| request::parameter(request, name))).await
    }

    /// Receives users from providers that post a form (OAuth 2.0 Form Post Response Mode), and redirects them to the
    /// client.
    #[oai(path = "/callback", method = "post")]
    async fn callback_form(
        &self,
        request: &Request,
        form: FormFields<CallbackFields>,
    ) -> Result<Redirect, Error> {
        self.handle_callback(request, &callback(|name| form.text_or_parameter(request, name))).await
    }
}

impl ExternalApi {
    async fn handle_callback(
        &self,
        request: &Request,
        callback: &ProviderCallback,
    ) -> Result<Redirect, Error> {
        let redirect =
            external::handle_callback(&self.provider_sign_ins, request::client(request)?, callback).await?;
        if let Some(error) = &redirect.error {
            error_response::log(error, request);
        }
        Ok(if redirect.is_lost { Redirect::SeeOther(redirect.url) } else { Redirect::Found(redirect.url) })
    }
}

fn callback(field: impl Fn(&str) -> String) -> ProviderCallback {
    ProviderCallback {
        state: field("state"),
        code: field("code"),
        error: field("error"),
        error_description: field("error_description"),
        oauth_token: field("oauth_token"),
        oauth_verifier: field("oauth_verifier"),
        user: field("user"),
    }
}

/// Returns the parameters for a provider: the first of each name, without those that are only for this service. A
/// `nonce` is the client's.
pub(super) fn forwarded_parameters(request: &Request) -> Vec<(String, String)> {
    let mut parameters: Vec<(String, String)> = Vec::new();
    for (name, value) in request::query(request) {
        let lowercase = name.to_lowercase();
        let reserved = lowercase != "nonce" && RESERVED.contains(&lowercase.as_str());
        // WorkOS uses this name for its own providers.
        let name = if name == "workos_provider" { "provider".to_owned() } else { name };
        let is_own = OWN.contains(&name.as_str()) && lowercase != "workos_provider";
        if !reserved && !is_own && !parameters.iter().any(|(known, _)| *known == name) {
            parameters.push((name, value));
        }
    }
    parameters
}

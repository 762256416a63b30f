//! Single sign-on with identity providers (SAML 2.0).

use poem::Request;
use poem_openapi::param::Query;
use poem_openapi::payload::{Json, PlainText};
use poem_openapi::{ApiResponse, Object, OpenApi};
use serde::Deserialize;
use uuid::Uuid;

use super::abuse_protection::AbuseProtection;
use super::body::{Body, FormFields};
use super::contexts::Contexts;
use super::error_response;
use super::fields::Security;
use super::shared_responses::Redirect;
use crate::Error;
use crate::checks::limits::Bucket;
use crate::flows::services::SingleSignOn;
use crate::flows::sso::{self, SamlCallback, SsoRequest};

pub(super) struct SsoApi {
    pub(super) contexts: Contexts,
    pub(super) protection: AbuseProtection,
    pub(super) single_sign_on: SingleSignOn,
}

/// A sign-in with an identity provider, which is given by its id or by one of its domains.
#[derive(Object, Deserialize)]
struct SsoFields {
    provider_id: Option<Uuid>,
    /// The domain of the user's e-mail address.
    domain: Option<String>,
    /// The URL that the user is finally redirected to.
    redirect_to: Option<String>,
    /// Returns the URL instead of a redirect.
    skip_http_redirect: Option<bool>,
    /// PKCE (RFC 7636): the sign-in ends with a code.
    code_challenge: Option<String>,
    /// `s256` or `plain`.
    code_challenge_method: Option<String>,
    gotrue_meta_security: Option<Security>,
}

/// The URL that the user has to open.
#[derive(Object)]
struct UrlResponse {
    url: String,
}

#[derive(ApiResponse)]
enum SsoResponse {
    /// For clients that open it themselves.
    #[oai(status = 200)]
    Url(Json<UrlResponse>),
    #[oai(status = 303)]
    SeeOther(#[oai(header = "Location")] String),
}

/// The form that a browser posts on behalf of an identity provider.
#[derive(Object)]
#[oai(rename_all = "PascalCase")]
struct AssertionFields {
    /// The state that the request was sent with; or the target of an unsolicited response.
    relay_state: Option<String>,
    /// A `samlp:Response` in base64.
    #[oai(rename = "SAMLResponse")]
    saml_response: Option<String>,
    /// A reference to a response, in place of the response.
    #[oai(rename = "SAMLart")]
    saml_artifact: Option<String>,
}

#[derive(ApiResponse)]
enum Metadata {
    #[oai(status = 200, content_type = "application/xml")]
    Document(
        PlainText<String>,
        #[oai(header = "Cache-Control")] String,
        #[oai(header = "Content-Disposition")] Option<String>,
    ),
}

/// Paths that need no API key: identity providers read them, and make browsers post to them.
pub(super) const KEYLESS: &[&str] = &["/sso/saml/metadata", "/sso/saml/acs"];

#[OpenApi]
impl SsoApi {
    /// Redirects the user to an identity provider.
    #[oai(path = "/sso", method = "post")]
    async fn sign_in(&self, request: &Request, body: Body<SsoFields>) -> Result<SsoResponse, Error> {
        sso::require_enabled(self.single_sign_on.saml.as_ref())?;
        self.protection.limit(request, Bucket::Sso).await?;
        self.protection.captcha(request, &body).await?;
        let fields = body.read()?;
        let sso = SsoRequest {
            provider_id: fields.provider_id,
            domain: fields.domain.as_deref().unwrap_or_default(),
            redirect_to: fields.redirect_to.as_deref().unwrap_or_default(),
            code_challenge: fields.code_challenge.as_deref(),
            code_challenge_method: fields.code_challenge_method.as_deref(),
        };
        let url = sso::begin_sign_in(&self.single_sign_on, sso).await?;
        let skip_redirect = fields.skip_http_redirect.unwrap_or_default();
        Ok(if skip_redirect {
            SsoResponse::Url(Json(UrlResponse { url }))
        } else {
            SsoResponse::SeeOther(url)
        })
    }

    /// Returns the metadata of this service for identity providers.
    #[oai(path = "/sso/saml/metadata", method = "get")]
    async fn metadata(
        &self,
        /// `true` returns a document that is valid for years, to be stored.
        download: Query<Option<String>>,
    ) -> Result<Metadata, Error> {
        let service = sso::require_enabled(self.single_sign_on.saml.as_ref())?;
        let downloaded = download.0.as_deref() == Some("true");
        let document = service.metadata(downloaded);
        let name = downloaded.then(|| "attachment; filename=\"metadata.xml\"".to_owned());
        Ok(Metadata::Document(PlainText(document), service.metadata_caching().to_owned(), name))
    }

    /// Receives users from identity providers, and redirects them to the client.
    #[oai(path = "/sso/saml/acs", method = "post")]
    async fn assertion_consumer(
        &self,
        request: &Request,
        form: FormFields<AssertionFields>,
    ) -> Result<Redirect, Error> {
        sso::require_enabled(self.single_sign_on.saml.as_ref())?;
        self.protection.limit(request, Bucket::SamlAssertion).await?;
        let callback = SamlCallback {
            relay_state: form.text_or_parameter(request, "RelayState"),
            response: form.text("SAMLResponse"),
            artifact: form.text_or_parameter(request, "SAMLart"),
        };
        let context = self.contexts.of(&self.single_sign_on, request, None)?;
        match sso::finish_sign_in(&context, &callback).await {
            Ok(url) => Ok(Redirect::Found(url)),
            Err(error) => {
                error_response::log(&error, request);
                sso::failed(&self.single_sign_on.settings, &error).map(Redirect::SeeOther)
            }
        }
    }
}

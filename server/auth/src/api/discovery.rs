//! Metadata of this OAuth server (OpenID Connect Discovery 1.0, RFC 8414).

use std::sync::Arc;

use http::header::CACHE_CONTROL;
use poem_openapi::payload::{Json, Response};
use poem_openapi::{Object, OpenApi};

use crate::Error;
use crate::Settings;
use crate::flows::oauth_server::{require_enabled, scopes};

/// The claims that ID tokens may contain, in upstream's order.
const CLAIMS: [&str; 15] = [
    "sub",
    "aud",
    "iss",
    "exp",
    "iat",
    "auth_time",
    "nonce",
    "email",
    "email_verified",
    "phone_number",
    "phone_number_verified",
    "name",
    "picture",
    "preferred_username",
    "updated_at",
];

pub(super) struct DiscoveryApi {
    pub(super) settings: Arc<Settings>,
}

/// The URLs of the endpoints, and the supported features.
#[derive(Object)]
#[oai(skip_serializing_if_is_none)]
struct Metadata {
    issuer: String,
    authorization_endpoint: String,
    token_endpoint: String,
    jwks_uri: String,
    userinfo_endpoint: String,
    /// Only if clients may register themselves.
    registration_endpoint: Option<String>,
    scopes_supported: Vec<String>,
    response_types_supported: Vec<String>,
    response_modes_supported: Vec<String>,
    grant_types_supported: Vec<String>,
    subject_types_supported: Vec<String>,
    id_token_signing_alg_values_supported: Vec<String>,
    token_endpoint_auth_methods_supported: Vec<String>,
    claims_supported: Vec<String>,
    code_challenge_methods_supported: Vec<String>,
}

/// Paths that need no API key: the metadata is public (RFC 8615).
pub(super) const KEYLESS: &[&str] = &["/.well-known/*"];

#[OpenApi]
impl DiscoveryApi {
    /// Returns the metadata of this service as an OpenID provider.
    #[oai(path = "/.well-known/openid-configuration", method = "get")]
    async fn openid_configuration(&self) -> Response<Json<Metadata>> {
        self.metadata()
    }

    /// Returns the metadata of this service as an OAuth server: the same document, if the OAuth server is enabled.
    #[oai(path = "/.well-known/oauth-authorization-server", method = "get")]
    async fn oauth_authorization_server(&self) -> Result<Response<Json<Metadata>>, Error> {
        require_enabled(&self.settings)?;
        Ok(self.metadata())
    }
}

impl DiscoveryApi {
    fn metadata(&self) -> Response<Json<Metadata>> {
        let settings = &self.settings;
        let base = settings.issuer().trim_end_matches('/');
        let below = |path: &str| format!("{base}{path}");
        let server = &settings.oauth_server;
        let registers = server.enabled && server.allow_dynamic_registration;
        let metadata = Metadata {
            issuer: settings.issuer().to_owned(),
            authorization_endpoint: below("/oauth/authorize"),
            token_endpoint: below("/oauth/token"),
            jwks_uri: below("/.well-known/jwks.json"),
            userinfo_endpoint: below("/oauth/userinfo"),
            registration_endpoint: registers.then(|| below("/oauth/clients/register")),
            scopes_supported: texts(&scopes::SUPPORTED),
            response_types_supported: texts(&["code"]),
            response_modes_supported: texts(&["query"]),
            grant_types_supported: texts(&["authorization_code", "refresh_token"]),
            subject_types_supported: texts(&["public"]),
            id_token_signing_alg_values_supported: texts(&["RS256", "HS256", "ES256"]),
            token_endpoint_auth_methods_supported: texts(&[
                "client_secret_basic",
                "client_secret_post",
                "none",
            ]),
            claims_supported: texts(&CLAIMS),
            code_challenge_methods_supported: texts(&["S256", "plain"]),
        };
        Response::new(Json(metadata)).header(CACHE_CONTROL, "public, max-age=600")
    }
}

fn texts(names: &[&str]) -> Vec<String> {
    names.iter().map(|&name| name.to_owned()).collect()
}

//! Health, public settings and public keys.

use std::sync::Arc;

use http::header::CACHE_CONTROL;
use poem_openapi::payload::{Json, Response};
use poem_openapi::{Object, OpenApi};
use serde_json::{Map, Value};
use tokens::Keys;

use crate::Settings;
use crate::SmsProvider;

/// The providers in `/settings`, in upstream's order.
const PROVIDERS: [&str; 26] = [
    "anonymous_users",
    "apple",
    "azure",
    "bitbucket",
    "discord",
    "facebook",
    "snapchat",
    "figma",
    "fly",
    "github",
    "gitlab",
    "google",
    "keycloak",
    "kakao",
    "linkedin",
    "linkedin_oidc",
    "notion",
    "spotify",
    "slack",
    "slack_oidc",
    "workos",
    "twitch",
    "twitter",
    "email",
    "phone",
    "zoom",
];

pub(super) struct PublicApi {
    pub(super) settings: Arc<Settings>,
    pub(super) keys: Keys,
}

/// The service and its version.
#[derive(Object)]
struct Health {
    /// The release of Supabase Auth whose interface this is.
    version: String,
    /// Always `GoTrue`: the name of the interface, which clients know.
    name: String,
    description: String,
}

/// The enabled ways of signing in.
#[derive(Object)]
struct PublicSettings {
    /// Whether each provider is enabled, by name.
    external: Value,
    disable_signup: bool,
    mailer_autoconfirm: bool,
    phone_autoconfirm: bool,
    sms_provider: String,
    saml_enabled: bool,
    saml_private_key_next_configured: bool,
    passkeys_enabled: bool,
}

/// The release of Supabase Auth whose interface this is: tools read it to know what they may ask for.
const EQUALS: &str = "v2.198.0";

/// Paths that need no API key: the keys for verifying signatures are public.
pub(super) const KEYLESS: &[&str] = &["/.well-known/jwks.json"];

#[OpenApi]
impl PublicApi {
    /// Returns the name and the version of the service, which shows that it runs.
    #[oai(path = "/health", method = "get")]
    async fn health(&self) -> Response<Json<Health>> {
        let health = Json(Health {
            version: EQUALS.to_owned(),
            name: "GoTrue".to_owned(),
            description: "GoTrue is a user registration and authentication API".to_owned(),
        });
        Response::new(health).header("x-basalt-version", env!("CARGO_PKG_VERSION"))
    }

    /// Returns which ways of signing in are enabled.
    #[oai(path = "/settings", method = "get")]
    async fn settings(&self) -> Json<PublicSettings> {
        let settings = &self.settings;
        let is_on = |provider: &str| match provider {
            "anonymous_users" => settings.providers.anonymous_users,
            "email" => settings.providers.email,
            "phone" => settings.providers.phone,
            other => settings.providers.oauth.contains_key(other),
        };
        let external: Map<String, Value> =
            PROVIDERS.iter().map(|provider| ((*provider).to_owned(), is_on(provider).into())).collect();
        Json(PublicSettings {
            external: external.into(),
            disable_signup: settings.disable_signup,
            mailer_autoconfirm: settings.mail.autoconfirm,
            phone_autoconfirm: settings.sms.autoconfirm,
            sms_provider: settings
                .sms
                .provider
                .as_ref()
                .map(SmsProvider::name)
                .unwrap_or_default()
                .to_owned(),
            saml_enabled: settings.saml.enabled,
            saml_private_key_next_configured: !settings.saml.private_key_next.is_empty(),
            passkeys_enabled: settings.passkeys.enabled,
        })
    }

    /// Returns the public keys that verify access tokens (RFC 7517).
    #[oai(path = "/.well-known/jwks.json", method = "get")]
    async fn jwks(&self) -> Response<Json<Value>> {
        Response::new(Json(self.keys.jwks().clone())).header(CACHE_CONTROL, "public, max-age=600")
    }
}

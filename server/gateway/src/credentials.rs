//! API keys and the exchange of credentials, as Supabase's gateway does it.

use http::header::{AUTHORIZATION, USER_AGENT};
use http::{HeaderName, StatusCode, Uri};
use percent_encoding::percent_decode_str;
use poem::{Request, Response};
use tokens::{ApiKeyKind, ApiKeys, Keys, Verifier};

use crate::{Bearer, BearerSource};

const API_KEY: HeaderName = HeaderName::from_static("apikey");

/// Knows all keys that open the project.
pub(crate) struct Credentials {
    keys: Keys,
    verifier: Verifier,
    anon: Option<Bearer>,
    service_role: Option<Bearer>,
}

/// The API key of a request.
pub(crate) enum PresentedKey {
    Nothing,
    Unknown,
    Known(ApiKeyKind),
    /// The secret key, from a browser, where whoever looks at the page can read it.
    Exposed,
}

impl Credentials {
    pub(crate) fn new(keys: Keys) -> Self {
        let token = |kind| keys.api_keys().token_for(kind).and_then(Bearer::from_token);
        let (anon, service_role) = (token(ApiKeyKind::Anon), token(ApiKeyKind::ServiceRole));
        Self { verifier: keys.verifier(), anon, service_role, keys }
    }

    /// Returns the API key of `request` (header `apikey`, else query parameter `apikey`), the token for the service,
    /// and where that comes from.
    pub(crate) fn of(&self, request: &Request) -> (PresentedKey, Option<Bearer>, BearerSource) {
        let key = api_key(request);
        let presented = match &key {
            _ if is_browser(request) && self.shows_secret(request, key.as_ref()) => PresentedKey::Exposed,
            None => PresentedKey::Nothing,
            Some(key) => self.recognise(key).map_or(PresentedKey::Unknown, PresentedKey::Known),
        };
        let credential = match request.headers().contains_key(AUTHORIZATION) {
            false => key,
            // An opaque key in `Authorization` is no token: the API key speaks, or else that key itself.
            true => match Bearer::of(request.headers()) {
                Some(opaque) if ApiKeys::is_opaque(&opaque) => Some(key.unwrap_or(opaque)),
                token => return (presented, token, BearerSource::Authorization),
            },
        };
        match credential {
            Some(opaque) if ApiKeys::is_opaque(&opaque) => {
                (presented, self.exchange(&opaque), BearerSource::OpaqueKey)
            }
            legacy => (presented, legacy, BearerSource::LegacyKey),
        }
    }

    /// Reports whether the API key or `Authorization` is the secret key.
    fn shows_secret(&self, request: &Request, key: Option<&Bearer>) -> bool {
        let is_secret = |key: &Bearer| {
            ApiKeys::is_opaque(key) && self.keys.api_keys().identify(key) == Some(ApiKeyKind::Secret)
        };
        key.is_some_and(is_secret) || Bearer::of(request.headers()).as_ref().is_some_and(is_secret)
    }

    fn recognise(&self, key: &str) -> Option<ApiKeyKind> {
        let api_keys = self.keys.api_keys();
        api_keys.identify(key).or_else(|| {
            let verified = if ApiKeys::is_opaque(key) { None } else { self.verifier.verify(key).ok() };
            verified?.role().map(|_| ApiKeyKind::Token)
        })
    }

    /// Returns the token of the same role that a service sees in place of an opaque key.
    fn exchange(&self, key: &str) -> Option<Bearer> {
        match self.keys.api_keys().identify(key)? {
            ApiKeyKind::Anon | ApiKeyKind::Publishable => self.anon.clone(),
            ApiKeyKind::ServiceRole | ApiKeyKind::Secret => self.service_role.clone(),
            ApiKeyKind::Token => None,
        }
    }
}

/// Reports whether a browser says that it sends `request`: all of them, and next to no other program, begin so.
/// Supabase's gateway tells by the same header (its guide "API keys").
fn is_browser(request: &Request) -> bool {
    request.headers().get(USER_AGENT).is_some_and(|agent| agent.as_bytes().starts_with(b"Mozilla/"))
}

/// Returns the answer of Supabase's gateway to a request with a key that it does not let in; where one is needed
/// (`needs_key`), also to a request without an API key, or with one that it does not know.
pub(crate) fn refusal(presented: &PresentedKey, needs_key: bool) -> Option<Response> {
    let (message, hint) = match presented {
        PresentedKey::Known(_) => return None,
        PresentedKey::Exposed => (
            "Forbidden use of secret API key in browser",
            "Secret API keys can only be used in a protected environment and should never be used in a browser. \
             Delete this secret API key immediately!",
        ),
        _ if !needs_key => return None,
        PresentedKey::Nothing => {
            ("No API key found in request", "No `apikey` request header or url param was found.")
        }
        PresentedKey::Unknown => {
            ("Invalid API key", "Double check your Supabase `anon` or `service_role` API key.")
        }
    };
    let body = serde_json::json!({ "message": message, "hint": hint }).to_string();
    Some(Response::builder().status(StatusCode::UNAUTHORIZED).content_type("application/json").body(body))
}

/// Returns the API key of `request`, whatever it is worth.
pub(crate) fn api_key(request: &Request) -> Option<Bearer> {
    if let Some(header) = request.headers().get(&API_KEY) {
        return Bearer::new(header, 0);
    }
    let parameters = request.uri().query()?.split('&');
    let value = parameters.filter_map(|parameter| parameter.strip_prefix("apikey=")).next()?;
    Bearer::from_token(&percent_decode_str(value).decode_utf8_lossy())
}

/// Takes the API key out of the query of `request`: it was meant for the gateway, and a service would read a filter
/// into it and repeat it in an error.
pub(crate) fn hide_key(request: &mut Request) {
    let is_key = |parameter: &&str| parameter.starts_with("apikey=");
    let Some(query) = request.uri().query() else { return };
    if request.headers().contains_key(&API_KEY) || !query.split('&').any(|parameter| is_key(&parameter)) {
        return;
    }
    let kept: Vec<&str> = query.split('&').filter(|parameter| !is_key(parameter)).collect();
    let path = request.uri().path();
    let target = if kept.is_empty() { path.to_owned() } else { format!("{path}?{}", kept.join("&")) };
    let mut parts = request.uri().clone().into_parts();
    parts.path_and_query = target.parse().ok();
    // Parts of an address that was valid, less a parameter, make a valid one.
    if let Ok(uri) = Uri::from_parts(parts) {
        *request.uri_mut() = uri;
    }
}

//! API keys and the exchange of credentials, as Supabase's gateway does it.

use http::header::{AUTHORIZATION, USER_AGENT};
use http::{HeaderName, StatusCode, Uri};
use percent_encoding::percent_decode_str;
use poem::{Request, Response};
use serde_json::json;
use tokens::{ApiKeyKind, ApiKeys, Keys, Verifier};

use crate::{Bearer, BearerSource, response};

const API_KEY: HeaderName = HeaderName::from_static("apikey");

/// Which requests to a service need an API key.
#[derive(Default)]
pub(crate) struct RequiredKey {
    /// The paths that need none; `None` if no path does.
    keyless: Option<Vec<&'static str>>,
    /// The path that only secret keys may call.
    secret: Option<&'static str>,
}

/// What the API key and the token of a request that may pass are.
pub(super) struct Checked {
    pub(super) kind: Option<ApiKeyKind>,
    pub(super) bearer: Option<Bearer>,
    pub(super) bearer_source: BearerSource,
}

impl RequiredKey {
    /// Returns the rule that all paths but `keyless` need a key. One that ends in `/*` stands for all paths below it.
    pub(crate) fn except(keyless: impl IntoIterator<Item = &'static str>) -> Self {
        Self { keyless: Some(keyless.into_iter().collect()), secret: None }
    }

    /// Makes `path` need a secret key.
    pub(super) const fn keep_secret(&mut self, path: &'static str) {
        self.secret = Some(path);
    }

    /// Checks the API key of `request`, and removes it from the query string. Without `credentials`, nothing is checked
    /// or changed.
    ///
    /// Errors: the refusal.
    pub(super) fn check(
        &self,
        request: &mut Request,
        credentials: Option<&Credentials>,
    ) -> Result<Checked, Box<Response>> {
        let (check, bearer, bearer_source) = match credentials {
            Some(credentials) => credentials.of(request),
            None => (KeyCheck::Missing, Bearer::of(request.headers()), BearerSource::Authorization),
        };
        if let Some(refusal) = refusal(&check, self.is_needed(request.uri().path())) {
            return Err(Box::new(refusal));
        }
        if let Some(credentials) = credentials {
            if self.secret == Some(request.uri().path())
                && let Some(refusal) = credentials.refusal_of_public_key(request, &check)
            {
                return Err(Box::new(refusal));
            }
            hide_key(request);
        }
        let kind = match check {
            KeyCheck::Valid(kind) => Some(kind),
            KeyCheck::Missing | KeyCheck::Unknown | KeyCheck::InBrowser => None,
        };
        Ok(Checked { kind, bearer, bearer_source })
    }

    fn is_needed(&self, path: &str) -> bool {
        let is_covered = |keyless: &&str| match keyless.strip_suffix('*') {
            Some(folder) => path.starts_with(folder),
            None => path == *keyless,
        };
        self.keyless.as_ref().is_some_and(|keyless| !keyless.iter().any(is_covered))
    }
}

/// All keys that give access to the project.
pub(crate) struct Credentials {
    keys: Keys,
    verifier: Verifier,
    anon: Option<Bearer>,
    service_role: Option<Bearer>,
}

/// The outcome of the check of a request's API key.
enum KeyCheck {
    Missing,
    Unknown,
    Valid(ApiKeyKind),
    /// The secret key in a browser, where every visitor of the page can read it.
    InBrowser,
}

impl Credentials {
    pub(crate) fn new(keys: Keys) -> Self {
        let token = |kind| keys.api_keys().token_for(kind).and_then(Bearer::from_token);
        let (anon, service_role) = (token(ApiKeyKind::Anon), token(ApiKeyKind::ServiceRole));
        Self { verifier: keys.verifier(), anon, service_role, keys }
    }

    /// Checks the API key of `request`. Returns the outcome, the token for the service, and the source of the token.
    fn of(&self, request: &Request) -> (KeyCheck, Option<Bearer>, BearerSource) {
        let key = api_key(request);
        let check = match &key {
            _ if is_browser(request) && self.shows_secret(request, key.as_ref()) => KeyCheck::InBrowser,
            None => KeyCheck::Missing,
            Some(key) => self.recognise(key).map_or(KeyCheck::Unknown, KeyCheck::Valid),
        };
        let credential = match request.headers().contains_key(AUTHORIZATION) {
            false => key,
            // An opaque key in `Authorization` is not a token: the API key counts, or else that opaque key.
            true => match Bearer::of(request.headers()) {
                Some(opaque) if ApiKeys::is_opaque(&opaque) => Some(key.unwrap_or(opaque)),
                token => return (check, token, BearerSource::Authorization),
            },
        };
        match credential {
            Some(opaque) if ApiKeys::is_opaque(&opaque) => {
                (check, self.exchange(&opaque), BearerSource::OpaqueKey)
            }
            legacy => (check, legacy, BearerSource::LegacyKey),
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

    /// Returns the refusal of a request whose API key, checked as `check`, is not a secret one; `None` if it is.
    ///
    /// The messages are those of hosted Supabase for the root of its REST interface.
    fn refusal_of_public_key(&self, request: &Request, check: &KeyCheck) -> Option<Response> {
        let (message, hint) = match check {
            KeyCheck::Valid(ApiKeyKind::ServiceRole | ApiKeyKind::Secret) => return None,
            KeyCheck::Valid(ApiKeyKind::Token) if self.is_token_of_service(request) => return None,
            KeyCheck::Valid(ApiKeyKind::Publishable) => {
                ("Secret API key required", "Only secret API keys can be used for this endpoint.")
            }
            _ => ("Invalid API key", "Only the `service_role` API key can be used for this endpoint."),
        };
        Some(unauthorized(message, hint))
    }

    /// Reports whether the API key is a token with the role of the service key, such as one that another program has
    /// signed.
    fn is_token_of_service(&self, request: &Request) -> bool {
        let token = api_key(request).and_then(|key| self.verifier.verify(&key).ok());
        token.is_some_and(|token| token.role() == Some("service_role"))
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

/// Reports whether `request` comes from a browser, according to `User-Agent`: it begins with `Mozilla/` for browsers
/// and for hardly any other program. Supabase's gateway uses the same header (its guide "API keys").
fn is_browser(request: &Request) -> bool {
    request.headers().get(USER_AGENT).is_some_and(|agent| agent.as_bytes().starts_with(b"Mozilla/"))
}

/// Returns the refusal of a request by `check`, with the messages of Supabase's gateway; `None` if the request may
/// pass. Without `needs_key`, a request with a missing or an unknown key may pass, too.
fn refusal(check: &KeyCheck, needs_key: bool) -> Option<Response> {
    let (message, hint) = match check {
        KeyCheck::Valid(_) => return None,
        KeyCheck::InBrowser => (
            "Forbidden use of secret API key in browser",
            "Secret API keys can only be used in a protected environment and should never be used in a browser. \
             Delete this secret API key immediately!",
        ),
        _ if !needs_key => return None,
        KeyCheck::Missing => {
            ("No API key found in request", "No `apikey` request header or url param was found.")
        }
        KeyCheck::Unknown => {
            ("Invalid API key", "Double check your Supabase `anon` or `service_role` API key.")
        }
    };
    Some(unauthorized(message, hint))
}

fn unauthorized(message: &str, hint: &str) -> Response {
    response::json(StatusCode::UNAUTHORIZED, &json!({ "message": message, "hint": hint }))
}

/// Returns the API key of `request`, not yet checked: header `apikey`, else query parameter `apikey`.
pub(crate) fn api_key(request: &Request) -> Option<Bearer> {
    if let Some(header) = request.headers().get(&API_KEY) {
        return Bearer::new(header, 0);
    }
    let parameters = request.uri().query()?.split('&');
    let value = parameters.filter_map(|parameter| parameter.strip_prefix("apikey=")).next()?;
    Bearer::from_token(&percent_decode_str(value).decode_utf8_lossy())
}

/// Removes the API key from the query of `request`: it is only for the gateway. A service would treat it as a filter
/// and repeat it in an error.
fn hide_key(request: &mut Request) {
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
    // Cannot fail: a valid URI without one of its parameters is still valid.
    if let Ok(uri) = Uri::from_parts(parts) {
        *request.uri_mut() = uri;
    }
}

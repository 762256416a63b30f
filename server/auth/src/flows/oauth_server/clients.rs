//! The register of clients: what is checked before one is stored or changed (RFC 7591, section 2).

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use poem_openapi::Object;
use postgres::Database;
use rand::RngExt;
use serde::Deserialize;
use sha2::{Digest, Sha256};
use url::{Host, Url};
use uuid::Uuid;

use crate::store::oauth_clients::{
    self as store, AuthMethod, Changes, ClientType, NewOauthClient, OauthClient,
};
use crate::{Code, Error, Settings};

/// The grants that clients may use (RFC 6749, sections 4.1 and 6).
pub(crate) const AUTHORIZATION_CODE: &str = "authorization_code";
pub(crate) const REFRESH_TOKEN: &str = "refresh_token";

/// Most redirect URIs of a client.
const MOST_REDIRECTS: usize = 10;
/// Longest URI in bytes, and longest name.
const LONGEST_URI: usize = 2048;
const LONGEST_NAME: usize = 1024;
/// Random bytes in a secret.
const SECRET_LENGTH: usize = 32;

/// Who registers a client.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Registrar {
    /// An administrator.
    Manual,
    /// The client itself.
    Dynamic,
}

/// The metadata of a client; empty texts and lists count as absent.
#[derive(Debug, Default)]
pub(crate) struct Registration {
    pub(crate) redirect_uris: Vec<String>,
    pub(crate) client_type: String,
    pub(crate) token_endpoint_auth_method: String,
    pub(crate) grant_types: Vec<String>,
    pub(crate) client_name: String,
    pub(crate) client_uri: String,
    pub(crate) logo_uri: String,
}

/// Changes of a client; missing fields are not changed.
#[derive(Debug, Object, Deserialize)]
pub(crate) struct ClientChanges {
    redirect_uris: Option<Vec<String>>,
    grant_types: Option<Vec<String>>,
    /// An empty text removes it; likewise below.
    client_name: Option<String>,
    client_uri: Option<String>,
    logo_uri: Option<String>,
    /// Must be allowed for the client's type.
    token_endpoint_auth_method: Option<String>,
}

/// A client together with its secret, which is shown only once; `None` for public clients.
pub(crate) struct RegisteredClient {
    pub(crate) client: OauthClient,
    pub(crate) secret: Option<String>,
}

/// Checks that clients may register themselves.
///
/// Errors: `oauth_dynamic_client_registration_disabled`.
pub(crate) fn require_dynamic(settings: &Settings) -> Result<(), Error> {
    if settings.oauth_server.allow_dynamic_registration {
        return Ok(());
    }
    let message = "Dynamic client registration is not enabled";
    Err(Code::OauthDynamicClientRegistrationDisabled.because(message))
}

/// Stores a new client.
///
/// Errors: `validation_failed`.
pub(crate) async fn register(
    database: &Database,
    registrar: Registrar,
    registration: Registration,
) -> Result<RegisteredClient, Error> {
    check_redirect_uris(&registration.redirect_uris)?;
    if !registration.grant_types.is_empty() {
        check_grant_types(&registration.grant_types)?;
    }
    check_name(&registration.client_name)?;
    check_page("client_uri", &registration.client_uri)?;
    check_page("logo_uri", &registration.logo_uri)?;
    let (client_type, method) = kind(&registration.client_type, &registration.token_endpoint_auth_method)?;
    let secret = (client_type == ClientType::Confidential).then(generate_secret);
    let grant_types = match registration.grant_types.as_slice() {
        [] => [AUTHORIZATION_CODE, REFRESH_TOKEN].join(","),
        named => named.join(","),
    };
    let client = NewOauthClient {
        id: Uuid::new_v4(),
        client_secret_hash: secret.as_deref().map(hash).unwrap_or_default(),
        registration_type: match registrar {
            Registrar::Manual => "manual",
            Registrar::Dynamic => "dynamic",
        },
        client_type,
        token_endpoint_auth_method: method,
        redirect_uris: registration.redirect_uris.join(","),
        grant_types,
        client_name: unless_empty(registration.client_name),
        client_uri: unless_empty(registration.client_uri),
        logo_uri: unless_empty(registration.logo_uri),
    };
    Ok(RegisteredClient { client: store::create(database, &client).await?, secret })
}

/// Returns the client with this id.
///
/// Errors: `validation_failed` for text that is not a UUID, `oauth_client_not_found`.
pub(crate) async fn find(database: &Database, id: &str) -> Result<OauthClient, Error> {
    let id = Uuid::parse_str(id).map_err(|_| Error::validation("invalid client_id format"))?;
    store::find(database, id).await?.ok_or_else(not_found)
}

/// Changes `client`.
///
/// Errors: `validation_failed`, `oauth_client_not_found`.
pub(crate) async fn update(
    database: &Database,
    client: &OauthClient,
    changes: ClientChanges,
) -> Result<OauthClient, Error> {
    let changes = check(client.client_type, changes)?;
    store::update(database, client.id, &changes).await?.ok_or_else(not_found)
}

/// Gives `client` a new secret. The old one becomes invalid.
///
/// Errors: `validation_failed` for public clients, `oauth_client_not_found`.
pub(crate) async fn regenerate_secret(
    database: &Database,
    client: &OauthClient,
) -> Result<RegisteredClient, Error> {
    if client.client_type == ClientType::Public {
        return Err(Error::validation("Cannot regenerate secret for public client"));
    }
    let secret = generate_secret();
    let changes = Changes { client_secret_hash: Some(hash(&secret)), ..Changes::default() };
    let client = store::update(database, client.id, &changes).await?.ok_or_else(not_found)?;
    Ok(RegisteredClient { client, secret: Some(secret) })
}

/// Returns the form in which secrets are stored. Secrets are random, so a fast hash is sufficient.
pub(super) fn hash(secret: &str) -> String {
    URL_SAFE_NO_PAD.encode(Sha256::digest(secret.as_bytes()))
}

fn generate_secret() -> String {
    URL_SAFE_NO_PAD.encode(rand::rng().random::<[u8; SECRET_LENGTH]>())
}

fn not_found() -> Error {
    Code::OauthClientNotFound.because("OAuth client not found")
}

fn unless_empty(text: String) -> Option<String> {
    Some(text).filter(|text| !text.is_empty())
}

fn check(client_type: ClientType, changes: ClientChanges) -> Result<Changes, Error> {
    let ClientChanges { redirect_uris, grant_types, client_name, client_uri, logo_uri, .. } = changes;
    let method = changes.token_endpoint_auth_method;
    let is_empty = redirect_uris.is_none()
        && grant_types.is_none()
        && client_name.is_none()
        && client_uri.is_none()
        && logo_uri.is_none()
        && method.is_none();
    if is_empty {
        return Err(Error::validation("No fields provided for update"));
    }
    redirect_uris.as_deref().map(check_redirect_uris).transpose()?;
    grant_types.as_deref().map(check_grant_types).transpose()?;
    client_name.as_deref().map(check_name).transpose()?;
    client_uri.as_deref().map(|uri| check_page("client_uri", uri)).transpose()?;
    logo_uri.as_deref().map(|uri| check_page("logo_uri", uri)).transpose()?;
    let method = method.as_deref().map(auth_method).transpose()?;
    if let Some(method) = method.filter(|method| method.client_type() != client_type) {
        return Err(Error::validation(format!(
            "token_endpoint_auth_method '{}' is not valid for client_type '{}'",
            method.name(),
            client_type.name(),
        )));
    }
    Ok(Changes {
        client_secret_hash: None,
        token_endpoint_auth_method: method,
        redirect_uris: redirect_uris.map(|uris| uris.join(",")),
        grant_types: grant_types.map(|types| types.join(",")),
        client_name: client_name.map(unless_empty),
        client_uri: client_uri.map(unless_empty),
        logo_uri: logo_uri.map(unless_empty),
    })
}

/// Returns the type of a client and how it proves who it is. What is missing follows from the other; without both a
/// client is confidential and sends its secret in a header (RFC 7591, section 2).
///
/// Errors: `validation_failed` for unknown names, and for two that contradict each other.
fn kind(client_type: &str, method: &str) -> Result<(ClientType, AuthMethod), Error> {
    let named_type = match client_type {
        "" => None,
        name => Some(
            ClientType::of_name(name)
                .ok_or_else(|| Error::validation("client_type must be 'public' or 'confidential'"))?,
        ),
    };
    let named_method = if method.is_empty() { None } else { Some(auth_method(method)?) };
    match (named_type, named_method) {
        (Some(client_type), Some(method)) if method.client_type() != client_type => {
            Err(Error::validation(format!(
                "client_type '{}' is inconsistent with token_endpoint_auth_method '{}' (expected client_type '{}')",
                client_type.name(),
                method.name(),
                method.client_type().name(),
            )))
        }
        (_, Some(method)) => Ok((method.client_type(), method)),
        (Some(ClientType::Public), None) => Ok((ClientType::Public, AuthMethod::None)),
        (_, None) => Ok((ClientType::Confidential, AuthMethod::ClientSecretBasic)),
    }
}

fn auth_method(name: &str) -> Result<AuthMethod, Error> {
    AuthMethod::of_name(name).ok_or_else(|| {
        Error::validation(
            "token_endpoint_auth_method must be one of: none, client_secret_basic, client_secret_post",
        )
    })
}

fn check_grant_types(types: &[String]) -> Result<(), Error> {
    if types.is_empty() {
        return Err(Error::validation("grant_types cannot be empty"));
    }
    if types.iter().all(|name| name == AUTHORIZATION_CODE || name == REFRESH_TOKEN) {
        return Ok(());
    }
    Err(Error::validation("grant_types must only contain 'authorization_code' and/or 'refresh_token'"))
}

fn check_name(name: &str) -> Result<(), Error> {
    if name.len() > LONGEST_NAME {
        return Err(Error::validation(format!("client_name cannot exceed {LONGEST_NAME} characters")));
    }
    if name.contains(char::is_control) {
        return Err(Error::validation("client_name must not contain control characters"));
    }
    Ok(())
}

/// Checks that `uri` is the address of a web page: consent pages link to it.
fn check_page(field: &str, uri: &str) -> Result<(), Error> {
    if uri.is_empty() {
        return Ok(());
    }
    if uri.len() > LONGEST_URI {
        return Err(Error::validation(format!("{field} cannot exceed {LONGEST_URI} characters")));
    }
    let is_page = |url: Url| matches!(url.scheme(), "http" | "https") && url.has_host();
    if !uri.contains(is_repaired) && Url::parse(uri).is_ok_and(is_page) {
        return Ok(());
    }
    Err(Error::validation(format!("{field} must be a valid URL")))
}

fn check_redirect_uris(uris: &[String]) -> Result<(), Error> {
    if uris.is_empty() {
        return Err(Error::validation("redirect_uris cannot be empty"));
    }
    if uris.len() > MOST_REDIRECTS {
        return Err(Error::validation(format!("redirect_uris cannot exceed {MOST_REDIRECTS} items")));
    }
    for uri in uris {
        check_redirect_uri(uri).map_err(|reason| {
            Error::validation(format!("invalid redirect_uri '{}': {reason}", uri.escape_default()))
        })?;
    }
    Ok(())
}

/// Returns whether browsers silently repair text with this character, so that they see another address than the one
/// that was checked.
fn is_repaired(character: char) -> bool {
    character.is_control() || character.is_whitespace() || matches!(character, '\\' | '<' | '>' | '"')
}

/// Checks that `uri` is a web page with TLS, on this machine, or of an app's scheme (RFC 6749, section 3.1.2, and RFC
/// 8252, section 7).
///
/// URIs are compared character by character, so that a `*` stands for itself; whoever registers one expects a pattern.
/// A user or password in a URI hides which host it leads to. Without two slashes a browser reads it as relative to the
/// page that it comes from. Upstream allows the first two.
fn check_redirect_uri(uri: &str) -> Result<(), &'static str> {
    if uri.is_empty() {
        return Err("redirect URI cannot be empty");
    }
    if uri.len() > LONGEST_URI {
        return Err("redirect URI cannot exceed 2048 characters");
    }
    // The table keeps all of a client's in one text, separated by commas.
    if uri.contains(',') {
        return Err("redirect URI must not contain a comma; write %2C");
    }
    if uri.contains('*') {
        return Err("redirect URI must not contain a wildcard");
    }
    if uri.contains(is_repaired) {
        return Err("invalid URL format");
    }
    let url = Url::parse(uri).map_err(|_| "must have scheme and host")?;
    let (scheme, rest) = uri.split_once("://").ok_or("must have scheme and host")?;
    let authority = rest.split(['/', '?', '#']).next().unwrap_or_default();
    if !scheme.eq_ignore_ascii_case(url.scheme()) || authority.is_empty() {
        return Err("must have scheme and host");
    }
    if authority.contains('@') {
        return Err("redirect URI must not contain a user or a password");
    }
    if matches!(url.scheme(), "javascript" | "data" | "file" | "vbscript" | "about" | "blob") {
        return Err("scheme is not allowed for security reasons");
    }
    if url.host_str().is_none_or(str::is_empty) {
        return Err("must have scheme and host");
    }
    if url.scheme() == "http" && !is_this_machine(&url) {
        return Err("HTTP scheme only allowed for localhost");
    }
    if url.fragment().is_some() {
        return Err("fragment not allowed in redirect URI");
    }
    Ok(())
}

fn is_this_machine(url: &Url) -> bool {
    match url.host() {
        Some(Host::Domain(name)) => name == "localhost",
        Some(Host::Ipv4(address)) => address == std::net::Ipv4Addr::LOCALHOST,
        Some(Host::Ipv6(address)) => address == std::net::Ipv6Addr::LOCALHOST,
        None => false,
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn redirects_lead_to_web_pages_this_machine_and_apps() {
        let good = [
            "https://app.example.com/callback?a=b",
            "http://localhost:3000/cb",
            "http://127.0.0.1/cb",
            "http://[::1]:8080/cb",
            "https://example.com/@user?to=a@b://c",
            "HTTPS://example.com/",
            "myapp://callback",
            "com.example.app://oauth",
        ];
        for uri in good {
            assert_eq!(check_redirect_uri(uri), Ok(()), "{uri}");
        }
        let bad = [
            "",
            "callback",
            "/callback",
            "https://",
            "myapp:/callback",
            "http://example.com/",
            "http://localhost.example.com/",
            "https://example.com/#frag",
            "https://example.com/#",
            "https://example.com/,https://evil.com/",
            "javascript://example.com/%0aalert(1)",
            "JavaScript:alert(1)",
            "data:text/html,x",
            "file:///etc/passwd",
            "https://example.com\\@evil.com/",
            "https://example.com/\r\nSet-Cookie: a=b",
            " https://example.com/",
            "https://*.example.com/",
            "https://example.com/*",
            "myapp://*",
            "http://localhost:*/",
            "https://user:secret@example.com/",
            "https://example.com@evil.com/",
            "https://@example.com/",
            "http://localhost@evil.com/",
            "http://user@localhost/",
            "myapp://user@callback",
            "https:example.com/",
            "https:/example.com/",
            "https:///example.com/",
            "https:example.com/?to=https://example.com/",
        ];
        for uri in bad {
            assert!(check_redirect_uri(uri).is_err(), "{uri}");
        }
        assert!(check_redirect_uri(&format!("https://example.com/{}", "x".repeat(2048))).is_err());
    }

    #[test]
    fn type_and_method_follow_from_each_other() {
        let (public, confidential) = (ClientType::Public, ClientType::Confidential);
        let cases = [
            ("", "", confidential, AuthMethod::ClientSecretBasic),
            ("public", "", public, AuthMethod::None),
            ("", "none", public, AuthMethod::None),
            ("", "client_secret_post", confidential, AuthMethod::ClientSecretPost),
            ("confidential", "client_secret_basic", confidential, AuthMethod::ClientSecretBasic),
        ];
        for (client_type, method, expected_type, expected_method) in cases {
            assert_eq!(kind(client_type, method).unwrap(), (expected_type, expected_method));
        }
        for (client_type, method) in [
            ("public", "client_secret_basic"),
            ("confidential", "none"),
            ("secret", ""),
            ("", "private_key_jwt"),
        ] {
            assert!(kind(client_type, method).is_err(), "{client_type} {method}");
        }
    }

    #[test]
    fn pages_are_web_pages() {
        for uri in ["", "https://example.com", "http://example.com/logo.png"] {
            assert!(check_page("client_uri", uri).is_ok(), "{uri}");
        }
        for uri in ["javascript:alert(1)", "data:image/png,x", "/logo.png", "https://", "x y"] {
            assert!(check_page("client_uri", uri).is_err(), "{uri}");
        }
    }

    proptest! {
        #[test]
        fn what_is_registered_comes_back_from_the_list_as_it_went(uris in prop::collection::vec("\\PC{0,30}|https://a[a-z,/?%#]{0,20}", 1..4)) {
            if check_redirect_uris(&uris).is_ok() {
                let stored = uris.join(",");
                prop_assert_eq!(stored.split(',').collect::<Vec<_>>(), uris);
            }
        }
    }
}

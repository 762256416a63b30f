//! Providers that administrators define: what is checked before one is stored.

use std::collections::BTreeMap;

use poem_openapi::Object;
use postgres::Database;
use serde::Deserialize;
use serde_json::{Map, Value};
use uuid::Uuid;

use crate::providers::{CustomProvider, Discovery, ProviderError, ProviderType, Providers, with_openid};
use crate::store::custom_providers as store;
use crate::{Code, EncryptionSettings, Error, Secret, Settings};

/// Parameters that only this service sets (RFC 6749 and RFC 7636); neither clients nor administrators may set them.
pub(crate) const RESERVED: [&str; 9] = [
    "client_id",
    "client_secret",
    "redirect_uri",
    "response_type",
    "state",
    "code_challenge",
    "code_challenge_method",
    "code_verifier",
    "nonce",
];

/// Claims that a mapping must not set for a provider.
const PROTECTED: [&str; 13] = [
    "id",
    "aud",
    "role",
    "app_metadata",
    "created_at",
    "updated_at",
    "confirmed_at",
    "email_confirmed_at",
    "phone_confirmed_at",
    "email_verified",
    "phone_verified",
    "banned_until",
    "is_super_admin",
];

/// Longest address in characters.
const LONGEST_URL: usize = 2048;

/// The definition of a provider.
#[derive(Debug, Default, Object, Deserialize)]
#[oai(rename = "ProviderFields")]
pub(crate) struct Definition {
    /// `oauth2` or `oidc`.
    provider_type: Option<String>,
    /// The provider's name for clients and in identities: `custom:…`.
    identifier: Option<String>,
    /// The provider's name for people.
    name: Option<String>,
    client_id: Option<String>,
    /// Never returned.
    client_secret: Option<String>,
    /// Further audiences of ID tokens.
    acceptable_client_ids: Option<Vec<String>>,
    scopes: Option<Vec<String>>,
    /// Whether a code challenge is sent (RFC 7636). Default: true.
    pkce_enabled: Option<bool>,
    /// Claims that are set to another claim's value, given by its name, or to a fixed value.
    attribute_mapping: Option<BTreeMap<String, Value>>,
    /// Additional claims that are stored in identities.
    custom_claims_allowlist: Option<Vec<String>>,
    /// Parameters that are always added to the authorization URL.
    authorization_params: Option<BTreeMap<String, Value>>,
    /// Default: true.
    enabled: Option<bool>,
    /// Whether users without an e-mail address are accepted. Default: false.
    email_optional: Option<bool>,
    /// oidc: the issuer, claim `iss` of ID tokens.
    issuer: Option<String>,
    /// oidc: the URL of the discovery document, if it is not below the issuer.
    discovery_url: Option<String>,
    /// oidc: accepts ID tokens without checking their nonce. Default: false.
    skip_nonce_check: Option<bool>,
    /// oauth2: the URL that users are redirected to.
    authorization_url: Option<String>,
    /// oauth2: the URL where codes are exchanged.
    token_url: Option<String>,
    /// oauth2: the URL that returns the user's data.
    userinfo_url: Option<String>,
    /// oauth2: the URL of the provider's keys.
    jwks_uri: Option<String>,
}

/// Returns the text of a field that may be missing: an empty one means the same.
fn text(field: &Option<String>) -> &str {
    field.as_deref().unwrap_or_default()
}

/// Checks that administrators may define providers.
///
/// Errors: `feature_disabled`.
pub(crate) fn require_enabled(settings: &Settings) -> Result<(), Error> {
    if settings.providers.custom_oauth {
        return Ok(());
    }
    Err(Code::FeatureDisabled.because("Custom OAuth providers are disabled"))
}

/// Checks that `identifier` begins as those of custom providers do.
///
/// Errors: `validation_failed`.
pub(crate) fn require_prefix(identifier: &str) -> Result<(), Error> {
    if identifier.starts_with("custom:") && !identifier.contains('\0') {
        return Ok(());
    }
    Err(Error::validation(format!("identifier must start with 'custom:' prefix, e.g. 'custom:{identifier}'")))
}

/// Returns the kind of provider that a filter names; `None` without one.
///
/// Errors: `validation_failed`.
pub(crate) fn filter(kind: Option<&str>) -> Result<Option<ProviderType>, Error> {
    let Some(kind) = kind.filter(|kind| !kind.is_empty()) else { return Ok(None) };
    let wrong = || Error::validation("type must be either 'oauth2' or 'oidc'");
    ProviderType::of_name(kind).map(Some).ok_or_else(wrong)
}

/// Returns the refusal `custom_provider_not_found`.
pub(crate) fn not_found() -> Error {
    Code::CustomProviderNotFound.because("Custom OAuth provider not found")
}

/// Checks the addresses of a new provider, for OpenID Connect also its discovery document, and stores it.
///
/// Errors: `validation_failed`, `over_custom_provider_quota`, `conflict` (400) for an identifier that is taken.
pub(crate) async fn create(
    database: &Database,
    settings: &Settings,
    providers: &Providers,
    definition: Definition,
) -> Result<Value, Error> {
    let kind = ProviderType::of_name(text(&definition.provider_type))
        .ok_or_else(|| Error::validation("provider_type must be either 'oauth2' or 'oidc'"))?;
    require_fields(&definition, kind)?;
    check_members(&definition)?;
    let most = settings.providers.custom_oauth_max;
    if most > 0 && store::count(database).await? >= most {
        let message = "Maximum number of custom OAuth/OIDC providers reached";
        return Err(Code::OverCustomProviderQuota.because(message));
    }
    check_urls(providers, &definition, kind).await?;
    if store::view(database, text(&definition.identifier)).await?.is_some() {
        return Err(already_exists());
    }
    let mut provider = blank(kind, text(&definition.identifier).to_owned());
    apply(&settings.encryption, &mut provider, definition)?;
    provider.cached_discovery = discover(providers, &provider).await?;
    store::create(database, &provider).await.map_err(|error| {
        match error.violates("custom_oauth_providers_identifier_key") {
            true => already_exists(),
            false => error,
        }
    })
}

fn already_exists() -> Error {
    let message = "A custom OAuth provider with this identifier already exists";
    Code::Conflict.at(http::StatusCode::BAD_REQUEST, message)
}

/// Changes the provider `identifier`.
///
/// Errors: `custom_provider_not_found`, `validation_failed`.
pub(crate) async fn update(
    database: &Database,
    settings: &Settings,
    providers: &Providers,
    identifier: &str,
    definition: Definition,
) -> Result<Value, Error> {
    check_members(&definition)?;
    let found = store::find(database, identifier).await?;
    let mut provider = found.ok_or_else(not_found)?;
    let before = provider.issuer_address(providers.custom_reach());
    check_urls(providers, &definition, provider.provider_type).await?;
    let moves = !text(&definition.issuer).is_empty() || !text(&definition.discovery_url).is_empty();
    apply(&settings.encryption, &mut provider, definition)?;
    if moves && provider.provider_type == ProviderType::Oidc {
        provider.cached_discovery = discover(providers, &provider).await?;
        let after = provider.issuer_address(providers.custom_reach());
        before.iter().chain(&after).for_each(|address| providers.issuers.forget(address));
    }
    store::update(database, &provider).await?.ok_or_else(not_found)
}

/// Removes the provider `identifier`.
///
/// Errors: `custom_provider_not_found`.
pub(crate) async fn delete(
    database: &Database,
    providers: &Providers,
    identifier: &str,
) -> Result<(), Error> {
    let found = store::find(database, identifier).await?.ok_or_else(not_found)?;
    if !store::delete(database, identifier).await? {
        return Err(not_found());
    }
    let address = found.issuer_address(providers.custom_reach());
    address.iter().for_each(|address| providers.issuers.forget(address));
    Ok(())
}

fn blank(provider_type: ProviderType, identifier: String) -> CustomProvider {
    CustomProvider {
        id: Uuid::new_v4(),
        provider_type,
        identifier,
        name: String::new(),
        client_id: String::new(),
        client_secret: Secret::default(),
        acceptable_client_ids: Vec::new(),
        scopes: Vec::new(),
        pkce_enabled: true,
        attribute_mapping: Map::new(),
        custom_claims_allowlist: Vec::new(),
        authorization_params: Map::new(),
        enabled: true,
        email_optional: false,
        issuer: None,
        discovery_url: None,
        skip_nonce_check: false,
        cached_discovery: None,
        authorization_url: None,
        token_url: None,
        userinfo_url: None,
        jwks_uri: None,
    }
}

fn apply(
    encryption: &EncryptionSettings,
    provider: &mut CustomProvider,
    definition: Definition,
) -> Result<(), Error> {
    let is_oidc = provider.provider_type == ProviderType::Oidc;
    let non_empty = |text: Option<String>| text.filter(|text| !text.is_empty());
    let url = |known: &mut Option<String>, new: Option<String>, counts: bool| {
        if let Some(new) = non_empty(new).filter(|_| counts) {
            *known = Some(new);
        }
    };
    set(&mut provider.name, non_empty(definition.name));
    set(&mut provider.client_id, non_empty(definition.client_id));
    if let Some(secret) = non_empty(definition.client_secret) {
        provider.client_secret = encryption.seal(provider.id, &secret)?.into();
    }
    set(&mut provider.acceptable_client_ids, definition.acceptable_client_ids);
    set(&mut provider.scopes, definition.scopes);
    if is_oidc {
        provider.scopes = with_openid(std::mem::take(&mut provider.scopes));
        set(&mut provider.skip_nonce_check, definition.skip_nonce_check);
    }
    set(&mut provider.pkce_enabled, definition.pkce_enabled);
    set(&mut provider.attribute_mapping, definition.attribute_mapping.map(Map::from_iter));
    set(&mut provider.custom_claims_allowlist, definition.custom_claims_allowlist);
    set(&mut provider.authorization_params, definition.authorization_params.map(Map::from_iter));
    set(&mut provider.enabled, definition.enabled);
    set(&mut provider.email_optional, definition.email_optional);
    url(&mut provider.issuer, definition.issuer, is_oidc);
    url(&mut provider.discovery_url, definition.discovery_url, is_oidc);
    url(&mut provider.authorization_url, definition.authorization_url, !is_oidc);
    url(&mut provider.token_url, definition.token_url, !is_oidc);
    url(&mut provider.userinfo_url, definition.userinfo_url, !is_oidc);
    url(&mut provider.jwks_uri, definition.jwks_uri, !is_oidc);
    Ok(())
}

fn set<T>(known: &mut T, new: Option<T>) {
    if let Some(new) = new {
        *known = new;
    }
}

fn require_fields(definition: &Definition, kind: ProviderType) -> Result<(), Error> {
    let require = |value: &Option<String>, name: &str, of: &str| match text(value) {
        "" => Err(Error::validation(format!("{name} is required{of}"))),
        _ => Ok(()),
    };
    require(&definition.identifier, "identifier", "")?;
    require_prefix(text(&definition.identifier))?;
    if !is_identifier(text(&definition.identifier)) {
        return Err(Error::validation(
            "identifier must be 2 to 50 characters of a-z, 0-9, ':' and '-', beginning and ending with a letter or digit",
        ));
    }
    require(&definition.name, "name", "")?;
    require(&definition.client_id, "client_id", "")?;
    require(&definition.client_secret, "client_secret", "")?;
    match kind {
        ProviderType::Oidc => require(&definition.issuer, "issuer", " for OIDC providers"),
        ProviderType::Oauth2 => {
            let of = " for OAuth2 providers";
            require(&definition.authorization_url, "authorization_url", of)?;
            require(&definition.token_url, "token_url", of)?;
            require(&definition.userinfo_url, "userinfo_url", of)
        }
    }
}

/// Returns whether `text` has the form that the table insists on.
fn is_identifier(text: &str) -> bool {
    let ends = |byte: Option<u8>| byte.is_some_and(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit());
    (2..=50).contains(&text.len())
        && ends(text.bytes().next())
        && ends(text.bytes().last())
        && text.bytes().all(|byte| ends(Some(byte)) || byte == b':' || byte == b'-')
}

/// Checks the fields as far as that needs no request.
fn check_members(definition: &Definition) -> Result<(), Error> {
    if text(&definition.name).chars().count() > 100 {
        return Err(Error::validation("name must not be longer than 100 characters"));
    }
    if text(&definition.client_id).chars().count() > 512 {
        return Err(Error::validation("client_id must not be longer than 512 characters"));
    }
    for (name, value) in definition.authorization_params.iter().flatten() {
        if RESERVED.contains(&name.as_str()) {
            return Err(Error::validation(format!("Cannot override reserved OAuth parameter: {name}")));
        }
        if !value.is_string() {
            return Err(Error::validation(format!("Authorization parameter {name:?} must be a string")));
        }
    }
    let mut targets = definition.attribute_mapping.iter().flatten().map(|(target, _)| target);
    if let Some(target) = targets.find(|target| PROTECTED.contains(&target.as_str())) {
        return Err(Error::validation(format!("Cannot map to protected system field: {target}")));
    }
    let mut allowed = definition.custom_claims_allowlist.iter().flatten();
    if allowed.any(|name| name.trim().is_empty()) {
        return Err(Error::validation("custom_claims_allowlist entries must be non-empty strings"));
    }
    Ok(())
}

async fn check_urls(providers: &Providers, definition: &Definition, kind: ProviderType) -> Result<(), Error> {
    let urls: &[&Option<String>] = match kind {
        ProviderType::Oidc => &[&definition.issuer, &definition.discovery_url],
        ProviderType::Oauth2 => &[
            &definition.authorization_url,
            &definition.token_url,
            &definition.userinfo_url,
            &definition.jwks_uri,
        ],
    };
    for url in urls.iter().map(|url| text(url)).filter(|url| !url.is_empty()) {
        if url.chars().count() > LONGEST_URL {
            return Err(Error::validation(format!("URL must not be longer than {LONGEST_URL} characters")));
        }
        providers.check_custom_url(url).await.map_err(Error::validation)?;
    }
    Ok(())
}

/// Returns the document of a provider that speaks OpenID Connect, with everything that a sign-in needs.
async fn discover(providers: &Providers, provider: &CustomProvider) -> Result<Option<Discovery>, Error> {
    let Some(address) = provider.issuer_address(providers.custom_reach()) else { return Ok(None) };
    let url = address.discovery_url();
    let failed =
        |error: ProviderError| Error::validation(format!("OIDC discovery from {url:?} failed: {error}"));
    let document = providers.issuers.discover(&address).await.map_err(failed)?;
    let needed = [
        ("issuer", &document.issuer),
        ("authorization_endpoint", &document.authorization_endpoint),
        ("token_endpoint", &document.token_endpoint),
        ("jwks_uri", &document.jwks_uri),
    ];
    let missing: Vec<_> =
        needed.iter().filter(|(_, value)| value.is_empty()).map(|(name, _)| *name).collect();
    if missing.is_empty() {
        return Ok(Some(document));
    }
    Err(Error::validation(format!(
        "OIDC discovery document is missing required fields: {}",
        missing.join(", ")
    )))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn identifiers_are_what_the_table_takes() {
        for text in ["custom:a", "custom:acme-sso", "custom:x:y9"] {
            assert!(is_identifier(text), "{text}");
        }
        for text in
            ["custom:", "custom:A", "custom:a_b", "custom:a-", "", &format!("custom:{}", "a".repeat(44))]
        {
            assert!(!is_identifier(text), "{text}");
        }
    }

    #[test]
    fn what_belongs_to_the_service_is_nobody_elses() {
        let parameter = |name: &str, value: Value| Definition {
            authorization_params: Some(BTreeMap::from([(name.to_owned(), value)])),
            ..Definition::default()
        };
        assert!(check_members(&parameter("prompt", "consent".into())).is_ok());
        assert!(check_members(&parameter("state", "x".into())).is_err());
        assert!(check_members(&parameter("prompt", 1.into())).is_err());
        let mapping = |target: &str| Definition {
            attribute_mapping: Some(BTreeMap::from([(target.to_owned(), "x".into())])),
            ..Definition::default()
        };
        assert!(check_members(&mapping("name")).is_ok());
        assert!(
            check_members(&mapping("role")).is_err() && check_members(&mapping("email_verified")).is_err()
        );
    }
}

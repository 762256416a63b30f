//! Ways to sign in: `[auth.external.*]`, `[auth.web3.*]` and `GOTRUE_EXTERNAL_*`.

use std::collections::BTreeMap;
use std::time::Duration;

use auth::{OauthProvider, ProviderSettings, Web3Settings};

use super::{Invalid, Reader, gotrue, optional, secret};

/// The OAuth providers that upstream knows.
const PROVIDERS: [&str; 25] = [
    "apple",
    "azure",
    "bitbucket",
    "discord",
    "facebook",
    "figma",
    "fly",
    "github",
    "gitlab",
    "google",
    "kakao",
    "keycloak",
    "linkedin",
    "linkedin_oidc",
    "notion",
    "slack",
    "slack_oidc",
    "snapchat",
    "spotify",
    "twitch",
    "twitter",
    "vercel_marketplace",
    "workos",
    "x",
    "zoom",
];

/// Shortest life of a sign-in that is under way; upstream raises what is less.
const FLOW_STATE_MINIMUM: Duration = Duration::from_secs(300);

pub(super) fn read(reader: &mut Reader<'_>) -> Result<ProviderSettings, Invalid> {
    let mut settings = ProviderSettings::default();
    settings.email = reader
        .get("auth.email.enable_signup", &["GOTRUE_EXTERNAL_EMAIL_ENABLED", "ENABLE_EMAIL_SIGNUP"])?
        .unwrap_or(settings.email);
    settings.phone = reader
        .get("auth.sms.enable_signup", &["GOTRUE_EXTERNAL_PHONE_ENABLED", "ENABLE_PHONE_SIGNUP"])?
        .unwrap_or(settings.phone);
    settings.anonymous_users = reader
        .get(
            "auth.enable_anonymous_sign_ins",
            &["GOTRUE_EXTERNAL_ANONYMOUS_USERS_ENABLED", "ENABLE_ANONYMOUS_USERS"],
        )?
        .unwrap_or(settings.anonymous_users);
    settings.magic_link = gotrue(reader, "", "EXTERNAL_EMAIL_MAGIC_LINK_ENABLED", settings.magic_link)?;
    for name in PROVIDERS {
        settings.oauth.extend(provider(reader, name)?.map(|provider| (name.to_owned(), provider)));
    }
    settings.custom_oauth = gotrue(reader, "", "CUSTOM_OAUTH_ENABLED", settings.custom_oauth)?;
    settings.custom_oauth_max = gotrue(reader, "", "CUSTOM_OAUTH_MAX_PROVIDERS", settings.custom_oauth_max)?;
    settings.custom_oauth_private_addresses =
        gotrue(reader, "", "CUSTOM_OAUTH_ALLOW_PRIVATE_ADDRESSES", settings.custom_oauth_private_addresses)?;
    settings.custom_oauth_external_url = url(reader, &["GOTRUE_CUSTOM_OAUTH_EXTERNAL_URL"])?;
    // Upstream's own spelling is the second.
    settings.redirect_url = url(reader, &["GOTRUE_EXTERNAL_REDIRECT_URL", "GOTRUE_EXTERNAL_REDIRECTURL"])?;
    settings.solana = web3(reader, "solana")?;
    settings.ethereum = web3(reader, "ethereum")?;
    settings.flow_state_expiry =
        gotrue(reader, "", "EXTERNAL_FLOW_STATE_EXPIRY_DURATION", settings.flow_state_expiry)?
            .max(FLOW_STATE_MINIMUM);
    settings.allowed_id_token_issuers =
        gotrue(reader, "", "EXTERNAL_ALLOWED_ID_TOKEN_ISSUERS", settings.allowed_id_token_issuers)?;
    settings.ios_bundle_id = gotrue(reader, "", "EXTERNAL_IOS_BUNDLE_ID", settings.ios_bundle_id)?;
    settings.discovery_cache =
        gotrue(reader, "", "EXTERNAL_OIDC_PROVIDER_CACHE_TTL", settings.discovery_cache)?;
    settings.linking_domains = linking_domains(reader)?;
    Ok(settings)
}

/// An absolute URL; empty where none is set.
fn url(reader: &mut Reader<'_>, names: &[&str]) -> Result<String, Invalid> {
    let url: String = reader.get("", names)?.unwrap_or_default();
    let is_absolute = |uri: poem::http::Uri| uri.scheme().is_some() && uri.authority().is_some();
    if url.is_empty() || url.parse().is_ok_and(is_absolute) {
        return Ok(url);
    }
    Err(Invalid::new(names[0], "a URL such as https://auth.example.com", &format!("{url:?}")))
}

/// The provider `name`, if it is switched on.
fn provider(reader: &mut Reader<'_>, name: &str) -> Result<Option<OauthProvider>, Invalid> {
    let key = |part: &str| format!("auth.external.{name}.{part}");
    let upper = name.to_ascii_uppercase();
    let variable = |part: &str| format!("EXTERNAL_{upper}_{part}");
    let enabled = gotrue(reader, &key("enabled"), &variable("ENABLED"), false)?;
    let client_ids: Vec<String> = gotrue(reader, &key("client_id"), &variable("CLIENT_ID"), Vec::new())?;
    let mut provider = OauthProvider {
        client_ids,
        secret: secret(reader, &key("secret"), &variable("SECRET"))?,
        ..OauthProvider::default()
    };
    provider.redirect_uri =
        gotrue(reader, &key("redirect_uri"), &variable("REDIRECT_URI"), provider.redirect_uri)?;
    provider.url = gotrue(reader, &key("url"), &variable("URL"), provider.url)?;
    // Upstream reads this one, and has no use for it.
    let _: Option<String> = optional(reader, "", &variable("API_URL"))?;
    provider.skip_nonce_check =
        gotrue(reader, &key("skip_nonce_check"), &variable("SKIP_NONCE_CHECK"), provider.skip_nonce_check)?;
    provider.email_optional =
        gotrue(reader, &key("email_optional"), &variable("EMAIL_OPTIONAL"), provider.email_optional)?;
    if !enabled {
        return Ok(None);
    }
    if provider.client_ids.is_empty() {
        let expected = format!("the client's id at {name}, since it is enabled");
        return Err(Invalid::new(&format!("GOTRUE_{}", variable("CLIENT_ID")), &expected, &"none"));
    }
    Ok(Some(provider))
}

fn web3(reader: &mut Reader<'_>, chain: &str) -> Result<Web3Settings, Invalid> {
    let default = Web3Settings::default();
    let upper = chain.to_ascii_uppercase();
    let key = format!("auth.web3.{chain}.enabled");
    let validity = format!("EXTERNAL_WEB3_{upper}_MAXIMUM_VALIDITY_DURATION");
    Ok(Web3Settings {
        enabled: gotrue(reader, &key, &format!("EXTERNAL_WEB3_{upper}_ENABLED"), default.enabled)?,
        maximum_validity: gotrue(reader, "", &validity, default.maximum_validity)?,
    })
}

/// Pairs `provider=domain`; the older variable lists providers with a domain of their own.
fn linking_domains(reader: &mut Reader<'_>) -> Result<BTreeMap<String, String>, Invalid> {
    let name = "EXPERIMENTAL_PROVIDER_LINKING_DOMAINS";
    let own: Vec<String> =
        optional(reader, "", "EXPERIMENTAL_PROVIDERS_WITH_OWN_LINKING_DOMAIN")?.unwrap_or_default();
    let mut domains: BTreeMap<String, String> = own.into_iter().map(|name| (name.clone(), name)).collect();
    let pairs: Vec<String> = optional(reader, "", name)?.unwrap_or_default();
    for pair in pairs {
        match pair.split_once('=').map(|(provider, domain)| (provider.trim(), domain.trim())) {
            Some((provider, domain)) if !provider.is_empty() && !domain.is_empty() => {
                domains.insert(provider.to_owned(), domain.to_owned());
            }
            _ => {
                let expected = "pairs provider=domain, separated by commas";
                return Err(Invalid::new(&format!("GOTRUE_{name}"), expected, &format!("{pair:?}")));
            }
        }
    }
    Ok(domains)
}

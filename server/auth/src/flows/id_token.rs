//! Sign-in with an ID token that the client has got from its issuer (OpenID Connect Core 1.0, section 2).

use data_encoding::HEXLOWER;
use sha2::{Digest, Sha256};
use subtle::ConstantTimeEq;
use uuid::Uuid;

use crate::flows::access_token::Session;
use crate::flows::account::{self, ProviderLogin, ResolvedAccount};
use crate::flows::services::ProviderSignIns;
use crate::flows::session::{self, SignIn};
use crate::flows::{Context, identities};
use crate::providers::{
    APPLE_ISSUERS, FACEBOOK, GOOGLE, IdToken, IdTokenFormat, IssuerAddress, KAKAO, SNAPCHAT,
    VERCEL_MARKETPLACE, claimed_issuer, is_azure, trim,
};
use crate::store::{self, custom_providers};
use crate::{Code, Error, OauthProvider};

/// The fields of a sign-in with an ID token; absent ones are empty.
#[derive(Debug, Default)]
pub(crate) struct IdTokenInput {
    pub(crate) id_token: String,
    /// The access token that came with it.
    pub(crate) access_token: String,
    /// What the token's claim `nonce` is the SHA-256 of.
    pub(crate) nonce: String,
    pub(crate) provider: String,
    pub(crate) client_id: String,
    pub(crate) issuer: String,
}

impl IdTokenInput {
    /// Checks that the fields belong together.
    ///
    /// Errors: OAuth-style for a missing token, and for neither a provider nor a client and an issuer.
    pub(crate) fn check(&self) -> Result<(), Error> {
        if self.id_token.is_empty() {
            return Err(invalid_request("id_token required"));
        }
        if self.provider.is_empty() && (self.client_id.is_empty() || self.issuer.is_empty()) {
            return Err(invalid_request("provider or client_id and issuer required"));
        }
        Ok(())
    }
}

/// Returns the refusal of a request to link an identity that names no user.
pub(crate) fn linking_needs_bearer() -> Error {
    invalid_request("Linking requires a valid user access token in Authorization")
}

/// The issuer whose tokens are accepted, and the conditions.
struct Acceptance {
    /// What identities call the provider.
    provider: String,
    address: IssuerAddress,
    format: IdTokenFormat,
    /// Audiences of tokens that are for this project.
    audiences: Vec<String>,
    skip_nonce_check: bool,
    email_optional: bool,
}

/// Signs in the user of an ID token, or links the token's identity to `target`.
///
/// Errors: OAuth-style for tokens that are not in order; `validation_failed` for providers and issuers that are not
/// known, `provider_disabled`; those of [`account::resolve`] and [`identities::link_to`].
pub(crate) async fn sign_in(
    context: &Context<'_, ProviderSignIns>,
    input: &IdTokenInput,
    target: Option<Uuid>,
) -> Result<Session, Error> {
    let services = context.services;
    let acceptance = accept(context, input).await?;
    let token = services.providers.issuers.verify(&acceptance.address, &input.id_token).await;
    let bad = |cause: &dyn std::fmt::Display| {
        tracing::info!(%cause, provider = acceptance.provider, "an ID token was refused");
        invalid_request("Bad ID token")
    };
    let token = token.map_err(|cause| bad(&cause))?;
    let profile = acceptance.format.profile(&token.claims).map_err(|cause| bad(&cause))?;
    if !input.access_token.is_empty() && !token.belongs_to(&input.access_token) {
        return Err(bad(&"at_hash does not fit the access token"));
    }
    check(&acceptance, &token, &input.nonce)?;
    let accounts = context.with(&context.services.accounts);
    let login = ProviderLogin {
        context: &accounts,
        provider: &acceptance.provider,
        profile: &profile,
        email_optional: acceptance.email_optional,
        traits: serde_json::Value::Null,
    };
    if target.is_none() {
        account::call_before_user_created(&login).await?;
    }
    let work = store::begin(&services.database).await?;
    let resolved = match target {
        Some(target) => identities::link_to(&work, target, &login).await?,
        None => account::resolve(&work, &login).await?,
    };
    let ResolvedAccount { account, created, refusal } = resolved;
    if let Some(refusal) = refusal {
        work.commit().await?;
        return Err(refusal);
    }
    let sign_in = SignIn { method: "oauth", ..SignIn::default() };
    let session =
        session::begin(&services.accounts.sessions, &work, account.id(), sign_in, &context.client).await?;
    work.commit().await?;
    if created {
        services.hooks.after_user_created(&account.user, &context.client).await?;
    }
    Ok(session)
}

fn invalid_request(description: impl Into<std::borrow::Cow<'static, str>>) -> Error {
    Error::oauth("invalid request", description)
}

/// Checks the audience of the token, and that it was issued for this client's request.
fn check(acceptance: &Acceptance, token: &IdToken, nonce: &str) -> Result<(), Error> {
    if token.text("sub").is_empty() {
        return Err(invalid_request("Missing sub claim in id_token"));
    }
    let audiences = token.audiences();
    let ours = |name: &String| !name.is_empty() && audiences.contains(name);
    if !acceptance.audiences.iter().any(ours) {
        return Err(invalid_request(format!("Unacceptable audience in id_token: [{}]", audiences.join(" "))));
    }
    if acceptance.skip_nonce_check {
        return Ok(());
    }
    match (token.text("nonce"), nonce) {
        ("", "") => Ok(()),
        ("", _) | (_, "") => {
            Err(invalid_request("Passed nonce and nonce in id_token should either both exist or not."))
        }
        (hash, nonce) => {
            let expected = HEXLOWER.encode(&Sha256::digest(nonce));
            let same = bool::from(expected.as_bytes().ct_eq(hash.as_bytes()));
            if same { Ok(()) } else { Err(Error::oauth("invalid nonce", "Nonces mismatch")) }
        }
    }
}

/// Finds the provider of the token: the one that is named, or the one whose issuer is named.
async fn accept(context: &Context<'_, ProviderSignIns>, input: &IdTokenInput) -> Result<Acceptance, Error> {
    if input.provider.starts_with("custom:") {
        return custom(context, &input.provider).await;
    }
    let settings = &context.services.settings.providers;
    let configured = |name: &str| settings.oauth.get(name);
    let keycloak = configured("keycloak").map_or("", |provider| provider.url.as_str());
    let is = |name: &str, issuers: &[&str]| {
        input.provider == name || (!input.issuer.is_empty() && issuers.contains(&input.issuer.as_str()))
    };
    let (name, issuer, format) = if is("apple", &APPLE_ISSUERS) {
        let issuer =
            detect_issuer(input, configured("apple"), "Apple", |issuer| APPLE_ISSUERS.contains(&issuer))?;
        ("apple", issuer, IdTokenFormat::Apple)
    } else if is("google", &[GOOGLE]) {
        ("google", GOOGLE.to_owned(), IdTokenFormat::Google)
    } else if input.provider == "azure" || is_azure(&input.issuer) {
        let is_tenant = |issuer: &str| {
            issuer.starts_with("https://login.microsoftonline.com/")
                || issuer.starts_with("https://sts.windows.net/")
        };
        ("azure", detect_issuer(input, configured("azure"), "Azure", is_tenant)?, IdTokenFormat::Azure)
    } else if is("facebook", &[FACEBOOK]) {
        ("facebook", FACEBOOK.to_owned(), IdTokenFormat::Facebook)
    } else if is("keycloak", &[keycloak]) {
        ("keycloak", keycloak.to_owned(), IdTokenFormat::of(keycloak))
    } else if is("kakao", &[KAKAO]) {
        ("kakao", KAKAO.to_owned(), IdTokenFormat::Kakao)
    } else if is("vercel_marketplace", &[VERCEL_MARKETPLACE]) {
        ("vercel_marketplace", VERCEL_MARKETPLACE.to_owned(), IdTokenFormat::VercelMarketplace)
    } else if is("snapchat", &[SNAPCHAT]) {
        ("snapchat", SNAPCHAT.to_owned(), IdTokenFormat::Snapchat)
    } else {
        return allowed_issuer(context, input);
    };
    let provider = configured(name).ok_or_else(|| {
        Code::ProviderDisabled.because(format!("Provider (issuer {issuer:?}) is not enabled"))
    })?;
    let mut audiences = provider.client_ids.clone();
    if name == "apple" {
        audiences.push(settings.ios_bundle_id.clone());
    }
    Ok(Acceptance {
        provider: name.to_owned(),
        address: IssuerAddress {
            any_name: name == "apple",
            reach: provider.reach(),
            ..IssuerAddress::trusted(&configured_issuer(issuer, provider))
        },
        format,
        audiences,
        // Facebook's limited login has no nonce to check.
        skip_nonce_check: provider.skip_nonce_check || name == "facebook",
        email_optional: provider.email_optional,
    })
}

/// Returns where `provider` issues its tokens: at its own URL if it is set up with one.
fn configured_issuer(issuer: String, provider: &OauthProvider) -> String {
    if provider.url.is_empty() || is_azure(&issuer) { issuer } else { trim(&provider.url).to_owned() }
}

/// Returns the issuer that the token names, where a provider has several.
fn detect_issuer(
    input: &IdTokenInput,
    provider: Option<&OauthProvider>,
    title: &str,
    is_known: impl Fn(&str) -> bool,
) -> Result<String, Error> {
    let issuer = claimed_issuer(&input.id_token).ok_or_else(|| {
        Error::validation(format!("Unable to detect issuer in ID token for {title} provider"))
    })?;
    let elsewhere =
        provider.is_some_and(|provider| !provider.url.is_empty() && trim(&provider.url) == issuer);
    if !is_known(&issuer) && !elsewhere {
        let article = if title == "Apple" { "an Apple" } else { "an Azure" };
        return Err(Error::validation(format!("Detected ID token issuer is not {article} ID token issuer")));
    }
    if !input.issuer.is_empty() && input.issuer != issuer {
        return Err(Error::validation("Provided issuer does not match ID token issuer"));
    }
    Ok(issuer)
}

/// Accepts an issuer that settings allow although no provider has it.
fn allowed_issuer(context: &Context<'_, ProviderSignIns>, input: &IdTokenInput) -> Result<Acceptance, Error> {
    let allowed = &context.services.settings.providers.allowed_id_token_issuers;
    if input.issuer.is_empty() || !allowed.contains(&input.issuer) {
        let provider = &input.provider;
        return Err(Error::validation(format!("Custom OIDC provider {provider:?} not allowed")));
    }
    Ok(Acceptance {
        provider: input.issuer.clone(),
        address: IssuerAddress::trusted(&input.issuer),
        format: IdTokenFormat::of(&input.issuer),
        audiences: vec![input.client_id.clone()],
        skip_nonce_check: false,
        email_optional: false,
    })
}

/// Returns a provider that an administrator has defined.
async fn custom(context: &Context<'_, ProviderSignIns>, identifier: &str) -> Result<Acceptance, Error> {
    let services = context.services;
    if !services.settings.providers.custom_oauth {
        return Err(Error::validation("Custom OAuth providers are disabled"));
    }
    let found = match identifier.contains('\0') {
        true => None,
        false => custom_providers::find(&services.database, identifier).await?,
    };
    let custom =
        found.ok_or_else(|| Error::validation(format!("Custom provider {identifier:?} not found")))?;
    if !custom.enabled {
        return Err(Code::ProviderDisabled.because(format!("Custom provider {identifier:?} is disabled")));
    }
    let address = custom.issuer_address(services.providers.custom_reach());
    let address = address
        .ok_or_else(|| Error::validation(format!("Provider {identifier:?} is not an OIDC provider")))?;
    let mut audiences = vec![custom.client_id.clone()];
    audiences.extend(custom.acceptable_client_ids);
    Ok(Acceptance {
        provider: identifier.to_owned(),
        format: IdTokenFormat::of(&address.issuer),
        address,
        audiences,
        skip_nonce_check: custom.skip_nonce_check,
        email_optional: custom.email_optional,
    })
}

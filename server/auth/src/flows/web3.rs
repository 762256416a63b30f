//! Sign-in with a message that a wallet has signed.

use serde_json::{Value, json};
use time::OffsetDateTime;

use crate::flows::Context;
use crate::flows::access_token::Session;
use crate::flows::account::{self, ProviderLogin, ResolvedAccount};
use crate::flows::services::ProviderSignIns;
use crate::flows::session::{self, SignIn};
use crate::providers::web3::{Chain, Message, SignedMessage};
use crate::providers::{Claims, Profile};
use crate::store;
use crate::{Code, Error, Settings, Web3Settings};

/// What identities call all wallets.
const PROVIDER: &str = "web3";

/// Signs in the owner of the wallet that signed `message`.
///
/// Errors: `web3_provider_disabled`, `web3_unsupported_chain`; `validation_failed` for text that is no sign-in message
/// or no signature; OAuth-style `invalid_grant` for a signature by another key and for messages for other sites and
/// other times; those of [`account::resolve`].
pub(crate) async fn sign_in(
    context: &Context<'_, ProviderSignIns>,
    chain: &str,
    message: &str,
    signature: &str,
) -> Result<Session, Error> {
    let services = context.services;
    let (chain, settings) = choose(context, chain)?;
    let signed = SignedMessage::parse(chain, message, signature).map_err(Error::validation)?;
    if !signed.verify() {
        return Err(invalid_grant("Signature does not match address in message"));
    }
    let message = &signed.message;
    check_domain(context, chain, message)?;
    check_time(chain, message, settings, OffsetDateTime::now_utc())?;
    let profile = profile(chain, message);
    let accounts = context.with(&context.services.accounts);
    let login = ProviderLogin {
        context: &accounts,
        provider: PROVIDER,
        profile: &profile,
        email_optional: true,
        traits: json!({
            "chain": chain.name(),
            "network": message.network,
            "address": message.address,
            "domain": message.domain,
            "uri": message.uri_text,
        }),
    };
    account::call_before_user_created(&login).await?;
    let work = store::begin(&services.database).await?;
    let ResolvedAccount { account, created, .. } = account::resolve(&work, &login).await?;
    let sign_in = SignIn { method: "web3", ..SignIn::default() };
    let session =
        session::begin(&services.accounts.sessions, &work, account.id(), sign_in, &context.client).await?;
    work.commit().await?;
    if created {
        services.hooks.after_user_created(&account.user, &context.client).await?;
    }
    Ok(session)
}

fn invalid_grant(description: impl Into<std::borrow::Cow<'static, str>>) -> Error {
    Error::oauth("invalid_grant", description)
}

/// Checks that wallets may sign in at all.
///
/// Errors: `web3_provider_disabled`.
pub(crate) fn require_enabled(settings: &Settings) -> Result<(), Error> {
    let providers = &settings.providers;
    if providers.ethereum.enabled || providers.solana.enabled {
        return Ok(());
    }
    Err(Code::Web3ProviderDisabled.because("Web3 provider is disabled"))
}

fn choose<'a>(
    context: &Context<'a, ProviderSignIns>,
    chain: &str,
) -> Result<(Chain, &'a Web3Settings), Error> {
    let providers = &context.services.settings.providers;
    let chain =
        Chain::of_name(chain).ok_or_else(|| Code::Web3UnsupportedChain.because("Unsupported chain"))?;
    let settings = match chain {
        Chain::Ethereum => &providers.ethereum,
        Chain::Solana => &providers.solana,
    };
    if settings.enabled {
        return Ok((chain, settings));
    }
    Err(Code::Web3ProviderDisabled.because(format!("{} Web3 provider is disabled", chain.title())))
}

/// Checks that the message is for this site: one for another must not open this one (ERC-4361, "phishing attacks").
fn check_domain(
    context: &Context<'_, ProviderSignIns>,
    chain: Chain,
    message: &Message<'_>,
) -> Result<(), Error> {
    let redirects = &context.services.redirects;
    let using = format!("Signed {} message is using", chain.title());
    let is_local = message.uri.host_str() == Some("localhost");
    if message.uri.scheme() != "https" && !is_local {
        return Err(invalid_grant(format!("{using} URI which does not use HTTPS")));
    }
    if !redirects.allows(message.uri_text) {
        return Err(invalid_grant(format!(
            "{using} URI which is not allowed on this server, message was signed for another app"
        )));
    }
    let is_same =
        || message.authority() == message.domain && redirects.allows(&format!("https://{}/", message.domain));
    if !is_local && !is_same() {
        return Err(invalid_grant(format!(
            "{using} a Domain that does not match the one in URI which is not allowed on this server"
        )));
    }
    Ok(())
}

fn check_time(
    chain: Chain,
    message: &Message<'_>,
    settings: &Web3Settings,
    now: OffsetDateTime,
) -> Result<(), Error> {
    let title = chain.title();
    if message.not_before.is_some_and(|start| now < start) {
        return Err(invalid_grant(format!("Signed {title} message becomes valid in the future")));
    }
    if message.expires_at.is_some_and(|end| now > end) {
        return Err(invalid_grant(format!("Signed {title} message is expired")));
    }
    let age = (now - message.issued_at).as_seconds_f64();
    let longest = settings.maximum_validity.as_secs_f64();
    if age > longest {
        return Err(invalid_grant(format!("{title} message was issued too long ago")));
    }
    if age < -longest {
        return Err(invalid_grant(format!("{title} message was issued too far in the future")));
    }
    Ok(())
}

fn profile(chain: Chain, message: &Message<'_>) -> Profile {
    let statement = match (message.statement, chain) {
        (Some(statement), _) => Value::from(statement),
        (None, Chain::Ethereum) => Value::Null,
        (None, Chain::Solana) => Value::from(""),
    };
    let claims = Claims::default()
        .with("sub", &format!("{PROVIDER}:{}:{}", chain.name(), message.address))
        .custom("address", message.address)
        .custom("chain", chain.name())
        .custom("network", message.network)
        .custom("domain", message.domain)
        .custom("statement", statement);
    Profile { claims, emails: Vec::new() }
}

//! Ways to sign in.

use std::collections::BTreeMap;
use std::time::Duration;

use ::settings::{Invalid, Reader, Secret, Value};

use super::{named, own_secret};
use crate::http_client::Reach;

/// The OAuth providers that upstream knows.
pub(super) const PROVIDERS: [&str; 25] = [
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

::settings::settings! {
    /// Ways to sign in.
    #[derive(Debug, Clone)]
    pub struct ProviderSettings {
        /// Whether users may sign up and sign in with an e-mail address.
        #[setting(
            variables = ["GOTRUE_EXTERNAL_EMAIL_ENABLED", "ENABLE_EMAIL_SIGNUP"],
            key = "auth.email.enabled"
        )]
        pub email: bool = true,
        /// Whether users may sign in with a link in a mail.
        #[setting(variables = ["GOTRUE_EXTERNAL_EMAIL_MAGIC_LINK_ENABLED"])]
        pub magic_link: bool = true,
        /// Whether users may sign up and sign in with a phone number.
        #[setting(
            variables = ["GOTRUE_EXTERNAL_PHONE_ENABLED", "ENABLE_PHONE_SIGNUP"],
            key = "auth.sms.enabled"
        )]
        pub phone: bool = false,
        /// Whether users may sign in anonymously, without an address, a number or a password.
        #[setting(
            variables = ["GOTRUE_EXTERNAL_ANONYMOUS_USERS_ENABLED", "ENABLE_ANONYMOUS_USERS"],
            key = "auth.enable_anonymous_sign_ins"
        )]
        pub anonymous_users: bool = false,
        /// OAuth providers that are switched on, by lowercase name.
        pub oauth: BTreeMap<String, OauthProvider> = BTreeMap::new(),
        /// Whether administrators may define OAuth providers of their own (custom providers).
        #[setting(variables = ["GOTRUE_CUSTOM_OAUTH_ENABLED"])]
        pub custom_oauth: bool = true,
        /// How many custom providers there may be. 0: no limit.
        #[setting(variables = ["GOTRUE_CUSTOM_OAUTH_MAX_PROVIDERS"])]
        pub custom_oauth_max: usize = 0,
        /// Whether custom providers may have private addresses and no TLS. Off by default, because otherwise an
        /// administrator's token would give access to the server's internal network. Upstream has no such setting.
        #[setting(variables = ["GOTRUE_CUSTOM_OAUTH_ALLOW_PRIVATE_ADDRESSES"])]
        pub custom_oauth_private_addresses: bool = false,
        /// The URL of this service for custom providers: they send users back to `/callback` below it. The default is
        /// the external URL.
        #[setting(variables = ["GOTRUE_CUSTOM_OAUTH_EXTERNAL_URL"], check = absolute)]
        pub custom_oauth_external_url: String = String::new(),
        /// The URL to which users are sent after a sign-in at a provider, instead of the one that the request named.
        /// Upstream spells the variable as the second name.
        #[setting(variables = ["GOTRUE_EXTERNAL_REDIRECT_URL", "GOTRUE_EXTERNAL_REDIRECTURL"], check = absolute)]
        pub redirect_url: String = String::new(),
        /// Solana's sign-in messages.
        pub solana: Web3Settings = Web3Settings::default(),
        /// Ethereum's sign-in messages.
        pub ethereum: Web3Settings = Web3Settings::default(),
        /// How long a sign-in may take from its beginning to its end, at least 300 s.
        #[setting(variables = ["GOTRUE_EXTERNAL_FLOW_STATE_EXPIRY_DURATION"], check = super::at_least_five_minutes)]
        pub flow_state_expiry: Duration = Duration::from_secs(300),
        /// Issuers whose ID tokens are accepted although no provider is configured for them.
        #[setting(variables = ["GOTRUE_EXTERNAL_ALLOWED_ID_TOKEN_ISSUERS"])]
        pub allowed_id_token_issuers: Vec<String> = Vec::new(),
        /// A further audience that is accepted in Apple's ID tokens.
        #[setting(variables = ["GOTRUE_EXTERNAL_IOS_BUNDLE_ID"])]
        pub ios_bundle_id: String = String::new(),
        /// How long the discovery documents and keys of providers are cached.
        #[setting(variables = ["GOTRUE_EXTERNAL_OIDC_PROVIDER_CACHE_TTL"])]
        pub discovery_cache: Duration = Duration::from_secs(3600),
        /// The linking domains of providers. Identities with the same e-mail address are linked to one user only if
        /// their providers have the same linking domain. All other providers share the domain `default`.
        pub linking_domains: BTreeMap<String, String> = BTreeMap::new(),
    }
}

::settings::settings! {
    /// Settings of linking domains and blockchains, as operators write them.
    pub(super) struct DomainsAndChains {
        /// The linking domains of providers. Identities with the same e-mail address are linked to one user only if
        /// their providers have the same linking domain. All other providers share the domain `default`.
        #[setting(variables = ["GOTRUE_EXPERIMENTAL_PROVIDER_LINKING_DOMAINS"])]
        linking: LinkingDomains = LinkingDomains::default(),
        /// Providers that each have a linking domain of their own. An older form of the setting above.
        #[setting(variables = ["GOTRUE_EXPERIMENTAL_PROVIDERS_WITH_OWN_LINKING_DOMAIN"])]
        own_linking: Vec<String> = Vec::new(),
        /// Whether users may sign in with a wallet of Solana.
        #[setting(variables = ["GOTRUE_EXTERNAL_WEB3_SOLANA_ENABLED"], key = "auth.web3.solana.enabled")]
        solana: bool = false,
        /// How old the sign-in message of such a wallet may be.
        #[setting(variables = ["GOTRUE_EXTERNAL_WEB3_SOLANA_MAXIMUM_VALIDITY_DURATION"])]
        solana_validity: Duration = Duration::from_secs(600),
        /// Whether users may sign in with a wallet of Ethereum.
        #[setting(variables = ["GOTRUE_EXTERNAL_WEB3_ETHEREUM_ENABLED"], key = "auth.web3.ethereum.enabled")]
        ethereum: bool = false,
        /// How old the sign-in message of such a wallet may be.
        #[setting(variables = ["GOTRUE_EXTERNAL_WEB3_ETHEREUM_MAXIMUM_VALIDITY_DURATION"])]
        ethereum_validity: Duration = Duration::from_secs(600),
    }
}

impl ProviderSettings {
    pub(super) fn read(reader: &mut Reader<'_>) -> Result<Self, Invalid> {
        let (mut settings, mut others) = (Self::default(), DomainsAndChains::default());
        reader.apply(&mut settings)?;
        reader.apply(&mut others)?;
        settings.linking_domains = others.own_linking.into_iter().map(|name| (name.clone(), name)).collect();
        settings.linking_domains.extend(others.linking.0);
        settings.solana = Web3Settings { enabled: others.solana, maximum_validity: others.solana_validity };
        settings.ethereum =
            Web3Settings { enabled: others.ethereum, maximum_validity: others.ethereum_validity };
        for name in PROVIDERS {
            let provider = OauthProvider::read(reader, name)?;
            settings.oauth.extend(provider.map(|provider| (name.to_owned(), provider)));
        }
        Ok(settings)
    }
}

fn absolute(url: String) -> Result<String, &'static str> {
    let is_absolute = |uri: http::Uri| uri.scheme().is_some() && uri.authority().is_some();
    match url.is_empty() || url.parse().is_ok_and(is_absolute) {
        true => Ok(url),
        false => Err("a URL such as https://auth.example.com"),
    }
}

/// Linking domains by provider. Names of providers may have a colon.
#[derive(Default)]
struct LinkingDomains(BTreeMap<String, String>);

impl Value for LinkingDomains {
    const EXPECTED: &'static str = "pairs provider=domain, separated by commas";

    fn from_text(text: &str) -> Option<Self> {
        let pairs = text.split(',').map(str::trim).filter(|pair| !pair.is_empty());
        let pairs = pairs.map(|pair| {
            let (provider, domain) = pair.split_once('=')?;
            let (provider, domain) = (provider.trim(), domain.trim());
            let is_whole = !provider.is_empty() && !domain.is_empty();
            is_whole.then(|| (provider.to_owned(), domain.to_owned()))
        });
        pairs.collect::<Option<_>>().map(Self)
    }

    fn show(&self) -> Option<String> {
        let pairs: Vec<String> =
            self.0.iter().map(|(provider, domain)| format!("{provider}={domain}")).collect();
        (!pairs.is_empty()).then(|| pairs.join(","))
    }
}

/// This project as a client of an OAuth provider.
#[derive(Debug, Clone, Default)]
pub struct OauthProvider {
    /// The client's id, then further audiences of ID tokens.
    pub client_ids: Vec<String>,
    /// The client's secret.
    pub secret: Secret,
    /// The URL to which the provider sends users back. Empty: `/callback` below the external URL.
    pub redirect_uri: String,
    /// The URL of a self-hosted provider. Empty: the public one.
    pub url: String,
    /// Whether this URL leads to public addresses only: it was set over the platform interface, whose callers get no
    /// way into the network that this server stands in.
    pub is_public: bool,
    /// Whether ID tokens are accepted without a check of their nonce.
    pub skip_nonce_check: bool,
    /// Whether users without an e-mail address are accepted.
    pub email_optional: bool,
}

impl OauthProvider {
    /// Returns where requests to the provider may go.
    pub(crate) const fn reach(&self) -> Reach {
        if self.is_public { Reach::Public } else { Reach::Anywhere }
    }

    /// Reads the provider `name`, if it is switched on.
    fn read(reader: &mut Reader<'_>, name: &str) -> Result<Option<Self>, Invalid> {
        let names = ("auth.external", "GOTRUE_EXTERNAL", name);
        let is_enabled = named(reader, names, "enabled")?.unwrap_or(false);
        let key = |part: &str| format!("auth.external.{name}.{part}");
        let mut provider = Self {
            client_ids: named(reader, names, "client_id")?.unwrap_or_default(),
            secret: named(reader, names, "secret")?.unwrap_or_default(),
            redirect_uri: named(reader, names, "redirect_uri")?.unwrap_or_default(),
            url: named(reader, names, "url")?.unwrap_or_default(),
            skip_nonce_check: named(reader, names, "skip_nonce_check")?.unwrap_or_default(),
            email_optional: named(reader, names, "email_optional")?.unwrap_or_default(),
            is_public: false,
        };
        provider.is_public = reader.is_managed(&key("url"));
        if !provider.url.is_empty() {
            own_secret(reader, &key("url"), &key("secret"), &provider.secret)?;
        }
        if is_enabled && provider.client_ids.is_empty() {
            let variable = format!("GOTRUE_EXTERNAL_{}_CLIENT_ID", name.to_ascii_uppercase());
            let expected = format!("the client's id at {name}, since it is enabled");
            return Err(Invalid::new(&variable, &expected, &"none"));
        }
        Ok(Some(provider).filter(|_| is_enabled))
    }
}

/// Sign-in messages of a blockchain's wallets.
#[derive(Debug, Clone)]
pub struct Web3Settings {
    /// Whether users may sign in with them.
    pub enabled: bool,
    /// How old the sign-in message of such a wallet may be.
    pub maximum_validity: Duration,
}

impl Default for Web3Settings {
    fn default() -> Self {
        Self { enabled: false, maximum_validity: Duration::from_secs(600) }
    }
}

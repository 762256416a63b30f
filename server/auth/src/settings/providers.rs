use std::collections::BTreeMap;
use std::time::Duration;

use super::Secret;

/// Ways to sign in.
#[derive(Debug, Clone)]
pub struct ProviderSettings {
    /// E-mail addresses (`EXTERNAL_EMAIL_ENABLED`). Default true.
    pub email: bool,
    /// Links by mail (`EXTERNAL_EMAIL_MAGIC_LINK_ENABLED`). Default true.
    pub magic_link: bool,
    /// Phone numbers (`EXTERNAL_PHONE_ENABLED`). Default false.
    pub phone: bool,
    /// Nothing at all (`EXTERNAL_ANONYMOUS_USERS_ENABLED`). Default false.
    pub anonymous_users: bool,
    /// OAuth providers that are switched on, by lowercase name (`EXTERNAL_<NAME>_*`). Default none.
    pub oauth: BTreeMap<String, OauthProvider>,
    /// Providers that administrators define (`CUSTOM_OAUTH_ENABLED`). Default true.
    pub custom_oauth: bool,
    /// Most of those; 0, the default, for no limit (`CUSTOM_OAUTH_MAX_PROVIDERS`).
    pub custom_oauth_max: usize,
    /// Lets those be in private networks, and without TLS (`CUSTOM_OAUTH_ALLOW_PRIVATE_ADDRESSES`, which upstream does
    /// not have). Default false: an administrator's token must not open the network that this server stands in.
    pub custom_oauth_private_addresses: bool,
    /// Where this service is for those, if not at the external URL (`CUSTOM_OAUTH_EXTERNAL_URL`): their users come back
    /// to `/callback` below it. Default none: empty.
    pub custom_oauth_external_url: String,
    /// Where users end who come back from providers, whatever the request asked for (`EXTERNAL_REDIRECT_URL`). Default
    /// none: empty.
    pub redirect_url: String,
    /// Solana's sign-in messages (`EXTERNAL_WEB3_SOLANA_*`).
    pub solana: Web3Settings,
    /// Ethereum's sign-in messages (`EXTERNAL_WEB3_ETHEREUM_*`).
    pub ethereum: Web3Settings,
    /// Life of a sign-in that is under way (`EXTERNAL_FLOW_STATE_EXPIRY_DURATION`), at least and by default 300 s.
    pub flow_state_expiry: Duration,
    /// Issuers whose ID tokens are taken although no provider has them (`EXTERNAL_ALLOWED_ID_TOKEN_ISSUERS`).
    /// Default none.
    pub allowed_id_token_issuers: Vec<String>,
    /// Another audience of Apple's ID tokens (`EXTERNAL_IOS_BUNDLE_ID`). Default none: empty.
    pub ios_bundle_id: String,
    /// How long providers' discovery documents and keys are kept (`EXTERNAL_OIDC_PROVIDER_CACHE_TTL`). Default 1 h.
    pub discovery_cache: Duration,
    /// Which providers link accounts among themselves only, each with its linking domain
    /// (`EXPERIMENTAL_PROVIDER_LINKING_DOMAINS`). Default none: all share the domain `default`.
    pub linking_domains: BTreeMap<String, String>,
}

impl Default for ProviderSettings {
    fn default() -> ProviderSettings {
        ProviderSettings {
            email: true,
            magic_link: true,
            phone: false,
            anonymous_users: false,
            oauth: BTreeMap::new(),
            custom_oauth: true,
            custom_oauth_max: 0,
            custom_oauth_private_addresses: false,
            custom_oauth_external_url: String::new(),
            redirect_url: String::new(),
            solana: Web3Settings::default(),
            ethereum: Web3Settings::default(),
            flow_state_expiry: Duration::from_secs(300),
            allowed_id_token_issuers: Vec::new(),
            ios_bundle_id: String::new(),
            discovery_cache: Duration::from_secs(3600),
            linking_domains: BTreeMap::new(),
        }
    }
}

/// This project as an OAuth provider's client.
#[derive(Debug, Clone, Default)]
pub struct OauthProvider {
    /// The client's id, then further audiences of ID tokens (`CLIENT_ID`, a comma list).
    pub client_ids: Vec<String>,
    /// The client's secret (`SECRET`).
    pub secret: Secret,
    /// Where the provider sends users back to (`REDIRECT_URI`); empty for `/callback` below the external URL.
    pub redirect_uri: String,
    /// Where a self-hosted provider is (`URL`); empty for the public one.
    pub url: String,
    /// Takes ID tokens without looking at their nonce (`SKIP_NONCE_CHECK`).
    pub skip_nonce_check: bool,
    /// Takes users without an e-mail address (`EMAIL_OPTIONAL`).
    pub email_optional: bool,
}

/// Sign-in messages of a blockchain's wallets.
#[derive(Debug, Clone)]
pub struct Web3Settings {
    /// Whether they are taken (`ENABLED`). Default false.
    pub enabled: bool,
    /// How old they may be (`MAXIMUM_VALIDITY_DURATION`). Default ten minutes.
    pub maximum_validity: Duration,
}

impl Default for Web3Settings {
    fn default() -> Web3Settings {
        Web3Settings { enabled: false, maximum_validity: Duration::from_secs(600) }
    }
}

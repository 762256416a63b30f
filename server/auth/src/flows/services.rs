//! What each family of flows works with, and nothing besides. No flow is handed the whole service.

pub(crate) mod composed;

use std::sync::Arc;

use postgres::Database;
use tokens::Keys;

use crate::Settings;
use crate::checks::limits::Limits;
use crate::checks::redirects::Redirects;
use crate::delivery::hooks::Hooks;
use crate::delivery::messages::Messages;
use crate::factors::webauthn::RelyingParty;
use crate::flows::Context;
use crate::flows::one_time_code::Codes;
use crate::providers::Providers;
use crate::secrets::hasher::Hasher;
use crate::secrets::leaks::Leaks;
use crate::sso::{IdentityProviderClient, ServiceProvider};

/// What sessions are begun, raised and refreshed with.
#[derive(Clone)]
pub(crate) struct Sessions {
    pub(crate) database: Database,
    pub(crate) settings: Arc<Settings>,
    pub(crate) keys: Keys,
    pub(crate) hooks: Arc<Hooks>,
}

/// What codes are made and sent with.
#[derive(Clone)]
pub(crate) struct Delivery {
    pub(crate) settings: Arc<Settings>,
    pub(crate) codes: Arc<Codes>,
    pub(crate) messages: Arc<Messages>,
    pub(crate) hooks: Arc<Hooks>,
}

/// For accounts: sign-up, sign-in with a password, codes, changes by users and administrators.
#[derive(Clone)]
pub(crate) struct Accounts {
    pub(crate) database: Database,
    pub(crate) settings: Arc<Settings>,
    pub(crate) hooks: Arc<Hooks>,
    pub(crate) limits: Arc<Limits>,
    pub(crate) hasher: Arc<Hasher>,
    pub(crate) leaks: Arc<Leaks>,
    pub(crate) sessions: Sessions,
    pub(crate) delivery: Delivery,
}

/// For second factors.
#[derive(Clone)]
pub(crate) struct Factors {
    pub(crate) database: Database,
    pub(crate) settings: Arc<Settings>,
    pub(crate) hooks: Arc<Hooks>,
    pub(crate) limits: Arc<Limits>,
    pub(crate) hasher: Arc<Hasher>,
    pub(crate) relying_party: Arc<RelyingParty>,
    pub(crate) sessions: Sessions,
    pub(crate) delivery: Delivery,
}

/// For passkeys.
#[derive(Clone)]
pub(crate) struct Passkeys {
    pub(crate) database: Database,
    pub(crate) settings: Arc<Settings>,
    pub(crate) relying_party: Arc<RelyingParty>,
    pub(crate) sessions: Sessions,
}

/// For users whom another program has identified: an OAuth provider, the issuer of an ID token, a wallet.
#[derive(Clone)]
pub(crate) struct ProviderSignIns {
    pub(crate) database: Database,
    pub(crate) settings: Arc<Settings>,
    pub(crate) hooks: Arc<Hooks>,
    pub(crate) providers: Arc<Providers>,
    pub(crate) redirects: Arc<Redirects>,
    pub(crate) accounts: Accounts,
}

/// For single sign-on.
#[derive(Clone)]
pub(crate) struct SingleSignOn {
    pub(crate) database: Database,
    pub(crate) settings: Arc<Settings>,
    pub(crate) hooks: Arc<Hooks>,
    pub(crate) redirects: Arc<Redirects>,
    /// `None` if settings switch SAML off.
    pub(crate) saml: Option<ServiceProvider>,
    pub(crate) saml_remote: IdentityProviderClient,
    pub(crate) accounts: Accounts,
}

impl Context<'_, Accounts> {
    /// Returns the same request for flows that send codes.
    pub(crate) fn delivery(&self) -> Context<'_, Delivery> {
        self.with(&self.services.delivery)
    }
}

impl Context<'_, Factors> {
    /// Returns the same request for flows that send codes.
    pub(crate) fn delivery(&self) -> Context<'_, Delivery> {
        self.with(&self.services.delivery)
    }
}

//! All families of flows, made of the settings and the handles.

use std::sync::Arc;

use super::{Accounts, Delivery, Factors, Passkeys, ProviderSignIns, Sessions, SingleSignOn};
use crate::Settings;
use crate::checks::limits::Limits;
use crate::checks::redirects::Redirects;
use crate::delivery::hooks::Hooks;
use crate::delivery::mail::Mailer;
use crate::delivery::messages::Messages;
use crate::delivery::sms::SmsSender;
use crate::factors::webauthn::RelyingParty;
use crate::flows::handles::Handles;
use crate::flows::one_time_code::Codes;
use crate::providers::Providers;
use crate::secrets::hasher::Hasher;
use crate::secrets::leaks::Leaks;
use crate::sso::{IdentityProviderClient, ServiceProvider};

/// What each family works with, to be handed to the endpoints of that family.
pub(crate) struct Services {
    pub(crate) sessions: Sessions,
    pub(crate) accounts: Accounts,
    pub(crate) factors: Factors,
    pub(crate) passkeys: Passkeys,
    pub(crate) provider_sign_ins: ProviderSignIns,
    pub(crate) single_sign_on: SingleSignOn,
}

impl Services {
    /// Makes the services of `settings`, which work with the state in `handles`.
    ///
    /// Errors: a sentence for the operator about a setting that cannot be used.
    pub(crate) fn new(settings: &Arc<Settings>, handles: &Handles) -> Result<Self, String> {
        let Handles { database, keys, client, .. } = handles;
        let hooks = Arc::new(Hooks::new(settings.hooks.clone(), client.clone(), database.clone())?);
        let mailer = Mailer::new(settings, client.clone(), handles.mail_queue.clone())?;
        let sms_sender = SmsSender::new(&settings.sms, &settings.mfa.phone.template, client.clone())?;
        let codes = Arc::new(Codes::new(keys)?);
        let saml = ServiceProvider::new(settings)?;
        // Nothing can fail any more, so that settings that cannot be used leave the counters as they are.
        let limits = Arc::new(Limits::new(settings.limits.clone(), Arc::clone(&handles.counters)));
        let messages = Arc::new(Messages {
            settings: Arc::clone(settings),
            mailer,
            sms_sender,
            hooks: Arc::clone(&hooks),
            limits: Arc::clone(&limits),
            metrics: Arc::clone(&handles.delivery_metrics),
            sending_time: Arc::clone(&handles.sending_time),
        });
        let sessions = Sessions {
            database: database.clone(),
            settings: Arc::clone(settings),
            keys: keys.clone(),
            hooks: Arc::clone(&hooks),
        };
        let delivery =
            Delivery { settings: Arc::clone(settings), codes, messages, hooks: Arc::clone(&hooks) };
        let accounts = Accounts {
            database: database.clone(),
            settings: Arc::clone(settings),
            hooks,
            limits,
            hasher: Arc::new(Hasher::new(&settings.passwords, handles.hashing_threads.clone())),
            leaks: Arc::new(Leaks::new(&settings.passwords, client.clone())),
            sessions: sessions.clone(),
            delivery,
        };
        let relying_party = Arc::new(RelyingParty::new(settings));
        let redirects = Arc::new(Redirects::new(settings));
        Ok(Self {
            factors: factors(&accounts, Arc::clone(&relying_party)),
            passkeys: passkeys(&sessions, relying_party),
            provider_sign_ins: provider_sign_ins(&accounts, Arc::clone(&redirects), handles),
            single_sign_on: single_sign_on(&accounts, redirects, saml, handles),
            sessions,
            accounts,
        })
    }
}

fn factors(accounts: &Accounts, relying_party: Arc<RelyingParty>) -> Factors {
    Factors {
        database: accounts.database.clone(),
        settings: Arc::clone(&accounts.settings),
        hooks: Arc::clone(&accounts.hooks),
        limits: Arc::clone(&accounts.limits),
        hasher: Arc::clone(&accounts.hasher),
        relying_party,
        sessions: accounts.sessions.clone(),
        delivery: accounts.delivery.clone(),
    }
}

fn passkeys(sessions: &Sessions, relying_party: Arc<RelyingParty>) -> Passkeys {
    Passkeys {
        database: sessions.database.clone(),
        settings: Arc::clone(&sessions.settings),
        relying_party,
        sessions: sessions.clone(),
    }
}

fn provider_sign_ins(accounts: &Accounts, redirects: Arc<Redirects>, handles: &Handles) -> ProviderSignIns {
    let (providers, known_issuers) = (&accounts.settings.providers, handles.known_issuers.clone());
    ProviderSignIns {
        database: accounts.database.clone(),
        settings: Arc::clone(&accounts.settings),
        hooks: Arc::clone(&accounts.hooks),
        providers: Arc::new(Providers::new(handles.client.clone(), providers, known_issuers)),
        redirects,
        accounts: accounts.clone(),
    }
}

fn single_sign_on(
    accounts: &Accounts,
    redirects: Arc<Redirects>,
    saml: Option<ServiceProvider>,
    handles: &Handles,
) -> SingleSignOn {
    let (settings, failures) = (&accounts.settings, handles.fetch_failures.clone());
    SingleSignOn {
        database: accounts.database.clone(),
        settings: Arc::clone(settings),
        hooks: Arc::clone(&accounts.hooks),
        redirects,
        saml,
        saml_remote: IdentityProviderClient::new(handles.client.clone(), settings, failures),
        accounts: accounts.clone(),
    }
}

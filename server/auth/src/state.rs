//! The state that all endpoints of one service share, made of the settings and the handles.

use std::sync::Arc;

use postgres::Database;
use tokens::{Keys, Verifier};

use crate::checks::captcha::Captchas;
use crate::checks::limits::Limits;
use crate::checks::redirects::Redirects;
use crate::delivery::hooks::Hooks;
use crate::delivery::mail::Mailer;
use crate::delivery::messages::Messages;
use crate::delivery::sms::SmsSender;
use crate::factors::webauthn::RelyingParty;
use crate::flows::metrics::SignInMetrics;
use crate::flows::one_time_code::Codes;
use crate::flows::services::{
    Accounts, Delivery, Factors, Passkeys, ProviderSignIns, Sessions, SingleSignOn,
};
use crate::providers::Providers;
use crate::secrets::hasher::Hasher;
use crate::secrets::leaks::Leaks;
use crate::sso::{IdentityProviderClient, ServiceProvider};
use crate::store::cleanup::Cleanup;
use crate::{Handles, Settings};

/// What the endpoints work with: what they check of every request, and what they hand to the flows of a family.
pub(crate) struct Auth {
    pub(crate) settings: Arc<Settings>,
    pub(crate) database: Database,
    pub(crate) keys: Keys,
    pub(crate) verifier: Verifier,
    pub(crate) limits: Arc<Limits>,
    pub(crate) captchas: Captchas,
    pub(crate) cleanup: Cleanup,
    pub(crate) redirects: Arc<Redirects>,
    pub(crate) providers: Arc<Providers>,
    pub(crate) sign_in_metrics: Arc<SignInMetrics>,
    pub(crate) sessions: Sessions,
    pub(crate) accounts: Accounts,
    pub(crate) factors: Factors,
    pub(crate) passkeys: Passkeys,
    pub(crate) provider_sign_ins: ProviderSignIns,
    pub(crate) single_sign_on: SingleSignOn,
}

impl Auth {
    /// Makes the service of `settings`, which works with the state in `handles`.
    ///
    /// Errors: a sentence for the operator about a setting that cannot be used.
    pub(crate) fn new(settings: Settings, handles: &Handles) -> Result<Self, String> {
        let Handles { database, keys, client, .. } = handles.clone();
        let settings = Arc::new(settings);
        let hooks = Arc::new(Hooks::new(settings.hooks.clone(), client.clone(), database.clone())?);
        let mailer = Mailer::new(&settings, client.clone(), handles.mail_queue.clone())?;
        let sms_sender = SmsSender::new(&settings.sms, &settings.mfa.phone.template, client.clone())?;
        let codes = Arc::new(Codes::new(&keys)?);
        let saml = ServiceProvider::new(&settings)?;
        // Nothing can fail any more, so that settings that cannot be used leave the counters as they are.
        let limits = Arc::new(Limits::new(settings.limits.clone(), Arc::clone(&handles.counters)));
        let messages = Arc::new(Messages {
            settings: Arc::clone(&settings),
            mailer,
            sms_sender,
            hooks: Arc::clone(&hooks),
            limits: Arc::clone(&limits),
            metrics: Arc::clone(&handles.delivery_metrics),
            sending_time: Arc::clone(&handles.sending_time),
        });
        let hasher = Arc::new(Hasher::new(&settings.passwords, handles.hashing_threads.clone()));
        let relying_party = Arc::new(RelyingParty::new(&settings));
        let redirects = Arc::new(Redirects::new(&settings));
        let known_issuers = handles.known_issuers.clone();
        let providers = Arc::new(Providers::new(client.clone(), &settings.providers, known_issuers));
        let sessions = Sessions {
            database: database.clone(),
            settings: Arc::clone(&settings),
            keys: keys.clone(),
            hooks: Arc::clone(&hooks),
        };
        let delivery =
            Delivery { settings: Arc::clone(&settings), codes, messages, hooks: Arc::clone(&hooks) };
        let accounts = Accounts {
            database: database.clone(),
            settings: Arc::clone(&settings),
            hooks: Arc::clone(&hooks),
            limits: Arc::clone(&limits),
            hasher: Arc::clone(&hasher),
            leaks: Arc::new(Leaks::new(&settings.passwords, client.clone())),
            sessions: sessions.clone(),
            delivery: delivery.clone(),
        };
        Ok(Self {
            factors: Factors {
                database: database.clone(),
                settings: Arc::clone(&settings),
                hooks: Arc::clone(&hooks),
                limits: Arc::clone(&limits),
                hasher,
                relying_party: Arc::clone(&relying_party),
                sessions: sessions.clone(),
                delivery,
            },
            passkeys: Passkeys {
                database: database.clone(),
                settings: Arc::clone(&settings),
                relying_party,
                sessions: sessions.clone(),
            },
            provider_sign_ins: ProviderSignIns {
                database: database.clone(),
                settings: Arc::clone(&settings),
                hooks: Arc::clone(&hooks),
                providers: Arc::clone(&providers),
                redirects: Arc::clone(&redirects),
                accounts: accounts.clone(),
            },
            single_sign_on: SingleSignOn {
                database: database.clone(),
                settings: Arc::clone(&settings),
                hooks,
                redirects: Arc::clone(&redirects),
                saml,
                saml_remote: IdentityProviderClient::new(
                    client.clone(),
                    &settings,
                    handles.fetch_failures.clone(),
                ),
                accounts: accounts.clone(),
            },
            verifier: handles.verifier(&settings.token.methods),
            captchas: Captchas::new(settings.security.captcha.clone(), client),
            cleanup: Cleanup::new(&settings),
            settings,
            database,
            keys,
            limits,
            redirects,
            providers,
            sign_in_metrics: Arc::clone(&handles.sign_in_metrics),
            sessions,
            accounts,
        })
    }
}

//! The state that all endpoints of one service share, made of the settings and the handles.

use std::sync::Arc;

use postgres::Database;
use tokens::{Keys, Verifier};

use crate::delivery::mail::Mailer;
use crate::delivery::messages::Messages;
use crate::delivery::sms::SmsSender;
use crate::factors::webauthn::RelyingParty;
use crate::flows::one_time_code::Codes;
use crate::hooks::Hooks;
use crate::limits::Limits;
use crate::metrics::Metrics;
use crate::providers::Providers;
use crate::request::captcha::Captchas;
use crate::request::redirects::Redirects;
use crate::secrets::hasher::Hasher;
use crate::secrets::leaks::Leaks;
use crate::sso::{IdentityProviderClient, ServiceProvider};
use crate::store::cleanup::Cleanup;
use crate::{Handles, Settings};

/// The state that all endpoints share.
pub(crate) struct Auth {
    pub(crate) settings: Settings,
    pub(crate) database: Database,
    pub(crate) keys: Keys,
    pub(crate) verifier: Verifier,
    pub(crate) hasher: Hasher,
    pub(crate) codes: Codes,
    pub(crate) leaks: Leaks,
    pub(crate) messages: Messages,
    pub(crate) hooks: Arc<Hooks>,
    pub(crate) limits: Arc<Limits>,
    pub(crate) captchas: Captchas,
    pub(crate) relying_party: RelyingParty,
    pub(crate) cleanup: Cleanup,
    pub(crate) redirects: Redirects,
    pub(crate) providers: Providers,
    /// `None` if settings switch SAML off.
    pub(crate) saml: Option<ServiceProvider>,
    pub(crate) saml_remote: IdentityProviderClient,
    pub(crate) metrics: Arc<Metrics>,
}

impl Auth {
    /// Makes the service of `settings`, which works with the state in `handles`.
    ///
    /// Errors: a sentence for the operator about a setting that cannot be used.
    pub(crate) fn new(settings: Settings, handles: &Handles) -> Result<Self, String> {
        let Handles { database, keys, client, metrics, .. } = handles.clone();
        let hooks = Arc::new(Hooks::new(settings.hooks.clone(), client.clone(), database.clone())?);
        let mailer = Mailer::new(&settings, client.clone(), handles.mail_queue.clone())?;
        let sms_sender = SmsSender::new(&settings.sms, &settings.mfa.phone.template, client.clone())?;
        let codes = Codes::new(&keys)?;
        let saml = ServiceProvider::new(&settings)?;
        // Nothing can fail any more, so that settings that cannot be used leave the counters as they are.
        let limits = Arc::new(Limits::new(settings.limits.clone(), Arc::clone(&handles.counters)));
        Ok(Self {
            hasher: Hasher::new(&settings.passwords, handles.hashing_threads.clone()),
            codes,
            leaks: Leaks::new(&settings.passwords, client.clone()),
            messages: Messages::new(
                settings.clone(),
                mailer,
                sms_sender,
                Arc::clone(&hooks),
                Arc::clone(&limits),
                Arc::clone(&metrics),
                Arc::clone(&handles.sending_time),
            ),
            metrics,
            hooks,
            limits,
            captchas: Captchas::new(settings.security.captcha.clone(), client.clone()),
            relying_party: RelyingParty::new(&settings),
            cleanup: Cleanup::new(&settings),
            redirects: Redirects::new(&settings),
            saml,
            saml_remote: IdentityProviderClient::new(
                client.clone(),
                &settings,
                handles.fetch_failures.clone(),
            ),
            providers: Providers::new(client, &settings.providers, handles.known_issuers.clone()),
            verifier: handles.verifier(&settings.token.methods),
            settings,
            database,
            keys,
        })
    }
}

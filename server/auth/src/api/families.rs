//! The families of endpoints, each with what it works with. This is the one place that knows all services.

use std::sync::Arc;

use poem_openapi::OpenApi;

use super::abuse_protection::AbuseProtection;
use super::callers::Callers;
use super::contexts::Contexts;
use super::{
    admin_audit, admin_factors, admin_links, admin_sso, admin_users, custom_providers, discovery, external,
    factors, identities, oauth_clients, oauth_grants, oauth_server, passkeys, public, recovery_codes, scim,
    send, sign_up, sso, token, user, verify,
};
use crate::Settings;
use crate::checks::captcha::Captchas;
use crate::flows::handles::Handles;
use crate::flows::services::composed::Services;

/// Returns all families, made of `settings` and `handles`.
///
/// Errors: a sentence for the operator about a setting that cannot be used.
pub(super) fn families(settings: &Arc<Settings>, handles: &Handles) -> Result<impl OpenApi + use<>, String> {
    let composer = Composer::new(settings, handles)?;
    Ok((
        composer.public(),
        composer.accounts(),
        composer.identities(),
        composer.second_factors(),
        composer.administration(),
        composer.single_sign_on(),
        composer.oauth_server(),
    ))
}

/// Hands each family its part of the service.
struct Composer {
    settings: Arc<Settings>,
    handles: Handles,
    callers: Callers,
    contexts: Contexts,
    protection: AbuseProtection,
    services: Services,
}

impl Composer {
    fn new(settings: &Arc<Settings>, handles: &Handles) -> Result<Self, String> {
        let services = Services::new(settings, handles)?;
        let callers = Callers {
            verifier: handles.verifier(&settings.token.methods),
            database: handles.database.clone(),
            settings: Arc::clone(settings),
        };
        let captchas = Captchas::new(settings.security.captcha.clone(), handles.client.clone());
        Ok(Self {
            contexts: Contexts {
                settings: Arc::clone(settings),
                redirects: Arc::clone(&services.provider_sign_ins.redirects),
            },
            protection: AbuseProtection {
                limits: Arc::clone(&services.accounts.limits),
                captchas: Arc::new(captchas),
                callers: callers.clone(),
            },
            callers,
            services,
            settings: Arc::clone(settings),
            handles: handles.clone(),
        })
    }

    fn public(&self) -> impl OpenApi + use<> {
        public::PublicApi { settings: Arc::clone(&self.settings), keys: self.handles.keys.clone() }
    }

    fn accounts(&self) -> impl OpenApi + use<> {
        (
            token::TokenApi {
                callers: self.callers.clone(),
                contexts: self.contexts.clone(),
                protection: self.protection.clone(),
                sessions: self.services.sessions.clone(),
                accounts: self.services.accounts.clone(),
                provider_sign_ins: self.services.provider_sign_ins.clone(),
                sign_in_metrics: Arc::clone(&self.handles.sign_in_metrics),
            },
            user::UserApi {
                callers: self.callers.clone(),
                contexts: self.contexts.clone(),
                protection: self.protection.clone(),
                accounts: self.services.accounts.clone(),
            },
            sign_up::SignUpApi {
                callers: self.callers.clone(),
                contexts: self.contexts.clone(),
                protection: self.protection.clone(),
                accounts: self.services.accounts.clone(),
            },
            send::SendApi {
                callers: self.callers.clone(),
                contexts: self.contexts.clone(),
                protection: self.protection.clone(),
                accounts: self.services.accounts.clone(),
            },
            verify::VerifyApi {
                contexts: self.contexts.clone(),
                protection: self.protection.clone(),
                accounts: self.services.accounts.clone(),
                sign_in_metrics: Arc::clone(&self.handles.sign_in_metrics),
            },
        )
    }

    fn identities(&self) -> impl OpenApi + use<> {
        (
            external::ExternalApi {
                contexts: self.contexts.clone(),
                provider_sign_ins: self.services.provider_sign_ins.clone(),
            },
            identities::IdentitiesApi {
                callers: self.callers.clone(),
                contexts: self.contexts.clone(),
                accounts: self.services.accounts.clone(),
                provider_sign_ins: self.services.provider_sign_ins.clone(),
            },
            custom_providers::CustomProvidersApi {
                callers: self.callers.clone(),
                provider_sign_ins: self.services.provider_sign_ins.clone(),
            },
        )
    }

    fn second_factors(&self) -> impl OpenApi + use<> {
        (
            factors::FactorsApi {
                callers: self.callers.clone(),
                contexts: self.contexts.clone(),
                protection: self.protection.clone(),
                factors: self.services.factors.clone(),
            },
            recovery_codes::RecoveryCodesApi {
                callers: self.callers.clone(),
                contexts: self.contexts.clone(),
                protection: self.protection.clone(),
                factors: self.services.factors.clone(),
            },
            passkeys::PasskeysApi {
                callers: self.callers.clone(),
                contexts: self.contexts.clone(),
                protection: self.protection.clone(),
                passkeys: self.services.passkeys.clone(),
                sign_in_metrics: Arc::clone(&self.handles.sign_in_metrics),
            },
            admin_factors::AdminFactorsApi {
                callers: self.callers.clone(),
                contexts: self.contexts.clone(),
                factors: self.services.factors.clone(),
                passkeys: self.services.passkeys.clone(),
            },
        )
    }

    fn administration(&self) -> impl OpenApi + use<> {
        (
            admin_users::AdminUsersApi {
                callers: self.callers.clone(),
                contexts: self.contexts.clone(),
                accounts: self.services.accounts.clone(),
            },
            admin_links::AdminLinksApi {
                callers: self.callers.clone(),
                contexts: self.contexts.clone(),
                redirects: Arc::clone(&self.contexts.redirects),
                accounts: self.services.accounts.clone(),
            },
            admin_audit::AdminAuditApi {
                callers: self.callers.clone(),
                database: self.handles.database.clone(),
            },
        )
    }

    fn single_sign_on(&self) -> impl OpenApi + use<> {
        (
            sso::SsoApi {
                contexts: self.contexts.clone(),
                protection: self.protection.clone(),
                single_sign_on: self.services.single_sign_on.clone(),
            },
            admin_sso::AdminSsoApi {
                callers: self.callers.clone(),
                single_sign_on: self.services.single_sign_on.clone(),
            },
            scim::ScimApi { settings: Arc::clone(&self.settings) },
        )
    }

    fn oauth_server(&self) -> impl OpenApi + use<> {
        (
            discovery::DiscoveryApi { settings: Arc::clone(&self.settings) },
            oauth_clients::OauthClientsApi {
                callers: self.callers.clone(),
                protection: self.protection.clone(),
                database: self.handles.database.clone(),
                settings: Arc::clone(&self.settings),
            },
            oauth_server::OauthServerApi {
                callers: self.callers.clone(),
                contexts: self.contexts.clone(),
                redirects: Arc::clone(&self.contexts.redirects),
                database: self.handles.database.clone(),
                settings: Arc::clone(&self.settings),
                sessions: self.services.sessions.clone(),
            },
            oauth_grants::OauthGrantsApi {
                callers: self.callers.clone(),
                database: self.handles.database.clone(),
                settings: Arc::clone(&self.settings),
            },
        )
    }
}

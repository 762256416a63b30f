//! GoTrue's interface: users, sessions and tokens over HTTP.
//!
//! A request goes through `api` (what the endpoint takes and answers), `flows` (the rules) and `store` (the SQL).
//! All state is in Postgres, in schema `auth`, so that any number of nodes may serve the same users.

#![expect(dead_code, reason = "the endpoints that use all of the store and the seams follow")]

mod api;
mod captcha;
mod encryption;
mod error;
mod factors;
mod flows;
mod hooks;
mod http_client;
mod limits;
mod messages;
mod nullable;
mod passwords;
mod providers;
mod settings;
mod store;
mod user;
mod web3;

use std::sync::Arc;

use database::Database;
use poem::{Endpoint, Response};
use tokens::{Keys, Verifier};

pub use error::{Code, Error};
pub use settings::*;

use captcha::Captchas;
use factors::webauthn::RelyingParty;
use flows::redirects::Redirects;
use hooks::Hooks;
use http_client::HttpClient;
use limits::Limits;
use messages::Messages;
use passwords::Hasher;
use providers::Providers;
use store::cleanup::Cleanup;

/// What every endpoint works with.
pub(crate) struct Auth {
    settings: Settings,
    database: Database,
    keys: Keys,
    verifier: Verifier,
    hasher: Hasher,
    messages: Messages,
    hooks: Hooks,
    limits: Limits,
    captchas: Captchas,
    relying_party: RelyingParty,
    cleanup: Cleanup,
    redirects: Redirects,
    providers: Providers,
}

/// Settings that the service cannot work with.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub struct InvalidSettings(String);

/// The service, with paths relative to where it is mounted (`/auth/v1`). `database` must be logged in as
/// `supabase_auth_admin`, the owner of schema `auth`. Expects a [`gateway::Caller`] in every request's extensions.
///
/// Errors: [`InvalidSettings`] when there can be no TLS.
pub fn service(
    settings: Settings,
    database: Database,
    keys: Keys,
) -> Result<impl Endpoint<Output = Response>, InvalidSettings> {
    let auth = Auth::new(settings, database, keys).map_err(InvalidSettings)?;
    Ok(api::endpoint(Arc::new(auth)))
}

impl Auth {
    fn new(settings: Settings, database: Database, keys: Keys) -> Result<Auth, String> {
        let client = HttpClient::new()?;
        Ok(Auth {
            hasher: Hasher::new(&settings.passwords),
            messages: Messages::new(&settings),
            hooks: Hooks::new(&settings),
            limits: Limits::new(&settings, &database),
            captchas: Captchas::new(&settings),
            relying_party: RelyingParty::new(&settings),
            cleanup: Cleanup::new(&settings),
            redirects: Redirects::new(&settings),
            providers: Providers::new(client, &settings.providers),
            verifier: keys.verifier(),
            settings,
            database,
            keys,
        })
    }
}

/// Whether `path` (relative to the mount point) is opened by links, redirects or other servers, which cannot send
/// an API key; for [`gateway::Gateway::guarded_except`].
pub fn is_open(path: &str) -> bool {
    matches!(path, "/verify" | "/callback" | "/authorize" | "/sso/saml/acs" | "/sso/saml/metadata")
        || path.starts_with("/.well-known/")
}

//! GoTrue's interface: users, sessions and tokens over HTTP.
//!
//! A request goes through `api` (what the endpoint takes and returns), `flows` (the rules) and `store` (the SQL).
//! All state is in Postgres, in schema `auth`, so that any number of nodes may serve the same users.
//!
//! The modules from top to bottom: `api`, `flows`, `delivery`, `checks`, `store`, `sso`, `factors`, `providers`,
//! `secrets`, `http_client`, `settings`, `error`. Imports run downwards only. `api` hands each family of endpoints what
//! it works with (`api/families.rs`).

mod api;
mod checks;
mod delivery;
mod error;
mod factors;
mod flows;
mod http_client;
mod providers;
mod secrets;
mod settings;
mod sso;
mod store;
#[cfg(test)]
mod testing;

use std::path::PathBuf;

use poem::{Endpoint, Response};

pub use crate::settings::*;
pub use delivery::operator::OperatorMailer;
pub use error::InvalidSettings;
pub use flows::handles::{Handles, MailState, settings_that_need_a_restart};
pub use providers::third_party::ThirdParties;

pub(crate) use error::{Code, Error};

/// Returns the service of `settings`, with paths relative to where it is mounted (`/auth/v1`). It may be made again
/// with other settings and the same `handles`: the new one works with the state of the old one, which may go on.
/// Expects a [`gateway::Caller`] in every request's extensions.
///
/// Errors: [`InvalidSettings`] for a hook, a sender, a template or a SAML key that cannot be used.
pub fn service(
    settings: Settings,
    handles: &Handles,
) -> Result<impl Endpoint<Output = Response> + use<>, InvalidSettings> {
    api::endpoint(settings, handles).map_err(InvalidSettings)
}

/// Sends mails for the project's functions: POST of a mail in the shape of Resend's API, by holders of `key`. They
/// leave by the way that `settings` name, from its sender. Mount it where only this machine reaches it.
///
/// Errors: as [`service`].
pub fn outbox(
    settings: &Settings,
    key: String,
) -> Result<impl Endpoint<Output = Response> + use<>, InvalidSettings> {
    delivery::outbox::Outbox::new(settings, key).map_err(InvalidSettings)
}

/// Returns a page and an API that show the mails in `folder`, where they are kept without a mail server
/// ([`MailSettings::folder`]). They contain all users' sign-in links: serve them on the loopback interface only.
pub fn inbox(folder: PathBuf) -> impl Endpoint<Output = Response> {
    delivery::inbox::Inbox::new(folder)
}

/// The headers of its responses that the service lets scripts of other origins read; for
/// [`gateway::Layered::exposing`].
pub const EXPOSED_HEADERS: &str = "X-Total-Count, Link, X-Supabase-Api-Version";

/// Returns the paths (relative to the mount point) that need no API key, because links, redirects or other servers lead
/// there, which cannot send one; for [`gateway::Gateway::guarded_except`].
pub fn keyless_paths() -> impl Iterator<Item = &'static str> {
    api::keyless_paths()
}

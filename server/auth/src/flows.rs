//! The rules of the service: what must hold, in which order it is checked, and what follows.

pub(crate) mod access_token;
pub(crate) mod account;
pub(crate) mod admin;
pub(crate) mod bearer;
pub(crate) mod code_exchange;
mod context;
pub(crate) mod custom_providers;
pub(crate) mod deliver;
pub(crate) mod external;
pub(crate) mod factors;
pub(crate) mod handles;
pub(crate) mod id_token;
pub(crate) mod identities;
pub(crate) mod invite;
pub(crate) mod linking;
pub(crate) mod metrics;
pub(crate) mod oauth_server;
pub(crate) mod one_time_code;
pub(crate) mod passkeys;
pub(crate) mod pkce;
pub(crate) mod refresh;
pub(crate) mod send;
pub(crate) mod services;
pub(crate) mod session;
pub(crate) mod sign_in;
pub(crate) mod sign_up;
pub(crate) mod sso;
pub(crate) mod sso_providers;
pub(crate) mod user_update;
pub(crate) mod verify;
pub(crate) mod web3;

pub(crate) use context::Context;

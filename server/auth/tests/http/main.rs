//! The service as its clients meet it: requests and answers, on a real Postgres. One module per family of endpoints.

#![expect(clippy::panic, clippy::unwrap_used, reason = "a test that cannot be set up has failed")]

mod admin;
mod admin_change;
mod admin_create;
mod admin_factors;
mod admin_links;
mod admin_lists;
mod authenticator;
mod cleanup;
mod codes;
mod concurrency;
mod conformity;
mod custom_providers;
mod encryption;
mod external;
mod factor_rules;
mod harness;
mod id_token;
mod identities;
mod identity_provider;
mod messages;
mod passkey_management;
mod passkeys;
mod phone_factors;
mod pkce;
mod provider;
mod providers;
mod public;
mod refresh;
mod saml;
mod sign_in;
mod sign_in_at;
mod sign_up;
mod sso;
mod sso_providers;
mod totp;
mod totp_factors;
mod update;
mod user;
mod verify;
mod web3;
mod webauthn_factors;

//! The service as its clients meet it: requests and answers, on a real Postgres. One module per family of endpoints.

#![expect(clippy::panic, clippy::unwrap_used, reason = "a test that cannot be set up has failed")]

mod admin;
mod admin_change;
mod admin_concurrency;
mod admin_create;
mod admin_factors;
mod admin_links;
mod admin_lists;
#[cfg(feature = "saml")]
mod artifacts;
mod authenticator;
mod captcha;
mod cleanup;
mod codes;
mod concurrency;
mod conformity;
mod crowd;
mod custom_providers;
mod encryption;
mod external;
mod factor_rules;
mod guesses;
mod harness;
mod hooks;
mod id_token;
mod identities;
#[cfg(feature = "saml")]
mod identity_provider;
mod messages;
mod oauth;
mod oauth_authorize;
mod oauth_clients;
mod oauth_sessions;
mod oauth_token;
mod older_schema;
mod passkey_management;
mod passkeys;
mod phone_factors;
mod pkce;
mod provider;
mod providers;
mod public;
mod recovery_codes;
mod refresh;
#[cfg(feature = "saml")]
mod saml;
#[cfg(not(feature = "saml"))]
mod saml_unavailable;
mod scim;
mod sign_in;
mod sign_in_at;
mod sign_up;
#[cfg(feature = "saml")]
mod sso;
#[cfg(feature = "saml")]
mod sso_providers;
mod third_party;
mod totp;
mod totp_factors;
mod update;
mod upstream;
mod user;
mod verify;
mod web3;
mod webauthn_factors;

//! The service as its clients meet it: requests and answers, on a real Postgres. One module per family of endpoints.

#![expect(clippy::panic, clippy::unwrap_used, reason = "a test that cannot be set up has failed")]

mod codes;
mod concurrency;
mod conformity;
mod harness;
mod pkce;
mod public;
mod refresh;
mod sign_in;
mod sign_up;
mod update;
mod user;
mod verify;

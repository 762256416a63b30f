//! The service behind a gateway. Its database is out of reach: public channels need none.

#![expect(clippy::expect_used, clippy::unwrap_used, reason = "a test that cannot go on can only fail")]

mod routes;
mod settings;
mod support;

//! Tests of [`postgres::Database`] with a real Postgres.

#![expect(clippy::panic, clippy::unwrap_used, reason = "a test fails by panicking, in its helpers too")]

mod budgets;
mod harness;
mod json;
mod outdated;
mod replicas;
mod resilience;
mod round_trips;
mod sessions;
mod transaction;
mod work;

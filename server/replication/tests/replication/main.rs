//! Tests of logical replication with a real Postgres.

#![expect(clippy::panic, clippy::unwrap_used, reason = "a test fails by panicking, in its helpers too")]

mod connection;
mod delivery;
mod harness;
mod proxy;
mod rows;
mod servers;
mod slots;

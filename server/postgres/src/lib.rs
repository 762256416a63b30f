//! The communication with Postgres.
//!
//! A [`Database`] can be used in three ways. [`Database::run`] is the hot path: a [`Transaction`] (a role, its
//! settings, its statements) is sent in one write and gets its reply after one `Sync`, on a connection that speaks the
//! wire protocol itself. [`Database::begin`] begins a [`Work`], a transaction of several round trips.
//! [`Database::client`] lends a pooled `tokio-postgres` client for everything else. [`Database::run_reserved`] and
//! [`Database::ping`] have a few connections of their own, so that what decides about the process waits behind no
//! caller.
//!
//! This crate knows nothing about the tables of the services: their SQL is in their crates.

mod batch;
mod client;
mod client_uri;
mod column;
mod connect;
mod connection;
pub mod conninfo;
mod database;
mod error;
mod identifier;
mod json;
mod lead;
mod listener;
mod lsn;
mod metrics;
mod password;
mod ping;
mod pool;
mod renewal;
mod repair;
mod replicas;
mod reply;
mod results;
mod retry;
mod servers;
mod settings;
mod settings_statements;
mod silence;
mod statement_cache;
mod timer;
mod timestamp;
mod tls;
mod transaction;
mod waits;
mod work;

pub use client::{Client, DetachedClient};
pub use client_uri::client_uri;
pub use column::Column;
pub use connect::{Session, Stream};
pub use connection::{Connection, Outcome};
pub use database::Database;
pub use error::{Error, ServerError};
pub use identifier::{push_identifier, push_literal, quote_identifier, quote_literal, shown_identifier};
pub use json::JsonArray;
pub use lead::Lead;
pub use lsn::Lsn;
pub use metrics::PoolMetrics;
pub use password::password_verifier;
pub use pool::PoolStatistics;
pub use renewal::Renewal;
pub use repair::Repair;
pub use reply::{Reply, Row, Rows};
pub use results::Limits;
pub use settings::Settings;
pub use timestamp::iso_milliseconds;
pub use transaction::{Isolation, Parameter, Transaction, text};
pub use work::Work;

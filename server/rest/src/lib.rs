//! PostgREST's interface: tables, views and functions over HTTP.
//!
//! A request goes one way, through one module each:
//! [`request`] (parsed, nothing looked up) → [`plan`] (resolved against the [`schema_cache`], nothing executed) →
//! [`statement`] (one SQL text and its bound parameters) → `transaction` (settings and statement in one round
//! trip) → [`response`]. Every step is a function from one type to the next; only the transaction does I/O. The
//! [`plan_cache`] spares the first three steps for a request that differs from an earlier one only in its values.
//!
//! After a write, `freshness` keeps the position of the caller's last write in the write-ahead log, so that the
//! caller's reads go only to standbys that have replayed it.
//!
//! This crate does not build the JSON of rows: Postgres does, or for long lists `postgres` while it reads them, and the
//! bytes go to the client untouched. The description of a schema (`openapi`) is made here, from the cache.

mod admin;
mod array;
mod body;
mod bytea;
mod caller;
mod compression;
mod configuration;
mod error;
pub mod freshness;
mod legacy;
mod metrics;
mod openapi;
pub mod plan;
pub mod plan_cache;
mod query_shape;
pub mod request;
pub mod response;
pub mod schema_cache;
mod service;
mod settings;
mod standalone;
pub mod statement;
mod timing;
mod transaction;

pub use admin::{Admin, Probe};
pub use error::Error;
pub use query_shape::query_shape;
pub use service::{Rest, service, service_from};
pub use settings::{
    ClaimPath, Connections, KNOWN_KEYS, LOG_LEVEL, Mode, OpenApiMode, ProxyUri, Server, Servers, Settings,
    StandaloneSettings, TraceHeader, TxEnd, Verbosity,
};
pub use standalone::Standalone;

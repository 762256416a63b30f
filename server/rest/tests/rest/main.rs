//! The service over HTTP, against a real Postgres: one module for each kind of request.

mod aggregates;
mod availability;
mod bad_input;
mod calls;
mod computed;
mod domains;
mod embeds;
mod harness;
mod media;
mod mutations;
mod openapi;
mod payloads;
mod plain_rows;
mod postgrest_crate;
mod properties;
mod reads;
mod refusals;
mod relation_kinds;
mod relations;
mod replicas;
mod schema_cache;
mod seeds;
mod settings;
mod tokens;
mod transactions;

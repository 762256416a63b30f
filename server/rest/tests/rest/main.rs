//! The service over HTTP, against a real Postgres: one module for each kind of request.

mod calls;
mod domains;
mod embeds;
mod harness;
mod media;
mod mutations;
mod openapi;
mod reads;
mod refusals;
mod schema_cache;
mod transactions;

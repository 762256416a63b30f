//! Row changes: subscriptions of clients, and the delivery of changes to them.
//!
//! The way of a change: `feed` reads it from the replication stream, `audience` has the channels that asked for such
//! changes, `generated` computes what the stream leaves out, `evaluator`, `slow_filters` and `visibility` ask Postgres
//! who gets it, but only about the `candidates`, of whom no `policy` says that they cannot, `payload` writes it, and
//! `batch` does all this for many changes at once.

mod audience;
mod batch;
mod binding;
mod candidates;
mod catalog;
mod evaluator;
mod exchange;
mod feed;
mod feed_state;
mod filter;
mod generated;
mod payload;
mod policy;
mod prepared;
mod queries;
mod readers;
mod resolve;
mod slow_filters;
mod subscriber;
mod subscriptions;
mod table;
mod visibility;

pub(crate) use binding::Bindings;
pub(crate) use exchange::Exchange;
pub(crate) use feed::{Feed, FeedContext};
pub(crate) use feed_state::FeedState;
pub(crate) use prepared::Prepared;
pub(crate) use subscriber::{Principal, Subscriber};
pub(crate) use subscriptions::{Changes, Subscription};

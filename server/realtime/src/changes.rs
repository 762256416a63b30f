//! Row changes: what clients ask for, and who gets what of a change.
//!
//! The way of a change: `feed` reads it from the replication stream, `audience` knows who asked for such, `judge` asks
//! Postgres the `questions` that decide who gets it, `payload` writes it, and `batch` puts these together for many changes
//! at once.

mod audience;
mod batch;
mod binding;
mod catalog;
pub(crate) mod exchange;
mod feed;
mod filter;
mod judge;
mod payload;
mod questions;
mod resolve;
mod subscriptions;
mod table;

pub(crate) use binding::{Bindings, Kind};
pub(crate) use feed::{Feed, FeedState};
pub(crate) use subscriptions::{Changes, Principal, Subscriber, Subscription};

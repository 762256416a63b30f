//! The service over HTTP, on a real Postgres and a folder of files.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on can only fail")]

mod buckets;
mod memory;
mod names;
mod objects;
mod policies;
mod resumable;
mod seeding;
mod signatures;
mod support;
mod sweeping;
mod uploads;

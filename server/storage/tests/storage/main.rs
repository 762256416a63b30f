//! The service over HTTP, on a real Postgres and a folder of files.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on can only fail")]

mod objects;
mod seeding;
mod support;

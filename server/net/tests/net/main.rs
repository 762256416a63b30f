//! HTTP requests of SQL are sent, and their responses come back.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on can only fail")]

mod calls;
mod requests;
mod support;

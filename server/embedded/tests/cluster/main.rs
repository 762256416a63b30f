//! Tests of the embedded cluster, with real servers in folders of their own.

#![expect(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]

mod faults;
mod folders;
mod life;
mod support;

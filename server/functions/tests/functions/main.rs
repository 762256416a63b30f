//! Tests of functions from a caller's view: behind the gateway, in processes of the real Deno.

#![expect(clippy::unwrap_used, clippy::expect_used, reason = "a test that cannot go on can only fail")]

mod budgets;
mod calls;
mod errors;
mod harness;
mod imports;
mod limits;
mod logs;
mod processes;
mod sockets;
mod variables;
mod verification;

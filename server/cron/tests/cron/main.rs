//! The extension pg_cron: what its SQL does, and the runs of its jobs.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on can only fail")]

mod sql;
mod support;
mod work;

//! Telemetry of requests: the spans of their traces, and slow statements.
//!
//! The gateway sets the [`Request`] that a task handles. Everything in the task that is measured (a statement, a call
//! to another server) finds it here, so that services need not pass it on. Without a [`Tracer`] there are no spans. The
//! crate `otlp` sends spans to a collector. A [`collector`] returns metrics whose values are stored elsewhere.

mod process;
mod request;
mod scrape;
mod slow;
mod span;
mod sql;
mod statements;

pub use process::Usage;
pub use request::{Request, handling, name_route, names_only};
pub use scrape::{collector, gauge_of, write_metric};
pub use slow::SlowStatements;
pub use span::{Parent, Span, Tracer, begin_call, write_parent_to};
pub use sql::without_values;
pub use statements::{DatabaseServer, Statement, Statements};

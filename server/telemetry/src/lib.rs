//! What a request leaves behind for operators: the spans of its trace, and the statements that were slow.
//!
//! A gateway says which [`Request`] a task answers. Whatever happens on the way (a statement, a call to another server)
//! asks for it here, so that no service has to hand it on. Without a [`Tracer`] no span is ever made. The crate `otlp` sends spans to a
//! collector. Services show numbers that are kept elsewhere by a [`collector`] of metrics.

mod process;
mod request;
mod scrape;
mod slow;
mod span;
mod sql;
mod statements;

pub use process::Usage;
pub use request::{Request, answering, names_only};
pub use scrape::{collector, gauge_of, write_metric};
pub use slow::SlowStatements;
pub use span::{Parent, Span, Tracer, begin_call, write_parent_to};
pub use statements::{DatabaseServer, Statement, Statements};

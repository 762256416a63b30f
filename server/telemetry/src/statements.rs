//! The spans and the durations of a database's statements.
//!
//! Source: OpenTelemetry's semantic conventions, "Database client spans" and "PostgreSQL".

use std::borrow::Cow;
use std::sync::Arc;
use std::time::Instant;

use opentelemetry::trace::SpanKind;

use crate::{SlowStatements, Span, request, sql};

/// The server that runs statements.
#[derive(Debug, Default)]
pub struct DatabaseServer {
    /// The server's name or address, or the folder of its socket.
    pub address: String,
    /// Its port.
    pub port: u16,
    /// The database.
    pub name: String,
}

/// The telemetry of one database's statements. Cheap to clone.
#[derive(Debug, Clone, Default)]
pub struct Statements {
    slow: SlowStatements,
    server: Arc<DatabaseServer>,
}

impl Statements {
    /// Returns the telemetry of statements that run on `server`; `slow` records those that take too long.
    pub fn new(server: DatabaseServer, slow: SlowStatements) -> Self {
        Self { slow, server: Arc::new(server) }
    }

    /// Begins a statement whose SQL `text` returns. It is part of the trace of the request that this task handles, if
    /// any.
    pub fn begin<'t>(&self, text: impl FnOnce() -> Cow<'t, str>) -> Statement<'_> {
        let span =
            request::current(|request| request.parent.as_ref()?.begin_as(SpanKind::Client, "")).flatten();
        let span = span.map(|span| self.describe(span, &sql::without_values(&text())));
        Statement { statements: self, begun: Instant::now(), span }
    }

    fn describe(&self, mut span: Span, text: &str) -> Span {
        let summary = sql::summary(text);
        span.rename(summary.clone());
        span.set("db.system.name", "postgresql");
        span.set("db.namespace", self.server.name.clone());
        span.set("db.query.summary", summary);
        span.set("db.query.text", text.to_owned());
        span.set("server.address", self.server.address.clone());
        span.set("server.port", i64::from(self.server.port));
        span
    }
}

/// A statement that is running.
#[derive(Debug)]
#[must_use = "it is watched until its end"]
pub struct Statement<'s> {
    statements: &'s Statements,
    begun: Instant,
    span: Option<Span>,
}

impl Statement<'_> {
    /// Ends the statement; `text` returns its SQL, `error` is the SQLSTATE or another word for the failure.
    pub fn end<'t>(mut self, text: impl FnOnce() -> Cow<'t, str>, error: Option<&str>) {
        if let (Some(span), Some(error)) = (&mut self.span, error) {
            span.fail(error.to_owned());
            if is_sqlstate(error) {
                span.set("db.response.status_code", error.to_owned());
            }
        }
        self.statements.slow.record(self.begun.elapsed(), self.span.as_ref(), text);
    }
}

fn is_sqlstate(error: &str) -> bool {
    error.len() == 5 && error.bytes().all(|byte| byte.is_ascii_digit() || byte.is_ascii_uppercase())
}

//! Statements of a database: their spans, and which of them were slow.
//!
//! Source: OpenTelemetry's semantic conventions, "Database client spans" and "PostgreSQL".

use std::borrow::Cow;
use std::sync::Arc;
use std::time::Instant;

use opentelemetry::trace::SpanKind;

use crate::{SlowStatements, Span, request, sql};

/// Where statements run.
#[derive(Debug, Default)]
pub struct DatabaseServer {
    /// The server's name or address, or the folder of its socket.
    pub address: String,
    /// Its port.
    pub port: u16,
    /// The database.
    pub name: String,
}

/// Watches the statements of one database. Cheap to clone.
#[derive(Debug, Clone, Default)]
pub struct Statements {
    slow: SlowStatements,
    server: Arc<DatabaseServer>,
}

impl Statements {
    /// Watches the statements that run on `server`; `slow` takes note of those that take too long.
    pub fn new(server: DatabaseServer, slow: SlowStatements) -> Self {
        Self { slow, server: Arc::new(server) }
    }

    /// Takes note that a statement begins, whose SQL `text` returns. It is part of the request that this task answers;
    /// one that nobody's request asked for is part of no trace.
    pub fn begin<'t>(&self, text: impl FnOnce() -> Cow<'t, str>) -> Statement<'_> {
        let span =
            request::current(|request| request.parent.as_ref()?.begin_as(SpanKind::Client, "")).flatten();
        let span = span.map(|span| self.described(span, &sql::without_values(&text())));
        Statement { statements: self, begun: Instant::now(), span }
    }

    fn described(&self, mut span: Span, text: &str) -> Span {
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
    /// Takes note of its end; `text` returns its SQL, `error` is the SQLSTATE or another word for what went wrong.
    pub fn end<'t>(mut self, text: impl FnOnce() -> Cow<'t, str>, error: Option<&str>) {
        if let (Some(span), Some(error)) = (&mut self.span, error) {
            span.fail(error.to_owned());
            if is_sqlstate(error) {
                span.set("db.response.status_code", error.to_owned());
            }
        }
        self.statements.slow.note(self.begun.elapsed(), self.span.as_ref(), text);
    }
}

fn is_sqlstate(error: &str) -> bool {
    error.len() == 5 && error.bytes().all(|byte| byte.is_ascii_digit() || byte.is_ascii_uppercase())
}

//! The reply to a batch.

use std::sync::Arc;
use std::vec;

use bytes::{Buf as _, BytesMut};
use fallible_iterator::FallibleIterator as _;
use postgres_protocol::message::backend::{CommandCompleteBody, Message, RowDescriptionBody};

use super::pending::PendingStatement;
use super::{Connection, FailurePoint};
use crate::column::Column;
use crate::error::Error;
use crate::error::ServerError;
use crate::json;
use crate::reply::{Reply, Row, Rows};
use crate::statement_cache::PreparedStatement;

/// The reply to a batch, as far as it has been read.
struct PartialReply<'t> {
    /// The results of the caller's statements.
    statements: Vec<Rows>,
    /// The statement whose reply is being read.
    current: Option<PendingStatement<'t>>,
    /// The statements after it.
    pending: vec::IntoIter<PendingStatement<'t>>,
    /// The rows of the current statement.
    rows: Vec<Row>,
    /// Whether the current statement has been bound to its parameters.
    is_bound: bool,
    failure: Option<ServerError>,
}

impl<'t> PartialReply<'t> {
    fn new(batch: Vec<PendingStatement<'t>>) -> Self {
        let statements = Vec::with_capacity(batch.len());
        let mut pending = batch.into_iter();
        let current = pending.next();
        Self { statements, current, pending, rows: Vec::new(), is_bound: false, failure: None }
    }

    /// Adds the result of the current statement and continues with the next one.
    ///
    /// Errors: there is no current statement.
    fn complete_statement(&mut self, body: &CommandCompleteBody) -> Result<(), Error> {
        let done = self.current.take().ok_or_else(|| Error::protocol("more results than statements"))?;
        let rows = std::mem::take(&mut self.rows);
        if done.is_callers {
            let columns = done.columns.unwrap_or_default();
            let json = done.json.and_then(json::Writer::finish);
            self.statements.push(Rows { columns, rows, tag: body.tag()?.to_owned(), json });
        }
        self.advance();
        Ok(())
    }

    /// Adds the result of the current statement, whose text is empty, and continues with the next one.
    fn complete_empty_statement(&mut self) {
        if self.current.take().is_some_and(|done| done.is_callers) {
            self.statements.push(Rows {
                columns: Arc::new([]),
                rows: Vec::new(),
                tag: String::new(),
                json: None,
            });
        }
        self.advance();
    }

    fn advance(&mut self) {
        self.current = self.pending.next();
        self.is_bound = false;
    }

    /// Returns the part of the batch that fails if the server reports an error now.
    fn failure_point(&self) -> FailurePoint {
        match &self.current {
            Some(current) if !current.is_callers => FailurePoint::Settings,
            Some(current) if current.was_cached && !self.is_bound => FailurePoint::CachedStatement,
            _ => FailurePoint::Elsewhere,
        }
    }
}

impl Connection {
    /// Reads the reply to `batch`.
    pub(super) async fn read(&mut self, batch: Vec<PendingStatement<'_>>) -> Result<Reply, Error> {
        let mut reply = PartialReply::new(batch);
        loop {
            // Acknowledgements precede the rows, so they are skipped first.
            reply.is_bound |= skip_acknowledgements(&mut self.session.inbound);
            if let Some(json) = reply.current.as_mut().and_then(|current| current.json.as_mut()) {
                json.take_rows(&mut self.session.inbound)?;
            }
            let Some(message) = Message::parse(&mut self.session.inbound)? else {
                self.session.fill().await?;
                continue;
            };
            match message {
                Message::DataRow(body) => reply.rows.push(Row::new(body)?),
                Message::RowDescription(body) => {
                    self.remember(reply.current.as_mut(), describe(&body)?);
                }
                Message::NoData => self.remember(reply.current.as_mut(), Arc::new([])),
                Message::CommandComplete(body) => reply.complete_statement(&body)?,
                Message::EmptyQueryResponse => reply.complete_empty_statement(),
                // The server skips everything up to the Sync; only the first error is reported.
                Message::ErrorResponse(body) if reply.failure.is_none() => {
                    reply.failure = Some(ServerError::from_body(&body));
                    self.failure_point = reply.failure_point();
                }
                // Sent at the end of a transaction that has changed a reported parameter for the whole session.
                Message::ParameterStatus(_) => self.is_altered = true,
                Message::ReadyForQuery(body) => {
                    match body.status() {
                        b'I' => {}
                        _ if self.is_resetting => return Err(Error::protocol("a transaction was left open")),
                        _ => self.roll_back().await?,
                    }
                    self.in_flight = false;
                    return match reply.failure {
                        Some(error) => Err(error.into()),
                        None => Ok(Reply { statements: reply.statements }),
                    };
                }
                Message::ParameterDescription(_)
                | Message::ErrorResponse(_)
                | Message::NoticeResponse(_)
                | Message::NotificationResponse(_) => {}
                _ => return Err(Error::protocol("a message that no statement of the batch causes")),
            }
        }
    }

    /// Adds a statement that this batch has prepared to the cache. It stays prepared even if the transaction fails.
    fn remember(&mut self, current: Option<&mut PendingStatement<'_>>, columns: Arc<[Column]>) {
        let Some(current) = current else { return };
        let Some(name) = current.new_name.take() else { return };
        self.unconfirmed.retain(|unconfirmed| *unconfirmed != name);
        let json = current.as_json.then(|| Arc::new(json::Format::new(&columns)));
        let prepared = PreparedStatement { name, columns, json };
        if let Some(cache) = self.statements.as_mut().filter(|_| !prepared.name.is_empty()) {
            self.closing.extend(cache.insert(current.role, current.sql, prepared.clone()));
        }
        current.describe(prepared);
    }
}

/// Skips `ParseComplete`, `BindComplete` and `CloseComplete` messages, which have no body and only acknowledge. Reports
/// whether a `BindComplete` was among them.
fn skip_acknowledgements(inbound: &mut BytesMut) -> bool {
    let mut is_bound = false;
    while let [kind @ b'1'..=b'3', 0, 0, 0, 4, ..] = inbound[..] {
        is_bound |= kind == b'2';
        inbound.advance(5);
    }
    is_bound
}

/// Returns the columns of a description of rows.
fn describe(body: &RowDescriptionBody) -> Result<Arc<[Column]>, Error> {
    let columns =
        body.fields().map(|field| Ok(Column { name: field.name().into(), type_oid: field.type_oid() }));
    Ok(columns.collect::<Vec<_>>()?.into())
}

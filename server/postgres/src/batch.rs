//! A connection of the hot path: all messages of a transaction are written at once and end with one `Sync`, so that it
//! costs one round trip. The statements that reset the session follow in the same write: the server sends the reply at
//! the `Sync` and goes on, so that it is woken once and the reply is not later. Source: PostgreSQL documentation,
//! sections 55.2.3 and 55.2.4.

mod encode;
mod pending;
mod read;

pub(crate) use encode::bind;

use std::borrow::Cow;
use std::sync::Arc;
use std::time::Instant;

use bytes::{Buf as _, BytesMut};
use futures_util::FutureExt as _;
use postgres_protocol::message::backend::Message;
use postgres_protocol::message::frontend;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};

use crate::connect::{CancelKey, Session};
use crate::error::Error;
use crate::error::ServerError;
use crate::reply::Reply;
use crate::retry;
use crate::settings_statements::SettingsStatements;
use crate::statement_cache::StatementCache;
use crate::timer::Timer;
use crate::transaction::Statement;
use crate::transaction::Transaction;

/// A batch of at most this many bytes is written before reading begins. A longer one could fill the socket's buffers in
/// both directions while neither side reads, so it is written while replies are read.
const MAX_BLOCKING_WRITE: usize = 32 * 1024;

/// Undoes changes of the session by code of the database's users, as `DISCARD ALL` does, except that prepared
/// statements stay. Source: PostgreSQL documentation, "DISCARD".
pub(crate) const RESET_SESSION: &str = "close all; set session authorization default; reset all; unlisten *; \
                             select pg_advisory_unlock_all(); discard temp; discard sequences";

/// SQLSTATE `active_sql_transaction`: isolation level or access mode were set too late, which is after the first query.
const ACTIVE_SQL_TRANSACTION: &str = "25001";

/// Buffers that have grown beyond this are freed after a transaction.
const MAX_KEPT_BUFFER: usize = 256 * 1024;

pub(crate) struct Connection {
    session: Session,
    /// One of the clones by which the pool counts its open connections.
    _count: Arc<()>,
    outbound: BytesMut,
    /// `None` if statements get no names, so that none is reused.
    statements: Option<StatementCache>,
    /// The statements that set the settings of recent transactions.
    settings: SettingsStatements,
    /// Names of statements that are no longer in the cache and are closed with the next batch.
    closing: Vec<Arc<str>>,
    /// Names of statements that this batch prepares and that are not in the cache yet.
    unconfirmed: Vec<Arc<str>>,
    in_flight: bool,
    failure_point: FailurePoint,
    /// Whether code of the database's users may have changed the session.
    needs_reset: bool,
    /// Whether [`RESET_SESSION`] has been sent and its reply has not been read yet.
    is_resetting: bool,
    /// Whether the session can no longer be brought to its state after the login.
    is_altered: bool,
    /// Whether transactions set isolation level and access mode by opening an explicit block.
    opens_blocks: bool,
    /// Whether code of the database's users has run in the session.
    pub(crate) has_run_user_code: bool,
    /// Limits the time of the current transaction.
    pub(crate) timer: Timer,
    pub(crate) opened: Instant,
    pub(crate) idle_since: Instant,
}

/// The part of a batch that failed.
#[derive(Clone, Copy)]
enum FailurePoint {
    /// One of the statements that this module sends before the caller's.
    Settings,
    /// A statement that an earlier batch had prepared, before it was bound to its parameters.
    CachedStatement,
    Elsewhere,
}

impl Connection {
    /// Takes over a connection that has logged in. `cache_size` is `None` if statements get no names; `count` is kept
    /// as long as the connection.
    pub(crate) fn new(session: Session, cache_size: Option<usize>, count: Arc<()>) -> Self {
        let opened = session.opened;
        Self {
            session,
            _count: count,
            outbound: BytesMut::with_capacity(4 * 1024),
            statements: cache_size.map(StatementCache::new),
            settings: SettingsStatements::default(),
            closing: Vec::new(),
            unconfirmed: Vec::new(),
            in_flight: false,
            failure_point: FailurePoint::Elsewhere,
            needs_reset: false,
            is_resetting: false,
            is_altered: false,
            opens_blocks: false,
            has_run_user_code: false,
            timer: Timer::default(),
            opened,
            idle_since: opened,
        }
    }

    /// Reports whether the server waits for the next batch, so that another caller may use this connection.
    pub(crate) const fn is_ready(&self) -> bool {
        !self.in_flight
    }

    pub(crate) const fn cancel_key(&self) -> CancelKey {
        self.session.cancel
    }

    /// Reports whether the session can no longer be brought to its state after the login, so that no other caller may
    /// use this connection.
    pub(crate) const fn is_altered(&self) -> bool {
        self.is_altered
    }

    /// Finishes a reset of the session, if one was begun, and reports whether the next caller may use the connection. A
    /// connection that the server has closed, for example by a restart, is noticed here, before a request is sent on
    /// it.
    pub(crate) async fn is_usable(&mut self) -> bool {
        if self.is_resetting { self.finish_reset().await.is_ok() } else { self.is_open() }
    }

    /// Reads what the server has sent since the last batch, without waiting. Reports whether the connection is open and
    /// has received nothing except notices.
    fn is_open(&mut self) -> bool {
        match self.session.receive().now_or_never() {
            None => true,
            Some(Ok(Message::NoticeResponse(_))) => self.is_open(),
            Some(_) => false,
        }
    }

    /// Runs `transaction` and returns the results of its statements.
    ///
    /// If the future is dropped before the reply is complete, the connection is not [ready](Self::is_ready).
    pub(crate) async fn execute(&mut self, transaction: &Transaction<'_>) -> Result<Reply, Error> {
        // Of the transaction that failed before on this connection.
        if self.is_resetting {
            self.finish_reset().await?;
        }
        let reply = self.attempt(transaction).await;
        if self.needs_reset && self.is_ready() && self.begin_reset().await.is_err() {
            self.is_altered = true;
        }
        reply
    }

    /// Reports whether `transaction` failed with `error` because of something that an earlier one had left on the
    /// connection, so that another attempt may succeed, and changes the connection's state for it.
    pub(crate) fn prepares_retry(&mut self, error: &Error, transaction: &Transaction<'_>) -> bool {
        let Some(error) = error.server().filter(|_| self.is_ready()) else { return false };
        match self.failure_point {
            // The session's defaults differ from what the settings statement sets.
            FailurePoint::Settings if error.code == ACTIVE_SQL_TRANSACTION && !self.opens_blocks => {
                self.opens_blocks = true;
                true
            }
            FailurePoint::CachedStatement if retry::may_be_outdated(&error.code) => {
                self.forget(transaction);
                true
            }
            _ => false,
        }
    }

    /// Writes `transaction` and reads the reply.
    async fn attempt(&mut self, transaction: &Transaction<'_>) -> Result<Reply, Error> {
        let is_in_block = transaction.needs_block() || self.opens_blocks;
        let settings = self.settings.get(transaction, is_in_block);
        let settings = settings.as_deref().map(|sql| Statement {
            sql: Cow::Borrowed(sql),
            parameters: transaction.setting_values(),
            as_json: false,
        });
        self.outbound.clear();
        self.needs_reset |= transaction.may_change_session();
        self.has_run_user_code |= transaction.may_change_session();
        self.closing.append(&mut self.unconfirmed);
        for name in &self.closing {
            frontend::close(b'S', name, &mut self.outbound)?;
        }
        let block = |sql: &'static str| {
            is_in_block.then(|| Statement { sql: Cow::Borrowed(sql), parameters: Vec::new(), as_json: false })
        };
        let (opening, closing) = (block(transaction.opening()), block(transaction.closing()));
        let role = transaction.role();
        let mut pending = Vec::with_capacity(transaction.statements().len() + 3);
        for statement in opening.iter().chain(settings.iter()) {
            self.encode(&mut pending, statement, "", false)?;
        }
        for statement in transaction.statements() {
            self.encode(&mut pending, statement, role, true)?;
        }
        if let Some(statement) = &closing {
            self.encode(&mut pending, statement, "", false)?;
        }
        frontend::sync(&mut self.outbound);
        // An explicit block that fails is still open at the Sync.
        if self.needs_reset && !is_in_block {
            frontend::query(RESET_SESSION, &mut self.outbound)?;
            self.needs_reset = false;
            self.is_resetting = true;
        }
        self.in_flight = true;
        self.write().await?;
        self.closing.clear();
        let reply = self.read(pending).await;
        self.shrink();
        reply
    }

    /// Removes the statements of `transaction` from the cache, so that they are prepared again.
    fn forget(&mut self, transaction: &Transaction<'_>) {
        let Some(cache) = &mut self.statements else { return };
        let role = transaction.role();
        for statement in transaction.statements() {
            self.closing.extend(cache.remove(role, &statement.sql));
        }
    }

    /// Sends [`RESET_SESSION`] if it did not follow the transaction, without waiting for the reply.
    async fn begin_reset(&mut self) -> Result<(), Error> {
        self.outbound.clear();
        frontend::query(RESET_SESSION, &mut self.outbound)?;
        // A message that was written only in part makes the connection unusable, so it must not count as ready
        // meanwhile.
        self.in_flight = true;
        self.write().await?;
        self.in_flight = false;
        self.needs_reset = false;
        self.is_resetting = true;
        Ok(())
    }

    async fn finish_reset(&mut self) -> Result<(), Error> {
        loop {
            match self.session.receive().await? {
                Message::ReadyForQuery(body) if body.status() == b'I' => {
                    self.is_resetting = false;
                    return Ok(());
                }
                Message::ReadyForQuery(_) => return Err(Error::protocol("a transaction was left open")),
                Message::ErrorResponse(body) => return Err(ServerError::from_body(&body).into()),
                _ => {}
            }
        }
    }

    /// Writes the output buffer, and reads meanwhile if it is large.
    async fn write(&mut self) -> Result<(), Error> {
        let Session { stream, inbound, .. } = &mut self.session;
        if self.outbound.len() <= MAX_BLOCKING_WRITE {
            stream.write_all(&self.outbound).await?;
        } else {
            let (mut reader, mut writer) = tokio::io::split(&mut *stream);
            while self.outbound.has_remaining() {
                tokio::select! {
                    written = writer.write_buf(&mut self.outbound) => { written?; }
                    read = reader.read_buf(inbound) => if read? == 0 {
                        return Err(Error::Unavailable("the connection was closed".to_owned()));
                    },
                }
            }
        }
        Ok(stream.flush().await?)
    }

    /// Ends an explicit block that a failed statement has left open.
    async fn roll_back(&mut self) -> Result<(), Error> {
        self.outbound.clear();
        frontend::query("rollback", &mut self.outbound)?;
        self.write().await?;
        self.skip_to_ready().await
    }

    /// Reads and drops the rest of the reply, until the server waits for the next batch.
    pub(crate) async fn drain(&mut self) -> Result<(), Error> {
        self.skip_to_ready().await?;
        if self.is_resetting {
            self.finish_reset().await?;
        }
        self.in_flight = false;
        if self.needs_reset { self.begin_reset().await } else { Ok(()) }
    }

    async fn skip_to_ready(&mut self) -> Result<(), Error> {
        loop {
            if let Message::ReadyForQuery(body) = self.session.receive().await? {
                return if body.status() == b'I' {
                    Ok(())
                } else {
                    Err(Error::protocol("a transaction was left open"))
                };
            }
        }
    }

    /// Terminates the session, so that the server does not log a lost client.
    pub(crate) async fn terminate(mut self) {
        self.outbound.clear();
        frontend::terminate(&mut self.outbound);
        // The server ends the session anyway when the socket closes.
        let _ = self.write().await;
    }

    /// Frees large buffers.
    fn shrink(&mut self) {
        if self.outbound.capacity() > MAX_KEPT_BUFFER {
            self.outbound = BytesMut::with_capacity(4 * 1024);
        }
        if self.session.inbound.is_empty() && self.session.inbound.capacity() > MAX_KEPT_BUFFER {
            self.session.inbound = BytesMut::with_capacity(8 * 1024);
        }
    }
}

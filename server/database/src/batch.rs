//! A connection of the hot path: a whole transaction is written at once, ends with one `Sync`, and is answered at
//! once. Source: PostgreSQL documentation, sections 55.2.3 and 55.2.4.

use std::borrow::Cow;
use std::sync::Arc;
use std::time::Instant;

use bytes::{Buf as _, BytesMut};
use fallible_iterator::FallibleIterator as _;
use futures_util::FutureExt as _;
use postgres_protocol::IsNull;
use postgres_protocol::message::backend::{Message, RowDescriptionBody};
use postgres_protocol::message::frontend;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};

use crate::connect::{CancelKey, Session};
use crate::error::ServerError;
use crate::json;
use crate::settings_texts::SettingsTexts;
use crate::statement_cache::{self, Prepared, StatementCache};
use crate::timer::Timer;
use crate::transaction::Statement;
use crate::{Answer, Column, Error, Row, Rows, Transaction};

/// Up to this many bytes are written in one go. More could fill the socket's buffers in both directions while
/// neither side reads, so that is written and read at the same time.
const WRITE_AT_ONCE: usize = 32 * 1024;

/// Undoes what code of the database's users may have left in the session, all but what it has prepared: as `DISCARD ALL`
/// does, without our statements. Source: PostgreSQL documentation, "DISCARD".
const SET_RIGHT: &str = "close all; set session authorization default; reset all; unlisten *; \
                         select pg_advisory_unlock_all(); discard temp; discard sequences";

/// What takes effect only before the first query (SQLSTATE 25001).
const NOT_AS_NAMED: &str = "25001";

/// Buffers that grew beyond this are given back after a transaction.
const KEPT_BUFFER: usize = 256 * 1024;

pub(crate) struct Connection {
    session: Session,
    outbound: BytesMut,
    /// `None` when statements are not to keep a name.
    statements: Option<StatementCache>,
    /// The texts that set the settings of recent transactions.
    settings: SettingsTexts,
    /// Names of statements that are not in the cache any more and are closed with the next batch.
    closing: Vec<Arc<str>>,
    /// Names that the server may know from this batch on, and the cache does not yet.
    unconfirmed: Vec<Arc<str>>,
    in_flight: bool,
    failed_at: FailedAt,
    /// Whether something may have been left in the session.
    owes_setting_right: bool,
    /// Whether the answer to [`SET_RIGHT`] is still to come.
    is_being_set_right: bool,
    /// Whether the session is no longer as it was after the login.
    is_altered: bool,
    /// Whether transactions name isolation level and access mode by opening a block.
    opens_blocks: bool,
    /// Whether code of the database's users has run.
    pub(crate) has_run_foreign_code: bool,
    /// Of the transaction that runs.
    pub(crate) timer: Timer,
    pub(crate) opened: Instant,
    pub(crate) idle_since: Instant,
}

/// What had failed when a batch failed.
#[derive(Clone, Copy)]
enum FailedAt {
    /// One of the statements that come before the caller's.
    Settings,
    /// A statement that had been prepared before, and was not yet bound to its parameters.
    KnownStatement,
    Elsewhere,
}

/// What one statement of a batch still has to be answered with.
struct Expected<'t> {
    role: &'t str,
    sql: &'t str,
    /// Whether it had been prepared before.
    was_known: bool,
    /// The name that it was prepared under by this batch; `None` for a statement that was known.
    new_name: Option<Arc<str>>,
    columns: Option<Arc<[Column]>>,
    /// Whether its rows are to be written as JSON.
    as_json: bool,
    /// What writes them, once the columns are known.
    json: Option<json::Writer>,
    /// Whether the caller asked for it, and not this module.
    wanted: bool,
}

impl Expected<'_> {
    /// Notes which columns its rows have.
    fn describe(&mut self, prepared: Prepared) {
        if self.as_json {
            // It may have been prepared for one that wanted its rows.
            let format = prepared.json.unwrap_or_else(|| Arc::new(json::Format::new(&prepared.columns)));
            self.json = Some(json::Writer::new(format));
        }
        self.columns = Some(prepared.columns);
    }
}

impl Connection {
    /// Takes over a connection that has logged in. `cache_size` is `None` where statements are to keep no name.
    pub(crate) fn new(session: Session, cache_size: Option<usize>) -> Self {
        let opened = session.opened;
        Self {
            session,
            outbound: BytesMut::with_capacity(4 * 1024),
            statements: cache_size.map(StatementCache::new),
            settings: SettingsTexts::default(),
            closing: Vec::new(),
            unconfirmed: Vec::new(),
            in_flight: false,
            failed_at: FailedAt::Elsewhere,
            owes_setting_right: false,
            is_being_set_right: false,
            is_altered: false,
            opens_blocks: false,
            has_run_foreign_code: false,
            timer: Timer::default(),
            opened,
            idle_since: opened,
        }
    }

    /// Whether the server waits for the next batch, so that another caller may have this connection.
    pub(crate) const fn is_ready(&self) -> bool {
        !self.in_flight
    }

    pub(crate) const fn cancel_key(&self) -> CancelKey {
        self.session.cancel
    }

    /// Whether the session is no longer as it was after the login, so that nobody else may have this connection.
    pub(crate) const fn is_altered(&self) -> bool {
        self.is_altered
    }

    /// Makes sure that the next caller finds the session as it was after the login. `false` when it does not, or when
    /// the server hung up: a restarted Postgres is noticed here, before a request is sent to it in vain.
    pub(crate) async fn is_fit(&mut self) -> bool {
        if self.is_being_set_right { self.finish_setting_right().await.is_ok() } else { self.is_quiet() }
    }

    /// Reads what the server sent while nobody asked, without waiting. `false` when it hung up or said anything but
    /// a notice.
    fn is_quiet(&mut self) -> bool {
        match self.session.receive().now_or_never() {
            None => true,
            Some(Ok(Message::NoticeResponse(_))) => self.is_quiet(),
            Some(_) => false,
        }
    }

    /// Runs `transaction` and returns the answers to its statements. What fails because of the connection's past is run
    /// once more: the failure has undone all of it.
    ///
    /// Dropping the future leaves the connection not [ready](Self::is_ready) unless the answer was complete.
    pub(crate) async fn execute(&mut self, transaction: &Transaction<'_>) -> Result<Answer, Error> {
        let mut answer = self.attempt(transaction).await;
        while let Err(error) = &answer
            && self.mends(error, transaction)
        {
            answer = self.attempt(transaction).await;
        }
        if self.owes_setting_right && self.is_ready() && self.set_right().await.is_err() {
            self.is_altered = true;
        }
        answer
    }

    /// Whether another attempt is worth it, after something has been changed on this side.
    fn mends(&mut self, error: &Error, transaction: &Transaction<'_>) -> bool {
        let Some(error) = error.server().filter(|_| self.is_ready()) else { return false };
        match self.failed_at {
            // The session's defaults are others than those that were named.
            FailedAt::Settings if error.code == NOT_AS_NAMED && !self.opens_blocks => {
                self.opens_blocks = true;
                true
            }
            FailedAt::KnownStatement if may_be_outdated(&error.code) => {
                self.forget(transaction);
                true
            }
            _ => false,
        }
    }

    async fn attempt(&mut self, transaction: &Transaction<'_>) -> Result<Answer, Error> {
        let is_in_block = transaction.needs_block() || self.opens_blocks;
        let settings = self.settings.of(transaction, is_in_block);
        let settings = settings.as_deref().map(|sql| Statement {
            sql: Cow::Borrowed(sql),
            parameters: transaction.setting_values(),
            as_json: false,
        });
        self.outbound.clear();
        self.owes_setting_right |= transaction.may_leave_something();
        self.has_run_foreign_code |= transaction.may_leave_something();
        self.closing.append(&mut self.unconfirmed);
        for name in &self.closing {
            frontend::close(b'S', name, &mut self.outbound)?;
        }
        let block = |sql: &'static str| {
            is_in_block.then(|| Statement { sql: Cow::Borrowed(sql), parameters: Vec::new(), as_json: false })
        };
        let (opening, closing) = (block(transaction.opening()), block(transaction.closing()));
        let role = transaction.role();
        let mut expected = Vec::with_capacity(transaction.statements().len() + 3);
        for statement in opening.iter().chain(settings.iter()) {
            self.encode(&mut expected, statement, "", false)?;
        }
        for statement in transaction.statements() {
            self.encode(&mut expected, statement, role, true)?;
        }
        if let Some(statement) = &closing {
            self.encode(&mut expected, statement, "", false)?;
        }
        frontend::sync(&mut self.outbound);
        self.in_flight = true;
        self.write().await?;
        self.closing.clear();
        let answer = self.read(expected).await;
        self.shrink();
        answer
    }

    /// Forgets the statements of `transaction`, so that they are prepared anew.
    fn forget(&mut self, transaction: &Transaction<'_>) {
        let Some(cache) = &mut self.statements else { return };
        let role = transaction.role();
        for statement in transaction.statements() {
            self.closing.extend(cache.remove(role, &statement.sql));
        }
    }

    /// Has the server undo what may have been left in the session, without waiting for that.
    async fn set_right(&mut self) -> Result<(), Error> {
        self.outbound.clear();
        frontend::query(SET_RIGHT, &mut self.outbound)?;
        // Half a message would be no beginning for the next one.
        self.in_flight = true;
        self.write().await?;
        self.in_flight = false;
        self.owes_setting_right = false;
        self.is_being_set_right = true;
        Ok(())
    }

    async fn finish_setting_right(&mut self) -> Result<(), Error> {
        loop {
            match self.session.receive().await? {
                Message::ReadyForQuery(body) if body.status() == b'I' => {
                    self.is_being_set_right = false;
                    return Ok(());
                }
                Message::ReadyForQuery(_) => return Err(Error::protocol("a transaction was left open")),
                Message::ErrorResponse(body) => return Err(ServerError::from_body(&body).into()),
                _ => {}
            }
        }
    }

    /// Appends the messages for `statement`, and to `batch` what they are to be answered with.
    fn encode<'t>(
        &mut self,
        batch: &mut Vec<Expected<'t>>,
        statement: &'t Statement<'_>,
        role: &'t str,
        wanted: bool,
    ) -> Result<(), Error> {
        let as_json = statement.as_json;
        let known = self.statements.as_mut().and_then(|cache| cache.get(role, &statement.sql));
        let mut expected = Expected {
            role,
            sql: &statement.sql,
            was_known: known.is_some(),
            new_name: None,
            columns: None,
            as_json,
            json: None,
            wanted,
        };
        let name = if let Some(prepared) = known {
            let name = Arc::clone(&prepared.name);
            expected.describe(prepared);
            name
        } else {
            let is_same = |other: &Expected<'_>| other.role == role && other.sql == statement.sql;
            let name: Arc<str> = match self.statements {
                // Only one of a batch can be prepared under the name that they would have in common.
                Some(_) if !batch.iter().any(is_same) => statement_cache::name(role, &statement.sql),
                _ => "".into(),
            };
            frontend::parse(&name, &statement.sql, std::iter::empty(), &mut self.outbound)?;
            frontend::describe(b'S', &name, &mut self.outbound)?;
            expected.new_name = Some(Arc::clone(&name));
            if !name.is_empty() {
                self.unconfirmed.push(Arc::clone(&name));
            }
            name
        };
        let write_parameter = |parameter: &Option<Cow<'_, [u8]>>, buffer: &mut BytesMut| match parameter {
            Some(text) => {
                buffer.extend_from_slice(text);
                Ok(IsNull::No)
            }
            None => Ok(IsNull::Yes),
        };
        frontend::bind(
            "",
            &name,
            std::iter::empty(),
            &statement.parameters,
            write_parameter,
            std::iter::empty(),
            &mut self.outbound,
        )
        .map_err(|error| match error {
            frontend::BindError::Conversion(error) => Error::protocol(error.to_string()),
            frontend::BindError::Serialization(error) => error.into(),
        })?;
        frontend::execute("", 0, &mut self.outbound)?;
        batch.push(expected);
        Ok(())
    }

    async fn write(&mut self) -> Result<(), Error> {
        let Session { stream, inbound, .. } = &mut self.session;
        if self.outbound.len() <= WRITE_AT_ONCE {
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

    async fn read(&mut self, expected: Vec<Expected<'_>>) -> Result<Answer, Error> {
        let mut statements = Vec::with_capacity(expected.len());
        let mut pending = expected.into_iter();
        let mut current = pending.next();
        let mut rows = Vec::new();
        let mut failure: Option<ServerError> = None;
        let mut is_bound = false;
        loop {
            // First: rows come behind them.
            is_bound |= skip_acknowledgements(&mut self.session.inbound);
            if let Some(json) = current.as_mut().and_then(|current| current.json.as_mut()) {
                json.take_rows(&mut self.session.inbound)?;
            }
            let Some(message) = Message::parse(&mut self.session.inbound)? else {
                self.session.fill().await?;
                continue;
            };
            match message {
                Message::DataRow(body) => rows.push(Row::new(body)?),
                Message::RowDescription(body) => {
                    let columns = describe(&body)?;
                    self.remember(current.as_mut(), columns);
                }
                Message::NoData => self.remember(current.as_mut(), Arc::new([])),
                Message::CommandComplete(body) => {
                    let done =
                        current.take().ok_or_else(|| Error::protocol("more results than statements"))?;
                    let rows = std::mem::take(&mut rows);
                    if done.wanted {
                        let columns = done.columns.unwrap_or_default();
                        let json = done.json.and_then(json::Writer::finish);
                        statements.push(Rows { columns, rows, tag: body.tag()?.to_owned(), json });
                    }
                    current = pending.next();
                    is_bound = false;
                }
                Message::EmptyQueryResponse => {
                    if current.take().is_some_and(|done| done.wanted) {
                        statements.push(Rows {
                            columns: Arc::new([]),
                            rows: Vec::new(),
                            tag: String::new(),
                            json: None,
                        });
                    }
                    current = pending.next();
                    is_bound = false;
                }
                // Everything up to the Sync is skipped now; the first error is the one that counts.
                Message::ErrorResponse(body) if failure.is_none() => {
                    failure = Some(ServerError::from_body(&body));
                    self.failed_at = match &current {
                        Some(current) if !current.wanted => FailedAt::Settings,
                        Some(current) if current.was_known && !is_bound => FailedAt::KnownStatement,
                        _ => FailedAt::Elsewhere,
                    };
                }
                // Sent at the end of a transaction that has set one of those that the server reports, for longer.
                Message::ParameterStatus(_) => self.is_altered = true,
                Message::ReadyForQuery(body) => {
                    if body.status() != b'I' {
                        self.roll_back().await?;
                    }
                    self.in_flight = false;
                    return match failure {
                        Some(error) => Err(error.into()),
                        None => Ok(Answer { statements }),
                    };
                }
                Message::ParameterDescription(_)
                | Message::ErrorResponse(_)
                | Message::NoticeResponse(_)
                | Message::NotificationResponse(_) => {}
                _ => return Err(Error::protocol("a message that no statement of the batch asks for")),
            }
        }
    }

    /// Keeps a statement that this batch has prepared. It stays prepared even if the transaction fails.
    fn remember(&mut self, current: Option<&mut Expected<'_>>, columns: Arc<[Column]>) {
        let Some(current) = current else { return };
        let Some(name) = current.new_name.take() else { return };
        self.unconfirmed.retain(|unconfirmed| *unconfirmed != name);
        let json = current.as_json.then(|| Arc::new(json::Format::new(&columns)));
        let prepared = Prepared { name, columns, json };
        if let Some(cache) = self.statements.as_mut().filter(|_| !prepared.name.is_empty()) {
            self.closing.extend(cache.insert(current.role, current.sql, prepared.clone()));
        }
        current.describe(prepared);
    }

    /// Ends an explicit block that a failure has left open.
    async fn roll_back(&mut self) -> Result<(), Error> {
        self.outbound.clear();
        frontend::query("rollback", &mut self.outbound)?;
        self.write().await?;
        self.skip_to_ready().await
    }

    /// Reads on until the server waits for the next batch, throwing the answer away.
    pub(crate) async fn settle(&mut self) -> Result<(), Error> {
        self.skip_to_ready().await?;
        self.in_flight = false;
        if self.owes_setting_right { self.set_right().await } else { Ok(()) }
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

    /// Says goodbye, so that the server's log holds no complaint about a lost client.
    pub(crate) async fn terminate(mut self) {
        self.outbound.clear();
        frontend::terminate(&mut self.outbound);
        // The server ends the session anyway when the socket closes.
        let _ = self.write().await;
    }

    fn shrink(&mut self) {
        if self.outbound.capacity() > KEPT_BUFFER {
            self.outbound = BytesMut::with_capacity(4 * 1024);
        }
        if self.session.inbound.is_empty() && self.session.inbound.capacity() > KEPT_BUFFER {
            self.session.inbound = BytesMut::with_capacity(8 * 1024);
        }
    }
}

/// Passes over `ParseComplete`, `BindComplete` and `CloseComplete`, which have no body and say only that nothing went
/// wrong. Answers whether a `BindComplete` was among them.
fn skip_acknowledgements(inbound: &mut BytesMut) -> bool {
    let mut is_bound = false;
    while let [kind @ b'1'..=b'3', 0, 0, 0, 4, ..] = inbound[..] {
        is_bound |= kind == b'2';
        inbound.advance(5);
    }
    is_bound
}

/// Whether a change of the catalog may be why a statement of before is refused with `code`: features (a result of
/// another type), values that are read by a type of before, names and types, and types that are gone. Privileges are
/// looked at anew each time.
fn may_be_outdated(code: &str) -> bool {
    code != "42501" && ["0A", "22", "42", "XX"].iter().any(|class| code.starts_with(class))
}

fn describe(body: &RowDescriptionBody) -> Result<Arc<[Column]>, Error> {
    let columns =
        body.fields().map(|field| Ok(Column { name: field.name().into(), type_oid: field.type_oid() }));
    Ok(columns.collect::<Vec<_>>()?.into())
}

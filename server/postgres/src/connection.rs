//! A connection outside the pools, for SQL text that does not come from this program.

use bytes::{Buf as _, BytesMut};
use postgres_protocol::message::backend::Message;
use postgres_protocol::message::frontend;

use crate::connect::{Session, Target};
use crate::error::Error;
use crate::error::ServerError;

/// A connection outside the pools. Its statements may change the session in any way, so it is never pooled.
pub struct Connection {
    pub(crate) session: Session,
    /// The server, to which a cancellation is sent.
    pub(crate) target: Target,
}

/// The outcome of the last statement of a text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Outcome {
    /// It returned this many rows, which were dropped.
    Rows(u64),
    /// It returned no rows; this is its command tag, such as `INSERT 0 1`.
    Command(String),
}

impl Connection {
    pub(crate) fn new(session: Session, target: Target) -> Self {
        Self { session, target }
    }

    /// Returns the process ID of the server process, as `pg_terminate_backend` expects it.
    pub fn process_id(&self) -> i32 {
        self.session.cancel.process_id()
    }

    /// Runs the statements of `sql`, in one transaction unless they end it themselves, without a time limit. Rows are
    /// dropped as they arrive, so they may be of any size. `COPY` from or to the client is refused.
    ///
    /// Source: PostgreSQL documentation, section 55.2.2.
    ///
    /// Errors: [`Error::Postgres`] if a statement fails, after which the connection can still be used;
    /// [`Error::Unavailable`] if the connection ends.
    pub async fn run(&mut self, sql: &str) -> Result<Outcome, Error> {
        let mut request = BytesMut::new();
        frontend::query(sql, &mut request)?;
        self.session.send(&request).await?;
        let mut outcome = Outcome::Rows(0);
        let mut rows = None;
        let mut failure = None;
        loop {
            if let Some(length) = self.data_length() {
                rows = rows.map(|count: u64| count + 1);
                self.skip(length).await?;
                continue;
            }
            let Some(message) = Message::parse(&mut self.session.inbound)? else {
                match self.session.fill().await {
                    Ok(()) => continue,
                    // If the server sent an error before it closed the connection, that is the reason.
                    Err(error) => return Err(failure.unwrap_or(error)),
                }
            };
            match message {
                Message::RowDescription(_) => rows = Some(0),
                Message::CommandComplete(body) => {
                    let tag = || Ok::<_, Error>(Outcome::Command(body.tag()?.to_owned()));
                    outcome = rows.take().map_or_else(tag, |count| Ok(Outcome::Rows(count)))?;
                }
                Message::ErrorResponse(body) => {
                    failure = failure.or(Some(ServerError::from_body(&body).into()));
                }
                Message::CopyInResponse(_) => self.refuse_copy().await?,
                Message::CopyOutResponse(_) => {
                    failure = failure.or(Some(copy_refused()));
                }
                Message::ReadyForQuery(_) => return failure.map_or(Ok(outcome), Err),
                _ => {}
            }
        }
    }

    /// Refuses `COPY … FROM STDIN`, for which there is no data. Postgres then reports an error.
    pub(crate) async fn refuse_copy(&mut self) -> Result<(), Error> {
        let mut refusal = BytesMut::new();
        frontend::copy_fail("COPY not supported", &mut refusal)?;
        self.session.send(&refusal).await
    }

    /// Returns the length of the next message if it is a row or copied data, which may be a gigabyte long.
    fn data_length(&self) -> Option<usize> {
        let [b'D' | b'd', a, b, c, d, ..] = *self.session.inbound else { return None };
        // The length counts itself, but not the byte before it.
        usize::try_from(u32::from_be_bytes([a, b, c, d])).ok().map(|length| length + 1)
    }

    async fn skip(&mut self, mut length: usize) -> Result<(), Error> {
        loop {
            let present = length.min(self.session.inbound.len());
            self.session.inbound.advance(present);
            length -= present;
            if length == 0 {
                return Ok(());
            }
            self.session.fill().await?;
        }
    }
}

/// Returns the error for `COPY … TO STDOUT`, whose data nothing reads.
pub(crate) fn copy_refused() -> Error {
    let refusal = ServerError {
        severity: "ERROR".to_owned(),
        code: "0A000".to_owned(),
        message: "COPY not supported".to_owned(),
        ..ServerError::default()
    };
    refusal.into()
}

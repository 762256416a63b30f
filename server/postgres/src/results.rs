//! The results of SQL text that does not come from this program.

use std::sync::Arc;
use std::time::Duration;

use bytes::BytesMut;
use fallible_iterator::FallibleIterator as _;
use postgres_protocol::message::backend::Message;
use postgres_protocol::message::frontend;
use tokio::runtime::Handle;

use crate::batch::bind;
use crate::column::Column;
use crate::connect::{CancelKey, Target};
use crate::connection::{Connection, copy_refused};
use crate::error::{Error, ServerError};
use crate::reply::{Row, Rows};
use crate::transaction::Parameter;

/// What a text may take.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// How long its statements may run, all together.
    pub time: Duration,
    /// How many bytes of memory the results of all its statements may take.
    pub bytes: usize,
}

/// What a row takes in memory beside its values: itself twice, since a list that grows has room for as many again, and
/// the head of its message.
const ROW: usize = 2 * size_of::<Row>() + 7;

impl Connection {
    /// Runs the statements of `sql`, in one transaction unless they end it themselves, and returns the rows of each of
    /// them. `COPY` from or to the client is refused.
    ///
    /// Source: PostgreSQL documentation, section 55.2.2.
    ///
    /// Errors: [`Error::Postgres`] if a statement fails; [`Error::Timeout`] and [`Error::TooLarge`] beyond the `limits`,
    /// after which the connection must be dropped; [`Error::Unavailable`] if it ends. If the call is dropped, the
    /// statements are cancelled, and the connection must be dropped, too.
    pub async fn query(&mut self, sql: &str, limits: Limits) -> Result<Vec<Rows>, Error> {
        let mut request = BytesMut::new();
        frontend::query(sql, &mut request)?;
        self.run_within(&request, limits).await
    }

    /// Does what [`Self::query`] does with the one statement of `sql` and its parameters, which are in text format.
    /// Postgres infers their types.
    ///
    /// Errors: those of [`Self::query`].
    pub async fn query_with(
        &mut self,
        sql: &str,
        parameters: &[Parameter<'_>],
        limits: Limits,
    ) -> Result<Vec<Rows>, Error> {
        let mut request = BytesMut::new();
        frontend::parse("", sql, std::iter::empty(), &mut request)?;
        bind("", parameters, &mut request)?;
        frontend::describe(b'P', "", &mut request)?;
        frontend::execute("", 0, &mut request)?;
        frontend::sync(&mut request);
        self.run_within(&request, limits).await
    }

    async fn run_within(&mut self, request: &[u8], limits: Limits) -> Result<Vec<Rows>, Error> {
        let mut unfinished = Unfinished(Some((self.target.clone(), self.session.cancel)));
        let replied = tokio::time::timeout(limits.time, self.exchange(request, limits.bytes)).await;
        unfinished.0 = None;
        let reply = replied.unwrap_or(Err(Error::Timeout(limits.time)));
        if matches!(reply, Err(Error::Timeout(_) | Error::TooLarge(_))) {
            // Without it, the statement would go on although nobody reads what it returns.
            self.target.cancel(self.session.cancel).await?;
        }
        reply
    }

    async fn exchange(&mut self, request: &[u8], max_bytes: usize) -> Result<Vec<Rows>, Error> {
        self.session.send(request).await?;
        let mut results = Vec::new();
        let mut current = Collected::default();
        let mut failure = None;
        let mut bytes = 0;
        let mut take = |more: usize| {
            bytes += more;
            if bytes > max_bytes { Err(Error::TooLarge(max_bytes)) } else { Ok(()) }
        };
        loop {
            let message = match self.session.receive().await {
                Ok(message) => message,
                // If the server sent an error before it closed the connection, that is the reason.
                Err(error) => return Err(failure.unwrap_or(error)),
            };
            match message {
                Message::RowDescription(body) => {
                    let columns = body
                        .fields()
                        .map(|field| Ok(Column { name: field.name().into(), type_oid: field.type_oid() }));
                    current.columns = columns.collect::<Vec<_>>()?.into();
                    let taken = current.columns.iter().map(|column| size_of::<Column>() + column.name.len());
                    take(taken.sum())?;
                }
                Message::DataRow(body) => {
                    take(ROW + body.buffer().len())?;
                    current.rows.push(Row::new(body)?);
                }
                Message::CommandComplete(body) => {
                    let tag = body.tag()?;
                    take(2 * size_of::<Rows>() + tag.len())?;
                    results.push(std::mem::take(&mut current).finish(tag));
                }
                Message::EmptyQueryResponse => results.push(std::mem::take(&mut current).finish("")),
                Message::ErrorResponse(body) => {
                    failure = failure.or(Some(ServerError::from_body(&body).into()));
                }
                Message::CopyInResponse(_) => self.refuse_copy().await?,
                Message::CopyOutResponse(_) => failure = failure.or(Some(copy_refused())),
                Message::ReadyForQuery(_) => return failure.map_or(Ok(results), Err),
                _ => {}
            }
        }
    }
}

/// Statements that are cancelled if nobody waits for their end any more.
struct Unfinished(Option<(Target, CancelKey)>);

impl Drop for Unfinished {
    fn drop(&mut self) {
        let (Some((target, key)), Ok(runtime)) = (self.0.take(), Handle::try_current()) else { return };
        runtime.spawn(async move {
            if let Err(error) = target.cancel(key).await {
                tracing::warn!(%error, "a statement that nobody waits for goes on");
            }
        });
    }
}

/// What has arrived of the result of one statement.
#[derive(Default)]
struct Collected {
    columns: Arc<[Column]>,
    rows: Vec<Row>,
}

impl Collected {
    fn finish(self, tag: &str) -> Rows {
        Rows { columns: self.columns, rows: self.rows, tag: tag.to_owned(), json: None }
    }
}

//! A replication connection: its messages, the confirmations that it sends, and the keepalive messages of both sides.
//!
//! Source: PostgreSQL documentation, section 55.4 (Streaming Replication Protocol).

use std::convert::Infallible;
use std::pin::Pin;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use bytes::{Buf as _, BufMut as _, Bytes, BytesMut};
use postgres::{Database, Error, Row, ServerError, Session};
use postgres_protocol::message::backend::Message;
use postgres_protocol::message::frontend;
use time::OffsetDateTime;
use tokio::io::{AsyncWrite as _, AsyncWriteExt as _};
use tokio::time::{Instant, Sleep, sleep_until, timeout};
use tokio_util::io::{poll_read_buf, poll_write_buf};

use super::frame::{self, Frame};
use super::pgoutput::{Decoder, Reader};
use super::{Event, Lsn, POSTGRES_EPOCH, ReplicationSettings, ResumePoint};

/// How long [`ReplicationStream::close`] waits for the server.
const CLOSE_LIMIT: Duration = Duration::from_secs(5);

const MIN_SILENCE_LIMIT: Duration = Duration::from_secs(1);

/// The kinds of messages within the stream.
const DATA: u8 = b'w';
const KEEPALIVE: u8 = b'k';
const STATUS: u8 = b'r';

/// Sets the output formats of values that a subscription of Postgres also sets (`libpqrcv_connect`), so that they do
/// not depend on defaults of the database, and the format of `bytea`. The time zone is the database's.
const FORMS: &str = "-c datestyle=ISO -c intervalstyle=postgres -c extra_float_digits=3 -c bytea_output=hex";

/// The changes of a slot, as they are committed.
///
/// Dropping it closes the connection at once; [`Self::close`] ends the stream properly.
pub struct ReplicationStream {
    session: Session,
    decoder: Decoder,
    /// Bytes that are not sent yet.
    outbound: BytesMut,
    is_flushed: bool,
    confirmed: Lsn,
    server_position: Lsn,
    /// The server's identity and timeline.
    server: (u64, u32),
    status_interval: Duration,
    silence_limit: Duration,
    status_due: Instant,
    /// Whether the server waits for a status.
    is_reply_due: bool,
    /// The time at which the server's last message arrived.
    last_message_at: Instant,
    /// When the server was asked for a reply that has not arrived yet.
    reply_requested_at: Option<Instant>,
    timer: Pin<Box<Sleep>>,
    /// Whether an error was returned, after which the stream cannot be decoded.
    has_failed: bool,
}

impl ReplicationStream {
    /// Opens a connection for replication and begins to stream the changes of `settings.slot` from its confirmed
    /// position. If the connection string names several servers, the primary is used. The login role must have the
    /// attribute `REPLICATION` or be a superuser.
    ///
    /// Errors: [`Error::Unavailable`] if the server cannot be reached; [`Error::Postgres`] if it refuses, for example a
    /// slot that another connection uses ([`Error::is_slot_active`]); [`Error::Configuration`] for an invalid
    /// `settings.server`.
    pub async fn open(database: &Database, settings: &ReplicationSettings) -> Result<Self, Error> {
        let silence_limit = settings.silence_limit.max(MIN_SILENCE_LIMIT);
        let options = format!("{FORMS} -c wal_sender_timeout={}ms", silence_limit.as_millis());
        let session = database.open_replication(settings.server.as_ref(), &options).await?;
        let now = Instant::now();
        // Often enough that the server need not request a status.
        let status_interval = settings.status_interval.min(silence_limit / 3);
        let mut stream = Self {
            session,
            decoder: Decoder::default(),
            outbound: BytesMut::new(),
            is_flushed: true,
            confirmed: Lsn(0),
            server_position: Lsn(0),
            server: (0, 0),
            status_interval,
            silence_limit,
            status_due: now + status_interval,
            is_reply_due: false,
            last_message_at: now,
            reply_requested_at: None,
            timer: Box::pin(sleep_until(now + status_interval)),
            has_failed: false,
        };
        within(silence_limit, stream.begin(settings)).await?;
        Ok(stream)
    }

    /// Begins the stream and waits until it has begun.
    async fn begin(&mut self, settings: &ReplicationSettings) -> Result<(), Error> {
        let end = self.identify().await?;
        if let Some(resume) = settings.resume
            && (resume.system, resume.timeline) == self.server
            && resume.position <= end
        {
            self.confirmed = resume.position;
        }
        self.query(&settings.start_command(self.confirmed)).await?;
        loop {
            match self.receive().await? {
                Frame::CopyBoth => return Ok(()),
                Frame::Other(Message::NoticeResponse(_) | Message::ParameterStatus(_)) => {}
                _ => return Err(Error::protocol("the server does not begin the replication stream")),
            }
        }
    }

    /// Requests the server's identity, and returns the end of its WAL.
    async fn identify(&mut self) -> Result<Lsn, Error> {
        self.query("IDENTIFY_SYSTEM").await?;
        let mut identity = None;
        loop {
            match self.receive().await? {
                Frame::Other(Message::DataRow(body)) => {
                    let row = Row::new(body)?;
                    let text = |index| row.text(index).unwrap_or_default();
                    if let (Ok(system), Ok(timeline)) = (text(0).parse(), text(1).parse()) {
                        self.server = (system, timeline);
                        identity = Some(text(2).parse()?);
                    }
                }
                Frame::Other(Message::ReadyForQuery(_)) => break,
                _ => {}
            }
        }
        identity.ok_or_else(|| Error::protocol("the server does not say which one it is"))
    }

    async fn query(&mut self, command: &str) -> Result<(), Error> {
        frontend::query(command, &mut self.outbound)?;
        self.is_flushed = false;
        self.send().await
    }

    /// Returns the next message, outside of the stream. Errors: also the server's.
    async fn receive(&mut self) -> Result<Frame, Error> {
        loop {
            match frame::take(&mut self.session.inbound)? {
                Some(Frame::Other(Message::ErrorResponse(body))) => {
                    return Err(ServerError::from_body(&body).into());
                }
                Some(frame) => return Ok(frame),
                None => self.session.fill().await?,
            }
        }
    }

    /// Waits for the next event. Meanwhile, sends the confirmed position to the server, every `status_interval` and
    /// when the server asks. May be cancelled at any time (as in `tokio::select!`): no event is lost.
    ///
    /// It has to be called again within `silence_limit`, or [`Self::keep_alive`] in the meantime; otherwise the server
    /// ends the connection.
    ///
    /// Errors: [`Error::Unavailable`] if the connection ends, is broken or was broken before; [`Error::Postgres`] if
    /// the server ends it for another reason; [`Error::Protocol`]. After an error the stream cannot be used any more.
    pub async fn next(&mut self) -> Result<Event, Error> {
        loop {
            let event = self.next_buffered()?;
            // It never suspends, so the event cannot be lost here.
            self.send_without_waiting().await;
            if let Some(event) = event {
                return Ok(event);
            }
            let progress = std::future::poll_fn(|context| self.poll_progress(context)).await;
            self.note_failure(progress)?;
        }
    }

    /// Returns the next event if it has been read from the connection already, so that a user can handle several events
    /// at once.
    ///
    /// Errors: as [`Self::next`].
    pub fn next_buffered(&mut self) -> Result<Option<Event>, Error> {
        if self.has_failed {
            return Err(Error::Unavailable("the replication stream has failed before".to_owned()));
        }
        let event = self.take_event();
        self.note_failure(event)
    }

    /// Confirms everything up to `position`, the `end` of a [`Event::Commit`] or [`Event::Keepalive`], so that the slot
    /// need not keep it. The next status tells the server. Earlier positions are ignored.
    pub fn confirm(&mut self, position: Lsn) {
        self.confirmed = self.confirmed.max(position);
    }

    /// Sends the confirmed position to the server now.
    ///
    /// Errors: as [`Self::next`].
    pub async fn flush_confirmation(&mut self) -> Result<(), Error> {
        let sent = within(self.silence_limit, self.send_status()).await;
        self.note_failure(sent)
    }

    /// Sends the confirmed position to the server every `status_interval` without reading, until it is cancelled: for a
    /// user that waits for something other than the next event.
    ///
    /// Errors: as [`Self::next`].
    pub async fn keep_alive(&mut self) -> Result<Infallible, Error> {
        loop {
            let sent = within(self.silence_limit, self.send()).await;
            self.note_failure(sent)?;
            sleep_until(self.status_due).await;
            self.queue_status(false);
        }
    }

    /// Returns the last known position up to which the server has read its WAL and sent its changes.
    pub const fn server_position(&self) -> Lsn {
        self.server_position
    }

    /// Returns the last position given to [`Self::confirm`]; before that, the one at which the stream resumed, else 0.
    pub const fn confirmed_position(&self) -> Lsn {
        self.confirmed
    }

    /// Returns the confirmed position, for the settings of the next stream.
    pub const fn resume_point(&self) -> ResumePoint {
        let (system, timeline) = self.server;
        ResumePoint { system, timeline, position: self.confirmed }
    }

    /// Returns the process ID of the server process: the slot's `active_pid`.
    pub fn process_id(&self) -> i32 {
        self.session.process_id()
    }

    /// Sends the confirmed position to the server and ends the stream, so that the slot is free when this returns.
    /// Events that have not been returned are sent again with the next stream.
    ///
    /// Errors: as [`Self::next`]; [`Error::Unavailable`] also if the server has not ended the stream within 5 seconds,
    /// since it cannot stop within a transaction. The connection is closed in any case.
    pub async fn close(mut self) -> Result<(), Error> {
        if self.has_failed {
            return Err(Error::Unavailable("the replication stream has failed before".to_owned()));
        }
        within(CLOSE_LIMIT, self.end()).await
    }

    async fn end(&mut self) -> Result<(), Error> {
        self.send_status().await?;
        frontend::copy_done(&mut self.outbound);
        self.is_flushed = false;
        self.send().await?;
        while !matches!(self.receive().await?, Frame::Other(Message::ReadyForQuery(_))) {}
        frontend::terminate(&mut self.outbound);
        self.is_flushed = false;
        self.send().await?;
        // The server has ended the stream: how the connection ends does not matter.
        let _ = self.session.stream.shutdown().await;
        Ok(())
    }

    /// Records that the stream has failed.
    fn note_failure<T>(&mut self, result: Result<T, Error>) -> Result<T, Error> {
        self.has_failed |= result.is_err();
        result
    }

    /// Takes the next event from the bytes that have been read.
    fn take_event(&mut self) -> Result<Option<Event>, Error> {
        loop {
            let now = Instant::now();
            if self.is_reply_due || now >= self.status_due {
                self.queue_status(false);
            }
            let Some(frame) = frame::take(&mut self.session.inbound)? else { return Ok(None) };
            let event = match frame {
                Frame::Data(data) => self.data(data)?,
                Frame::Other(Message::NoticeResponse(_) | Message::ParameterStatus(_)) => None,
                Frame::Other(Message::ErrorResponse(body)) => {
                    return Err(ServerError::from_body(&body).into());
                }
                Frame::Other(Message::CopyDone | Message::CommandComplete(_)) => {
                    return Err(Error::Unavailable("the server ended the replication stream".to_owned()));
                }
                Frame::CopyBoth | Frame::Other(_) => {
                    return Err(Error::protocol("a message that does not belong into a replication stream"));
                }
            };
            if event.is_some() {
                return Ok(event);
            }
        }
    }

    /// Returns the event in `data`, if it is one.
    fn data(&mut self, data: Bytes) -> Result<Option<Event>, Error> {
        let mut reader = Reader(data);
        let kind = reader.u8()?;
        match kind {
            DATA => {
                let _start = reader.u64()?;
                self.server_position = self.server_position.max(Lsn(reader.u64()?));
                let _sent_at = reader.u64()?;
                self.decoder.decode(reader.0)
            }
            KEEPALIVE => {
                let end = Lsn(reader.u64()?);
                let _sent_at = reader.u64()?;
                // The reply is sent when the caller requests the next event. By then, the caller may have confirmed
                // this one: a server that shuts down waits until everything is confirmed.
                self.is_reply_due |= reader.u8()? != 0;
                self.server_position = self.server_position.max(end);
                Ok(Some(Event::Keepalive { end }).filter(|_| !self.decoder.is_in_transaction()))
            }
            _ => Err(Error::protocol(format!("data of kind {kind:#x} in the replication stream"))),
        }
    }

    /// Appends a status to the output buffer, which requests a reply if `asks`. Does nothing while an earlier one is
    /// still there because the server does not read.
    fn queue_status(&mut self, asks: bool) {
        self.status_due = Instant::now() + self.status_interval;
        self.is_reply_due = false;
        if self.outbound.has_remaining() {
            return;
        }
        let since_2000 = OffsetDateTime::now_utc() - POSTGRES_EPOCH;
        let microseconds = i64::try_from(since_2000.whole_microseconds()).unwrap_or_default();
        self.outbound.put_u8(b'd');
        // Length, kind, three positions, time, whether a reply is requested.
        self.outbound.put_u32(4 + 1 + 3 * 8 + 8 + 1);
        self.outbound.put_u8(STATUS);
        // Written, flushed, applied.
        for _ in 0..3 {
            self.outbound.put_u64(self.confirmed.0);
        }
        self.outbound.put_i64(microseconds);
        self.outbound.put_u8(u8::from(asks));
        self.is_flushed = false;
    }

    /// Reads, and sends statuses that are due. Ready when something has been read.
    fn poll_progress(&mut self, context: &mut Context<'_>) -> Poll<Result<(), Error>> {
        // Reading comes before the deadlines, so that bytes count that arrived while the stream was not polled.
        if let Poll::Ready(length) =
            poll_read_buf(Pin::new(&mut self.session.stream), context, &mut self.session.inbound)?
        {
            if length == 0 {
                return Poll::Ready(Err(Error::Unavailable("the connection was closed".to_owned())));
            }
            self.last_message_at = Instant::now();
            self.reply_requested_at = None;
            return Poll::Ready(Ok(()));
        }
        loop {
            let due = self.check_deadlines()?;
            // If sending fails, reading returns the reason.
            let _ = self.poll_send(context);
            if self.timer.deadline() > due {
                self.timer.as_mut().reset(due);
            }
            ready!(self.timer.as_mut().poll(context));
            self.timer.as_mut().reset(due);
            if due > Instant::now() {
                // The timer was set to an earlier deadline.
                ready!(self.timer.as_mut().poll(context));
            }
        }
    }

    /// Queues a status if it is due, and returns the next deadline.
    ///
    /// Errors: [`Error::Unavailable`] if the server is silent.
    fn check_deadlines(&mut self) -> Result<Instant, Error> {
        let now = Instant::now();
        let half = self.silence_limit / 2;
        let waiting_since = match self.reply_requested_at {
            Some(requested_at) if now >= requested_at + half => {
                let limit = self.silence_limit;
                return Err(Error::Unavailable(format!("the server has sent nothing for {limit:?}")));
            }
            Some(requested_at) => requested_at,
            None if now >= self.last_message_at + half => {
                self.queue_status(true);
                self.reply_requested_at = Some(now);
                now
            }
            None => self.last_message_at,
        };
        if now >= self.status_due {
            self.queue_status(false);
        }
        Ok(self.status_due.min(waiting_since + half))
    }

    /// Sends as much of the output buffer as the connection accepts now.
    async fn send_without_waiting(&mut self) {
        if !self.is_flushed {
            std::future::poll_fn(|context| {
                // If sending fails, reading returns the reason.
                let _ = self.poll_send(context);
                Poll::Ready(())
            })
            .await;
        }
    }

    /// Sends the output buffer, and then a status.
    async fn send_status(&mut self) -> Result<(), Error> {
        self.send().await?;
        self.queue_status(false);
        self.send().await
    }

    /// Sends the output buffer.
    async fn send(&mut self) -> Result<(), Error> {
        std::future::poll_fn(|context| self.poll_send(context)).await
    }

    fn poll_send(&mut self, context: &mut Context<'_>) -> Poll<Result<(), Error>> {
        while self.outbound.has_remaining() {
            let stream = Pin::new(&mut self.session.stream);
            if ready!(poll_write_buf(stream, context, &mut self.outbound))? == 0 {
                return Poll::Ready(Err(Error::Unavailable("the connection was closed".to_owned())));
            }
        }
        if !self.is_flushed {
            ready!(Pin::new(&mut self.session.stream).poll_flush(context))?;
            self.is_flushed = true;
        }
        Poll::Ready(Ok(()))
    }
}

impl std::fmt::Debug for ReplicationStream {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let mut debug = f.debug_struct("ReplicationStream");
        debug.field("process_id", &self.process_id());
        debug.field("confirmed", &self.confirmed).field("server_position", &self.server_position);
        debug.finish_non_exhaustive()
    }
}

/// Returns the result of `work`, or an error if it takes longer than `limit`.
async fn within<T>(limit: Duration, work: impl Future<Output = Result<T, Error>>) -> Result<T, Error> {
    let silent = || Error::Unavailable(format!("no answer on the replication connection within {limit:?}"));
    timeout(limit, work).await.unwrap_or_else(|_| Err(silent()))
}

//! The leader: it has the slot, and reads the stream for itself and for its followers.

use std::collections::VecDeque;
use std::time::Duration;

use replication::{Lsn, ReplicationStream};
use tokio::time::{Instant, sleep};
use tokio_util::sync::CancellationToken;

use super::intake::Intake;
use super::watch::Watch;
use super::{EndReason, Feed, FeedError, FeedState, IDLE_LIMIT};

/// How often a leader that waits for its followers checks them.
const WAIT_INTERVAL: Duration = Duration::from_secs(1);

impl Feed {
    /// Reads the stream and delivers the changes, until no client needs them any more or `stop` is cancelled.
    pub(super) async fn lead(
        &mut self,
        mut stream: ReplicationStream,
        stop: &CancellationToken,
    ) -> Result<EndReason, FeedError> {
        self.context.exchange.lead(self.timeline);
        self.tell_alive();
        self.set_state(FeedState::Live);
        let ended = self.read(&mut stream, stop).await;
        self.resume = Some(stream.resume_point());
        self.context.exchange.end_leading();
        self.tell_alive();
        let ended = ended?;
        if ended == EndReason::Unneeded {
            // A client that joins from now on waits until the stream is open again.
            self.set_state(FeedState::Connecting);
        }
        // It confirms what was delivered, which would come again otherwise.
        stream.close().await?;
        // An unused slot would keep the write-ahead log.
        if ended == EndReason::Overgrown || (ended == EndReason::Unneeded && !self.is_needed()) {
            self.retire().await;
        }
        Ok(ended)
    }

    async fn read(
        &mut self,
        stream: &mut ReplicationStream,
        stop: &CancellationToken,
    ) -> Result<EndReason, FeedError> {
        let context = self.context.clone();
        let exchange = &context.exchange;
        let mut intake = Intake::new(&context, self.delivered);
        let mut confirmations = PendingConfirmations::default();
        let mut watch = Watch::new(&context.database);
        context.changes.catalog.forget();
        self.check_publications().await?;
        let mut empty_since = None;
        loop {
            let waits = exchange.is_full();
            let next = async {
                if waits { Err(failure(stream).await) } else { stream.next().await.map_err(FeedError::from) }
            };
            tokio::select! {
                event = next => {
                    intake.take(event?);
                    while !intake.is_full() && let Some(event) = stream.next_buffered()? {
                        intake.take(event);
                    }
                    if let Some(message) = exchange.send(&intake.rows) {
                        context.bus.tell(|| message);
                    }
                    let failure = failure(stream);
                    if self.deliver(&intake.rows, failure, stop).await?.is_break() {
                        return Ok(EndReason::Stopped);
                    }
                    self.delivered = self.delivered.max(intake.current);
                    intake.clear();
                    if let Some(end) = intake.confirmable.take() {
                        confirmations.push(exchange.next_number(), end);
                    }
                }
                () = sleep(WAIT_INTERVAL), if waits => {}
                () = exchange.changed() => {}
                () = watch.due() => {
                    if self.watch().await.is_break() {
                        return Ok(EndReason::Overgrown);
                    }
                    let since = *empty_since.get_or_insert_with(Instant::now);
                    if self.is_needed() {
                        empty_since = None;
                    } else if since.elapsed() >= IDLE_LIMIT {
                        return Ok(EndReason::Unneeded);
                    }
                }
                () = stop.cancelled() => return Ok(EndReason::Stopped),
            }
            if let Some(end) = confirmations.take(exchange.delivered_by_all()) {
                stream.confirm(end);
            }
        }
    }
}

/// Keeps the connection alive; returns the error that ends it.
async fn failure(stream: &mut ReplicationStream) -> FeedError {
    match stream.keep_alive().await {
        Err(error) => error.into(),
    }
}

/// Transactions that this node has delivered, and followers perhaps not yet: the batch after each, and its end.
#[derive(Default)]
struct PendingConfirmations(VecDeque<(u64, Lsn)>);

impl PendingConfirmations {
    /// Adds a transaction that is in the batches before `next`.
    fn push(&mut self, next: u64, end: Lsn) {
        match self.0.back_mut() {
            Some((last, position)) if *last == next => *position = end,
            _ => self.0.push_back((next, end)),
        }
    }

    /// Removes the transactions in the batches before `delivered`, and returns the end of the last one.
    fn take(&mut self, delivered: u64) -> Option<Lsn> {
        let count = self.0.iter().take_while(|(next, _)| *next <= delivered).count();
        self.0.drain(..count).next_back().map(|(_, end)| end)
    }
}

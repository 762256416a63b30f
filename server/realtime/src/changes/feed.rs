//! The feed: reads committed changes from the replication stream, and delivers them.
//!
//! A batch is evaluated as a whole, then delivered, then confirmed. If the connection breaks, the stream begins again
//! after the last confirmed transaction, and changes that were delivered before are skipped: no change is lost, none
//! comes twice. Of several nodes, the one that has the slot leads and sends the changes to the others (`exchange.rs`).

mod delivery;
mod follow;
mod intake;
mod lead;
mod watch;

use std::sync::Arc;
use std::time::Duration;

use ::settings::Secret;
use postgres::{Database, Error};
use replication::slot::{self, EnsureOutcome, SlotError};
use replication::{ReplicationSettings, ReplicationStream, ResumePoint};
use tokio_util::sync::CancellationToken;

use super::exchange::{Exchange, InboxItem};
use super::feed_state::FeedState;
use super::subscriptions::Changes;
use crate::bus::Bus;
use crate::bus::rows::WalTimeline;
use crate::hub::Hub;
use crate::limits::Rates;
use crate::metrics::Metrics;
use crate::publisher::Publisher;
use crate::row::Position;
use crate::settings::CurrentSettings;
use watch::existing_publications;

/// The name of the slot, before the suffix of the settings.
const SLOT: &str = "basalt_realtime";
/// How long the stream waits after a start that finds the slot of an earlier process: that process' clients have this
/// time to join again, and get what has been committed meanwhile. Stock clients try after 1, 3 and 8 s.
const RESUME_PAUSE: Duration = Duration::from_secs(10);
/// How long the stream goes on after the last channel has left.
const IDLE_LIMIT: Duration = Duration::from_secs(60);
/// Pauses between attempts to open the stream.
const FIRST_PAUSE: Duration = Duration::from_millis(250);
const LONGEST_PAUSE: Duration = Duration::from_secs(10);

/// The reason why reading or following has ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum EndReason {
    /// No client has a channel.
    Unneeded,
    /// The slot keeps too much of the write-ahead log.
    Overgrown,
    /// No node has the slot.
    Leaderless,
    /// The service shuts down.
    Stopped,
}

/// The reason why the stream cannot be read.
#[derive(Debug, thiserror::Error)]
enum FeedError {
    #[error(transparent)]
    Slot(#[from] SlotError),
    #[error(transparent)]
    Database(#[from] Error),
}

impl FeedError {
    /// Reports whether another process reads the stream.
    fn is_slot_active(&self) -> bool {
        match self {
            Self::Slot(error) => matches!(error, SlotError::Active(_)),
            Self::Database(error) => error.is_slot_active(),
        }
    }
}

/// What the feed works with.
#[derive(Clone)]
pub(crate) struct FeedContext {
    /// The name of the slot and the address of its server are fixed at the start.
    pub(crate) settings: CurrentSettings,
    pub(crate) database: Database,
    /// The database with the login that may replicate.
    pub(crate) replication: Database,
    pub(crate) changes: Arc<Changes>,
    pub(crate) exchange: Arc<Exchange>,
    pub(crate) hub: Arc<Hub>,
    pub(crate) bus: Arc<Bus>,
    pub(crate) publisher: Publisher,
    pub(crate) rates: Arc<Rates>,
    pub(crate) metrics: Metrics,
}

/// The reader of the stream.
pub(crate) struct Feed {
    context: FeedContext,
    slot: String,
    /// The server of the stream as a connection string; empty for that of the other connections.
    server: Secret,
    /// The last position that was delivered, and its timeline.
    delivered: Position,
    timeline: WalTimeline,
    /// The end of the last stream.
    resume: Option<ResumePoint>,
    /// The message of the leader that is not delivered yet.
    pending: Option<InboxItem>,
    /// The tables of the publication at the last check.
    published: String,
}

impl Feed {
    pub(crate) fn new(context: FeedContext) -> Self {
        let settings = context.settings.get();
        let suffix = &settings.slot_name_suffix;
        let slot = if suffix.is_empty() { SLOT.to_owned() } else { format!("{SLOT}_{suffix}") };
        Self {
            context,
            slot,
            server: settings.replication_url.clone(),
            delivered: Position::default(),
            timeline: WalTimeline::default(),
            resume: None,
            pending: None,
            published: String::new(),
        }
    }

    /// Reads and delivers until `stop` is cancelled.
    pub(crate) async fn run(mut self, stop: CancellationToken) {
        stop.run_until_cancelled(self.resume()).await;
        let mut pause = FIRST_PAUSE;
        while !stop.is_cancelled() {
            if stop.run_until_cancelled(self.wait_until_needed()).await.is_none() {
                return;
            }
            let Some(opened) = stop.run_until_cancelled(self.open()).await else { return };
            let ended = match opened {
                Ok(stream) => {
                    pause = FIRST_PAUSE;
                    self.lead(stream, &stop).await
                }
                Err(error) if error.is_slot_active() && self.context.bus.is_shared() => {
                    self.follow(&stop).await
                }
                Err(error) => Err(error),
            };
            if let Err(error) = ended {
                self.set_state(FeedState::Unavailable(error.to_string().into()));
                tracing::warn!(%error, ?pause, "row changes and broadcasts of the database cannot be read");
                stop.run_until_cancelled(tokio::time::sleep(pause)).await;
                pause = (pause * 2).min(LONGEST_PAUSE);
            }
        }
    }

    /// Waits for the clients of an earlier process, if its slot exists, so that they miss nothing.
    async fn resume(&mut self) {
        let found = slot::lag(&self.context.replication, &self.slot).await;
        // An active slot belongs to another process.
        if found.is_ok_and(|slot| slot.is_some_and(|slot| slot.active_pid.is_none())) {
            // Subscriptions can be established meanwhile.
            self.set_state(FeedState::Live);
            tokio::time::sleep(RESUME_PAUSE).await;
            if tokio::time::timeout(IDLE_LIMIT, self.wait_until_needed()).await.is_err() {
                // No client came back, and a new client does not need older changes.
                self.retire().await;
            }
        }
    }

    /// Publishes the state of the feed.
    fn set_state(&self, state: FeedState) {
        self.context.changes.state.send_if_modified(|current| {
            let is_new = *current != state;
            *current = state;
            is_new
        });
    }

    /// Tells the other nodes that this one lives, and which row changes it can send.
    fn tell_alive(&self) {
        self.context.bus.tell(|| self.context.exchange.alive());
    }

    /// Reports whether the stream is needed: a client has a channel, or may have one on another node.
    fn is_needed(&self) -> bool {
        self.context.bus.is_shared() || !self.context.hub.is_empty()
    }

    async fn wait_until_needed(&self) {
        let needed = self.context.hub.needed();
        while !self.is_needed() {
            needed.notified().await;
        }
    }

    /// Opens the stream, with a slot that is created if there is none.
    async fn open(&mut self) -> Result<ReplicationStream, FeedError> {
        self.set_state(FeedState::Connecting);
        let replication = &self.context.replication;
        let publications = existing_publications(&self.context.database).await?;
        let ensured = slot::ensure(replication, &self.slot).await?;
        if ensured == EnsureOutcome::Recreated {
            tracing::error!(
                slot = self.slot,
                "the server had given up the replication slot: row changes were lost, and clients are told to subscribe again"
            );
        }
        if ensured != EnsureOutcome::Existed {
            // Existing subscriptions begin again with the new slot.
            (self.resume, self.delivered) = (None, Position::default());
            self.context.changes.renew_all();
        }
        let mut settings = ReplicationSettings::new(&*self.slot, publications);
        settings.resume = self.resume;
        let elsewhere = self.server.expose();
        if !elsewhere.is_empty() {
            settings.server = Some(elsewhere.parse()?);
        }
        let stream = ReplicationStream::open(replication, &settings).await?;
        let ResumePoint { system, timeline, .. } = stream.resume_point();
        self.set_timeline(WalTimeline { system, timeline });
        Ok(stream)
    }

    /// Sets the timeline of positions. On another one, as after a failover, positions may stand for other transactions;
    /// changes may come twice then, but none is lost.
    fn set_timeline(&mut self, timeline: WalTimeline) {
        if self.timeline != timeline {
            (self.timeline, self.delivered) = (timeline, Position::default());
        }
    }

    /// Drops the slot, which is not needed any more.
    async fn retire(&mut self) {
        self.set_state(FeedState::Connecting);
        if let Err(error) = slot::drop(&self.context.replication, &self.slot).await {
            tracing::warn!(%error, slot = self.slot, "a replication slot that nobody needs could not be dropped");
        }
        (self.resume, self.delivered) = (None, Position::default());
        self.set_state(FeedState::Idle);
    }
}

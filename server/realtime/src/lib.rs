//! Supabase Realtime's interface: channels over WebSocket, with broadcasts, presence and row changes.
//!
//! The way through it: `api` answers HTTP and upgrades connections, `socket` is the task of one connection, `protocol`
//! reads and writes its messages, `channel` is what a client joins, `hub` delivers to all channels of a topic.
//! `changes` decides who gets which row change, and `bus` carries messages between nodes. All that a client is sent
//! goes through its `outbox`, which has a bound.

mod api;
mod authorize;
mod broadcast;
mod bus;
mod changes;
mod channel;
mod error;
mod frame;
mod hub;
mod ids;
mod limits;
mod messages;
mod metrics;
mod outbox;
mod persistence;
mod protocol;
mod refusal;
mod rights;
mod row;
mod settings;
mod socket;
mod token;

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use parking_lot::Mutex;
use postgres::Database;
use tokens::{Keys, MessageSeal, Verifier};
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;
use tokio_util::task::{AbortOnDropHandle, TaskTracker};

pub use api::service;
pub use bus::connect_to_nats;
pub use settings::{KNOWN_KEYS, RequiredClaims, Settings};

use broadcast::Broadcast;
use bus::{Bus, Head, Message};
use changes::{Bindings, Changes, Feed, FeedState, Prepared, Principal, Subscriber, Subscription};
use channel::{Channel, Notice};
use error::Error;
use hub::{Hub, Topic, TopicFull};
use ids::{ChannelId, TopicName};
use limits::Rates;
use messages::StoredMessage;
use metrics::Metrics;
use outbox::Outbox;
use protocol::Version;
use refusal::Refusal;
use token::{Access, Tokens};

/// How long clients may take to leave when the service ends.
const DRAIN_LIMIT: Duration = Duration::from_secs(3);

/// How long a channel that asks for broadcasts of the database waits for the replication stream.
const REPLICATION_LIMIT: Duration = Duration::from_secs(60);

/// How long to wait before NATS is tried again.
const BUS_PAUSE: Duration = Duration::from_secs(5);

/// The running service. Cheap to clone.
#[derive(Clone)]
pub struct Realtime(Arc<Inner>);

struct Inner {
    settings: Settings,
    tokens: Tokens,
    database: Database,
    replication: Database,
    hub: Hub,
    bus: Bus,
    /// Messages for the other nodes, until [`Realtime::run`] takes the receiver.
    outgoing: Mutex<Option<mpsc::Receiver<Message>>>,
    /// The subject that the nodes of the project, and no others, know.
    subject: String,
    /// The seal of the messages there.
    seal: MessageSeal,
    rates: Rates,
    metrics: Metrics,
    changes: Arc<Changes>,
    tasks: TaskTracker,
    is_draining: AtomicBool,
}

impl std::fmt::Debug for Realtime {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Realtime").field("settings", &self.0.settings).finish_non_exhaustive()
    }
}

impl Realtime {
    /// Prepares the service; [`Realtime::run`] does its work in the background.
    ///
    /// `database` must have logged in as a role that may write to `realtime.messages` whatever its policies say, and
    /// that may become the roles of clients; `replication` as one that may replicate. Tokens are checked by `verifier`;
    /// `keys` knows the API keys.
    pub fn new(
        settings: Settings,
        database: Database,
        replication: Database,
        keys: Keys,
        verifier: Verifier,
    ) -> Self {
        let (settings, tasks) = (settings.with_defaults(), TaskTracker::new());
        let (bus, outgoing) = if settings.nats_url.is_empty() {
            (Bus::single_node(), None)
        } else {
            let (bus, outgoing) = Bus::shared();
            (bus, Some(outgoing))
        };
        let subject = format!("basalt.realtime.{}", keys.derive("realtime nodes"));
        Self(Arc::new(Inner {
            seal: keys.message_seal("seals of realtime"),
            tokens: Tokens::new(keys, verifier, settings.required_claims.clone()),
            changes: Arc::new(Changes::new(database.clone(), tasks.clone(), &settings)),
            database,
            replication,
            hub: Hub::new(settings.max_concurrent_users as usize, settings.client_memory()),
            bus,
            outgoing: Mutex::new(outgoing),
            subject,
            rates: Rates::new(&settings),
            metrics: Metrics::default(),
            tasks,
            is_draining: AtomicBool::new(false),
            settings,
        }))
    }

    /// Adds the service's metrics to `registry`.
    pub fn register(&self, registry: &mut prometheus_client::registry::Registry) {
        self.metrics().register(registry);
    }

    /// Works until `stop` is cancelled, and then asks all clients to connect elsewhere.
    pub async fn run(self, stop: CancellationToken) {
        let feed = Feed::new(self.clone()).run(stop.clone());
        let partitions = messages::keep_partitions(self.database());
        let work = async {
            tokio::join!(feed, async { stop.run_until_cancelled(partitions).await });
            self.0.is_draining.store(true, Ordering::Relaxed);
            self.hub().disconnect_all();
            self.tasks().close();
            if tokio::time::timeout(DRAIN_LIMIT, self.tasks().wait()).await.is_err() {
                tracing::warn!(sockets = self.hub().sockets(), "clients did not disconnect in time");
            }
        };
        // The other nodes are notified of the last departures, too.
        let end = CancellationToken::new();
        tokio::join!(self.run_bus(end.clone()), async {
            work.await;
            end.cancel();
        });
    }

    /// Exchanges messages with the other nodes, if there can be others, until `stop` is cancelled.
    async fn run_bus(&self, stop: CancellationToken) {
        let outgoing = self.0.outgoing.lock().take();
        let Some(mut outgoing) = outgoing else { return };
        while !stop.is_cancelled() {
            if let Err(error) = bus::run(self, &self.0.subject, &mut outgoing, &stop).await {
                tracing::error!(%error, "NATS cannot be used: this node is alone");
                stop.run_until_cancelled(tokio::time::sleep(BUS_PAUSE)).await;
            }
        }
    }

    /// Delivers `broadcast` to the topic's channels, other than `except`, on all nodes.
    pub(crate) fn publish(&self, topic: &Topic, broadcast: &Broadcast<'_>, except: Option<ChannelId>) {
        self.count_deliveries(topic.publish(broadcast, except));
        self.bus().tell(|| Message::broadcast(topic.name(), broadcast));
    }

    /// Delivers `broadcast` to the channels of the topic of this name, on all nodes.
    pub(crate) fn publish_to(&self, name: &TopicName, broadcast: &Broadcast<'_>) {
        match self.hub().topic(name) {
            Some(topic) => self.publish(&topic, broadcast, None),
            None => self.bus().tell(|| Message::broadcast(name, broadcast)),
        }
    }

    /// Sets the presence of a channel, and notifies the members on all nodes.
    ///
    /// Errors: [`TopicFull`].
    pub(crate) fn track(&self, channel: &Channel, payload: &str) -> Result<(), TopicFull> {
        let key = &channel.presence_key;
        if let Some((deliveries, reference)) = channel.topic.track(channel.id, key, payload)? {
            self.count_deliveries(deliveries);
            self.bus().tell(|| channel.topic.tracked(channel.id, key, payload, &reference));
        }
        Ok(())
    }

    /// Removes the presence of a channel, and notifies the members on all nodes.
    pub(crate) fn untrack(&self, channel: &Channel) {
        self.note_untracked(channel, channel.topic.untrack(channel.id));
    }

    /// Ends a channel's membership and presence, and notifies the members on all nodes.
    pub(crate) fn leave(&self, channel: &Channel) {
        self.note_untracked(channel, self.hub().leave(&channel.topic, channel.id));
    }

    /// Tells the other nodes that a channel has no presence any more. `deliveries` is how many members of this node
    /// were told; `None` if the channel had no presence.
    fn note_untracked(&self, channel: &Channel, deliveries: Option<u64>) {
        let Some(deliveries) = deliveries else { return };
        self.count_deliveries(deliveries);
        let (topic, channel) = (channel.topic.name(), channel.id.number());
        self.bus().tell(|| Head::Untrack { topic: topic.clone(), channel }.into());
    }

    /// Tells the other nodes who is present on this one.
    pub(crate) fn tell_presences(&self) {
        self.bus().tell(|| Head::PresencesBegin.into());
        for message in self.hub().presences() {
            self.bus().tell(|| message);
        }
        self.bus().tell(|| Head::PresencesEnd.into());
    }

    /// Tells the other nodes that this one lives.
    pub(crate) fn tell_alive(&self) {
        self.bus().tell(|| Head::Alive { rows: self.changes().exchange.batch_range() }.into());
    }

    /// Delivers a message of the database to the channels of its topic on this node.
    pub(crate) fn publish_stored(&self, name: &TopicName, message: &StoredMessage) {
        let (events, settings) = (&self.rates().events, self.settings());
        events.add(1);
        if message.payload.len() > settings.max_payload_size() || events.is_exceeded() {
            tracing::warn!(
                code = "UnableToBroadcastChanges",
                id = &*message.id,
                "a message of the database was dropped"
            );
        } else if let Some(topic) = self.hub().topic(name) {
            self.count_deliveries(topic.publish(&message.as_broadcast(), None));
        }
    }

    /// Returns the row changes that a join asked for, as soon as they can be delivered.
    ///
    /// Errors: the refusal of the join, also if that takes longer than `limit`.
    pub(crate) async fn prepare(
        &self,
        access: &Access,
        bindings: &Bindings,
        limit: Duration,
    ) -> Result<Prepared, Refusal> {
        let _waiting = self.hub().wait();
        self.changes().prepare(access, &bindings.0, fairness::caller(), limit).await
    }

    /// Subscribes a channel to the row changes that it asked for, if any. They are `prepared` if its join has waited
    /// for them.
    pub(crate) fn subscribe(
        &self,
        channel: &Channel,
        bindings: Arc<Bindings>,
        prepared: Option<Prepared>,
        outbox: &Arc<Outbox>,
        version: Version,
    ) -> Option<Subscription> {
        if bindings.0.is_empty() {
            return None;
        }
        let subscriber = Subscriber {
            outbox: Arc::clone(outbox),
            version,
            topic: channel.topic.wire_name().into(),
            access: channel.access.clone(),
            principal: Principal::of(&channel.access),
            bindings,
            network: fairness::caller(),
        };
        Some(self.changes().subscribe(channel.id, subscriber, prepared))
    }

    /// Tells a channel when the replication stream is live, or ends the channel if that takes too long.
    pub(crate) fn announce_replication(
        &self,
        channel: ChannelId,
        outbox: &Arc<Outbox>,
    ) -> AbortOnDropHandle<()> {
        let (mut state, outbox) = (self.changes().state(), Arc::clone(outbox));
        AbortOnDropHandle::new(self.tasks().spawn(async move {
            let live = state.wait_for(|state| *state == FeedState::Live);
            let notice = match tokio::time::timeout(REPLICATION_LIMIT, live).await {
                Ok(_) => Notice::System {
                    channel,
                    extension: "system",
                    is_ok: true,
                    message: "Replication connection established".to_owned(),
                },
                Err(_) => {
                    let message = "Replication connection was not established in time".to_owned();
                    Notice::Shut { channel, message }
                }
            };
            outbox.notify(notice);
        }))
    }

    /// Counts deliveries, for the limit and for operators.
    pub(crate) fn count_deliveries(&self, deliveries: u64) {
        self.rates().events.add(deliveries);
        self.metrics().deliveries.inc_by(deliveries);
    }

    pub(crate) fn settings(&self) -> &Settings {
        &self.0.settings
    }

    pub(crate) fn tokens(&self) -> &Tokens {
        &self.0.tokens
    }

    pub(crate) fn database(&self) -> &Database {
        &self.0.database
    }

    /// Returns the database with the login that may replicate.
    pub(crate) fn replication(&self) -> &Database {
        &self.0.replication
    }

    pub(crate) fn hub(&self) -> &Hub {
        &self.0.hub
    }

    pub(crate) fn changes(&self) -> &Arc<Changes> {
        &self.0.changes
    }

    pub(crate) fn bus(&self) -> &Bus {
        &self.0.bus
    }

    pub(crate) fn seal(&self) -> &MessageSeal {
        &self.0.seal
    }

    pub(crate) fn rates(&self) -> &Rates {
        &self.0.rates
    }

    pub(crate) fn metrics(&self) -> &Metrics {
        &self.0.metrics
    }

    /// Returns the tasks that have to end before the service does.
    pub(crate) fn tasks(&self) -> &TaskTracker {
        &self.0.tasks
    }

    /// Reports whether the service is shutting down.
    pub(crate) fn is_draining(&self) -> bool {
        self.0.is_draining.load(Ordering::Relaxed)
    }
}

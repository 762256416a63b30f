//! Subscriptions of channels to row changes.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use database::Database;
use indexmap::IndexMap;
use tokio::sync::{Semaphore, watch};
use tokio::task::AbortHandle;
use tokio_util::task::TaskTracker;

use super::audience::Audiences;
use super::catalog::Catalog;
use super::exchange::Exchange;
use super::resolve::{self, Failure, Target};
use super::{Bindings, FeedState};
use crate::channel::Notice;
use crate::hub::ChannelId;
use crate::lock;
use crate::protocol::Version;
use crate::socket::outbox::Outbox;
use crate::token::Access;

/// The pause before a first failure is tried again, of which nobody is told.
const SHORT_PAUSE: Duration = Duration::from_millis(100);
/// How long a subscription waits before it is tried again: a random time between these.
const RETRY_PAUSE: std::ops::Range<u64> = 5_000..10_000;
/// Subscriptions that ask the database at the same time.
const MAX_RESOLVING: usize = 3;
/// How long a subscription waits for the feed before the client is told.
const PATIENCE: Duration = Duration::from_secs(3);
/// Characters of a refusal that the log shows.
const SHOWN: usize = 300;
const EXTENSION: &str = "postgres_changes";

/// A channel that wants row changes.
#[derive(Debug, Clone)]
pub(crate) struct Subscriber {
    pub(crate) outbox: Arc<Outbox>,
    pub(crate) version: Version,
    /// The topic's name on the wire.
    pub(crate) topic: Arc<str>,
    pub(crate) access: Access,
    pub(crate) principal: Arc<Principal>,
    pub(crate) bindings: Arc<Bindings>,
}

/// Who somebody is for policies.
#[derive(Debug, PartialEq, Eq, Hash)]
pub(crate) struct Principal {
    role: Box<str>,
    claims: Box<str>,
}

impl Principal {
    /// Returns who the holder of `access` is.
    pub(crate) fn of(access: &Access) -> Arc<Self> {
        Arc::new(Self { role: access.role().into(), claims: access.claims().into() })
    }
}

/// All subscriptions, and what is known about the tables that they are for.
pub(crate) struct Changes {
    pub(super) database: Database,
    pub(super) audiences: Audiences,
    pub(super) catalog: Catalog,
    /// Row changes from and for other nodes.
    pub(crate) exchange: Exchange,
    pub(super) state: watch::Sender<FeedState>,
    subscriptions: Mutex<IndexMap<ChannelId, Entry>>,
    permits: Semaphore,
    tasks: TaskTracker,
}

struct Entry {
    subscriber: Arc<Subscriber>,
    /// What lets the subscription stand.
    task: AbortHandle,
}

/// A channel's subscription, which ends when this is dropped.
pub(crate) struct Subscription {
    changes: Arc<Changes>,
    channel: ChannelId,
}

impl std::fmt::Debug for Subscription {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Subscription").field("channel", &self.channel).finish_non_exhaustive()
    }
}

impl Changes {
    /// Returns no subscriptions yet. Tasks that make them stand are among `tasks`.
    pub(crate) fn new(database: Database, tasks: TaskTracker) -> Self {
        Self {
            database,
            audiences: Audiences::default(),
            catalog: Catalog::default(),
            exchange: Exchange::default(),
            state: watch::Sender::new(FeedState::Idle),
            subscriptions: Mutex::default(),
            permits: Semaphore::new(MAX_RESOLVING),
            tasks,
        }
    }

    /// Begins a subscription. The client is told when it stands, or why it does not.
    pub(crate) fn subscribe(self: &Arc<Self>, channel: ChannelId, subscriber: Subscriber) -> Subscription {
        let mut subscriptions = lock(&self.subscriptions);
        let entry = self.begin(channel, Arc::new(subscriber));
        subscriptions.insert(channel, entry);
        drop(subscriptions);
        Subscription { changes: Arc::clone(self), channel }
    }

    /// Begins all subscriptions again, since the tables have changed.
    pub(crate) fn renew_all(self: &Arc<Self>) {
        self.catalog.forget();
        let channels: Vec<ChannelId> = lock(&self.subscriptions).keys().copied().collect();
        for channel in channels {
            self.begin_again(channel, Arc::clone);
        }
    }

    /// Returns the state of the feed, as it changes.
    pub(crate) fn state(&self) -> watch::Receiver<FeedState> {
        self.state.subscribe()
    }

    /// Begins the subscription of `channel` again, as what `change` makes of its subscriber, unless the channel has left.
    fn begin_again(
        self: &Arc<Self>,
        channel: ChannelId,
        change: impl FnOnce(&Arc<Subscriber>) -> Arc<Subscriber>,
    ) {
        let mut subscriptions = lock(&self.subscriptions);
        if let Some(entry) = subscriptions.get_mut(&channel) {
            entry.task.abort();
            *entry = self.begin(channel, change(&entry.subscriber));
        }
    }

    fn begin(self: &Arc<Self>, channel: ChannelId, subscriber: Arc<Subscriber>) -> Entry {
        let (changes, wanted) = (Arc::clone(self), Arc::clone(&subscriber));
        let task = self.tasks.spawn(async move { changes.establish(channel, &wanted).await }).abort_handle();
        Entry { subscriber, task }
    }

    /// Makes a subscription stand, however long that takes, and tells the client.
    async fn establish(&self, channel: ChannelId, subscriber: &Arc<Subscriber>) {
        let mut state = self.state();
        let mut has_failed = false;
        loop {
            let settled =
                state.wait_for(|state| !matches!(state, FeedState::Idle | FeedState::Connecting)).await;
            let settled = settled.map(|state| state.clone());
            let message = match settled {
                Err(_) => return, // the service ends
                Ok(FeedState::Unavailable(reason)) => {
                    // A short break is nobody's business.
                    let live = state.wait_for(|state| *state == FeedState::Live);
                    if tokio::time::timeout(PATIENCE, live).await.is_ok() {
                        continue;
                    }
                    reason.to_string()
                }
                Ok(_) => match self.resolve(subscriber).await {
                    Ok(targets) => {
                        self.admit(channel, subscriber, targets);
                        return;
                    }
                    Err(Failure::Refused(message)) => {
                        let shown: String = message.chars().take(SHOWN).collect();
                        tracing::info!(code = "RealtimeDisabledForConfiguration", "{shown}");
                        return self.refuse(channel, subscriber, message);
                    }
                    // Such as a connection that broke, or a table that was dropped while the catalog was read.
                    Err(Failure::Database(_)) if !std::mem::replace(&mut has_failed, true) => {
                        tokio::time::sleep(SHORT_PAUSE).await;
                        continue;
                    }
                    Err(Failure::Database(error)) => error.to_string(),
                },
            };
            // What is wrong with the server is not for everybody.
            tracing::warn!(reason = message, "a subscription to row changes has to wait");
            tell(
                subscriber,
                channel,
                false,
                "Unable to subscribe to changes: the database is not available".to_owned(),
            );
            tokio::time::sleep(Duration::from_millis(rand::random_range(RETRY_PAUSE))).await;
        }
    }

    async fn resolve(&self, subscriber: &Subscriber) -> Result<Vec<Target>, Failure> {
        let Ok(_permit) = self.permits.acquire().await else { return Ok(Vec::new()) };
        let mut targets = Vec::new();
        for binding in &subscriber.bindings.0 {
            targets.extend(resolve::resolve(&self.database, &subscriber.access, binding).await?);
        }
        Ok(targets)
    }

    /// Lets the changes come, and tells the client, unless it has left meanwhile.
    fn admit(&self, channel: ChannelId, subscriber: &Arc<Subscriber>, targets: Vec<Target>) {
        let subscriptions = lock(&self.subscriptions);
        if is_current(&subscriptions, channel, subscriber) {
            self.audiences.set(channel, subscriber, targets);
            tell(subscriber, channel, true, "Subscribed to PostgreSQL".to_owned());
        }
    }

    /// Lets no changes come any more, and tells the client why, unless it has left meanwhile.
    pub(super) fn refuse(&self, channel: ChannelId, subscriber: &Arc<Subscriber>, message: String) {
        let subscriptions = lock(&self.subscriptions);
        if is_current(&subscriptions, channel, subscriber) {
            self.audiences.remove(channel);
            tell(subscriber, channel, false, message);
        }
    }
}

/// Reports whether `subscriber` is what the channel has now.
fn is_current(
    subscriptions: &IndexMap<ChannelId, Entry>,
    channel: ChannelId,
    subscriber: &Arc<Subscriber>,
) -> bool {
    subscriptions.get(&channel).is_some_and(|entry| Arc::ptr_eq(&entry.subscriber, subscriber))
}

fn tell(subscriber: &Subscriber, channel: ChannelId, is_ok: bool, message: String) {
    subscriber.outbox.notify(Notice::System { channel, extension: EXTENSION, is_ok, message });
}

impl Subscription {
    /// Lets the subscriber have what a new token allows; until that is known, it has what the old one did.
    pub(crate) fn renew(&self, access: Access) {
        self.changes.begin_again(self.channel, |old| {
            let principal = Principal::of(&access);
            Arc::new(Subscriber { access, principal, ..Subscriber::clone(old) })
        });
    }
}

impl Drop for Subscription {
    fn drop(&mut self) {
        let mut subscriptions = lock(&self.changes.subscriptions);
        if let Some(entry) = subscriptions.swap_remove(&self.channel) {
            entry.task.abort();
        }
        self.changes.audiences.remove(self.channel);
    }
}

//! Subscriptions of channels to row changes.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use fairness::{FairSemaphore, Network, Refusal};
use indexmap::IndexMap;
use parking_lot::Mutex;
use postgres::Database;
use tokio::sync::watch;
use tokio::task::AbortHandle;
use tokio_util::task::TaskTracker;

use super::audience::Audiences;
use super::binding::Binding;
use super::catalog::Catalog;
use super::feed_state::FeedState;
use super::prepared::Prepared;
use super::resolve::{self, Failure, Target};
use super::subscriber::{Principal, Subscriber};
use crate::ids::ChannelId;
use crate::notice::Notice;
use crate::settings::CurrentSettings;
use crate::token::Access;

/// The pause after a first failure, which is not reported to clients.
const SHORT_PAUSE: Duration = Duration::from_millis(100);
/// The range of the random pause, in milliseconds, before a subscription is tried again.
const RETRY_PAUSE: std::ops::Range<u64> = 5_000..10_000;
/// Subscriptions that are resolved at the same time. One network gets all but one of these places, since the trial of
/// its filters may take long.
const MAX_RESOLVING: usize = 4;
/// The maximum number of subscriptions that wait to be resolved; all begin again when the tables change.
const MAX_WAITING: usize = 1 << 20;
/// How long a subscription waits in line before it gets in line again.
const PLACE_LIMIT: Duration = Duration::from_secs(600);
/// How long a subscription waits for the feed before the client gets an error.
const FEED_WAIT_LIMIT: Duration = Duration::from_secs(3);
/// Characters of a refusal that are logged.
const MAX_LOGGED: usize = 300;
const EXTENSION: &str = "postgres_changes";

/// All subscriptions, and the cache of their tables.
pub(crate) struct Changes {
    pub(super) database: Database,
    pub(super) audiences: Audiences,
    pub(super) catalog: Catalog,
    pub(super) state: watch::Sender<FeedState>,
    pub(super) settings: CurrentSettings,
    subscriptions: Mutex<IndexMap<ChannelId, Entry>>,
    /// How often all of them have been renewed.
    pub(super) renewals: AtomicU64,
    permits: FairSemaphore,
    tasks: TaskTracker,
}

struct Entry {
    subscriber: Arc<Subscriber>,
    /// The task that establishes the subscription; `None` if it stood from the beginning.
    task: Option<AbortHandle>,
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
    /// Returns an empty set of subscriptions. Tasks that establish them are spawned on `tasks`.
    pub(crate) fn new(database: Database, tasks: TaskTracker, settings: CurrentSettings) -> Self {
        Self {
            database,
            settings,
            audiences: Audiences::default(),
            catalog: Catalog::default(),
            state: watch::Sender::new(FeedState::Idle),
            subscriptions: Mutex::default(),
            renewals: AtomicU64::new(0),
            permits: FairSemaphore::new(MAX_RESOLVING, MAX_WAITING),
            tasks,
        }
    }

    /// Begins a subscription. The client is told when it is established, which it is at once if it was `prepared`, or
    /// why it is not.
    pub(crate) fn subscribe(
        self: &Arc<Self>,
        channel: ChannelId,
        subscriber: Subscriber,
        prepared: Option<Prepared>,
    ) -> Subscription {
        let subscriber = Arc::new(subscriber);
        let mut subscriptions = self.subscriptions.lock();
        let renewals = self.renewals.load(Ordering::Acquire);
        match prepared.filter(|prepared| prepared.renewals == renewals) {
            Some(Prepared { targets, .. }) => {
                let entry = Entry { subscriber: Arc::clone(&subscriber), task: None };
                subscriptions.insert(channel, entry);
                self.start(channel, &subscriber, targets);
            }
            None => {
                let entry = self.begin(channel, subscriber);
                subscriptions.insert(channel, entry);
            }
        }
        drop(subscriptions);
        Subscription { changes: Arc::clone(self), channel }
    }

    /// Begins all subscriptions again, since the tables have changed.
    pub(crate) fn renew_all(self: &Arc<Self>) {
        self.catalog.forget();
        self.renewals.fetch_add(1, Ordering::AcqRel);
        let channels: Vec<ChannelId> = self.subscriptions.lock().keys().copied().collect();
        for channel in channels {
            self.restart(channel, Arc::clone);
        }
    }

    /// Returns the state of the feed, as it changes.
    pub(crate) fn state(&self) -> watch::Receiver<FeedState> {
        self.state.subscribe()
    }

    /// Begins the subscription of `channel` again with the subscriber that `change` returns, unless the channel has
    /// left.
    fn restart(
        self: &Arc<Self>,
        channel: ChannelId,
        change: impl FnOnce(&Arc<Subscriber>) -> Arc<Subscriber>,
    ) {
        let mut subscriptions = self.subscriptions.lock();
        if let Some(entry) = subscriptions.get_mut(&channel) {
            entry.abort();
            *entry = self.begin(channel, change(&entry.subscriber));
        }
    }

    /// Spawns the task that establishes a subscription.
    fn begin(self: &Arc<Self>, channel: ChannelId, subscriber: Arc<Subscriber>) -> Entry {
        let (changes, wanted) = (Arc::clone(self), Arc::clone(&subscriber));
        let network = subscriber.network;
        let establishing = async move { changes.establish(channel, &wanted).await };
        let task = self.tasks.spawn(fairness::on_behalf_of(network, establishing)).abort_handle();
        Entry { subscriber, task: Some(task) }
    }

    /// Establishes a subscription, however long that takes, and tells the client.
    async fn establish(&self, channel: ChannelId, subscriber: &Arc<Subscriber>) {
        let mut state = self.state();
        let mut has_failed = false;
        loop {
            let feed =
                state.wait_for(|state| !matches!(state, FeedState::Idle | FeedState::Connecting)).await;
            let feed = feed.map(|state| state.clone());
            let message = match feed {
                Err(_) => return, // the service ends
                Ok(FeedState::Unavailable(reason)) => {
                    // Clients need not know of a short break.
                    let live = state.wait_for(|state| *state == FeedState::Live);
                    if tokio::time::timeout(FEED_WAIT_LIMIT, live).await.is_ok() {
                        continue;
                    }
                    reason.to_string()
                }
                Ok(_) => {
                    match self.resolve(&subscriber.access, &subscriber.bindings.0, subscriber.network).await {
                        Ok(targets) => {
                            self.admit(channel, subscriber, targets);
                            return;
                        }
                        Err(Failure::Refused(message)) => {
                            log_refusal(&message);
                            return self.refuse(channel, subscriber, message);
                        }
                        // Such as a connection that broke, or a table that was dropped while the catalog was read.
                        Err(Failure::Database(_)) if !std::mem::replace(&mut has_failed, true) => {
                            tokio::time::sleep(SHORT_PAUSE).await;
                            continue;
                        }
                        Err(Failure::Database(error)) => error.to_string(),
                    }
                }
            };
            // Clients get no details about the server.
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

    /// Resolves `bindings` when it is the client's turn.
    pub(super) async fn resolve(
        &self,
        access: &Access,
        bindings: &[Binding],
        network: Option<Network>,
    ) -> Result<Vec<Target>, Failure> {
        let _permit = loop {
            match self.permits.acquire(network, PLACE_LIMIT).await {
                Ok(permit) => break permit,
                Err(Refusal::Late | Refusal::Full) => tokio::time::sleep(SHORT_PAUSE).await,
                Err(Refusal::Closed) => return Ok(Vec::new()),
            }
        };
        resolve::resolve(&self.database, access, bindings).await
    }

    /// Starts the delivery to a channel and tells its client, unless it has left meanwhile.
    fn admit(&self, channel: ChannelId, subscriber: &Arc<Subscriber>, targets: Vec<Target>) {
        let subscriptions = self.subscriptions.lock();
        if is_current(&subscriptions, channel, subscriber) {
            self.start(channel, subscriber, targets);
        }
    }

    /// Starts the delivery to a channel and tells its client.
    fn start(&self, channel: ChannelId, subscriber: &Arc<Subscriber>, targets: Vec<Target>) {
        self.audiences.set(channel, subscriber, targets);
        tell(subscriber, channel, true, "Subscribed to PostgreSQL".to_owned());
    }

    /// Ends the delivery to a channel and tells its client why, unless it has left meanwhile.
    pub(super) fn refuse(&self, channel: ChannelId, subscriber: &Arc<Subscriber>, message: String) {
        let subscriptions = self.subscriptions.lock();
        if is_current(&subscriptions, channel, subscriber) {
            self.audiences.remove(channel);
            tell(subscriber, channel, false, message);
        }
    }
}

impl Entry {
    /// Stops the establishment.
    fn abort(&self) {
        if let Some(task) = &self.task {
            task.abort();
        }
    }
}

/// Logs why a channel cannot be subscribed.
pub(super) fn log_refusal(message: &str) {
    let logged: String = message.chars().take(MAX_LOGGED).collect();
    tracing::info!(code = "RealtimeDisabledForConfiguration", "{logged}");
}

/// Reports whether `subscriber` is the current one of the channel.
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
    /// Renews the subscription with a new token. Until it is established, the rights of the old token apply.
    pub(crate) fn renew(&self, access: Access) {
        self.changes.restart(self.channel, |old| {
            let principal = Principal::of(&access);
            Arc::new(Subscriber { access, principal, ..Subscriber::clone(old) })
        });
    }
}

impl Drop for Subscription {
    fn drop(&mut self) {
        let mut subscriptions = self.changes.subscriptions.lock();
        if let Some(entry) = subscriptions.swap_remove(&self.channel) {
            entry.abort();
        }
        self.changes.audiences.remove(self.channel);
    }
}

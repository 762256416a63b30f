//! Supabase Realtime's interface: channels over WebSocket, with broadcasts, presence and row changes.
//!
//! The way through it: `api` responds to HTTP requests and upgrades connections, `socket` is the task of one
//! connection, `protocol` reads and writes its messages, `channel` is what a client joins, `hub` delivers to all
//! channels of a topic, and `publisher` to those of other nodes, too. `changes` decides who gets which row change,
//! `bus` has the messages for other nodes, and `nodes` carries them. All that a client is sent goes through its
//! `outbox`, which has a bound.
//!
//! Nothing imports from this module: it makes the parts and gives each what it needs.

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
mod nodes;
mod notice;
mod outbox;
mod persistence;
mod protocol;
mod publisher;
mod refusal;
mod rights;
mod row;
mod settings;
mod socket;
mod token;

use std::sync::Arc;
use std::time::Duration;

use poem::{Endpoint, Response};
use postgres::Database;
use prometheus_client::registry::Registry;
use tokens::{Keys, Verifier};
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

pub use nodes::connect_to_nats;
pub use settings::{KNOWN_KEYS, RequiredClaims, Settings, settings_that_need_a_restart};

use api::Broadcasts;
use authorize::Authorizer;
use bus::Bus;
use changes::{Changes, Exchange, Feed, FeedContext};
use hub::Hub;
use limits::Rates;
use metrics::Metrics;
use nodes::Nodes;
use publisher::Publisher;
use settings::CurrentSettings;
use socket::SocketContext;
use token::Tokens;

/// How long clients may take to leave when the service ends.
const DRAIN_LIMIT: Duration = Duration::from_secs(3);

/// Returns the service, its paths relative to where it is mounted (`/realtime/v1`): `websocket` and `api/…`.
///
/// It may be made again with other settings and the same handles. Sockets that are open keep the settings of the
/// service that accepted them. What runs in the background takes the new ones, but for those that
/// [`settings_that_need_a_restart`] names.
pub fn service(settings: Settings, handles: &Handles) -> impl Endpoint<Output = Response> + use<> {
    let settings = Arc::new(settings.with_defaults());
    handles.settings.set(Arc::clone(&settings));
    let (keys, verifier) = (handles.keys.clone(), handles.verifier.clone());
    let tokens = Tokens::new(keys, verifier, settings.required_claims.clone());
    let broadcasts = Broadcasts {
        settings: Arc::clone(&settings),
        tokens: tokens.clone(),
        database: handles.database.clone(),
        authorizer: handles.authorizer.clone(),
        publisher: handles.publisher.clone(),
        rates: Arc::clone(&handles.rates),
    };
    let sockets = SocketContext {
        settings,
        tokens,
        database: handles.database.clone(),
        authorizer: handles.authorizer.clone(),
        hub: Arc::clone(&handles.hub),
        publisher: handles.publisher.clone(),
        changes: Arc::clone(&handles.changes),
        rates: Arc::clone(&handles.rates),
        metrics: handles.metrics.clone(),
        tasks: handles.tasks.clone(),
        draining: handles.draining.clone(),
    };
    api::endpoint(sockets, broadcasts)
}

/// What outlives a change of settings: the sockets and their channels, the feed of row changes, the link to other
/// nodes, and the counts. Cheap to clone.
#[derive(Clone)]
pub struct Handles {
    /// The settings of the newest service.
    settings: CurrentSettings,
    keys: Keys,
    verifier: Verifier,
    database: Database,
    authorizer: Authorizer,
    replication: Database,
    hub: Arc<Hub>,
    bus: Arc<Bus>,
    publisher: Publisher,
    exchange: Arc<Exchange>,
    changes: Arc<Changes>,
    nodes: Nodes,
    rates: Arc<Rates>,
    metrics: Metrics,
    tasks: TaskTracker,
    /// Cancelled when the process shuts down.
    draining: CancellationToken,
}

impl std::fmt::Debug for Handles {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Handles").field("settings", &self.settings.get()).finish_non_exhaustive()
    }
}

impl Handles {
    /// Prepares what services work with; [`Handles::run`] does the work in the background. `settings` are those of the
    /// first service.
    ///
    /// `database` must have logged in as a role that may write to `realtime.messages` whatever its policies say, and
    /// that may become the roles of clients; `replication` as one that may replicate. Tokens are checked by `verifier`;
    /// `keys` knows the API keys.
    pub fn new(
        settings: &Settings,
        database: Database,
        replication: Database,
        keys: Keys,
        verifier: Verifier,
    ) -> Self {
        let (settings, tasks) = (settings.clone().with_defaults(), TaskTracker::new());
        let url = settings.nats_url.clone();
        let bus = Arc::new(if url.is_empty() { Bus::single_node() } else { Bus::shared() });
        let hub = Arc::new(Hub::new(settings.max_concurrent_users as usize, settings.client_memory()));
        let (rates, metrics) = (Arc::<Rates>::default(), Metrics::default());
        let publisher =
            Publisher::new(Arc::clone(&hub), Arc::clone(&bus), Arc::clone(&rates), metrics.clone());
        let exchange = Arc::<Exchange>::default();
        let nodes = Nodes::new(
            url.expose(),
            &keys,
            Arc::clone(&bus),
            Arc::clone(&hub),
            publisher.clone(),
            Arc::clone(&exchange),
        );
        let settings = CurrentSettings::new(settings);
        let changes = Arc::new(Changes::new(database.clone(), tasks.clone(), settings.clone()));
        let draining = CancellationToken::new();
        Self {
            settings,
            keys,
            verifier,
            authorizer: Authorizer::new(database.clone()),
            database,
            replication,
            hub,
            bus,
            publisher,
            exchange,
            changes,
            nodes,
            rates,
            metrics,
            tasks,
            draining,
        }
    }

    /// Adds the service's metrics to `registry`.
    pub fn register(&self, registry: &mut Registry) {
        self.metrics.register(registry);
    }

    /// Works until `stop` is cancelled, and then asks all clients to connect elsewhere.
    pub async fn run(self, stop: CancellationToken) {
        let feed = Feed::new(self.feed()).run(stop.clone());
        let partitions = messages::keep_partitions(&self.database);
        let work = async {
            tokio::join!(feed, async { stop.run_until_cancelled(partitions).await });
            self.draining.cancel();
            self.hub.disconnect_all();
            self.tasks.close();
            if tokio::time::timeout(DRAIN_LIMIT, self.tasks.wait()).await.is_err() {
                tracing::warn!(sockets = self.hub.sockets(), "clients did not disconnect in time");
            }
        };
        // The other nodes are notified of the last departures, too.
        let end = CancellationToken::new();
        tokio::join!(self.nodes.run(end.clone()), async {
            work.await;
            end.cancel();
        });
    }

    fn feed(&self) -> FeedContext {
        FeedContext {
            settings: self.settings.clone(),
            database: self.database.clone(),
            replication: self.replication.clone(),
            changes: Arc::clone(&self.changes),
            exchange: Arc::clone(&self.exchange),
            hub: Arc::clone(&self.hub),
            bus: Arc::clone(&self.bus),
            publisher: self.publisher.clone(),
            rates: Arc::clone(&self.rates),
            metrics: self.metrics.clone(),
        }
    }
}

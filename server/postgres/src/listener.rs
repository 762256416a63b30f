//! The listener for notifications of one channel, such as those about changes of the catalog.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use arc_swap::ArcSwapOption;
use futures_util::StreamExt as _;
use tokio::sync::watch;
use tokio_postgres::{AsyncMessage, Client};
use tokio_postgres_rustls::MakeRustlsConnect;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use crate::connect::Target;
use crate::error::Error;
use crate::identifier::quote_identifier;
use crate::repair::Repair;

/// Pause before the first new attempt to connect; doubled up to [`LONGEST_PAUSE`].
const FIRST_PAUSE: Duration = Duration::from_millis(100);
const LONGEST_PAUSE: Duration = Duration::from_secs(32);

/// How often the connection is probed, and how long the reply may take.
const PROBE_INTERVAL: Duration = Duration::from_secs(10);
const PROBE_TIMEOUT: Duration = Duration::from_secs(10);

/// How long [`Listener::catch_up`] waits.
const CATCH_UP_TIMEOUT: Duration = Duration::from_secs(1);

/// A background task that counts notifications and reconnections.
pub(crate) struct Listener {
    changes: watch::Sender<u64>,
    channel: Option<String>,
    /// Whether the connection is up and `listen` has been executed.
    is_listening: Arc<AtomicBool>,
    /// The connection that receives the notifications.
    client: Arc<ArcSwapOption<Client>>,
    stop: CancellationToken,
    tasks: TaskTracker,
}

impl Listener {
    /// Returns a listener without a channel, which counts nothing.
    pub(crate) fn disabled() -> Self {
        Self {
            changes: watch::Sender::new(0),
            channel: None,
            is_listening: Arc::default(),
            client: Arc::default(),
            stop: CancellationToken::new(),
            tasks: TaskTracker::new(),
        }
    }

    pub(crate) fn start(target: Arc<Target>, channel: String) -> Self {
        let mut listener = Self::disabled();
        listener.channel = Some(channel.clone());
        let (stop, changes) = (listener.stop.clone(), listener.changes.clone());
        let is_listening = Arc::clone(&listener.is_listening);
        let client = Arc::clone(&listener.client);
        listener.tasks.spawn(async move {
            // Returns at the cancellation, since listening never ends by itself.
            stop.run_until_cancelled(listen_with_reconnect(
                target,
                channel,
                changes,
                (&is_listening, &client),
            ))
            .await;
        });
        listener
    }

    pub(crate) fn subscribe(&self) -> watch::Receiver<u64> {
        self.changes.subscribe()
    }

    pub(crate) fn count(&self) -> u64 {
        *self.changes.borrow()
    }

    pub(crate) const fn has_channel(&self) -> bool {
        self.channel.is_some()
    }

    /// Reports whether the listener is connected and listens to `channel`.
    pub(crate) fn is_listening_to(&self, channel: &str) -> bool {
        self.channel.as_deref() == Some(channel) && self.is_listening.load(Ordering::Acquire)
    }

    /// Waits until all notifications that Postgres has sent so far are counted: they precede the reply to a query.
    pub(crate) async fn catch_up(&self) {
        if let Some(client) = self.client.load_full() {
            // A connection that is broken delivers no notifications either.
            let _ = tokio::time::timeout(CATCH_UP_TIMEOUT, client.simple_query("")).await;
        }
    }

    pub(crate) async fn stop(&self) {
        self.stop.cancel();
        self.tasks.close();
        self.tasks.wait().await;
    }
}

impl Drop for Listener {
    fn drop(&mut self) {
        self.stop.cancel();
    }
}

async fn listen_with_reconnect(
    target: Arc<Target>,
    channel: String,
    changes: watch::Sender<u64>,
    (is_listening, shared): (&AtomicBool, &ArcSwapOption<Client>),
) {
    let mut pause = FIRST_PAUSE;
    loop {
        let count_before = *changes.borrow();
        let Err(error) = listen(&target, &channel, &changes, (is_listening, shared)).await;
        is_listening.store(false, Ordering::Release);
        shared.store(None);
        if *changes.borrow() != count_before {
            pause = FIRST_PAUSE;
        }
        tracing::warn!(%error, ?pause, channel, "the listener for notifications lost its connection");
        Repair::of(target.repair.as_ref(), &error).await;
        tokio::time::sleep(pause).await;
        pause = (pause * 2).min(LONGEST_PAUSE);
    }
}

/// Listens until the connection breaks, and returns the reason.
async fn listen(
    target: &Target,
    channel: &str,
    changes: &watch::Sender<u64>,
    (is_listening, shared): (&AtomicBool, &ArcSwapOption<Client>),
) -> Result<std::convert::Infallible, Error> {
    let (client, mut connection) = target.config.connect(MakeRustlsConnect::new(target.tls.clone())).await?;
    let client = Arc::new(client);
    let notified = changes.clone();
    let messages = async move {
        let mut messages = futures_util::stream::poll_fn(move |context| connection.poll_message(context));
        while let Some(message) = messages.next().await {
            if let AsyncMessage::Notification(_) = message? {
                notified.send_modify(|count| *count += 1);
            }
        }
        Err(Error::Unavailable("the connection was closed".to_owned()))
    };
    let probes = async {
        probe(&client, &format!("listen {}", quote_identifier(channel))).await?;
        // What happened before this moment was not notified: it counts as one notification.
        changes.send_modify(|count| *count += 1);
        is_listening.store(true, Ordering::Release);
        shared.store(Some(Arc::clone(&client)));
        loop {
            tokio::time::sleep(PROBE_INTERVAL).await;
            probe(&client, "select 1").await?;
        }
    };
    tokio::select! {
        ended = messages => ended,
        failed = probes => failed,
    }
}

async fn probe(client: &Client, sql: &str) -> Result<(), Error> {
    tokio::time::timeout(PROBE_TIMEOUT, client.batch_execute(sql))
        .await
        .map_err(|_| Error::Timeout(PROBE_TIMEOUT))?
        .map_err(Error::from)
}

//! The connection to NATS, which carries the messages between nodes.

use std::time::Duration;

use async_nats::{Client, ConnectOptions, Event, ServerAddr, Subject};
use futures_util::StreamExt as _;
use percent_encoding::percent_decode_str;
use tokio::sync::mpsc;
use tokio::time::{MissedTickBehavior, interval};
use tokio_util::sync::CancellationToken;

use super::Nodes;
use super::peers::Peers;
use crate::bus::{Bus, Head, Message, parts};

/// How often a node says that it is alive.
const ALIVE_INTERVAL: Duration = Duration::from_secs(2);
/// How long the last messages may take when the service shuts down.
const END_LIMIT: Duration = Duration::from_secs(2);
/// Parts of messages that may wait to be read.
const MAX_PARTS: usize = 4096;

/// Carries messages between this node and the others until `stop` is cancelled. The connection is opened in the
/// background, and again whenever it breaks.
///
/// Errors: the address or the login is not valid.
pub(super) async fn run(
    nodes: &Nodes,
    queue: &mut mpsc::Receiver<Message>,
    stop: &CancellationToken,
) -> Result<(), async_nats::Error> {
    let (events, mut connection_events) = mpsc::unbounded_channel();
    let options = ConnectOptions::new()
        .name("basalt-realtime")
        .retry_on_initial_connect()
        .subscription_capacity(MAX_PARTS)
        .event_callback(move |event| {
            // There is no receiver any more when the service shuts down.
            let _ = events.send(event);
            std::future::ready(())
        });
    let client = connect(&nodes.url, options).await?;
    let subject = Subject::from(nodes.subject.clone());
    let mut parts = client.subscribe(subject.clone()).await?;
    let mut peers = Peers::new(nodes);
    let sender = Sender { client, subject, nodes };
    let mut alive = interval(ALIVE_INTERVAL);
    alive.set_missed_tick_behavior(MissedTickBehavior::Delay);
    loop {
        tokio::select! {
            part = parts.next() => match part {
                Some(part) => peers.receive(&part.payload),
                None => return Ok(()),
            },
            Some(event) = connection_events.recv() => handle_event(&nodes.bus, &event),
            Some(message) = queue.recv() => {
                nodes.bus.note_sent(&message);
                let published = stop.run_until_cancelled(sender.publish(&message));
                published.await.transpose()?;
            }
            _ = alive.tick() => {
                peers.forget_silent();
                nodes.tell_alive();
            }
            () = stop.cancelled() => break,
        }
    }
    // A broker that is gone does not respond.
    let _ = tokio::time::timeout(END_LIMIT, sender.end(queue)).await;
    Ok(())
}

/// Connects to the NATS server at `url` with `options` and the login that `url` names, which the client itself leaves
/// out: user and password, or a token in the user's place.
///
/// Errors: `url` is not valid, or the server cannot be used.
///
/// Source: NATS documentation, "Connecting".
pub async fn connect(url: &str, options: ConnectOptions) -> Result<Client, async_nats::Error> {
    let address: ServerAddr = url.parse()?;
    let decoded = |text: &str| percent_decode_str(text).decode_utf8_lossy().into_owned();
    let options = match (address.username(), address.password()) {
        (Some(user), Some(password)) => options.user_and_password(decoded(user), decoded(password)),
        (Some(token), None) => options.token(decoded(token)),
        (None, _) => options,
    };
    Ok(options.connect(address).await?)
}

/// Handles an event of the connection.
fn handle_event(bus: &Bus, event: &Event) {
    match event {
        Event::Connected => {
            tracing::info!("NATS is connected: this node hears the others");
            bus.set_connected(true);
            bus.tell(|| Head::Hello.into());
        }
        Event::Disconnected | Event::Closed => {
            tracing::warn!("NATS cannot be reached: this node is alone");
            bus.set_connected(false);
        }
        Event::SlowConsumer(_) => {
            tracing::warn!("this node is too slow for what the others tell, and has missed some of it");
        }
        event => tracing::debug!(%event, "NATS"),
    }
}

/// The sender of this node's messages.
struct Sender<'a> {
    client: Client,
    subject: Subject,
    nodes: &'a Nodes,
}

impl Sender<'_> {
    async fn publish(&self, message: &Message) -> Result<(), async_nats::Error> {
        let (bus, seal) = (&self.nodes.bus, &self.nodes.seal);
        for part in parts::split(bus.node(), bus.next_number(), &message.encode()) {
            self.client.publish(self.subject.clone(), seal.seal(&part).into()).await?;
        }
        Ok(())
    }

    /// Publishes the messages that still wait, and that the node shuts down.
    async fn end(&self, queue: &mut mpsc::Receiver<Message>) -> Result<(), async_nats::Error> {
        while let Ok(message) = queue.try_recv() {
            self.publish(&message).await?;
        }
        self.publish(&Head::Goodbye.into()).await?;
        Ok(self.client.flush().await?)
    }
}

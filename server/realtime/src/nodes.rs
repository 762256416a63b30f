//! The other nodes of the project: carries messages between them and this one, over NATS.
//!
//! Without NATS there is one node and nothing to send. NATS stores nothing: a node that is cut off misses messages. It
//! gets presences again afterwards and asks for missed row changes (`changes/exchange.rs`); missed broadcasts are lost,
//! since their delivery is not guaranteed.

mod nats;
mod peers;

use std::sync::Arc;
use std::time::Duration;

use tokens::{Keys, MessageSeal};
use tokio_util::sync::CancellationToken;

use crate::bus::Bus;
use crate::changes::Exchange;
use crate::hub::Hub;
use crate::publisher::Publisher;
pub use nats::connect as connect_to_nats;

/// How long to wait before NATS is tried again.
const PAUSE: Duration = Duration::from_secs(5);

/// What the link to the other nodes works with.
#[derive(Clone)]
pub(crate) struct Nodes {
    /// The address of NATS.
    url: String,
    /// The subject that the nodes of the project, and no others, know.
    subject: String,
    /// The seal of the messages there.
    seal: MessageSeal,
    bus: Arc<Bus>,
    hub: Arc<Hub>,
    publisher: Publisher,
    exchange: Arc<Exchange>,
}

impl Nodes {
    pub(crate) fn new(
        url: &str,
        keys: &Keys,
        bus: Arc<Bus>,
        hub: Arc<Hub>,
        publisher: Publisher,
        exchange: Arc<Exchange>,
    ) -> Self {
        let subject = format!("basalt.realtime.{}", keys.derive("realtime nodes"));
        let seal = keys.message_seal("seals of realtime");
        Self { url: url.to_owned(), subject, seal, bus, hub, publisher, exchange }
    }

    /// Exchanges messages with the other nodes, if there can be others, until `stop` is cancelled.
    pub(crate) async fn run(&self, stop: CancellationToken) {
        let Some(mut outgoing) = self.bus.outgoing() else { return };
        while !stop.is_cancelled() {
            if let Err(error) = nats::run(self, &mut outgoing, &stop).await {
                tracing::error!(%error, "NATS cannot be used: this node is alone");
                stop.run_until_cancelled(tokio::time::sleep(PAUSE)).await;
            }
        }
    }

    /// Sends what a new node, or one that has missed messages, has to know.
    fn introduce(&self) {
        self.tell_alive();
        self.publisher.tell_presences();
    }

    /// Tells the other nodes that this one lives.
    fn tell_alive(&self) {
        self.bus.tell(|| self.exchange.alive());
    }
}

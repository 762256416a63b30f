//! Transfers the services' messages between the nodes of a project, over NATS.

use std::time::Duration;

use async_nats::{ConnectOptions, Subject};
use bytes::Bytes;
use futures_util::StreamExt as _;
use gateway::Nodes;
use tokens::MessageSeal;
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

/// The maximum number of messages from other nodes that wait to be read.
const MAX_UNREAD: usize = 16_384;
/// The pause after a failure that NATS' client does not recover from.
const PAUSE: Duration = Duration::from_secs(5);

/// How the messages travel.
pub(super) struct Transport {
    /// The address of NATS.
    pub(super) url: String,
    /// The nodes of one project, and no others, use the same.
    pub(super) subject: Subject,
    /// Whoever else reads and writes on the subject cannot make such a seal.
    pub(super) seal: MessageSeal,
}

/// Transfers messages until `stop` is cancelled. While NATS cannot be reached, messages are lost; realtime logs that it
/// cannot be reached.
pub(super) async fn transfer(nodes: Nodes, transport: Transport, stop: CancellationToken) {
    let Some(mut messages) = nodes.outgoing() else { return };
    let transferring = async {
        loop {
            if let Err(error) = transfer_over_connection(&nodes, &transport, &mut messages).await {
                tracing::warn!(%error, "other nodes are not told of writes and counts");
            }
            tokio::time::sleep(PAUSE).await;
        }
    };
    stop.run_until_cancelled(transferring).await;
}

/// Transfers messages over one connection, which is opened in the background, and reopened whenever it breaks.
async fn transfer_over_connection(
    nodes: &Nodes,
    Transport { url, subject, seal }: &Transport,
    messages: &mut mpsc::Receiver<Bytes>,
) -> Result<(), async_nats::Error> {
    // The node must not receive its own messages.
    let options = ConnectOptions::new().name("basalt").no_echo().retry_on_initial_connect();
    let options = options.subscription_capacity(MAX_UNREAD);
    let client = realtime::connect_to_nats(url, options).await?;
    let mut received = client.subscribe(subject.clone()).await?;
    loop {
        tokio::select! {
            message = received.next() => match message {
                Some(message) => match seal.open(&message.payload) {
                    Some(note) => nodes.receive(note),
                    None => tracing::debug!("a note that no node of this project has sealed was passed over"),
                },
                None => return Ok(()),
            },
            Some(message) = messages.recv() => client.publish(subject.clone(), seal.seal(&message).into()).await?,
        }
    }
}

//! The other nodes, and the handling of their messages.

use std::collections::{HashMap, HashSet};
use std::time::Duration;

use bytes::Bytes;
use tokio::time::Instant;

use super::Nodes;
use crate::bus::parts::{Assembly, Part};
use crate::bus::{Head, Message};
use crate::ids::{NodeId, TopicName};

/// After how long a silent node counts as gone.
const GONE_AFTER: Duration = Duration::from_secs(7);

/// Other nodes at most.
const MAX_NODES: usize = 1024;

/// The other nodes.
pub(super) struct Peers<'a> {
    nodes: &'a Nodes,
    known: HashMap<NodeId, Peer>,
}

/// Another node.
struct Peer {
    heard: Instant,
    assembly: Assembly,
    /// While it sends all its presences: the earlier ones that it has not sent again so far.
    unconfirmed: HashSet<(TopicName, u64)>,
}

impl<'a> Peers<'a> {
    pub(super) fn new(nodes: &'a Nodes) -> Self {
        Self { nodes, known: HashMap::new() }
    }

    /// Handles a part of a message.
    pub(super) fn receive(&mut self, sealed: &Bytes) {
        let Some(part) = self.nodes.seal.open(sealed) else {
            tracing::debug!("a message that no node of this project has sealed was passed over");
            return;
        };
        let Some(part) = Part::parse(&sealed.slice_ref(part)) else { return };
        let node = part.node;
        if node == self.nodes.bus.node() {
            return;
        }
        let is_new = !self.known.contains_key(&node);
        if is_new && self.known.len() >= MAX_NODES {
            tracing::warn!("there are more nodes than this one can know");
            return;
        }
        let peer = self.known.entry(node).or_insert_with(|| Peer {
            heard: Instant::now(),
            assembly: Assembly::default(),
            unconfirmed: HashSet::new(),
        });
        peer.heard = Instant::now();
        let (message, has_missed) = peer.assembly.add(part);
        if has_missed {
            self.nodes.bus.tell(|| Head::Hello.into());
        }
        if is_new {
            tracing::info!("another node is there");
            self.nodes.exchange.add(node);
            self.nodes.introduce();
        }
        let Some(message) = message else { return };
        match Message::decode(&message) {
            Some(message) => self.handle(node, &message),
            None => tracing::debug!("a message of another release was passed over"),
        }
    }

    /// Handles a message of `node`.
    fn handle(&mut self, node: NodeId, message: &Message) {
        let Nodes { hub, publisher, .. } = self.nodes;
        match &message.head {
            Head::Hello => self.nodes.introduce(),
            Head::Goodbye => self.forget(node),
            Head::Broadcast { .. } => {
                message.with_broadcast(|name, broadcast| publisher.publish_here(name, broadcast));
            }
            Head::PresencesBegin => {
                if let Some(peer) = self.known.get_mut(&node) {
                    peer.unconfirmed = hub.presences_of(node);
                }
            }
            Head::PresencesEnd => {
                let peer = self.known.get_mut(&node);
                let ended = peer.map(|peer| std::mem::take(&mut peer.unconfirmed)).unwrap_or_default();
                for (topic, channel) in ended {
                    publisher.count(hub.untrack_remote(node, &topic, channel));
                }
            }
            Head::Track { topic, channel, key, payload, reference } => {
                if let Some(peer) = self.known.get_mut(&node) {
                    peer.unconfirmed.remove(&(topic.clone(), *channel));
                }
                let deliveries = hub.track_remote(node, topic, *channel, (key, payload, reference));
                publisher.count(deliveries);
            }
            Head::Untrack { topic, channel } => {
                publisher.count(hub.untrack_remote(node, topic, *channel));
            }
            Head::Alive { .. } | Head::Rows(_) | Head::RowsTaken { .. } | Head::RowsMissed { .. } => {
                for reply in self.nodes.exchange.handle(node, message) {
                    self.nodes.bus.tell(|| reply);
                }
            }
        }
    }

    /// Forgets the nodes that have been silent for too long.
    pub(super) fn forget_silent(&mut self) {
        let silent = self.known.iter().filter(|(_, peer)| peer.heard.elapsed() >= GONE_AFTER);
        for node in silent.map(|(node, _)| *node).collect::<Vec<_>>() {
            tracing::warn!("another node is silent: who is present there counts as gone");
            self.forget(node);
        }
    }

    /// Forgets a node and its presences.
    fn forget(&mut self, node: NodeId) {
        self.known.remove(&node);
        self.nodes.exchange.remove(node);
        self.nodes.publisher.count(self.nodes.hub.forget_node(node));
    }
}

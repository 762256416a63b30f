//! The other nodes, and the handling of their messages.

use std::collections::{HashMap, HashSet};
use std::time::Duration;

use bytes::Bytes;
use tokio::time::Instant;

use super::message::{Head, Message};
use super::parts::{Assembly, Part};
use crate::Realtime;
use crate::ids::{NodeId, TopicName};

/// After how long a silent node counts as gone.
const GONE_AFTER: Duration = Duration::from_secs(7);

/// Other nodes at most.
const MAX_NODES: usize = 1024;

/// The other nodes.
pub(super) struct Peers {
    realtime: Realtime,
    known: HashMap<NodeId, Peer>,
}

/// Another node.
struct Peer {
    heard: Instant,
    assembly: Assembly,
    /// While it sends all its presences: the earlier ones that it has not sent again so far.
    unconfirmed: HashSet<(TopicName, u64)>,
}

impl Peers {
    pub(super) fn new(realtime: Realtime) -> Self {
        Self { realtime, known: HashMap::new() }
    }

    /// Handles a part of a message.
    pub(super) fn receive(&mut self, sealed: &Bytes) {
        let Some(part) = self.realtime.seal().open(sealed) else {
            tracing::debug!("a message that no node of this project has sealed was passed over");
            return;
        };
        let Some(part) = Part::parse(&sealed.slice_ref(part)) else { return };
        let node = part.node;
        if node == self.realtime.bus().node() {
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
            self.realtime.bus().tell(|| Head::Hello.into());
        }
        if is_new {
            tracing::info!("another node is there");
            self.realtime.changes().exchange.add(node);
            self.introduce();
        }
        let Some(message) = message else { return };
        match Message::decode(&message) {
            Some(message) => self.handle(node, &message),
            None => tracing::debug!("a message of another release was passed over"),
        }
    }

    /// Sends what a new node, or one that has missed messages, has to know.
    fn introduce(&self) {
        self.realtime.tell_alive();
        self.realtime.tell_presences();
    }

    /// Handles a message of `node`.
    fn handle(&mut self, node: NodeId, message: &Message) {
        let hub = self.realtime.hub();
        match &message.head {
            Head::Hello => self.introduce(),
            Head::Goodbye => self.forget(node),
            Head::Broadcast { .. } => message.with_broadcast(|name, broadcast| {
                if let Some(topic) = hub.topic(name) {
                    self.realtime.count_deliveries(topic.publish(broadcast, None));
                }
            }),
            Head::PresencesBegin => {
                if let Some(peer) = self.known.get_mut(&node) {
                    peer.unconfirmed = hub.presences_of(node);
                }
            }
            Head::PresencesEnd => {
                let peer = self.known.get_mut(&node);
                let ended = peer.map(|peer| std::mem::take(&mut peer.unconfirmed)).unwrap_or_default();
                for (topic, channel) in ended {
                    self.realtime.count_deliveries(hub.untrack_remote(node, &topic, channel));
                }
            }
            Head::Track { topic, channel, key, payload, reference } => {
                if let Some(peer) = self.known.get_mut(&node) {
                    peer.unconfirmed.remove(&(topic.clone(), *channel));
                }
                let deliveries = hub.track_remote(node, topic, *channel, (key, payload, reference));
                self.realtime.count_deliveries(deliveries);
            }
            Head::Untrack { topic, channel } => {
                self.realtime.count_deliveries(hub.untrack_remote(node, topic, *channel));
            }
            Head::Alive { .. } | Head::Rows(_) | Head::RowsTaken { .. } | Head::RowsMissed { .. } => {
                for answer in self.realtime.changes().exchange.handle(node, message) {
                    self.realtime.bus().tell(|| answer);
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
        self.realtime.changes().exchange.remove(node);
        self.realtime.count_deliveries(self.realtime.hub().forget_node(node));
    }
}

//! The other nodes: who they are, and what becomes of what they tell.

use std::collections::{HashMap, HashSet};
use std::time::Duration;

use bytes::Bytes;
use tokio::time::Instant;

use super::message::{Head, Message, NodeId};
use super::parts::{Assembly, Part};
use crate::Realtime;
use crate::hub::TopicName;

/// After how long a node that says nothing counts as gone.
const GONE_AFTER: Duration = Duration::from_secs(7);

/// The other nodes.
pub(super) struct Peers {
    realtime: Realtime,
    known: HashMap<NodeId, Peer>,
}

/// Another node.
struct Peer {
    heard: Instant,
    assembly: Assembly,
    /// While it tells all its presences: those that it has not told again so far.
    untold: HashSet<(TopicName, u64)>,
}

impl Peers {
    pub(super) fn new(realtime: Realtime) -> Self {
        Self { realtime, known: HashMap::new() }
    }

    /// Deals with what came.
    pub(super) fn receive(&mut self, part: &Bytes) {
        let Some(part) = Part::parse(part) else { return };
        let node = part.node;
        if node == self.realtime.bus().node() {
            return;
        }
        let is_new = !self.known.contains_key(&node);
        let peer = self.known.entry(node).or_insert_with(|| Peer {
            heard: Instant::now(),
            assembly: Assembly::default(),
            untold: HashSet::new(),
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
            Some(message) => self.heed(node, &message),
            None => tracing::debug!("a message of another release was passed over"),
        }
    }

    /// Tells the others what those have to know who are new or have missed something.
    fn introduce(&self) {
        self.realtime.tell_alive();
        self.realtime.tell_presences();
    }

    fn heed(&mut self, node: NodeId, message: &Message) {
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
                    peer.untold = hub.presences_of(node);
                }
            }
            Head::PresencesEnd => {
                let peer = self.known.get_mut(&node);
                for (topic, channel) in peer.map(|peer| std::mem::take(&mut peer.untold)).unwrap_or_default()
                {
                    self.realtime.count_deliveries(hub.untrack_elsewhere(node, &topic, channel));
                }
            }
            Head::Track { topic, channel, key, payload, reference } => {
                if let Some(peer) = self.known.get_mut(&node) {
                    peer.untold.remove(&(topic.clone(), *channel));
                }
                let told = hub.track_elsewhere(node, topic, *channel, (key, payload, reference));
                self.realtime.count_deliveries(told);
            }
            Head::Untrack { topic, channel } => {
                self.realtime.count_deliveries(hub.untrack_elsewhere(node, topic, *channel));
            }
            Head::Alive { .. } | Head::Rows(_) | Head::RowsTaken { .. } | Head::RowsMissed { .. } => {
                for answer in self.realtime.changes().exchange.heed(node, message) {
                    self.realtime.bus().tell(|| answer);
                }
            }
        }
    }

    /// Forgets the nodes that have not been heard for long.
    pub(super) fn forget_the_silent(&mut self) {
        let silent = self.known.iter().filter(|(_, peer)| peer.heard.elapsed() >= GONE_AFTER);
        for node in silent.map(|(node, _)| *node).collect::<Vec<_>>() {
            tracing::warn!("another node is silent: who is present there counts as gone");
            self.forget(node);
        }
    }

    /// Forgets a node, and who is present there.
    fn forget(&mut self, node: NodeId) {
        self.known.remove(&node);
        self.realtime.changes().exchange.remove(node);
        self.realtime.count_deliveries(self.realtime.hub().forget_node(node));
    }
}

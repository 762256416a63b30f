//! What channels of all nodes get: this node's by the hub, those of others by the bus.

use std::sync::Arc;

use crate::broadcast::Broadcast;
use crate::bus::{Bus, Head, Message};
use crate::hub::{Hub, LocalPresence, Topic, TopicFull};
use crate::ids::{ChannelId, TopicName};
use crate::limits::Rates;
use crate::metrics::Metrics;

/// The publisher of broadcasts and presences. Cheap to clone.
#[derive(Clone)]
pub(crate) struct Publisher {
    hub: Arc<Hub>,
    bus: Arc<Bus>,
    rates: Arc<Rates>,
    metrics: Metrics,
}

impl Publisher {
    pub(crate) fn new(hub: Arc<Hub>, bus: Arc<Bus>, rates: Arc<Rates>, metrics: Metrics) -> Self {
        Self { hub, bus, rates, metrics }
    }

    /// Delivers `broadcast` to the topic's channels, other than `except`, on all nodes.
    pub(crate) fn publish(&self, topic: &Topic, broadcast: &Broadcast<'_>, except: Option<ChannelId>) {
        self.count(topic.publish(broadcast, except));
        self.bus.tell(|| Message::broadcast(topic.name(), broadcast));
    }

    /// Delivers `broadcast` to the channels of the topic of this name, on all nodes.
    pub(crate) fn publish_to(&self, name: &TopicName, broadcast: &Broadcast<'_>) {
        match self.hub.topic(name) {
            Some(topic) => self.publish(&topic, broadcast, None),
            None => self.bus.tell(|| Message::broadcast(name, broadcast)),
        }
    }

    /// Delivers `broadcast` to the channels of the topic of this name, on this node.
    pub(crate) fn publish_here(&self, name: &TopicName, broadcast: &Broadcast<'_>) {
        if let Some(topic) = self.hub.topic(name) {
            self.count(topic.publish(broadcast, None));
        }
    }

    /// Sets the presence of a channel under `key`, and notifies the members on all nodes.
    ///
    /// Errors: [`TopicFull`].
    pub(crate) fn track(
        &self,
        topic: &Topic,
        channel: ChannelId,
        key: &str,
        payload: &str,
    ) -> Result<(), TopicFull> {
        if let Some((deliveries, reference)) = topic.track(channel, key, payload)? {
            self.count(deliveries);
            self.bus.tell(|| {
                let (key, payload, reference) = (key.to_owned(), payload.to_owned(), reference.into());
                Message::track(topic.name().clone(), channel, key, payload, reference)
            });
        }
        Ok(())
    }

    /// Removes the presence of a channel, and notifies the members on all nodes.
    pub(crate) fn untrack(&self, topic: &Topic, channel: ChannelId) {
        self.note_untracked(topic, channel, topic.untrack(channel));
    }

    /// Ends a channel's membership and presence, and notifies the members on all nodes.
    pub(crate) fn leave(&self, topic: &Topic, channel: ChannelId) {
        self.note_untracked(topic, channel, self.hub.leave(topic, channel));
    }

    /// Tells the other nodes that a channel has no presence any more. `deliveries` is how many members of this node
    /// were told; `None` if the channel had no presence.
    fn note_untracked(&self, topic: &Topic, channel: ChannelId, deliveries: Option<u64>) {
        let Some(deliveries) = deliveries else { return };
        self.count(deliveries);
        self.bus.tell(|| Message::untrack(topic.name().clone(), channel));
    }

    /// Tells the other nodes who is present on this one.
    pub(crate) fn tell_presences(&self) {
        self.bus.tell(|| Head::PresencesBegin.into());
        for presence in self.hub.presences() {
            let LocalPresence { topic, channel, key, payload, reference } = presence;
            self.bus.tell(|| Message::track(topic, channel, key, payload, reference));
        }
        self.bus.tell(|| Head::PresencesEnd.into());
    }

    /// Counts deliveries, for the limit and for operators.
    pub(crate) fn count(&self, deliveries: u64) {
        self.rates.events.add(deliveries);
        self.metrics.deliveries.inc_by(deliveries);
    }
}

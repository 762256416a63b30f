//! Slots for connections, which limit their number, in all and of each network. If none is free, a connection without a
//! request is closed in favour of a new one.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use fairness::{FairSemaphore, Network, Permit};
use gateway::HeldConnection;
use parking_lot::Mutex;

use super::activity::{Activity, EvictionOrder};

/// How often it is checked whether a connection can be evicted, while all have running requests.
const EVICTION_INTERVAL: Duration = Duration::from_millis(100);

/// All slots.
pub(super) struct ConnectionSlots {
    free: FairSemaphore,
    occupied: Mutex<ConnectionTable>,
}

/// The connections in the slots.
#[derive(Default)]
struct ConnectionTable {
    /// What each does and from which network it is, by the ID of its slot.
    activities: HashMap<u64, (Arc<Activity>, Option<Network>)>,
    /// The ID of the next slot.
    next_id: u64,
}

/// An occupied slot. It is released when this is dropped.
pub(super) struct ConnectionSlot {
    slots: Arc<ConnectionSlots>,
    id: u64,
    /// The client's share of the connections, if the connection is that of a proxy and has become a WebSocket.
    held: Mutex<Option<HeldConnection>>,
    _permit: Permit,
}

impl ConnectionSlots {
    /// Returns `count` free slots.
    pub(super) fn new(count: usize) -> Arc<Self> {
        // Only one connection waits: the next one is accepted afterwards.
        Arc::new(Self { free: FairSemaphore::new(count, 1), occupied: Mutex::default() })
    }

    /// Returns a slot for the connection of `activity`, from `network`. If all are occupied, the first connection in
    /// the order of eviction is closed; if all have running requests, this waits.
    ///
    /// Returns `None` if the network has its share. Then the first one of its own that are kept alive is closed, for
    /// its next attempt: to wait here would delay the connections of others. Those that send a head stay; otherwise a
    /// burst of connections would close itself.
    pub(super) async fn acquire(
        self: &Arc<Self>,
        activity: &Arc<Activity>,
        network: Option<Network>,
    ) -> Option<ConnectionSlot> {
        loop {
            if let Some(permit) = self.free.try_acquire(network) {
                return Some(self.occupy(permit, activity));
            }
            if self.free.has_room(None) {
                self.evict(|of, order| of == network && matches!(order, EvictionOrder::Idle(_)));
                return None;
            }
            self.evict(|_, _| true);
            if let Ok(permit) = self.free.acquire(network, EVICTION_INTERVAL).await {
                return Some(self.occupy(permit, activity));
            }
        }
    }

    fn occupy(self: &Arc<Self>, permit: Permit, activity: &Arc<Activity>) -> ConnectionSlot {
        let mut occupied = self.occupied.lock();
        let id = occupied.next_id;
        occupied.next_id += 1;
        occupied.activities.insert(id, (Arc::clone(activity), permit.holder()));
        ConnectionSlot { slots: Arc::clone(self), id, held: Mutex::new(None), _permit: permit }
    }

    /// Closes the first connection in the order of eviction, of those whose network and order `is_meant`.
    fn evict(&self, is_meant: impl Fn(Option<Network>, EvictionOrder) -> bool) {
        let occupied = self.occupied.lock();
        let candidates = occupied.activities.values().filter_map(|(activity, network)| {
            let order = activity.eviction_order()?;
            is_meant(*network, order).then_some((order, activity))
        });
        if let Some((_, activity)) = candidates.min_by_key(|(order, _)| *order) {
            activity.end.cancel();
        }
    }
}

impl ConnectionSlot {
    /// Keeps the client's share of the connections until this slot is released.
    pub(super) fn keep(&self, held: Option<HeldConnection>) {
        *self.held.lock() = held;
    }
}

impl Drop for ConnectionSlot {
    fn drop(&mut self) {
        let mut occupied = self.slots.occupied.lock();
        occupied.activities.remove(&self.id);
    }
}

#[cfg(test)]
mod tests {
    use poem::http::Version;
    use tokio_util::sync::CancellationToken;

    use super::*;

    fn network(last: u8) -> Option<Network> {
        Network::of([192, 0, 2, last].into())
    }

    /// Returns the slots of the connections from `network` that are accepted, out of `count`, with their activities.
    async fn connect(
        slots: &Arc<ConnectionSlots>,
        network: Option<Network>,
        count: usize,
    ) -> Vec<(Arc<Activity>, ConnectionSlot)> {
        let mut accepted = Vec::new();
        for _ in 0..count {
            let activity = Activity::new(&CancellationToken::new());
            if let Some(slot) = slots.acquire(&activity, network).await {
                accepted.push((activity, slot));
            }
        }
        accepted
    }

    #[tokio::test]
    async fn busy_connections_of_one_network_leave_slots_to_others() {
        let slots = ConnectionSlots::new(8);
        let mut greedy = Vec::new();
        for _ in 0..20 {
            for (activity, slot) in connect(&slots, network(1), 1).await {
                greedy.push((activity.begin_request(Version::HTTP_11), slot));
            }
        }
        assert_eq!(greedy.len(), 6);
        for other in [network(2), None] {
            assert_eq!(connect(&slots, other, 1).await.len(), 1);
        }
        greedy.pop();
        assert_eq!(connect(&slots, network(1), 1).await.len(), 1);
    }

    #[tokio::test]
    async fn a_network_beyond_its_share_loses_the_oldest_of_its_own_idle_connections() {
        let slots = ConnectionSlots::new(8);
        let other = connect(&slots, network(2), 1).await;
        let mut own = connect(&slots, network(1), 20).await;
        let closed = |own: &[(Arc<Activity>, ConnectionSlot)]| {
            own.iter().filter(|(activity, _)| activity.end.is_cancelled()).count()
        };
        assert_eq!((own.len(), closed(&own)), (6, 0), "they may be sending their heads");
        for (activity, _) in own.iter().chain(&other) {
            drop(activity.begin_request(Version::HTTP_11));
        }
        assert!(connect(&slots, network(1), 1).await.is_empty());
        assert_eq!((closed(&own), closed(&other)), (1, 0));
        own.retain(|(activity, _)| !activity.end.is_cancelled());
        assert_eq!(connect(&slots, network(1), 1).await.len(), 1);
    }
}

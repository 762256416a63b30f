//! Slots for connections, which limit their number. If all are occupied, a connection without a request is closed in
//! favour of a new one.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use super::activity::Activity;

/// How often it is checked whether a connection can be evicted, while all have running requests.
const EVICTION_INTERVAL: Duration = Duration::from_millis(100);

/// All slots.
pub(super) struct ConnectionSlots {
    free: Arc<Semaphore>,
    occupied: Mutex<ConnectionTable>,
}

/// The connections in the slots.
#[derive(Default)]
struct ConnectionTable {
    /// What each does, by the ID of its slot.
    activities: HashMap<u64, Arc<Activity>>,
    /// The ID of the next slot.
    next_id: u64,
}

/// An occupied slot. It is released when this is dropped.
pub(super) struct ConnectionSlot {
    slots: Arc<ConnectionSlots>,
    id: u64,
    _permit: OwnedSemaphorePermit,
}

impl ConnectionSlots {
    /// Returns `count` free slots.
    pub(super) fn new(count: usize) -> Arc<Self> {
        Arc::new(Self { free: Arc::new(Semaphore::new(count)), occupied: Mutex::default() })
    }

    /// Returns a slot for the connection of `activity`. If all are occupied, the first connection in the order of
    /// eviction is closed; if all have running requests, this waits.
    pub(super) async fn acquire(self: &Arc<Self>, activity: &Arc<Activity>) -> ConnectionSlot {
        loop {
            if let Ok(permit) = Arc::clone(&self.free).try_acquire_owned() {
                return self.occupy(permit, activity);
            }
            self.evict();
            let acquired = Arc::clone(&self.free).acquire_owned();
            if let Ok(Ok(permit)) = tokio::time::timeout(EVICTION_INTERVAL, acquired).await {
                return self.occupy(permit, activity);
            }
        }
    }

    fn occupy(self: &Arc<Self>, permit: OwnedSemaphorePermit, activity: &Arc<Activity>) -> ConnectionSlot {
        let mut occupied = self.occupied.lock();
        let id = occupied.next_id;
        occupied.next_id += 1;
        occupied.activities.insert(id, Arc::clone(activity));
        ConnectionSlot { slots: Arc::clone(self), id, _permit: permit }
    }

    fn evict(&self) {
        let occupied = self.occupied.lock();
        let candidates = occupied.activities.values();
        let candidates = candidates.filter_map(|activity| Some((activity.eviction_order()?, activity)));
        if let Some((_, activity)) = candidates.min_by_key(|(order, _)| *order) {
            activity.end.cancel();
        }
    }
}

impl Drop for ConnectionSlot {
    fn drop(&mut self) {
        let mut occupied = self.slots.occupied.lock();
        occupied.activities.remove(&self.id);
    }
}

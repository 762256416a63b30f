//! The number of processes that all functions may have at the same time, if it is limited.

use std::sync::{Arc, Weak};
use std::time::Duration;

use fairness::{FairSemaphore, Permit};
use parking_lot::Mutex;
use tokio::time::Instant;

use super::END_LIMIT;
use super::slot::Slot;
use crate::Error;

/// How many functions may wait for a place.
const QUEUE: usize = 256;
/// How often it is looked for a process without a call while all places are taken.
const INTERVAL: Duration = Duration::from_millis(100);
/// For how long a process has to be without a call to be ended: one that has just started is about to get its first.
const REST: Duration = Duration::from_millis(50);

/// The places for processes. Each process has one until it has ended.
pub(crate) struct Places {
    /// `None` if their number is not limited.
    free: Option<FairSemaphore>,
    /// Those whose processes have a place.
    slots: Mutex<Vec<Weak<Slot>>>,
}

impl Places {
    /// Returns `number` places; with 0, their number is not limited.
    pub(crate) fn new(number: usize) -> Self {
        Self { free: (number > 0).then(|| FairSemaphore::new(number, QUEUE)), slots: Mutex::default() }
    }

    /// Returns a place for the process of `slot`; `None` if it needs none. If all are taken, the process that has been
    /// without a call for the longest time ends.
    ///
    /// Errors: [`Error::Busy`] if all processes have calls, for longer than a caller should wait.
    pub(super) async fn take(&self, slot: &Arc<Slot>) -> Result<Option<Permit>, Error> {
        let Some(free) = &self.free else { return Ok(None) };
        let end = Instant::now() + END_LIMIT;
        loop {
            let place = match free.try_acquire(None) {
                Some(place) => Some(place),
                None => {
                    self.retire_one();
                    free.acquire(None, INTERVAL).await.ok()
                }
            };
            if let Some(place) = place {
                let mut slots = self.slots.lock();
                slots.retain(|other| {
                    other.strong_count() > 0 && !std::ptr::eq(other.as_ptr(), Arc::as_ptr(slot))
                });
                slots.push(Arc::downgrade(slot));
                return Ok(Some(place));
            }
            if Instant::now() >= end {
                return Err(Error::Busy);
            }
        }
    }

    /// Retires the process that has been without a call for the longest time, if there is one.
    fn retire_one(&self) {
        let slots: Vec<Arc<Slot>> = self.slots.lock().iter().filter_map(Weak::upgrade).collect();
        let since = |slot: &Arc<Slot>| slot.unused_since().filter(|since| since.elapsed() >= REST);
        let unused = slots.iter().filter_map(|slot| Some((since(slot)?, slot)));
        if let Some((_, slot)) = unused.min_by_key(|(since, _)| *since) {
            slot.retire_if_unused();
        }
    }
}

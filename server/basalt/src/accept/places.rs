//! Places for connections, of which there is a bounded number: whoever only occupies one makes room for who comes.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use super::life::Life;

/// After how long it is looked again whether somebody can make room, while all are busy.
const LOOK_AGAIN: Duration = Duration::from_millis(100);

/// All places.
pub(super) struct Places {
    free: Arc<Semaphore>,
    taken: Mutex<Taken>,
}

#[derive(Default)]
struct Taken {
    lives: HashMap<u64, Arc<Life>>,
    /// What the next one is known by.
    next: u64,
}

/// A place that is taken. It is free again when this is dropped.
pub(super) struct Place {
    places: Arc<Places>,
    number: u64,
    _permit: OwnedSemaphorePermit,
}

impl Places {
    /// As many as `room`.
    pub(super) fn new(room: usize) -> Arc<Self> {
        Arc::new(Self { free: Arc::new(Semaphore::new(room)), taken: Mutex::default() })
    }

    /// Gives a place to the connection of `life`. When all are taken, the connection that is missed least has to end; when
    /// all have requests under way, this waits.
    pub(super) async fn take(self: &Arc<Self>, life: &Arc<Life>) -> Place {
        loop {
            if let Ok(permit) = Arc::clone(&self.free).try_acquire_owned() {
                return self.hand_out(permit, life);
            }
            self.make_room();
            let waited = tokio::time::timeout(LOOK_AGAIN, Arc::clone(&self.free).acquire_owned()).await;
            if let Ok(Ok(permit)) = waited {
                return self.hand_out(permit, life);
            }
        }
    }

    fn hand_out(self: &Arc<Self>, permit: OwnedSemaphorePermit, life: &Arc<Life>) -> Place {
        let mut taken = self.taken.lock().unwrap_or_else(PoisonError::into_inner);
        let number = taken.next;
        taken.next += 1;
        taken.lives.insert(number, Arc::clone(life));
        Place { places: Arc::clone(self), number, _permit: permit }
    }

    fn make_room(&self) {
        let taken = self.taken.lock().unwrap_or_else(PoisonError::into_inner);
        let claims = taken.lives.values().filter_map(|life| Some((life.claim()?, life)));
        if let Some((_, life)) = claims.min_by_key(|(claim, _)| *claim) {
            life.end.cancel();
        }
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        let mut taken = self.places.taken.lock().unwrap_or_else(PoisonError::into_inner);
        taken.lives.remove(&self.number);
    }
}

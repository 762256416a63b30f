//! The memory of a function's process for the bodies of its calls.

use std::sync::Arc;

use fairness::Permit;
use parking_lot::Mutex;

/// The unit of the memory for bodies, in bytes. What a body has beyond whole units is not counted: the number of calls
/// is limited, and most have less.
pub(super) const UNIT: u64 = 16 << 10;

/// The memory for a body whose size was not announced, which is taken as it arrives.
#[derive(Debug, Clone)]
pub(crate) struct Room(Arc<Mutex<State>>);

struct State {
    permit: Permit,
    received: u64,
    /// Up to how many bytes there is memory.
    counted: u64,
    is_full: bool,
}

impl std::fmt::Debug for State {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("State").field("received", &self.received).finish_non_exhaustive()
    }
}

impl Room {
    /// Returns the room for a body that has a permit for its first [`UNIT`].
    pub(super) fn new(permit: Permit) -> Self {
        Self(Arc::new(Mutex::new(State { permit, received: 0, counted: UNIT, is_full: false })))
    }

    /// Takes memory for `bytes` more; reports whether there was as much.
    pub(super) fn take(&self, bytes: usize) -> bool {
        let mut state = self.0.lock();
        state.received += bytes as u64;
        while state.counted < state.received && !state.is_full {
            state.is_full = !state.permit.grow(1);
            state.counted += UNIT;
        }
        !state.is_full
    }

    /// Reports whether there was too little memory.
    pub(crate) fn is_full(&self) -> bool {
        self.0.lock().is_full
    }
}

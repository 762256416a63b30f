//! Memory that callers fill at their own speed.

use crate::{FairSemaphore, Network, Permit};

/// An amount of memory that is divided between networks, as the permits of a [`FairSemaphore`] are. Cheap to clone:
/// clones share the memory.
#[derive(Debug, Clone)]
pub struct Memory {
    semaphore: FairSemaphore,
    /// The bytes of a permit. What has fewer is not counted.
    unit: usize,
    /// Whose share is taken from.
    network: Option<Network>,
}

/// A part of a [`Memory`], which is free again when this is dropped.
#[derive(Debug, Default)]
pub struct HeldMemory(Option<Permit>);

impl Memory {
    /// Returns a memory of `size` bytes, which is counted in units of `unit` bytes. It is the server's own.
    pub fn new(size: usize, unit: usize) -> Self {
        Self { semaphore: FairSemaphore::new(size / unit, 0), unit, network: None }
    }

    /// Returns the same memory for `network` to take its share from.
    pub fn of(&self, network: Option<Network>) -> Self {
        Self { network, ..self.clone() }
    }

    /// Reports whether `size` bytes are counted: those of a unit and more.
    pub const fn counts(&self, size: usize) -> bool {
        size >= self.unit
    }

    /// Holds memory for `size` bytes in place of what is `held`; reports whether there was as much. Otherwise `held` is
    /// unchanged.
    pub fn hold(&self, size: usize, held: &mut HeldMemory) -> bool {
        let (units, had) = (size / self.unit, held.0.as_ref().map_or(0, Permit::number));
        match &mut held.0 {
            _ if units == 0 => held.0 = None,
            Some(_) if units == had => {}
            Some(permit) if units < had => permit.shrink(had - units),
            Some(permit) => return permit.grow(units - had),
            None => {
                held.0 = self.semaphore.try_acquire_many(self.network, units);
                return held.0.is_some();
            }
        }
        true
    }

    /// Reports whether there is any memory left.
    pub fn has_room(&self) -> bool {
        self.semaphore.has_room(self.network)
    }

    /// Returns memory for `size` bytes, or `None` if there is not as much.
    pub fn take(&self, size: usize) -> Option<HeldMemory> {
        let mut held = HeldMemory::default();
        self.hold(size, &mut held).then_some(held)
    }
}

impl HeldMemory {
    /// Reports whether nothing is held, as for what is smaller than a unit.
    pub const fn is_empty(&self) -> bool {
        self.0.is_none()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn memory_grows_and_shrinks_and_is_divided() {
        let memory = Memory::new(4096 * 256, 4096);
        let of = |last| memory.of(Network::of([192, 0, 2, last].into()));
        let mut held = HeldMemory::default();
        assert!(of(1).hold(4095, &mut held) && held.is_empty());
        assert!(!memory.counts(4095) && memory.counts(4096));
        assert!(of(1).hold(4096 * 192, &mut held) && !held.is_empty());
        assert!(!of(1).hold(4096 * 193, &mut held), "three quarters are the share of one");
        assert_eq!(memory.semaphore.held(), 192);
        assert!(of(2).take(4096 * 49).is_none());
        assert!(of(2).take(4096 * 48).is_some());
        assert!(of(1).hold(4096 * 10, &mut held));
        assert_eq!(memory.semaphore.held(), 10);
        drop(held);
        assert_eq!(memory.semaphore.held(), 0);
    }
}

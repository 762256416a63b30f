//! The events of one source.

use std::collections::VecDeque;

use parking_lot::Mutex;

use crate::Event;

/// The events of one source, the oldest first.
#[derive(Debug, Default)]
pub(crate) struct Ring(Mutex<Content>);

#[derive(Debug, Default)]
struct Content {
    events: VecDeque<(Event, usize)>,
    /// The size of all.
    size: usize,
}

impl Ring {
    /// Appends an event of `size` bytes, and forgets the oldest until all fit into `limit` bytes.
    pub(crate) fn push(&self, event: Event, size: usize, limit: usize) {
        let mut content = self.0.lock();
        content.events.push_back((event, size));
        content.size += size;
        while content.size > limit {
            let Some((_, size)) = content.events.pop_front() else { break };
            content.size -= size;
        }
    }

    /// Forgets all.
    pub(crate) fn clear(&self) {
        *self.0.lock() = Content::default();
    }

    /// Returns copies of those that match: a copy shares its texts.
    pub(crate) fn matching(&self, is_wanted: impl Fn(&Event) -> bool) -> Vec<Event> {
        let content = self.0.lock();
        content.events.iter().map(|(event, _)| event).filter(|event| is_wanted(event)).cloned().collect()
    }
}

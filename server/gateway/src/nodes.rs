//! What the services of a node tell those of the project's other nodes: short notes that may be lost.

use std::hash::{BuildHasher as _, BuildHasherDefault, DefaultHasher, Hash};
use std::sync::{Arc, OnceLock, PoisonError, RwLock};

use bytes::Bytes;
use tokio::sync::mpsc;

/// Notes that may wait to be carried to the other nodes. More are lost.
const MAX_WAITING: usize = 16_384;

/// The other nodes of the project; cheap to clone. Where nothing carries notes to them, nobody is told.
#[derive(Clone, Default)]
pub struct Nodes(Arc<Inner>);

#[derive(Default)]
struct Inner {
    carrier: OnceLock<mpsc::Sender<Bytes>>,
    listeners: RwLock<Vec<Listener>>,
}

type Take = Box<dyn Fn(&[u8]) + Send + Sync>;

struct Listener {
    subject: &'static str,
    take: Take,
}

impl Nodes {
    /// Tells the services of all other nodes that listen to `subject`. A subject has no line feed.
    pub fn tell(&self, subject: &'static str, note: &[u8]) {
        let Some(carrier) = self.0.carrier.get() else { return };
        if carrier.try_send([subject.as_bytes(), b"\n", note].concat().into()).is_err() {
            tracing::debug!(subject, "other nodes miss a note");
        }
    }

    /// Calls `take` with every note that another node tells on `subject`. It has to return at once.
    pub fn listen(&self, subject: &'static str, take: impl Fn(&[u8]) + Send + Sync + 'static) {
        // Every critical section leaves the list whole.
        let mut listeners = self.0.listeners.write().unwrap_or_else(PoisonError::into_inner);
        listeners.push(Listener { subject, take: Box::new(take) });
    }

    /// Returns what is to be carried to the other nodes, from now on; `None` if it is carried already.
    pub fn carry(&self) -> Option<mpsc::Receiver<Bytes>> {
        let (sender, receiver) = mpsc::channel(MAX_WAITING);
        self.0.carrier.set(sender).is_ok().then_some(receiver)
    }

    /// Gives what another node's [`Self::carry`] has returned to those who listen.
    pub fn receive(&self, carried: &[u8]) {
        let Some(end) = carried.iter().position(|&byte| byte == b'\n') else { return };
        let listeners = self.0.listeners.read().unwrap_or_else(PoisonError::into_inner);
        for listener in listeners.iter().filter(|listener| listener.subject.as_bytes() == &carried[..end]) {
            (listener.take)(&carried[end + 1..]);
        }
    }
}

/// Returns a number for `name` in notes: the same on all nodes, which run the same program. It cannot be turned back; two
/// names may have the same one.
pub fn number_of(name: impl Hash) -> u64 {
    BuildHasherDefault::<DefaultHasher>::default().hash_one(name)
}

#[cfg(test)]
mod tests {
    use std::sync::Mutex;

    use super::*;

    #[test]
    fn notes_reach_those_who_listen_on_other_nodes() {
        let (one, other) = (Nodes::default(), Nodes::default());
        let heard = Arc::new(Mutex::new(Vec::new()));
        let taking = Arc::clone(&heard);
        other.listen("a", move |note| taking.lock().unwrap().push(note.to_vec()));
        one.tell("a", b"nobody carries it");
        let mut carried = one.carry().unwrap();
        assert!(one.carry().is_none());
        one.tell("a", b"1\n2");
        one.tell("b", b"3");
        while let Ok(note) = carried.try_recv() {
            other.receive(&note);
        }
        other.receive(b"rubbish");
        assert_eq!(*heard.lock().unwrap(), [b"1\n2"]);
    }
}

//! Short messages between the services of a project's nodes. A message may be lost.

use std::hash::{BuildHasher as _, BuildHasherDefault, DefaultHasher, Hash};
use std::sync::{Arc, OnceLock};

use bytes::Bytes;
use parking_lot::RwLock;
use tokio::sync::mpsc;

/// The maximum number of messages that wait for their transport to the other nodes. Further ones are lost.
const MAX_WAITING: usize = 16_384;

/// The other nodes of the project; cheap to clone. Without a transport ([`Self::outgoing`]), messages are dropped.
#[derive(Clone, Default)]
pub struct Nodes(Arc<Inner>);

#[derive(Default)]
struct Inner {
    outbox: OnceLock<mpsc::Sender<Bytes>>,
    listeners: RwLock<Vec<Listener>>,
}

type Handler = Box<dyn Fn(&[u8]) + Send + Sync>;

struct Listener {
    subject: &'static str,
    handle: Handler,
}

impl Nodes {
    /// Sends `message` to the listeners of `subject` on all other nodes. A subject contains no line feed.
    pub fn send(&self, subject: &'static str, message: &[u8]) {
        let Some(outbox) = self.0.outbox.get() else { return };
        if outbox.try_send([subject.as_bytes(), b"\n", message].concat().into()).is_err() {
            tracing::debug!(subject, "other nodes miss a note");
        }
    }

    /// Calls `handle` with every message that another node sends to `subject`. It must return at once.
    pub fn listen(&self, subject: &'static str, handle: impl Fn(&[u8]) + Send + Sync + 'static) {
        // Every critical section leaves the list consistent.
        let mut listeners = self.0.listeners.write();
        listeners.push(Listener { subject, handle: Box::new(handle) });
    }

    /// Returns the encoded messages that a transport must pass to [`Self::receive`] of the other nodes, from now on;
    /// `None` if there is a transport already.
    pub fn outgoing(&self) -> Option<mpsc::Receiver<Bytes>> {
        let (sender, receiver) = mpsc::channel(MAX_WAITING);
        self.0.outbox.set(sender).is_ok().then_some(receiver)
    }

    /// Passes an encoded message from another node's [`Self::outgoing`] to the listeners.
    pub fn receive(&self, encoded: &[u8]) {
        let Some(end) = encoded.iter().position(|&byte| byte == b'\n') else { return };
        let listeners = self.0.listeners.read();
        for listener in listeners.iter().filter(|listener| listener.subject.as_bytes() == &encoded[..end]) {
            (listener.handle)(&encoded[end + 1..]);
        }
    }
}

/// Returns a hash of `name` for messages: the same on all nodes, which run the same program. Two names may have the
/// same hash.
pub fn number_of(name: impl Hash) -> u64 {
    BuildHasherDefault::<DefaultHasher>::default().hash_one(name)
}

#[cfg(test)]
mod tests {
    use std::sync::Mutex;

    use super::*;

    #[test]
    fn messages_reach_the_listeners_on_other_nodes() {
        let (one, other) = (Nodes::default(), Nodes::default());
        let received = Arc::new(Mutex::new(Vec::new()));
        let receiver = Arc::clone(&received);
        other.listen("a", move |message| receiver.lock().unwrap().push(message.to_vec()));
        one.send("a", b"nobody carries it");
        let mut outgoing = one.outgoing().unwrap();
        assert!(one.outgoing().is_none());
        one.send("a", b"1\n2");
        one.send("b", b"3");
        while let Ok(message) = outgoing.try_recv() {
            other.receive(&message);
        }
        other.receive(b"rubbish");
        assert_eq!(*received.lock().unwrap(), [b"1\n2"]);
    }
}

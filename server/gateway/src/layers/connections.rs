//! The connections to this server that clients hold by their requests.
//!
//! The server divides its connections between the networks of its peers, before there is a request. Behind a proxy, all
//! peers are the proxy, and the client's network is known only from a request; and a connection of HTTP/2 carries many
//! requests. So each running request, and each socket, counts for its client's network as a connection.

use std::sync::{Arc, OnceLock};

use fairness::{FairSemaphore, Network, Permit};

/// A client's hold on a connection of a proxy, in the extensions of a response. The server keeps it until the response,
/// or the socket that it opens, has ended.
#[derive(Clone)]
pub struct HeldConnection(#[expect(dead_code, reason = "held for its end")] Arc<Permit>);

/// The connections, if they are divided here.
#[derive(Default)]
pub(crate) struct Connections(OnceLock<FairSemaphore>);

impl Connections {
    /// Divides `number` connections from now on.
    pub(crate) fn divide(&self, number: usize) {
        // They are divided once, at the start.
        let _ = self.0.set(FairSemaphore::new(number, 0));
    }

    /// Returns a hold on one for a request of `network`; `None` if none has to be held.
    ///
    /// Errors: `()` if the network has its share.
    pub(crate) fn hold(&self, network: Option<Network>) -> Result<Option<HeldConnection>, ()> {
        match self.0.get() {
            None => Ok(None),
            Some(connections) => connections
                .try_acquire(network)
                .map(|permit| Some(HeldConnection(Arc::new(permit))))
                .ok_or(()),
        }
    }
}

//! Divides what callers hold at their own speed (connections to Postgres, calls of functions, sockets, uploads, memory)
//! between their networks, so that one caller cannot take all of it.
//!
//! A [`FairSemaphore`] has a number of permits and a queue. A [`Network`] gets another permit while it has fewer than
//! three times as many as are free. Alone it gets three quarters of all, the next one three quarters of the rest. What
//! comes back goes to those who have little: this is the scheme of dynamic thresholds, with which switches divide their
//! buffers.
//!
//! The network for which a task works is set by [`on_behalf_of`]. The server itself and programs on its machine have no
//! network; they get any permit that is free.
//!
//! Source: A. K. Choudhury and E. L. Hahne, "Dynamic queue length thresholds for shared-memory packet switches",
//! IEEE/ACM Transactions on Networking 6 (1998).

mod memory;
mod network;
mod semaphore;

pub use memory::{HeldMemory, Memory};
pub use network::Network;
pub use semaphore::{FairSemaphore, Permit, Refusal};

tokio::task_local! {
    static CALLER: Option<Network>;
}

/// Runs `future` on behalf of `caller`. Tasks that it spawns work for nobody.
pub fn on_behalf_of<F: Future>(caller: Option<Network>, future: F) -> impl Future<Output = F::Output> {
    CALLER.scope(caller, future)
}

/// Returns the network for which this task works; `None` if it is the server itself or a program on its machine.
pub fn caller() -> Option<Network> {
    CALLER.try_with(|caller| *caller).ok().flatten()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_task_works_for_its_caller_until_its_end() {
        let network = Network::of("192.0.2.1".parse().unwrap());
        assert!(network.is_some());
        assert_eq!(on_behalf_of(network, async { caller() }).await, network);
        assert_eq!(on_behalf_of(network, tokio::spawn(async { caller() })).await.unwrap(), None);
        assert_eq!(caller(), None);
    }
}

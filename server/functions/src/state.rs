//! How functions are, for what watches the server.

use std::sync::Arc;

use crate::Inner;
use crate::worker::Processes;

/// How a function is that has been called since it was changed last.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FunctionState {
    /// Its name.
    pub name: String,
    /// How many starts have failed since the last one that did not.
    pub failed_starts: u64,
    /// Why the last one failed, in words of the server; empty if none has.
    pub reason: String,
    /// How many of its processes have ended by an error, or because of a limit, since the server's start.
    pub failed_processes: u64,
}

/// Returns the states of all `functions` that have been called.
pub(crate) fn states(functions: &Inner) -> Vec<FunctionState> {
    let known: Vec<Arc<Processes>> = functions.processes.read().values().cloned().collect();
    let state = |processes: &Arc<Processes>| {
        let slots = processes.slots().iter().map(|slot| slot.failed_in_a_row());
        let (failed_starts, reason) = slots.max_by_key(|(failed, _)| *failed).unwrap_or_default();
        let name = processes.deployed().name.clone();
        let failed_processes = functions.host.metrics.failures(&name);
        FunctionState { name, failed_starts, reason, failed_processes }
    };
    known.iter().map(state).collect()
}

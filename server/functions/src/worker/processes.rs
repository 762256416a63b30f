//! The two processes of a function, for calls with short and with long bodies.
//!
//! V8 needs up to 22 bytes for a byte of JSON (`[{},{},…]`), so that a function which parses one long body may take all
//! the memory of its process. Then the process ends, and all calls in it. So calls with long bodies have a process of
//! their own, which is started when there is one; what they take ends no call with a short body.

use std::path::Path;
use std::sync::Arc;

use super::NotBooted;
use super::connection::LONGEST_SHORT;
use super::host::Host;
use super::slot::Slot;
use crate::settings::DeployedFunction;

/// The part of a process's memory that may be filled with short bodies: with 22 times as much, and as much again for
/// what is not counted of each, most of it is left to the function.
const SHORT_PART: u64 = 64;
/// The same for long bodies.
const LONG_PART: u64 = 4;

/// The processes of one function.
pub(crate) struct Processes([Arc<Slot>; 2]);

impl Processes {
    pub(crate) fn new(host: &Arc<Host>, deployed: &DeployedFunction) -> Self {
        Self([SHORT_PART, LONG_PART].map(|part| Slot::new(Arc::clone(host), deployed.clone(), part)))
    }

    /// Returns the function.
    pub(crate) fn deployed(&self) -> &DeployedFunction {
        &self.0[0].deployed
    }

    /// Returns the process for calls with a body of `size` bytes; `None` if that is not known.
    pub(crate) fn for_body(&self, size: Option<u64>) -> &Arc<Slot> {
        let is_short = size.is_some_and(|size| size <= LONGEST_SHORT as u64);
        &self.0[usize::from(!is_short)]
    }

    /// Starts the process for short bodies, if it does not run.
    ///
    /// Errors: why it did not start, in Deno's words where it has written any.
    pub(crate) async fn boot(&self) -> Result<(), String> {
        let slot = &self.0[0];
        slot.start().await.map_err(|error| match slot.take_last_failure() {
            Some(NotBooted { words, .. }) if !words.is_empty() => words,
            Some(NotBooted { reason, .. }) => reason,
            None => error.to_string(),
        })
    }

    /// Returns both.
    pub(crate) fn slots(&self) -> &[Arc<Slot>] {
        &self.0
    }

    /// Reports whether one of them runs.
    pub(crate) fn is_running(&self) -> bool {
        self.0.iter().any(|slot| slot.is_running())
    }

    /// Reports whether one of them imported the file at `path` when it was started last.
    pub(crate) fn imports(&self, path: &Path) -> bool {
        self.0.iter().any(|slot| slot.imports(path))
    }

    /// Has calls that come yet look for the function again, because others have taken the place of these. Theirs end with
    /// their last call.
    pub(crate) fn replace(&self) {
        self.0.iter().for_each(|slot| slot.replace());
    }

    /// Makes the next call of each start a new process, because files have changed.
    pub(crate) fn renew(&self) {
        self.0.iter().for_each(|slot| slot.renew());
    }
}

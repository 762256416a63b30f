//! Checks.

use std::time::Duration;

use futures_util::future::BoxFuture;

use crate::problem::Finding;

/// What a check looks at.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Scope {
    /// This machine or this process.
    Node,
    /// The settings, which are those of all servers of the project.
    Project,
    /// The database, which is that of all servers of the project.
    Database,
}

/// Looks at one thing.
pub trait Check: Send + 'static {
    /// Returns the name of what it looks at, for messages about the check itself.
    fn name(&self) -> &'static str;

    /// Returns what it looks at.
    fn scope(&self) -> Scope {
        Scope::Node
    }

    /// Returns how often it has to look, if not in each round.
    fn period(&self) -> Duration {
        Duration::ZERO
    }

    /// Looks, and returns what it has found. A future that takes too long is dropped.
    ///
    /// Errors: a sentence that says why it could not look. What it has found before is taken to be so still.
    fn look(&mut self) -> BoxFuture<'_, Result<Vec<Finding>, String>>;
}

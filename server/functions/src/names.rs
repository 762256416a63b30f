//! The names of requests in traces and in the table of slow statements.

use gateway::Names;

/// Returns the names of the service's requests. The path below a function's name is the function's own, and left out.
pub fn names() -> Names {
    Names { route: |_| "/{function}".into(), ..Names::default() }
}

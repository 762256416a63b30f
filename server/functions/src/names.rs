//! How requests are called where many of them are told of at once.

use gateway::Names;

/// Returns how requests are called: what is behind the function's name is the function's.
pub fn names() -> Names {
    Names { route: |_| "/{function}".into(), ..Names::default() }
}

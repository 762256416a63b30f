//! Names of routes for metrics and traces, which show many requests at once.

use gateway::Names;

/// Returns the names of the routes, without topics and events.
pub fn names() -> Names {
    let route = |path: &str| match path {
        "/websocket" => "/websocket".into(),
        "/api/ping" => "/api/ping".into(),
        "/api/broadcast" => "/api/broadcast".into(),
        path if path.starts_with("/api/broadcast/") => "/api/broadcast/{topic}/events/{event}".into(),
        _ => "/*".into(),
    };
    Names { route, ..Names::default() }
}

//! How requests are called where many of them are told of at once.

use gateway::Names;

/// Returns how requests are called: without topics and events.
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

//! Which requests the service responds to, and how it responds to those to no route.

use http::Method;
use poem::Body;
use realtime::Settings;
use serde_json::json;

use crate::support::{Response, Service};

const JSON_TYPE: &str = "application/json; charset=utf-8";

/// Checks that `response` is that to a request for which there is no route.
fn assert_not_found(response: &Response, request: &str) {
    assert_eq!((response.status.as_u16(), &*response.text), (404, r#"{"error":"not found"}"#), "{request}");
    assert_eq!(response.headers["content-type"], JSON_TYPE, "{request}");
    assert!(!response.headers.contains_key("allow"), "{request}");
}

#[tokio::test]
async fn a_ping_gets_a_response() {
    let service = Service::new(Settings::default()).await;
    let response = service.ask(Method::GET, "/api/ping?a=b").await;
    assert_eq!((response.status.as_u16(), &*response.text), (200, r#"{"message":"Success"}"#));
    assert_eq!(response.headers["content-type"], JSON_TYPE);
}

#[tokio::test]
async fn other_paths_are_not_found() {
    let service = Service::new(Settings::default()).await;
    for path in [
        "/",
        "//",
        "/websocket/",
        "//websocket",
        "/WebSocket",
        "/%77ebsocket",
        "/websocket/more",
        "/api",
        "/api/",
        "/api/ping/",
        "/api//ping",
        "/api%2Fping",
        "/api/broadcast/",
        "/api/broadcasts",
        "/api/broadcast/topic",
        "/api/broadcast/topic/",
        "/api/broadcast/topic/events",
        "/api/broadcast/topic/event/move",
        "/api/broadcast/topic/events/move/",
        "/api/broadcast/topic/events/move/more",
        "/api/broadcast/topic/events/other/events/move",
        "/api/broadcast/events/move",
        "//api/broadcast/topic/events/move",
    ] {
        for method in [Method::GET, Method::HEAD, Method::POST, Method::PUT, Method::DELETE] {
            let request = format!("{method} {path}");
            assert_not_found(&service.ask(method, path).await, &request);
        }
    }
}

#[tokio::test]
async fn other_methods_are_not_found() {
    let service = Service::new(Settings::default()).await;
    for (path, allowed) in [
        ("/websocket", Method::GET),
        ("/api/ping", Method::GET),
        ("/api/broadcast", Method::POST),
        ("/api/broadcast/topic/events/move", Method::POST),
        ("/api/broadcast/a/topic/events/move", Method::POST),
    ] {
        let methods = [Method::GET, Method::HEAD, Method::POST, Method::PUT, Method::PATCH, Method::DELETE];
        for method in methods.into_iter().filter(|method| *method != allowed) {
            let request = format!("{method} {path}");
            assert_not_found(&service.ask(method, path).await, &request);
        }
        let response = service.ask(allowed.clone(), path).await;
        assert_ne!(response.status, 404, "{allowed} {path}");
    }
}

#[tokio::test]
async fn a_long_header_is_refused_before_the_path_matters() {
    let service = Service::new(Settings { max_header_length: 100, ..Settings::default() }).await;
    for path in ["/api/ping", "/nowhere"] {
        let long = "x".repeat(100);
        let response = service.send(Method::GET, path, &[("x-long", &long)], Body::empty()).await;
        assert_eq!(response.status, 431, "{path}");
        let error = "a request header is longer than 100 bytes (realtime.max_header_length)";
        assert_eq!(response.text, json!({ "error": error }).to_string(), "{path}");
    }
}

#[tokio::test]
async fn a_broadcast_needs_a_topic_and_an_event() {
    let service = Service::new(Settings::default()).await;
    for path in ["/api/broadcast//events/move", "/api/broadcast/topic/events/"] {
        // The token is looked at first.
        let response = service.ask(Method::POST, path).await;
        assert_eq!(
            (response.status.as_u16(), &*response.text),
            (401, r#"{"message":"Unauthorized"}"#),
            "{path}"
        );
        assert_not_found(&service.post(path, &json!({})).await, path);
    }
}

#[tokio::test]
async fn the_names_of_topics_and_events_may_have_any_character() {
    let service = Service::new(Settings::default()).await;
    let mut socket = service.open().await;
    for (topic, event, path) in [
        ("room", "move", "/api/broadcast/room/events/move"),
        ("room", "move", "/api/broadcast/room/events/move?private=false"),
        ("a room/1", "move/é", "/api/broadcast/a%20room%2F1/events/move%2F%C3%A9"),
        ("a:b*<c>", "{d}", "/api/broadcast/a:b*%3Cc%3E/events/%7Bd%7D"),
        ("events", "events", "/api/broadcast/events/events/events"),
        // A slash of a topic need not be escaped.
        ("a/b", "move", "/api/broadcast/a/b/events/move"),
        ("/a//b/", "move", "/api/broadcast//a//b//events/move"),
        ("a/events", "move", "/api/broadcast/a%2Fevents/events/move"),
    ] {
        assert_eq!(socket.join(topic).await["status"], "ok", "{path}");
        let response = service.post(path, &json!({ "n": 1 })).await;
        assert_eq!((response.status.as_u16(), &*response.text), (202, ""), "{path}");
        let received = socket.receive(topic, "broadcast").await;
        assert_eq!((&received["event"], &received["payload"]), (&json!(event), &json!({ "n": 1 })), "{path}");
        socket.send(topic, "phx_leave", json!({})).await;
        socket.receive(topic, "phx_close").await;
    }
}

#[tokio::test]
async fn responses_name_their_route_without_topics_and_events() {
    let service = Service::new(Settings::default()).await;
    for (method, path, route) in [
        (Method::GET, "/websocket", Some("/websocket")),
        (Method::GET, "/api/ping?a=b", Some("/api/ping")),
        (Method::HEAD, "/api/ping", Some("/api/ping")),
        (Method::DELETE, "/api/ping", Some("/api/ping")),
        (Method::POST, "/api/broadcast", Some("/api/broadcast")),
        (Method::POST, "/api/broadcast/topic/events/move", Some("/api/broadcast/:topic/events/:event")),
        (Method::POST, "/api/broadcast/a/topic/events/move", Some("/api/broadcast/*topic_and_event")),
        (Method::GET, "/nowhere", None),
    ] {
        let response = service.ask(method.clone(), path).await;
        assert_eq!(response.route.as_deref(), route, "{method} {path}");
    }
}

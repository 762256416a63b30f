//! A service that is made again with other settings.

use realtime::Settings;
use serde_json::{Value, json};

use crate::support::Service;

fn is_refused(response: &Value) -> bool {
    response["response"]["reason"] == "PrivateOnly: This project only allows private channels"
}

#[tokio::test]
async fn new_settings_apply_to_new_sockets_and_open_ones_stay() {
    let quick = Settings { channel_error_backoff_ms: 1, ..Settings::default() };
    let old = Service::new(quick.clone()).await;
    let mut first = old.open().await;
    assert_eq!(first.join("room").await["status"], "ok");

    let new = old.with(Settings { private_only: true, max_events_per_second: 7, ..quick });
    let mut second = new.open().await;
    assert!(is_refused(&second.join("room").await), "a new socket has the new settings");
    assert_eq!(
        first.join("other").await["status"],
        "ok",
        "an open one keeps those that it was accepted with"
    );

    // Both services have the same channels and counts.
    let path = "/api/broadcast/room/events/move";
    let response = new.post(path, &json!({})).await;
    assert_eq!((response.status.as_u16(), &response.headers["x-rate-limit"]), (202, &"7".parse().unwrap()));
    assert_eq!(first.receive("room", "broadcast").await["event"], json!("move"));
    assert_eq!(old.post(path, &json!({})).await.headers["x-rate-limit"], "100");
    assert_eq!(first.receive("room", "broadcast").await["event"], json!("move"));
    assert_eq!((new.figure("sockets"), new.figure("joins_total"), new.figure("deliveries_total")), (2, 2, 2));
}

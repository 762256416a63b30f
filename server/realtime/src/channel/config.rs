//! The payload of a join: what the client asks for.

use std::time::Duration;

use serde_json::{Map, Value};

use crate::changes::Bindings;
use crate::messages::Replay;

/// The configuration of a channel. A value of a wrong type counts as absent.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct JoinConfig {
    /// Whether broadcasts are acknowledged.
    pub(crate) acknowledges: bool,
    /// Whether the channel gets its own broadcasts.
    pub(crate) hears_itself: bool,
    /// Earlier broadcasts to send again.
    pub(crate) replay: Option<Result<Replay, InvalidReplay>>,
    /// Whether the client wants to know when the replication stream is live.
    pub(crate) awaits_replication: bool,
    /// Whether the client wants the state of presences.
    pub(crate) presence: bool,
    /// The key of its presences; `None` for a random one.
    pub(crate) presence_key: Option<Box<str>>,
    pub(crate) is_private: bool,
    /// How long the reply to the join may wait until the row changes are certain; `None` if it does not.
    pub(crate) change_wait: Option<Duration>,
}

/// The error that `replay` is malformed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct InvalidReplay;

/// Bytes that a payload may have: a token and a hundred bindings fit.
const MAX_SIZE: usize = 128 << 10;

/// Milliseconds that a join waits for its row changes, by default and at most: the server closes the connection of a
/// client that is silent for long. Source: upstream's defaults.
const CHANGE_WAIT: u64 = 15_000;
const MAX_CHANGE_WAIT: u64 = 20_000;

/// Broadcasts that are sent again at most, and by default.
const MAX_REPLAY: u32 = 25;

/// The payload of a join.
#[derive(Debug)]
pub(crate) struct JoinPayload {
    /// The channel's token; `None` if the client names none or an opaque key.
    pub(crate) token: Option<String>,
    pub(crate) config: JoinConfig,
    /// The row changes that it asks for.
    pub(crate) bindings: Bindings,
    /// Whether the payload is too large and was not read.
    pub(crate) is_too_large: bool,
}

impl JoinPayload {
    /// Parses a payload, which may be any text. One that is too large is not read.
    pub(crate) fn read(payload: &str) -> Self {
        let is_too_large = payload.len() > MAX_SIZE;
        let payload = if is_too_large { "" } else { payload };
        let payload: Value = serde_json::from_str(payload).unwrap_or_default();
        let token = ["user_token", "access_token"]
            .iter()
            .find_map(|name| payload.get(name)?.as_str().filter(|token| !token.starts_with("sb_")));
        let token = token.map(str::to_owned);
        let config = payload.get("config");
        let changes = config.and_then(|config| config.get("postgres_changes")?.as_array());
        let bindings = Bindings::read(changes.map_or(&[], Vec::as_slice));
        Self { token, config: JoinConfig::read(config), bindings, is_too_large }
    }
}

impl JoinConfig {
    fn read(config: Option<&Value>) -> Self {
        let broadcast = section(config, "broadcast");
        let presence = section(config, "presence");
        Self {
            acknowledges: flag(broadcast, "ack"),
            hears_itself: flag(broadcast, "self"),
            replay: broadcast.and_then(|broadcast| broadcast.get("replay")).and_then(replay),
            awaits_replication: flag(broadcast, "replication_ready"),
            presence: flag(presence, "enabled"),
            presence_key: presence.and_then(|presence| key(presence.get("key")?)),
            is_private: flag(config.and_then(Value::as_object), "private"),
            change_wait: change_wait(section(config, "postgres_changes_options")),
        }
    }
}

fn section<'a>(config: Option<&'a Value>, name: &str) -> Option<&'a Map<String, Value>> {
    config?.get(name)?.as_object()
}

/// Returns a flag, which may be written as a string.
fn flag(section: Option<&Map<String, Value>>, name: &str) -> bool {
    match section.and_then(|section| section.get(name)) {
        Some(Value::Bool(flag)) => *flag,
        Some(Value::String(text)) => text.eq_ignore_ascii_case("true"),
        _ => false,
    }
}

/// Returns how long a join waits for its row changes.
fn change_wait(options: Option<&Map<String, Value>>) -> Option<Duration> {
    let asked = options.and_then(|options| options.get("timeout")?.as_u64()).filter(|limit| *limit > 0);
    let limit = asked.unwrap_or(CHANGE_WAIT).min(MAX_CHANGE_WAIT);
    flag(options, "wait").then_some(Duration::from_millis(limit))
}

/// Returns a key of presences as text; `None` for null and the empty string.
fn key(value: &Value) -> Option<Box<str>> {
    match value {
        Value::Null => None,
        Value::String(text) => (!text.is_empty()).then(|| text.as_str().into()),
        other => Some(other.to_string().into()),
    }
}

fn replay(value: &Value) -> Option<Result<Replay, InvalidReplay>> {
    if value.is_null() {
        return None;
    }
    let most = i64::from(MAX_REPLAY);
    let limit = match value.get("limit") {
        None | Some(Value::Null) => Some(most),
        Some(limit) => limit.as_i64(),
    };
    let limit = limit.and_then(|limit| u32::try_from(limit.clamp(1, most)).ok());
    let since = value.get("since").and_then(Value::as_i64);
    let read = since.zip(limit).map(|(since, limit)| Replay { since, limit });
    Some(read.ok_or(InvalidReplay))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn read(config: Value) -> JoinConfig {
        JoinPayload::read(&json!({ "config": config }).to_string()).config
    }

    #[test]
    fn flags_may_be_text_and_anything_else_is_no() {
        let config = read(json!({
            "private": "TRUE", "broadcast": { "ack": true, "self": 1 }, "presence": { "enabled": "false", "key": 7 },
        }));
        assert!(config.is_private && config.acknowledges && !config.hears_itself && !config.presence);
        assert_eq!(config.presence_key.as_deref(), Some("7"));
        assert_eq!(read(json!(3)), read(json!({ "postgres_changes": null })));
    }

    #[test]
    fn replays_have_bounds() {
        let of = |replay| read(json!({ "broadcast": { "replay": replay } })).replay;
        for (limit, taken) in
            [(json!(null), 25), (json!(7), 7), (json!(26), 25), (json!(0), 1), (json!(-1), 1)]
        {
            let replay = of(json!({ "since": 5, "limit": limit }));
            assert_eq!(replay, Some(Ok(Replay { since: 5, limit: taken })));
        }
        assert_eq!(of(json!({ "since": 5 })), Some(Ok(Replay { since: 5, limit: 25 })));
        for wrong in [json!({}), json!({ "since": "5" }), json!({ "since": 5, "limit": "7" })] {
            assert_eq!(of(wrong), Some(Err(InvalidReplay)));
        }
        assert_eq!(of(json!(null)), None);
    }

    #[test]
    fn joins_wait_no_longer_than_is_allowed() {
        for (options, milliseconds) in [
            (json!({ "wait": true }), Some(15_000)),
            (json!({ "wait": "true", "timeout": 100 }), Some(100)),
            (json!({ "wait": true, "timeout": 60_000 }), Some(20_000)),
            (json!({ "wait": true, "timeout": 0 }), Some(15_000)),
            (json!({ "wait": true, "timeout": -5 }), Some(15_000)),
            (json!({ "wait": true, "timeout": "5" }), Some(15_000)),
            (json!({ "wait": false, "timeout": 100 }), None),
            (json!({ "timeout": 100 }), None),
            (json!(true), None),
        ] {
            let wait = read(json!({ "postgres_changes_options": options })).change_wait;
            assert_eq!(wait, milliseconds.map(Duration::from_millis), "{options}");
        }
    }

    #[test]
    fn opaque_keys_are_no_tokens() {
        let token = |payload: Value| JoinPayload::read(&payload.to_string()).token;
        assert_eq!(token(json!({ "access_token": "a", "user_token": "b" })).as_deref(), Some("b"));
        assert_eq!(token(json!({ "access_token": "sb_publishable_x" })), None);
    }
}

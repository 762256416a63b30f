//! Broadcasts that their senders want to have stored: `persist` of realtime-js 2.119. Only those of private channels
//! can be, where a policy admits rows with the extension `persistence`.

use percent_encoding::percent_decode_str;
use serde_json::Value;

/// Seconds for which a message is stored, by default and at most: its partition is dropped after that.
const MAX_SECONDS: u64 = 72 * 3600;

/// How long a message is to be stored, in seconds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Lifetime(pub(crate) u64);

/// The error that a lifetime is not a number of seconds from 1 to three days.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("persist ttl must be a positive integer of seconds from 1 to {MAX_SECONDS}")]
pub(crate) struct InvalidLifetime;

/// Returns how long the broadcast with this metadata is to be stored; `None` if it is not. Metadata is a JSON object;
/// anything else counts as empty.
///
/// Errors: [`InvalidLifetime`].
pub(crate) fn of_metadata(metadata: &str) -> Result<Option<Lifetime>, InvalidLifetime> {
    if metadata.is_empty() {
        return Ok(None);
    }
    let metadata: Value = serde_json::from_str(metadata).unwrap_or_default();
    metadata.get("persist").map_or(Ok(None), lifetime)
}

/// Returns how long the broadcast of a request with this query is to be stored: `persist=true`, or `persist[ttl]=60`.
///
/// Errors: [`InvalidLifetime`].
pub(crate) fn of_query(query: &str) -> Result<Option<Lifetime>, InvalidLifetime> {
    let mut persist = Value::Null;
    let decode = |text: &str| percent_decode_str(text).decode_utf8_lossy().into_owned();
    for (name, value) in query.split('&').filter_map(|parameter| parameter.split_once('=')) {
        let value = decode(value);
        match decode(name).as_str() {
            "persist" => persist = value.into(),
            "persist[ttl]" => persist = serde_json::json!({ "ttl": value }),
            _ => {}
        }
    }
    lifetime(&persist)
}

fn lifetime(persist: &Value) -> Result<Option<Lifetime>, InvalidLifetime> {
    let seconds = match persist {
        Value::Null | Value::Bool(false) => return Ok(None),
        Value::String(text) if text == "false" => return Ok(None),
        Value::Bool(true) => Some(MAX_SECONDS),
        Value::String(text) if text == "true" => Some(MAX_SECONDS),
        Value::Object(options) => match options.get("ttl") {
            None | Some(Value::Null) => Some(MAX_SECONDS),
            Some(Value::String(text)) => text.parse().ok(),
            Some(ttl) => ttl.as_u64(),
        },
        Value::Array(_) | Value::Number(_) | Value::String(_) => None,
    };
    let seconds = seconds.filter(|seconds| (1..=MAX_SECONDS).contains(seconds));
    seconds.map(|seconds| Some(Lifetime(seconds))).ok_or(InvalidLifetime)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn senders_say_how_long_a_broadcast_is_stored() {
        let stored = |seconds| Ok(Some(Lifetime(seconds)));
        for (metadata, expected) in [
            ("", Ok(None)),
            ("{}", Ok(None)),
            ("nonsense", Ok(None)),
            ("[1]", Ok(None)),
            (r#"{"persist":null}"#, Ok(None)),
            (r#"{"persist":false}"#, Ok(None)),
            (r#"{"persist":true}"#, stored(MAX_SECONDS)),
            (r#"{"persist":{}}"#, stored(MAX_SECONDS)),
            (r#"{"persist":{"ttl":null}}"#, stored(MAX_SECONDS)),
            (r#"{"persist":{"ttl":60}}"#, stored(60)),
            (r#"{"persist":{"ttl":"60"}}"#, stored(60)),
            (r#"{"persist":{"ttl":0}}"#, Err(InvalidLifetime)),
            (r#"{"persist":{"ttl":-1}}"#, Err(InvalidLifetime)),
            (r#"{"persist":{"ttl":1.5}}"#, Err(InvalidLifetime)),
            (r#"{"persist":{"ttl":259201}}"#, Err(InvalidLifetime)),
            (r#"{"persist":{"ttl":"soon"}}"#, Err(InvalidLifetime)),
            (r#"{"persist":60}"#, Err(InvalidLifetime)),
        ] {
            assert_eq!(of_metadata(metadata), expected, "{metadata}");
        }
        for (query, expected) in [
            ("private=true", Ok(None)),
            ("private=true&persist=false", Ok(None)),
            ("persist=true", stored(MAX_SECONDS)),
            ("persist%5Bttl%5D=60", stored(60)),
            ("persist[ttl]=259200", stored(MAX_SECONDS)),
            ("persist[ttl]=", Err(InvalidLifetime)),
            ("persist=1", Err(InvalidLifetime)),
        ] {
            assert_eq!(of_query(query), expected, "{query}");
        }
    }
}

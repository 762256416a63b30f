//! Messages as JSON: objects in version 1.0.0, arrays in version 2.0.0.

use std::borrow::Cow;
use std::fmt::Write as _;

use serde::Deserialize;
use serde_json::value::RawValue;

use super::{Inbound, Message, Outbound, Reference, Version};

/// Returns `text` as a JSON string with quotes.
pub(crate) fn quote(text: &str) -> String {
    let mut quoted = String::with_capacity(text.len() + 2);
    push_string(&mut quoted, text);
    quoted
}

/// A message of version 1.0.0; `join_ref` is optional.
#[derive(Deserialize)]
struct Object<'a> {
    #[serde(borrow)]
    topic: Cow<'a, str>,
    #[serde(borrow)]
    event: Cow<'a, str>,
    #[serde(borrow)]
    payload: &'a RawValue,
    #[serde(borrow, rename = "ref")]
    reference: &'a RawValue,
    #[serde(borrow, default)]
    join_ref: Option<&'a RawValue>,
}

pub(super) fn parse(version: Version, text: &[u8]) -> Option<Message<'_>> {
    match version {
        Version::V1 => {
            let object: Object<'_> = serde_json::from_slice(text).ok()?;
            Some(Message {
                join_ref: object.join_ref.map_or(Reference::NULL, Reference::of_json),
                reference: Reference::of_json(object.reference),
                topic: object.topic,
                event: object.event,
                payload: Inbound::Json(object.payload),
            })
        }
        Version::V2 => {
            let items: Vec<&RawValue> = serde_json::from_slice(text).ok()?;
            let [join_ref, reference, topic, event, payload, ..] = *items else { return None };
            Some(Message {
                join_ref: Reference::of_json(join_ref),
                reference: Reference::of_json(reference),
                topic: string(topic)?,
                event: string(event)?,
                payload: Inbound::Json(payload),
            })
        }
    }
}

/// Returns the string of a JSON value, borrowed if it has no escapes; `None` for other values.
fn string(value: &RawValue) -> Option<Cow<'_, str>> {
    #[derive(Deserialize)]
    struct Text<'a>(#[serde(borrow)] Cow<'a, str>);
    serde_json::from_str::<Text<'_>>(value.get()).ok().map(|text| text.0)
}

pub(super) fn write(version: Version, message: &Outbound<'_>) -> String {
    let Outbound { join_ref, reference, topic, event, payload } = message;
    let mut text = String::with_capacity(payload.len() + topic.len() + event.len() + 64);
    match version {
        Version::V1 => {
            text.push_str("{\"topic\":");
            push_string(&mut text, topic);
            text.push_str(",\"event\":");
            push_string(&mut text, event);
            let (payload, reference) = (payload, reference.as_json());
            let _ = write!(text, ",\"payload\":{payload},\"ref\":{reference}}}");
        }
        Version::V2 => {
            let _ = write!(text, "[{},{},", join_ref.as_json(), reference.as_json());
            push_string(&mut text, topic);
            text.push(',');
            push_string(&mut text, event);
            let _ = write!(text, ",{payload}]");
        }
    }
    text
}

/// Appends `value` as a JSON string.
fn push_string(text: &mut String, value: &str) {
    let is_plain = |byte: u8| byte >= 0x20 && byte != b'"' && byte != b'\\';
    if value.bytes().all(is_plain) {
        text.push('"');
        text.push_str(value);
        text.push('"');
    } else {
        let _ = write!(text, "{}", serde_json::Value::from(value));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_are_read_in_both_versions() {
        for (version, text) in [
            (
                Version::V1,
                r#"{"topic":"realtime:a\"b","event":"e","payload":{"x": 1},"ref":"7","join_ref":3}"#,
            ),
            (Version::V2, r#"[3,"7","realtime:a\"b","e",{"x": 1},"more"]"#),
        ] {
            let message = parse(version, text.as_bytes()).unwrap();
            assert_eq!((&*message.topic, &*message.event), ("realtime:a\"b", "e"));
            assert_eq!((message.join_ref.as_json(), message.reference.as_json()), ("3", "\"7\""));
            assert!(matches!(message.payload, Inbound::Json(json) if json.get() == "{\"x\": 1}"));
        }
    }

    #[test]
    fn what_is_no_message_is_none() {
        for text in [
            "",
            "null",
            "{}",
            "[]",
            "[1,2,3,4,5]",
            "{\"topic\":\"a\",\"event\":\"b\",\"payload\":{}}",
            "\u{0}",
            "[null,null,\"a\",\"b\"]",
        ] {
            assert!(parse(Version::V1, text.as_bytes()).is_none(), "{text}");
            assert!(parse(Version::V2, text.as_bytes()).is_none(), "{text}");
        }
    }

    #[test]
    fn messages_are_written_in_both_versions() {
        let message = Outbound {
            join_ref: &Reference::of_text("1"),
            reference: &Reference::NULL,
            topic: "realtime:a\n",
            event: "e",
            payload: "{}",
        };
        assert_eq!(
            write(Version::V1, &message),
            r#"{"topic":"realtime:a\n","event":"e","payload":{},"ref":null}"#
        );
        assert_eq!(write(Version::V2, &message), r#"["1",null,"realtime:a\n","e",{}]"#);
    }
}

//! The messages between nodes: a head of JSON, a line feed, and bytes.

use bytes::Bytes;
use serde::{Deserialize, Serialize};

use super::rows::{BatchHead, BatchRange};
use crate::broadcast::{Broadcast, Origin};
use crate::ids::{ChannelId, TopicName};
use crate::protocol::Encoding;

/// A message of a node to all others.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Message {
    pub(crate) head: Head,
    /// The payload of a broadcast, or the values of rows.
    pub(crate) body: Bytes,
}

/// The kind of a message and its fields.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub(crate) enum Head {
    /// The node is new or has missed messages: all others send their presences.
    Hello,
    /// The node is alive. `rows` says which row changes it can send, if it is the leader.
    Alive { rows: Option<BatchRange> },
    /// The node shuts down.
    Goodbye,
    /// A broadcast to the channels of a topic.
    Broadcast {
        topic: TopicName,
        form: Form,
        /// Of a user's broadcast.
        event: Option<String>,
        /// The id of the row that it is from.
        id: Option<String>,
    },
    /// All presences of the node follow. Earlier ones that do not follow have ended.
    PresencesBegin,
    /// The end of all presences.
    PresencesEnd,
    /// The presence of a channel of the node, in place of an earlier one.
    Track { topic: TopicName, channel: u64, key: String, payload: String, reference: String },
    /// A channel of the node has no presence any more.
    Untrack { topic: TopicName, channel: u64 },
    /// Row changes, from the leader.
    Rows(BatchHead),
    /// The node has delivered the row changes of `run` before `next`.
    RowsTaken { run: u64, next: u64 },
    /// The node has missed row changes of `run`, from `next` on.
    RowsMissed { run: u64, next: u64 },
}

/// The form of a broadcast.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Form {
    Plain,
    UserJson,
    UserBytes,
    Opaque,
}

impl From<Head> for Message {
    fn from(head: Head) -> Self {
        Self { head, body: Bytes::new() }
    }
}

impl Message {
    /// Returns the message for a broadcast.
    pub(crate) fn broadcast(topic: &TopicName, broadcast: &Broadcast<'_>) -> Self {
        let (form, event, id, body) = match *broadcast {
            Broadcast::Plain(payload) => (Form::Plain, None, None, payload.as_bytes()),
            Broadcast::User { event, encoding, payload, origin } => {
                let form = match encoding {
                    Encoding::Json => Form::UserJson,
                    Encoding::Bytes => Form::UserBytes,
                };
                let id = match origin {
                    Origin::Client => None,
                    Origin::Database(id) | Origin::Replay(id) => Some(id.to_owned()),
                };
                (form, Some(event.to_owned()), id, payload)
            }
            Broadcast::Opaque(payload) => (Form::Opaque, None, None, payload),
        };
        let head = Head::Broadcast { topic: topic.clone(), form, event, id };
        Self { head, body: Bytes::copy_from_slice(body) }
    }

    /// Returns the message that a channel of `topic` is present under `key`.
    pub(crate) fn track(
        topic: TopicName,
        channel: ChannelId,
        key: String,
        payload: String,
        reference: String,
    ) -> Self {
        Head::Track { topic, channel: channel.number(), key, payload, reference }.into()
    }

    /// Returns the message that a channel of `topic` has no presence any more.
    pub(crate) fn untrack(topic: TopicName, channel: ChannelId) -> Self {
        Head::Untrack { topic, channel: channel.number() }.into()
    }

    /// Calls `receive` with the broadcast in the message; does nothing for other messages.
    pub(crate) fn with_broadcast(&self, receive: impl FnOnce(&TopicName, &Broadcast<'_>)) {
        let Head::Broadcast { topic, form, event, id } = &self.head else { return };
        let event = event.as_deref().unwrap_or_default();
        let origin = id.as_deref().map_or(Origin::Client, Origin::Database);
        let payload = &self.body;
        let user = |encoding| Broadcast::User { event, encoding, payload, origin };
        let broadcast = match form {
            Form::Plain => match std::str::from_utf8(payload) {
                Ok(payload) => Broadcast::Plain(payload),
                Err(_) => return,
            },
            Form::UserJson => user(Encoding::Json),
            Form::UserBytes => user(Encoding::Bytes),
            Form::Opaque => Broadcast::Opaque(payload),
        };
        receive(topic, &broadcast);
    }

    /// Encodes the message as bytes.
    pub(crate) fn encode(&self) -> Vec<u8> {
        // Serializing these types does not fail.
        let mut bytes = serde_json::to_vec(&self.head).unwrap_or_default();
        bytes.push(b'\n');
        bytes.extend_from_slice(&self.body);
        bytes
    }

    /// Decodes a message; `None` if it cannot be decoded, such as one of a later release.
    pub(crate) fn decode(bytes: &Bytes) -> Option<Self> {
        let end = memchr::memchr(b'\n', bytes)?;
        let head = serde_json::from_slice(&bytes[..end]).ok()?;
        Some(Self { head, body: bytes.slice(end + 1..) })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_arrive_as_they_were_sent() {
        let topic = TopicName { name: "a\nb".into(), is_private: true };
        let broadcast = Broadcast::User {
            event: "e",
            encoding: Encoding::Bytes,
            payload: b"\n\0",
            origin: Origin::Database("1"),
        };
        for message in [
            Message::from(Head::Hello),
            Message::from(Head::Alive { rows: None }),
            Message::from(Head::RowsTaken { run: u64::MAX, next: 7 }),
            Message::from(Head::Untrack { topic: topic.clone(), channel: u64::MAX }),
            Message::broadcast(&topic, &broadcast),
        ] {
            assert_eq!(Message::decode(&message.encode().into()), Some(message));
        }
        assert!(Message::decode(&Bytes::from_static(b"{}\n")).is_none());
        assert!(Message::decode(&Bytes::from_static(b"")).is_none());
    }
}

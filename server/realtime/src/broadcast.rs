//! A broadcast, and its frames for each version of the protocol.

use serde_json::json;
use serde_json::value::RawValue;

use crate::frame::{self, Frame};
use crate::protocol::{self, Encoding, Outbound, Reference, Version, quote};

/// A message to all channels of a topic.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Broadcast<'a> {
    /// A payload as its sender wrote it.
    Plain(&'a str),
    /// A payload with the name of its event.
    User { event: &'a str, encoding: Encoding, payload: &'a [u8], origin: Origin<'a> },
    /// Bytes of a push; clients of the first version have no form for them.
    Opaque(&'a [u8]),
}

/// Where a broadcast comes from.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Origin<'a> {
    /// A client.
    Client,
    /// The row of this id.
    Database(&'a str),
    /// The row of this id, sent again to a channel that asked for it.
    Replay(&'a str),
}

impl<'a> Broadcast<'a> {
    /// Returns the id of the row that the broadcast is from.
    pub(crate) fn id(&self) -> Option<&'a str> {
        match self {
            Self::User { origin: Origin::Database(id) | Origin::Replay(id), .. } => Some(id),
            _ => None,
        }
    }

    /// Returns the frame for subscribers of `version`; `None` if that has no form for the broadcast.
    pub(crate) fn to_frame(self, topic: &str, version: Version) -> Option<Frame> {
        match (self, version) {
            (Self::Plain(payload), _) => Some(fan_out_frame(topic, "broadcast", payload, version)),
            (Self::User { event, encoding, payload, origin }, Version::V2) => {
                let metadata = origin.metadata();
                let message = protocol::user_broadcast(topic, event, &metadata, encoding, payload);
                message.map(|message| frame::binary(&message)).or_else(|| self.as_text(topic, version))
            }
            (Self::User { .. }, Version::V1) => self.as_text(topic, version),
            (Self::Opaque(payload), Version::V2) => {
                protocol::opaque_broadcast(topic, "broadcast", payload).map(|message| frame::binary(&message))
            }
            (Self::Opaque(_), Version::V1) => None,
        }
    }

    fn as_text(self, topic: &str, version: Version) -> Option<Frame> {
        self.to_payload().map(|payload| fan_out_frame(topic, "broadcast", &payload, version))
    }

    /// Returns the payload of the broadcast's text form; `None` for bytes.
    pub(crate) fn to_payload(self) -> Option<String> {
        match self {
            Self::Plain(payload) => Some(payload.to_owned()),
            Self::User { event, encoding: Encoding::Json, payload, origin } => {
                // It has not been parsed so far: broken JSON would break the message around it.
                let payload = serde_json::from_slice::<&RawValue>(payload).ok()?.get();
                Some(envelope(event, payload, &origin.metadata()))
            }
            Self::User { encoding: Encoding::Bytes, .. } | Self::Opaque(_) => None,
        }
    }
}

/// Returns the payload of a broadcast's text form. `metadata` is a JSON object, or empty for none.
pub(crate) fn envelope(event: &str, payload: &str, metadata: &str) -> String {
    let key = if metadata.is_empty() { "" } else { ",\"meta\":" };
    let event = quote(event);
    format!("{{\"type\":\"broadcast\",\"event\":{event},\"payload\":{payload}{key}{metadata}}}")
}

impl Origin<'_> {
    /// Returns the metadata for subscribers as a JSON object; empty for none.
    fn metadata(self) -> String {
        match self {
            Self::Client => String::new(),
            Self::Database(id) => json!({ "id": id }).to_string(),
            Self::Replay(id) => json!({ "id": id, "replayed": true }).to_string(),
        }
    }
}

/// Returns the frame of a message to every subscriber of a topic.
pub(crate) fn fan_out_frame(topic: &str, event: &str, payload: &str, version: Version) -> Frame {
    let (join_ref, reference) = (&Reference::NULL, &Reference::NULL);
    frame::text(&Outbound { join_ref, reference, topic, event, payload }.to_text(version))
}

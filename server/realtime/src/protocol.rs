//! Messages of Phoenix channels, in both versions of their serialization.
//!
//! Source: Phoenix' `V1.JSONSerializer` and `V2.JSONSerializer`, Supabase Realtime's `RealtimeWeb.Socket.V2Serializer`.

mod binary;
mod reference;
mod text;

use std::borrow::Cow;

use serde_json::value::RawValue;

pub(crate) use binary::{Encoding, opaque_broadcast, user_broadcast};
pub(crate) use reference::Reference;
pub(crate) use text::quote;

/// A version of the serialization: the parameter `vsn` of the handshake.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum Version {
    /// `1.0.0`: messages are objects; nothing is binary.
    V1,
    /// `2.0.0`: messages are arrays; user broadcasts are binary.
    V2,
}

impl Version {
    /// Returns the version of this name, `V1` without a name; `None` for unknown ones.
    pub(crate) fn parse(name: Option<&str>) -> Option<Self> {
        match name {
            None | Some("1.0.0") => Some(Self::V1),
            Some("2.0.0") => Some(Self::V2),
            Some(_) => None,
        }
    }
}

/// A message from a client.
#[derive(Debug)]
pub(crate) struct Message<'a> {
    /// The reference of the join that the message belongs to.
    pub(crate) join_ref: Reference,
    /// The reference of the message, for its reply.
    pub(crate) reference: Reference,
    pub(crate) topic: Cow<'a, str>,
    pub(crate) event: Cow<'a, str>,
    pub(crate) payload: Inbound<'a>,
}

/// The payload of a message from a client.
#[derive(Debug)]
pub(crate) enum Inbound<'a> {
    /// JSON, as it was written.
    Json(&'a RawValue),
    /// A user's broadcast in binary form. `metadata` is for the server alone.
    Broadcast { event: &'a str, metadata: &'a str, encoding: Encoding, payload: &'a [u8] },
    /// Bytes of a push whose event says what they are.
    Opaque(&'a [u8]),
}

impl<'a> Message<'a> {
    /// Parses a text frame; `None` if it is malformed.
    pub(crate) fn from_text(version: Version, text: &'a [u8]) -> Option<Self> {
        text::parse(version, text)
    }

    /// Parses a binary frame; `None` if it is malformed.
    pub(crate) fn from_binary(version: Version, bytes: &'a [u8]) -> Option<Self> {
        match version {
            Version::V1 => None,
            Version::V2 => binary::parse(bytes),
        }
    }
}

/// A message to a client.
pub(crate) struct Outbound<'a> {
    pub(crate) join_ref: &'a Reference,
    pub(crate) reference: &'a Reference,
    pub(crate) topic: &'a str,
    pub(crate) event: &'a str,
    /// JSON text.
    pub(crate) payload: &'a str,
}

impl Outbound<'_> {
    /// Returns the message as the text of a frame.
    pub(crate) fn to_text(&self, version: Version) -> String {
        text::write(version, self)
    }
}

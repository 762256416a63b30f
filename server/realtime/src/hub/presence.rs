//! The presences of a topic: JSON objects of channels, by key.

use std::fmt::Write as _;

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use fairness::{HeldMemory, Memory};
use indexmap::IndexMap;

use crate::ids::{ChannelId, NodeId};
use crate::protocol::quote;

/// Bytes that the presences of a topic may have: each channel that joins is sent all of them.
const MAX_SIZE: usize = 8 << 20;

/// The error that a topic's presences would be too large, or that there is no memory for another one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct TopicFull;

/// The owner of a presence: a channel of this node, or one of another.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) enum Owner {
    Local(ChannelId),
    Remote(NodeId, u64),
}

/// The presences of one topic, by key.
#[derive(Debug)]
pub(super) struct Presences {
    /// The memory that the presences of all topics share.
    memory: Memory,
    /// Bytes of keys and payloads.
    size: usize,
    metas: IndexMap<Box<str>, Vec<Meta>>,
    /// The key of each owner, and the memory of its presence.
    keys: IndexMap<Owner, (Box<str>, HeldMemory)>,
}

/// The presence of one channel.
#[derive(Debug, Clone)]
struct Meta {
    owner: Owner,
    /// A JSON object.
    payload: Box<str>,
    reference: Box<str>,
    /// The reference of the presence that it replaced.
    previous: Option<Box<str>>,
}

/// A change of presences.
#[derive(Debug, Default)]
pub(super) struct Diff {
    joins: Option<(Box<str>, Meta)>,
    leaves: Option<(Box<str>, Meta)>,
}

impl Presences {
    /// Returns no presences; those to come take their part of `memory`.
    pub(super) fn new(memory: Memory) -> Self {
        Self { memory, size: 0, metas: IndexMap::new(), keys: IndexMap::new() }
    }

    /// Sets the presence of a channel and returns the change; `None` if nothing changes. That of another node's channel
    /// has a `reference` already. The memory is that of the network for which this task works.
    ///
    /// Errors: [`TopicFull`]; the earlier presence stays.
    pub(super) fn track(
        &mut self,
        owner: Owner,
        key: &str,
        payload: &str,
        reference: Option<&str>,
    ) -> Result<Option<Diff>, TopicFull> {
        let old = self.find(owner);
        if old.is_some_and(|old| *old.payload == *payload) {
            return Ok(None);
        }
        let (size, replaced) =
            (key.len() + payload.len(), old.map_or(0, |old| key.len() + old.payload.len()));
        if self.size - replaced + size > MAX_SIZE {
            return Err(TopicFull);
        }
        let previous = old.map(|old| old.reference.clone());
        // What the earlier presence holds counts for the new one.
        let mut held = HeldMemory::default();
        let kept = self.keys.get_mut(&owner).map_or(&mut held, |(_, kept)| kept);
        if !self.memory.of(fairness::caller()).hold(size, kept) {
            return Err(TopicFull);
        }
        let held = std::mem::take(kept);
        let leaves = self.remove(owner).and_then(|diff| diff.leaves);
        let reference = reference.map_or_else(new_reference, Into::into);
        let meta = Meta { owner, payload: payload.into(), reference, previous };
        self.size += size;
        self.keys.insert(owner, (key.into(), held));
        self.metas.entry(key.into()).or_default().push(meta.clone());
        Ok(Some(Diff { joins: Some((key.into(), meta)), leaves }))
    }

    /// Removes the presence of a channel and returns the change; `None` if there is no presence.
    pub(super) fn remove(&mut self, owner: Owner) -> Option<Diff> {
        let (key, _) = self.keys.swap_remove(&owner)?;
        let metas = self.metas.get_mut(&key)?;
        let index = metas.iter().position(|meta| meta.owner == owner)?;
        let meta = metas.remove(index);
        self.size -= key.len() + meta.payload.len();
        if metas.is_empty() {
            self.metas.shift_remove(&key);
        }
        Some(Diff { joins: None, leaves: Some((key, meta)) })
    }

    fn find(&self, owner: Owner) -> Option<&Meta> {
        let metas = self.metas.get(&self.keys.get(&owner)?.0)?;
        metas.iter().find(|meta| meta.owner == owner)
    }

    /// Reports whether there are no presences.
    pub(super) fn is_empty(&self) -> bool {
        self.keys.is_empty()
    }

    /// Returns the channels of another node that are present.
    pub(super) fn of_node(&self, node: NodeId) -> impl Iterator<Item = u64> {
        self.keys.keys().filter_map(move |owner| match owner {
            Owner::Remote(of, channel) if *of == node => Some(*channel),
            _ => None,
        })
    }

    /// Returns the presences of this node's channels: channel, key, payload and reference.
    pub(super) fn local(&self) -> impl Iterator<Item = (ChannelId, &str, &str, &str)> {
        self.metas.iter().flat_map(|(key, metas)| {
            metas.iter().filter_map(move |meta| match meta.owner {
                Owner::Local(channel) => Some((channel, &**key, &*meta.payload, &*meta.reference)),
                Owner::Remote(..) => None,
            })
        })
    }

    /// Returns all presences as a JSON object.
    pub(super) fn state(&self) -> String {
        let mut text = String::from("{");
        for (key, metas) in &self.metas {
            push_key(&mut text, key, metas);
        }
        text.push('}');
        text
    }
}

impl Diff {
    /// Returns the reference of the new presence.
    pub(super) fn reference(&self) -> Option<&str> {
        self.joins.as_ref().map(|(_, meta)| &*meta.reference)
    }

    /// Returns the payload of `presence_diff`.
    pub(super) fn to_payload(&self) -> String {
        let mut text = String::from("{\"joins\":{");
        if let Some((key, meta)) = &self.joins {
            push_key(&mut text, key, std::slice::from_ref(meta));
        }
        text.push_str("},\"leaves\":{");
        if let Some((key, meta)) = &self.leaves {
            push_key(&mut text, key, std::slice::from_ref(meta));
        }
        text.push_str("}}");
        text
    }
}

fn push_key(text: &mut String, key: &str, metas: &[Meta]) {
    if !text.ends_with('{') {
        text.push(',');
    }
    let _ = write!(text, "{}:{{\"metas\":[", quote(key));
    for (index, meta) in metas.iter().enumerate() {
        if index > 0 {
            text.push(',');
        }
        meta.push(text);
    }
    text.push_str("]}");
}

impl Meta {
    /// Appends the payload with the references in it.
    fn push(&self, text: &mut String) {
        let fields = self.payload.strip_suffix('}').unwrap_or_default().trim_end();
        text.push_str(fields);
        if !fields.ends_with('{') {
            text.push(',');
        }
        let _ = write!(text, "\"phx_ref\":\"{}\"", self.reference);
        if let Some(previous) = &self.previous {
            let _ = write!(text, ",\"phx_ref_prev\":\"{previous}\"");
        }
        text.push('}');
    }
}

fn new_reference() -> Box<str> {
    URL_SAFE_NO_PAD.encode(rand::random::<[u8; 12]>()).into()
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn read(diff: &Diff) -> Value {
        serde_json::from_str(&diff.to_payload()).unwrap()
    }

    #[test]
    fn a_channel_says_one_thing_at_a_time() {
        let (mut presences, one) =
            (Presences::new(Memory::new(16 << 20, 1 << 10)), Owner::Local(ChannelId::new()));
        let two = Owner::Remote(NodeId::random(), 1);
        let first = read(&presences.track(one, "a", r#"{"x":{}}"#, None).unwrap().unwrap());
        let reference = &first["joins"]["a"]["metas"][0]["phx_ref"];
        assert_eq!(first["joins"]["a"]["metas"][0]["x"], json!({}));
        assert_eq!(first["leaves"], json!({}));
        assert!(presences.track(one, "a", r#"{"x":{}}"#, None).unwrap().is_none());
        presences.track(two, "a", "{ }", None).unwrap().unwrap();

        let second = read(&presences.track(one, "a", r#"{"x":2}"#, None).unwrap().unwrap());
        assert_eq!(&second["joins"]["a"]["metas"][0]["phx_ref_prev"], reference);
        assert_eq!(&second["leaves"]["a"]["metas"][0]["phx_ref"], reference);

        let state: Value = serde_json::from_str(&presences.state()).unwrap();
        assert_eq!(state["a"]["metas"].as_array().unwrap().len(), 2);
        assert_eq!(read(&presences.remove(one).unwrap())["leaves"]["a"]["metas"][0]["x"], 2);
        assert!(presences.remove(one).is_none());
        presences.remove(two).unwrap();
        assert_eq!(presences.state(), "{}");
    }

    #[test]
    fn presences_have_a_bound() {
        let (mut presences, one) =
            (Presences::new(Memory::new(16 << 20, 1 << 10)), Owner::Local(ChannelId::new()));
        let two = Owner::Remote(NodeId::random(), 1);
        let large = format!("{{\"x\":\"{}\"}}", "y".repeat(MAX_SIZE / 2));
        presences.track(one, "a", &large, None).unwrap().unwrap();
        assert_eq!(presences.track(two, "a", &large, None).unwrap_err(), TopicFull);
        // In place of what it said before.
        presences.track(one, "a", &large.replace('y', "z"), None).unwrap().unwrap();
        presences.remove(one).unwrap();
        presences.track(two, "a", &large, None).unwrap().unwrap();
    }
    #[test]
    fn the_presences_of_all_topics_share_a_memory() {
        let memory = Memory::new(10 << 10, 1 << 10);
        let (mut first, mut second) = (Presences::new(memory.clone()), Presences::new(memory));
        let (one, two) = (Owner::Local(ChannelId::new()), Owner::Local(ChannelId::new()));
        let payload = |bytes| format!("{{\"x\":\"{}\"}}", "y".repeat(bytes));
        first.track(one, "a", &payload(8 << 10), None).unwrap().unwrap();
        assert_eq!(second.track(two, "a", &payload(3 << 10), None).unwrap_err(), TopicFull);
        first.remove(one).unwrap();
        second.track(two, "a", &payload(3 << 10), None).unwrap().unwrap();
        second.track(two, "a", &payload(9 << 10), None).unwrap().unwrap();
        assert_eq!(second.track(two, "a", &payload(11 << 10), None).unwrap_err(), TopicFull);
        second.track(two, "a", &payload(8 << 10), None).unwrap().unwrap();
    }
}

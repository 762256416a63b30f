//! The handling of a client's messages.

use std::sync::Arc;
use std::time::Duration;

use serde::{Deserialize, Deserializer};
use serde_json::value::RawValue;
use tokio_util::task::AbortOnDropHandle;

use super::Socket;
use crate::broadcast::{Broadcast, Origin};
use crate::channel::Channel;
use crate::frame::Close;
use crate::hub::TopicFull;
use crate::notice::Notice;
use crate::persistence::Lifetime;
use crate::protocol::{Encoding, Inbound, Message, Outbound, Reference};
use crate::refusal::Refusal;
use crate::rights::{Right, Rights};
use crate::{messages, persistence};

/// The topic of the socket itself.
const SOCKET_TOPIC: &str = "phoenix";

/// Payloads of replies.
const OK: &str = "{\"status\":\"ok\",\"response\":{}}";
const ERROR: &str = "{\"status\":\"error\",\"response\":{}}";
pub(super) const UNMATCHED: &str = "{\"status\":\"error\",\"response\":{\"reason\":\"unmatched topic\"}}";
const INVALID_LIFETIME: &str = "{\"status\":\"error\",\"response\":{\"error\":\"invalid_persist_ttl\"}}";
const TOO_LARGE: &str = "Track message size exceeded";
const NO_OBJECT: &str =
    "{\"status\":\"error\",\"response\":{\"reason\":\"Presence track payload must be a map\"}}";

/// The payload of a message about presence.
#[derive(Deserialize)]
struct PresencePayload<'a> {
    #[serde(borrow, default)]
    event: Option<&'a RawValue>,
    #[serde(borrow, default, deserialize_with = "present")]
    payload: Option<&'a RawValue>,
}

/// Deserializes a value that is present, even if it is null.
fn present<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<&'de RawValue>, D::Error> {
    Deserialize::deserialize(deserializer).map(Some)
}

impl Socket {
    /// Handles a message. Returns how to close the connection, if it has to be closed.
    pub(super) async fn handle(&mut self, message: Message<'_>) -> Option<Close> {
        let (topic, event) = (&*message.topic, &*message.event);
        if topic == SOCKET_TOPIC {
            self.reply(&message, if event == "heartbeat" { OK } else { UNMATCHED });
            return None;
        }
        if event == "phx_join" {
            return self.begin_join(&message);
        }
        if event == "phx_leave" {
            // A newer join has replaced the one that the client means.
            if self.is_of_other_join(&message) {
                return None;
            }
            self.pending.remove(topic);
            self.reply(&message, OK);
            self.close_channel(topic);
            return None;
        }
        if !self.channels.contains_key(topic) {
            self.reply(&message, UNMATCHED);
            return None;
        }
        let events = &self.context.rates.events;
        events.add(1);
        if events.is_exceeded(self.context.settings.max_events_per_second) {
            self.shut(topic, "Too many messages per second");
            return None;
        }
        match event {
            "broadcast" => self.broadcast(&message).await,
            "presence" => self.change_presence(&message).await,
            "access_token" => self.change_token(&message),
            _ => {}
        }
        None
    }

    /// Reports whether `message` names another join than the latest of its topic.
    fn is_of_other_join(&self, message: &Message<'_>) -> bool {
        let joined = self.channels.get(&*message.topic).map(|channel| &channel.join_ref);
        let latest = joined.or_else(|| Some(&self.pending.get(&*message.topic)?.join.join_ref));
        let is_set = |reference: &Reference| *reference != Reference::NULL;
        latest.is_some_and(|latest| *latest != message.join_ref && is_set(latest))
            && is_set(&message.join_ref)
    }

    /// Replies to `message`.
    pub(super) fn reply(&self, message: &Message<'_>, payload: &str) {
        self.reply_to(&message.join_ref, &message.reference, &message.topic, payload);
    }

    pub(super) fn reply_to(&self, join_ref: &Reference, reference: &Reference, topic: &str, payload: &str) {
        self.send(&Outbound { join_ref, reference, topic, event: "phx_reply", payload });
    }

    async fn broadcast(&mut self, message: &Message<'_>) {
        let topic = &*message.topic;
        let Some(lifetime) = self.lifetime(message) else { return };
        if !self.may_write(topic, Right::Broadcast).await {
            return;
        }
        let lifetime = match lifetime {
            Some(lifetime) if self.may_write(topic, Right::Persistence).await => Some(lifetime),
            _ => None,
        };
        let Some(channel) = self.channels.get(topic) else { return };
        let (broadcast, size) = match &message.payload {
            Inbound::Json(payload) => (Broadcast::Plain(payload.get()), payload.get().len()),
            // Invalid JSON would break receivers.
            Inbound::Broadcast { encoding: Encoding::Json, payload, .. } if !is_json(payload) => return,
            Inbound::Broadcast { event, encoding, payload, .. } => {
                let (encoding, origin) = (*encoding, Origin::Client);
                (Broadcast::User { event, encoding, payload, origin }, payload.len())
            }
            Inbound::Opaque(payload) => (Broadcast::Opaque(payload), payload.len()),
        };
        let is_small_enough = size <= self.context.settings.max_payload_size();
        if is_small_enough {
            let except = (!channel.config.hears_itself).then_some(channel.id);
            self.context.publisher.publish(&channel.topic, &broadcast, except);
        }
        // The client's next messages wait, so that it cannot send faster than messages are stored.
        let stored = match lifetime {
            Some(lifetime) if is_small_enough => {
                messages::store(&self.context.database, &channel.topic.name().name, &broadcast, lifetime)
                    .await
            }
            _ => None,
        };
        if channel.config.acknowledges {
            match stored {
                Some(id) => {
                    let reply = serde_json::json!({ "status": "ok", "response": { "id": id } });
                    self.reply(message, &reply.to_string());
                }
                None => self.reply(message, if is_small_enough { OK } else { ERROR }),
            }
        }
    }

    /// Returns how long the sender of a broadcast to a private channel wants to have it stored; `Some(None)` if not at
    /// all, and `None` if that is malformed: then the broadcast has been refused.
    fn lifetime(&self, message: &Message<'_>) -> Option<Option<Lifetime>> {
        let channel = self.channels.get(&*message.topic)?;
        let Inbound::Broadcast { metadata, .. } = message.payload else { return Some(None) };
        if !channel.config.is_private {
            return Some(None);
        }
        let lifetime = persistence::of_metadata(metadata);
        if let Err(error) = lifetime {
            tracing::warn!(code = "InvalidPersistTtl", "{error}");
            if channel.config.acknowledges {
                self.reply(message, INVALID_LIFETIME);
            }
        }
        lifetime.ok()
    }

    /// Reports whether the channel on `topic` may write. Asks the policies if that is not known yet.
    async fn may_write(&mut self, topic: &str, right: Right) -> bool {
        let Some(channel) = self.channels.get(topic) else { return false };
        if let Some(known) = channel.rights.writes(right) {
            return known;
        }
        let (authorizer, access) = (&self.context.authorizer, &channel.access);
        let name = &channel.topic.name().name;
        let may_write = match authorizer.may_write(access, name, &self.headers, right).await {
            Ok(may_write) => may_write,
            Err(error) => {
                // The next message asks again.
                tracing::error!(code = "UnableToSetPolicies", %error, "a right to write could not be found out");
                return false;
            }
        };
        if let Some(channel) = self.channels.get_mut(topic) {
            channel.rights.note(right, may_write);
        }
        may_write
    }

    async fn change_presence(&mut self, message: &Message<'_>) {
        let topic = &*message.topic;
        let settings = &self.context.settings;
        let limits = (settings.client_presence_max_calls, settings.client_presence_window_ms);
        let max_size = settings.max_payload_size();
        let presence = &self.context.rates.presence;
        presence.add(1);
        if presence.is_exceeded(settings.max_presence_events_per_second) {
            return self.shut(topic, "Too many presence messages per second");
        }
        let Some(channel) = self.channels.get_mut(topic) else { return };
        if !channel.presence_calls.admit(limits.0, Duration::from_millis(limits.1)) {
            return self.shut(topic, "Client presence rate limit exceeded");
        }
        let payload = match &message.payload {
            Inbound::Json(payload) => serde_json::from_str::<PresencePayload<'_>>(payload.get()).ok(),
            Inbound::Broadcast { .. } | Inbound::Opaque(_) => None,
        };
        let Some(PresencePayload { event: Some(event), payload }) = payload else {
            return self.reply(message, OK);
        };
        let event: String = serde_json::from_str(event.get()).unwrap_or_default();
        match event.to_ascii_lowercase().as_str() {
            "track" => {
                let payload = payload.map_or("{}", RawValue::get);
                if !payload.starts_with('{') {
                    self.reply(message, NO_OBJECT);
                } else if payload.len() > max_size {
                    self.shut(topic, TOO_LARGE);
                } else {
                    self.track(message, payload).await;
                }
            }
            "untrack" => {
                self.context.publisher.untrack(&channel.topic, channel.id);
                self.reply(message, OK);
            }
            _ => {
                tracing::debug!(code = "UnknownPresenceEvent", "a message about presence was refused");
                self.reply(message, ERROR);
            }
        }
    }

    async fn track(&mut self, message: &Message<'_>, payload: &str) {
        let topic = &*message.topic;
        self.find_presence_right(topic).await;
        if !self.may_write(topic, Right::Presence).await {
            return self.reply(message, ERROR);
        }
        let Some(channel) = self.channels.get(topic) else { return };
        let Channel { topic: joined, id, presence_key, .. } = channel;
        match self.context.publisher.track(joined, *id, presence_key, payload) {
            Ok(()) => self.reply(message, OK),
            Err(TopicFull) => self.shut(topic, TOO_LARGE),
        }
    }

    /// Asks the policies whether the channel on `topic` may see presences, if its join has not: a channel that tracks
    /// wants to.
    async fn find_presence_right(&mut self, topic: &str) {
        let Some(channel) = self.channels.get(topic).filter(|channel| !channel.rights.knows_presence) else {
            return;
        };
        let (authorizer, access) = (&self.context.authorizer, &channel.access);
        let name = &channel.topic.name().name;
        let found = authorizer.read_rights(access, name, &self.headers, true).await;
        if let (Ok(found), Some(channel)) = (found, self.channels.get_mut(topic)) {
            channel.rights.reads_presence = found.reads_presence;
            channel.rights.knows_presence = true;
            channel.topic.change_rights(channel.id, channel.rights.reads_broadcasts, found.reads_presence);
        }
    }

    fn change_token(&mut self, message: &Message<'_>) {
        let topic = &*message.topic;
        let Inbound::Json(payload) = &message.payload else { return };
        let payload: serde_json::Value = serde_json::from_str(payload.get()).unwrap_or_default();
        let Some(token) = payload.get("access_token").and_then(serde_json::Value::as_str) else { return };
        let Some(channel) = self.channels.get_mut(topic) else { return };
        if token.starts_with("sb_") || *token == *channel.access.token {
            return;
        }
        let access = match self.context.tokens.check(token) {
            Ok(access) => access,
            Err(error) => return self.shut(topic, &error.to_string()),
        };
        channel.access = access;
        self.has_new_token = true;
        if let Some(subscription) = &channel.subscription {
            subscription.renew(channel.access.clone());
        }
        if channel.config.is_private {
            self.renew_rights(topic);
        }
    }

    /// Asks the policies again after the token of the channel on `topic` has changed.
    fn renew_rights(&mut self, topic: &str) {
        let Some(channel) = self.channels.get_mut(topic) else { return };
        let old = channel.rights;
        // The next message asks what may be written.
        let presence = old.knows_presence.then_some(old.reads_presence);
        channel.rights = Rights::reading(old.reads_broadcasts, presence);
        let (outbox, headers) = (Arc::clone(&self.outbox), Arc::clone(&self.headers));
        let authorizer = self.context.authorizer.clone();
        let (id, joined, access) = (channel.id, channel.topic.clone(), channel.access.clone());
        let renewing = async move {
            let name = &joined.name().name;
            let found = authorizer.read_rights(&access, name, &headers, old.knows_presence).await;
            outbox.notify(Notice::Renewed { channel: id, found });
        };
        let task = self.context.tasks.spawn(fairness::on_behalf_of(self.network, renewing));
        // This aborts the renewal with an older token.
        channel.renewal = Some(AbortOnDropHandle::new(task));
    }

    /// Sets the rights of the channel on `topic` to those of its new token, or ends the channel if these are fewer.
    pub(super) fn end_renewal(&mut self, topic: &str, found: Result<Rights, Refusal>) {
        let Some(channel) = self.channels.get_mut(topic) else { return };
        let (old, name) = (channel.rights, &channel.topic.name().name);
        let message = match found {
            Ok(new) if !new.reads_broadcasts && !new.reads_presence => {
                format!("You do not have permissions to read from this Channel topic: {name}")
            }
            Ok(new)
                if (old.reads_broadcasts && !new.reads_broadcasts)
                    || (new.knows_presence && old.reads_presence && !new.reads_presence) =>
            {
                format!("You no longer have permission to read from this Channel topic: {name}")
            }
            Ok(new) => {
                channel.rights.reads_broadcasts = new.reads_broadcasts;
                if new.knows_presence {
                    channel.rights.reads_presence = new.reads_presence;
                }
                let Rights { reads_broadcasts, reads_presence, .. } = channel.rights;
                channel.topic.change_rights(channel.id, reads_broadcasts, reads_presence);
                return;
            }
            Err(refusal) => refusal.to_string(),
        };
        self.shut(topic, &message);
    }
}

fn is_json(bytes: &[u8]) -> bool {
    serde_json::from_slice::<&RawValue>(bytes).is_ok()
}

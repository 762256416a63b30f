//! Joins: checked at once where no database is needed, in a task of their own where one is.

use std::sync::Arc;

use fairness::HeldMemory;
use serde_json::{Value, json};
use tokio::sync::oneshot;
use tokio_util::task::AbortOnDropHandle;
use uuid::Uuid;

use super::join_buffer::JoinBuffer;
use super::messages::UNMATCHED;
use super::{PendingJoin, Socket};
use crate::changes::{Bindings, Prepared};
use crate::channel::config::{JoinConfig, JoinPayload};
use crate::channel::{Channel, PresenceCalls};
use crate::frame::{Close, Incoming};
use crate::hub::Member;
use crate::ids::{ChannelId, PREFIX, TopicName};
use crate::messages::{self, StoredMessage};
use crate::notice::Notice;
use crate::protocol::{Inbound, Message, Reference};
use crate::refusal::Refusal;
use crate::rights::Rights;
use crate::socket::SocketContext;
use crate::token::Access;

/// Row changes that one channel may ask for.
const MAX_BINDINGS: usize = 100;

impl Socket {
    /// Begins a join. Returns how to close the connection, if it has to be closed.
    pub(super) fn begin_join(&mut self, message: &Message<'_>) -> Option<Close> {
        let topic = &*message.topic;
        let Some(name) = topic.strip_prefix(PREFIX) else {
            self.reply(message, UNMATCHED);
            return None;
        };
        self.pending.remove(topic);
        self.close_channel(topic);
        let payload = match &message.payload {
            Inbound::Json(payload) => JoinPayload::read(payload.get()),
            Inbound::Broadcast { .. } | Inbound::Opaque(_) => JoinPayload::read(""),
        };
        self.context.rates.joins.add(1);
        let checked = self.check_join(name, &payload);
        if checked == Err(Refusal::TooManyJoins) {
            self.refuse(message, &Refusal::TooManyJoins);
            return Some(Close::GOING_AWAY);
        }
        let Some(memory) = self.outbox.memory().take(join_size(message)) else {
            self.refuse(message, &Refusal::NoMemory);
            return None;
        };
        let checked = checked.and_then(|()| self.access_of(&payload));
        let JoinPayload { config, bindings, .. } = payload;
        let access = match checked {
            Ok(access) => access,
            // A client that does not wait for refusals gets no delay.
            Err(refusal) if self.pending.len() >= self.context.settings.max_channels_per_client as usize => {
                self.refuse(message, &refusal);
                return None;
            }
            Err(refusal) => {
                let (config, bindings) = (JoinConfig::default(), Bindings::default());
                let join = Join::of(message, memory, self.key.clone(), config, bindings);
                let backoff = self.context.settings.channel_error_backoff();
                self.decide_later(topic, join, async move {
                    tokio::time::sleep(backoff).await;
                    Err(refusal)
                });
                return None;
            }
        };
        let join = Join::of(message, memory, access.clone(), config.clone(), bindings);
        let change_wait = config.change_wait.filter(|_| !join.bindings.0.is_empty());
        if !config.is_private && change_wait.is_none() {
            self.join(topic, ChannelId::new(), join, PUBLIC_GRANT);
            return None;
        }
        let (name, headers) = (name.to_owned(), Arc::clone(&self.headers));
        let (bindings, context) = (Arc::clone(&join.bindings), Arc::clone(&self.context));
        self.decide_later(topic, join, async move {
            let granted = if config.is_private {
                join_private(&context, &access, &name, &headers, &config).await
            } else {
                Ok(PUBLIC_GRANT)
            };
            let decided = match (granted, change_wait) {
                (Ok(granted), Some(limit)) => {
                    let prepared = context.prepare(&access, &bindings, limit).await;
                    prepared.map(|prepared| JoinGrant { prepared: Some(prepared), ..granted })
                }
                (granted, _) => granted,
            };
            if decided.is_err() {
                tokio::time::sleep(context.settings.channel_error_backoff()).await;
            }
            decided
        });
        None
    }

    /// Checks everything except the token.
    fn check_join(&self, name: &str, payload: &JoinPayload) -> Result<(), Refusal> {
        let settings = &self.context.settings;
        if name.is_empty() {
            return Err(Refusal::TopicNameRequired);
        }
        if self.context.draining.is_cancelled() {
            return Err(Refusal::Restarting);
        }
        if settings.private_only && !payload.config.is_private {
            return Err(Refusal::PrivateOnly);
        }
        let is_new = self.channels.is_empty();
        if is_new && !self.context.hub.has_room(self.network) {
            return Err(Refusal::TooManyUsers);
        }
        if payload.is_too_large {
            return Err(Refusal::TooLarge);
        }
        if payload.bindings.0.len() > MAX_BINDINGS {
            return Err(Refusal::TooManyBindings);
        }
        if self.context.rates.joins.is_exceeded(settings.max_joins_per_second) {
            return Err(Refusal::TooManyJoins);
        }
        if self.channels.len() + self.pending.len() >= settings.max_channels_per_client as usize {
            return Err(Refusal::TooManyChannels);
        }
        Ok(())
    }

    /// Returns the access of the future channel, by the payload's token or the API key.
    fn access_of(&self, payload: &JoinPayload) -> Result<Access, Refusal> {
        let access = match &payload.token {
            Some(token) => self.context.tokens.check(token)?,
            None => match self.key.expiry() {
                Some(expired) => return Err(expired.into()),
                None => self.key.clone(),
            },
        };
        match &payload.config.replay {
            Some(_) if !payload.config.is_private => Err(Refusal::PublicReplay),
            Some(Err(_)) => Err(Refusal::InvalidReplay),
            _ => Ok(access),
        }
    }

    /// Spawns a task that decides about a join; a notice says when the outcome is there.
    fn decide_later(
        &mut self,
        topic: &str,
        join: Join,
        decide: impl Future<Output = Outcome> + Send + 'static,
    ) {
        let (topic, attempt) = (Box::<str>::from(topic), ChannelId::new());
        let (outbox, named, (sender, outcome)) =
            (Arc::clone(&self.outbox), topic.clone(), oneshot::channel());
        let deciding = async move {
            // There is no receiver any more if the client has left, or joins again.
            let _ = sender.send(decide.await);
            outbox.notify(Notice::Joined { topic: named, attempt });
        };
        let task = self.context.tasks.spawn(fairness::on_behalf_of(self.network, deciding));
        let (join_buffer, task) = (JoinBuffer::default(), AbortOnDropHandle::new(task));
        self.pending.insert(topic, PendingJoin { attempt, join, join_buffer, outcome, _task: task });
    }

    /// Handles the outcome of a join. Returns the messages that the client has sent for the topic meanwhile.
    pub(super) fn end_join(&mut self, topic: &str, attempt: ChannelId) -> Vec<Incoming> {
        // Otherwise the client has left, or joins again.
        if self.pending.get(topic).is_none_or(|pending| pending.attempt != attempt) {
            return Vec::new();
        }
        let Some(PendingJoin { join, join_buffer, mut outcome, .. }) = self.pending.remove(topic) else {
            return Vec::new();
        };
        match outcome.try_recv() {
            Ok(Ok(joined)) => self.join(topic, attempt, join, joined),
            Ok(Err(refusal)) => {
                self.reply_to(&join.join_ref, &join.reference, topic, &error_payload(&refusal));
            }
            // It was sent before the notice.
            Err(_) => {}
        }
        join_buffer.into_frames()
    }

    fn refuse(&self, message: &Message<'_>, refusal: &Refusal) {
        self.reply(message, &error_payload(refusal));
    }

    /// Joins the topic: sends the reply first, then everything else.
    fn join(&mut self, topic: &str, id: ChannelId, join: Join, joined: JoinGrant) {
        let Join { join_ref, reference, memory, access, config, bindings } = join;
        if self.user.is_none() {
            self.user = self.context.hub.admit(self.network);
        }
        if self.user.is_none() {
            // Others have joined since this join was checked.
            return self.reply_to(&join_ref, &reference, topic, &error_payload(&Refusal::TooManyUsers));
        }
        let response = json!({ "status": "ok", "response": { "postgres_changes": bindings.echo() } });
        self.reply_to(&join_ref, &reference, topic, &response.to_string());

        let JoinGrant { rights, replay, prepared } = joined;
        let replays = matches!(config.replay, Some(Ok(_)));
        let member = Member {
            outbox: Arc::clone(&self.outbox),
            version: self.version,
            hears_broadcasts: rights.reads_broadcasts,
            sees_presence: rights.reads_presence,
            replayed: replay.iter().map(|message| message.id.clone()).collect(),
            held: replays.then(Vec::new),
        };
        let name = topic.strip_prefix(PREFIX).unwrap_or(topic);
        let name = TopicName { name: name.into(), is_private: config.is_private };
        let joined = self.context.hub.join(&name, id, member);
        self.context.metrics.joins.inc();
        let random = || Uuid::new_v4().hyphenated().to_string().into();
        let presence_key = config.presence_key.clone().unwrap_or_else(random);
        let mut channel = Channel {
            id,
            topic: joined,
            join_ref,
            access,
            rights,
            subscription: None,
            presence_key,
            presence_calls: PresenceCalls::default(),
            _announcement: config
                .awaits_replication
                .then(|| self.context.announce_replication(id, &self.outbox)),
            renewal: None,
            config,
            _memory: memory,
        };
        channel.subscription =
            self.context.subscribe(&channel, bindings, prepared, &self.outbox, self.version);
        let shows_presence = channel.config.presence && rights.reads_presence;
        let state = shows_presence.then(|| channel.topic.presence_state());
        self.channels.insert(topic.into(), channel);
        for message in &replay {
            self.send_replayed(topic, message);
        }
        if replays {
            self.catch_up(topic);
        }
        if let Some(state) = state {
            self.push(topic, "presence_state", &state);
        }
    }

    /// Spawns a task that sends the broadcasts that were committed after the replayed ones and before the membership.
    fn catch_up(&self, topic: &str) {
        let Some(channel) = self.channels.get(topic) else { return };
        let Some(Ok(replay)) = channel.config.replay else { return };
        let (id, topic, database) = (channel.id, Arc::clone(&channel.topic), self.context.database.clone());
        let catching_up = async move {
            let stored = messages::stored(&database, &topic.name().name, replay).await;
            if let Err(error) = &stored {
                tracing::error!(code = "UnableToReplayMessages", %error, "the latest messages cannot be read");
            }
            let stored = stored.unwrap_or_default();
            topic.catch_up(id, stored.iter().map(StoredMessage::as_replay));
        };
        self.context.tasks.spawn(fairness::on_behalf_of(self.network, catching_up));
    }

    fn send_replayed(&self, topic: &str, message: &StoredMessage) {
        let broadcast = message.as_replay();
        match broadcast.to_payload() {
            Some(payload) => self.push(topic, "broadcast", &payload),
            None => {
                if let Some(frame) = broadcast.to_frame(topic, self.version) {
                    self.outbox.send(self.outbox.count(frame));
                }
            }
        }
    }
}

/// The request to join a topic.
pub(super) struct Join {
    pub(super) join_ref: Reference,
    reference: Reference,
    /// The memory that it takes, and its channel after it.
    memory: HeldMemory,
    access: Access,
    config: JoinConfig,
    bindings: Arc<Bindings>,
}

/// The outcome of a join.
pub(super) type Outcome = Result<JoinGrant, Refusal>;

/// The rights of a join, the messages to replay, and the row changes.
#[derive(Debug)]
pub(super) struct JoinGrant {
    rights: Rights,
    /// Earlier messages, the oldest first.
    replay: Vec<StoredMessage>,
    /// Its row changes, if the join has waited for them.
    prepared: Option<Prepared>,
}

/// What the join of a public topic grants.
const PUBLIC_GRANT: JoinGrant = JoinGrant { rights: Rights::PUBLIC, replay: Vec::new(), prepared: None };

impl Join {
    fn of(
        message: &Message<'_>,
        memory: HeldMemory,
        access: Access,
        config: JoinConfig,
        bindings: Bindings,
    ) -> Self {
        let (join_ref, reference) = (message.join_ref.clone(), message.reference.clone());
        let bindings = Arc::new(bindings);
        Self { join_ref, reference, memory, access, config, bindings }
    }
}

/// Returns the bytes that are kept of a join: its payload, and its topic under several names.
fn join_size(message: &Message<'_>) -> usize {
    let payload = match &message.payload {
        Inbound::Json(payload) => payload.get().len(),
        Inbound::Broadcast { .. } | Inbound::Opaque(_) => 0,
    };
    payload + 4 * message.topic.len()
}

/// Asks the policies about a private topic, and reads the messages to replay.
async fn join_private(
    context: &SocketContext,
    access: &Access,
    name: &str,
    headers: &str,
    config: &JoinConfig,
) -> Outcome {
    let rights = context.authorizer.read_rights(access, name, headers, config.presence).await?;
    if !rights.reads_broadcasts && !rights.reads_presence {
        return Err(Refusal::Unauthorized(name.to_owned()));
    }
    if config.replay.is_some() && !rights.reads_broadcasts {
        return Err(Refusal::Unauthorized(name.to_owned()));
    }
    let replay = match config.replay {
        Some(Ok(replay)) => {
            let stored = messages::stored(&context.database, name, replay).await;
            stored.map_err(|error| {
                tracing::error!(code = "UnableToReplayMessages", %error, "earlier messages cannot be read");
                Refusal::ReplayFailed
            })?
        }
        _ => Vec::new(),
    };
    Ok(JoinGrant { rights, replay, prepared: None })
}

fn error_payload(refusal: &Refusal) -> String {
    let response: Value = json!({ "reason": refusal.to_string() });
    json!({ "status": "error", "response": response }).to_string()
}

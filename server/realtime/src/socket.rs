//! A socket: one task that reads and writes the messages of one client.

mod connection;
mod context;
mod join;
mod join_buffer;
mod messages;
mod row_changes;

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use fairness::{Network, Permit};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::sync::oneshot;
use tokio::time::{Instant, sleep_until};
use tokio_util::task::AbortOnDropHandle;

use crate::channel::Channel;
use crate::frame::{self, Close, Incoming};
use crate::ids::ChannelId;
use crate::notice::Notice;
use crate::outbox::Outbox;
use crate::protocol::{Message, Outbound, Reference, Version};
use crate::token::Access;
use connection::{Connection, Event};
pub(crate) use context::SocketContext;
use join::{Join, Outcome};
use join_buffer::JoinBuffer;

/// How long a client may be silent. Stock clients send a heartbeat every 25 s.
const SILENCE_LIMIT: Duration = Duration::from_secs(60);
/// How often a channel's token is checked, besides when it expires.
const TOKEN_CHECK_INTERVAL: Duration = Duration::from_secs(300);
/// How often a socket checks its timeouts at least.
const TICK: Duration = Duration::from_secs(30);
/// How long the last frame may take.
const CLOSE_LIMIT: Duration = Duration::from_secs(5);

/// A client's connection and its channels.
pub(crate) struct Socket {
    context: Arc<SocketContext>,
    version: Version,
    /// The API key of the handshake: the token of channels that have none of their own.
    key: Access,
    /// The handshake's headers as JSON, for policies.
    headers: Arc<str>,
    /// Whose share of the sockets with a channel, and of the connections to the database, this one is part of.
    network: Option<Network>,
    /// Held while there are channels.
    user: Option<Permit>,
    outbox: Arc<Outbox>,
    /// By the topic's name on the wire.
    channels: HashMap<Box<str>, Channel>,
    /// Joins that are not decided yet, by topic.
    pending: HashMap<Box<str>, PendingJoin>,
    heard: Instant,
    /// Since when there has been no channel, if there was one before.
    empty_since: Option<Instant>,
    /// Whether a channel has got a new token since the last check of timeouts.
    has_new_token: bool,
}

/// A join that waits for the database, or for the delay of its refusal.
struct PendingJoin {
    /// The id of the future channel.
    attempt: ChannelId,
    join: Join,
    /// What the client has sent for the topic since then.
    join_buffer: JoinBuffer,
    /// Has the outcome when it is decided.
    outcome: oneshot::Receiver<Outcome>,
    /// The task that decides; dropping the join aborts it.
    _task: AbortOnDropHandle<()>,
}

impl Socket {
    /// Returns the socket of the caller for which this task works.
    pub(crate) fn new(context: Arc<SocketContext>, version: Version, key: Access, headers: Arc<str>) -> Self {
        let network = fairness::caller();
        Self {
            network,
            user: None,
            outbox: Arc::new(Outbox::new(context.hub.memory().of(network))),
            context,
            version,
            key,
            headers,
            channels: HashMap::new(),
            pending: HashMap::new(),
            heard: Instant::now(),
            empty_since: None,
            has_new_token: false,
        }
    }

    /// Serves the client until the connection ends.
    pub(crate) async fn run(self, io: impl AsyncRead + AsyncWrite + Unpin) {
        fairness::on_behalf_of(self.network, self.serve_client(io)).await;
    }

    async fn serve_client(mut self, io: impl AsyncRead + AsyncWrite + Unpin) {
        let number = self.context.hub.open(Arc::clone(&self.outbox));
        self.context.metrics.sockets.inc();
        let mut connection = Connection::new(io, Arc::clone(&self.outbox));
        let close = self.serve(&mut connection).await;
        self.context.hub.close(number);
        self.context.metrics.sockets.dec();
        self.leave_all();
        connection.take_rest();
        if let Some(close) = close {
            // The client may be gone or not read.
            let _ = tokio::time::timeout(CLOSE_LIMIT, connection.close(close)).await;
        }
    }

    /// Handles events until the connection ends. Returns how to close the connection; `None` if it is gone.
    async fn serve(
        &mut self,
        connection: &mut Connection<impl AsyncRead + AsyncWrite + Unpin>,
    ) -> Option<Close> {
        let timer = sleep_until(Instant::now() + TICK);
        tokio::pin!(timer);
        loop {
            let event = tokio::select! {
                event = connection.next() => event,
                () = &mut timer => {
                    if let Some(close) = self.check_timeouts(connection.is_stuck()) {
                        return Some(close);
                    }
                    timer.as_mut().reset(self.next_check());
                    continue;
                }
            };
            let had = self.channels.len();
            match event {
                Event::Incoming(incoming) => {
                    self.heard = Instant::now();
                    if let Some(close) = self.receive(incoming).await {
                        return Some(close);
                    }
                }
                Event::Notice(notice) => {
                    if let Some(close) = self.handle_notice(notice).await {
                        return Some(close);
                    }
                }
                Event::Broken(close) => return Some(close),
                Event::Overflow => {
                    self.context.metrics.dropped_sockets.inc();
                    tracing::warn!("a client that does not read its messages is disconnected");
                    return Some(Close::SLOW_READER);
                }
                Event::Ended => return None,
            }
            if self.channels.len() != had {
                self.empty_since = self.channels.is_empty().then(Instant::now);
            }
            if self.channels.len() != had || self.has_new_token {
                self.has_new_token = false;
                timer.as_mut().reset(self.next_check());
            }
        }
    }

    /// Handles a message of the client. Returns how to close the connection, if it has to be closed.
    async fn receive(&mut self, incoming: Incoming) -> Option<Close> {
        let message = match &incoming {
            Incoming::Text(bytes) => Message::from_text(self.version, bytes),
            Incoming::Binary(bytes) => Message::from_binary(self.version, bytes),
            Incoming::Ping(payload) => {
                self.outbox.send(frame::pong(payload));
                return None;
            }
            Incoming::Pong => return None,
            Incoming::Close => return Some(Close::NORMAL),
        };
        let Some(message) = message else {
            tracing::debug!(code = "MalformedWebSocketMessage", "what a client sent was dropped");
            return None;
        };
        let is_of_join = matches!(&*message.event, "phx_join" | "phx_leave");
        let pending = self.pending.get_mut(&*message.topic).filter(|_| !is_of_join);
        if pending.is_some_and(|pending| pending.join_buffer.keep(&incoming)) {
            return None;
        }
        self.handle(message).await
    }

    /// Handles a notice about a channel. Returns how to close the connection, if it has to be closed.
    async fn handle_notice(&mut self, notice: Notice) -> Option<Close> {
        match notice {
            Notice::Joined { topic, attempt } => {
                for incoming in self.end_join(&topic, attempt) {
                    if let Some(close) = self.receive(incoming).await {
                        return Some(close);
                    }
                }
            }
            Notice::Renewed { channel, found } => {
                if let Some(topic) = self.topic_of(channel) {
                    self.end_renewal(&topic, found);
                }
            }
            Notice::Shut { channel, message } => {
                if let Some(topic) = self.topic_of(channel) {
                    self.shut(&topic, &message);
                }
            }
            Notice::System { channel, extension, is_ok, message } => {
                if let Some(topic) = self.topic_of(channel) {
                    self.send_system(&topic, extension, is_ok, &message);
                }
            }
            Notice::Disconnect => {
                let topics: Vec<Box<str>> = self.channels.keys().cloned().collect();
                for topic in topics {
                    let message = "Server requested disconnect";
                    let payload =
                        serde_json::json!({ "extension": "system", "status": "ok", "message": message });
                    self.push(&topic, "system", &payload.to_string());
                }
                return Some(Close::RESTART);
            }
        }
        None
    }

    /// Returns the topic of a channel.
    fn topic_of(&self, channel: ChannelId) -> Option<Box<str>> {
        self.channels.iter().find(|(_, joined)| joined.id == channel).map(|(topic, _)| topic.clone())
    }

    /// Checks the timeouts, and ends channels with an expired token. Returns how to close the connection, if it has to
    /// be closed.
    fn check_timeouts(&mut self, is_stuck: bool) -> Option<Close> {
        let now = Instant::now();
        if now >= self.heard + SILENCE_LIMIT || is_stuck {
            return Some(Close::NORMAL);
        }
        if self.empty_since.is_some_and(|since| now >= since + self.no_channel_timeout()) {
            return Some(Close::NORMAL);
        }
        let expired: Vec<(Box<str>, String)> = self
            .channels
            .iter()
            .filter_map(|(topic, channel)| Some((topic.clone(), channel.access.expiry()?.to_string())))
            .collect();
        for (topic, message) in expired {
            self.shut(&topic, &message);
        }
        None
    }

    /// Returns when to check the timeouts next.
    fn next_check(&self) -> Instant {
        let now = Instant::now();
        let mut next = (self.heard + SILENCE_LIMIT).min(now + TICK);
        if let Some(since) = self.empty_since {
            next = next.min(since + self.no_channel_timeout());
        }
        for channel in self.channels.values() {
            let seconds = u64::try_from(channel.access.expires_at - tokens::now()).unwrap_or_default();
            next = next.min(now + Duration::from_secs(seconds).min(TOKEN_CHECK_INTERVAL));
        }
        // A token that expires within this second is checked when the second is over.
        next.max(now + Duration::from_millis(200))
    }

    fn no_channel_timeout(&self) -> Duration {
        Duration::from_millis(self.context.settings.no_channel_timeout_ms)
    }

    /// Sends a message of the channel on `topic` that is not a reply.
    fn push(&self, topic: &str, event: &str, payload: &str) {
        let join_ref = self.channels.get(topic).map_or(&Reference::NULL, |channel| &channel.join_ref);
        self.send(&Outbound { join_ref, reference: &Reference::NULL, topic, event, payload });
    }

    fn send(&self, message: &Outbound<'_>) {
        self.outbox.send(self.outbox.count(frame::text(&message.to_text(self.version))));
    }

    /// Sends a system message of the channel on `topic`.
    fn send_system(&self, topic: &str, extension: &str, is_ok: bool, message: &str) {
        let Some(channel) = self.channels.get(topic) else { return };
        let payload = serde_json::json!({
            "extension": extension,
            "status": if is_ok { "ok" } else { "error" },
            "message": message,
            "channel": &*channel.topic.name().name,
        });
        self.push(topic, "system", &payload.to_string());
    }

    /// Ends the channel on `topic` and tells its client why.
    fn shut(&mut self, topic: &str, message: &str) {
        self.send_system(topic, "system", false, message);
        self.close_channel(topic);
    }

    /// Ends the channel on `topic`, if there is one, and tells its client so.
    fn close_channel(&mut self, topic: &str) {
        if let Some(channel) = self.leave(topic) {
            let join_ref = &channel.join_ref;
            let event = "phx_close";
            self.send(&Outbound { join_ref, reference: join_ref, topic, event, payload: "{}" });
        }
    }

    /// Ends the channel on `topic` and returns it.
    fn leave(&mut self, topic: &str) -> Option<Channel> {
        let channel = self.channels.remove(topic)?;
        self.context.publisher.leave(&channel.topic, channel.id);
        if self.channels.is_empty() {
            self.user = None;
        }
        Some(channel)
    }

    fn leave_all(&mut self) {
        self.pending.clear();
        let topics: Vec<Box<str>> = self.channels.keys().cloned().collect();
        for topic in topics {
            self.leave(&topic);
        }
    }
}

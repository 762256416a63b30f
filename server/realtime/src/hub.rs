//! Topics and their members: a message to a topic becomes deliveries to the members.

mod presence;
mod waiting;

use std::collections::{HashMap, HashSet};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};

use fairness::{FairSemaphore, Memory, Network, Permit};
use indexmap::IndexMap;
use parking_lot::{Mutex, MutexGuard};
use tokio::sync::Notify;

use crate::broadcast::{Broadcast, fan_out_frame};
use crate::frame::Frame;
use crate::ids::{ChannelId, NodeId, PREFIX, TopicName};
use crate::notice::Notice;
use crate::outbox::Outbox;
use crate::protocol::Version;
pub(crate) use presence::TopicFull;
use presence::{Diff, Owner, Presences};

/// A channel as a member of its topic.
#[derive(Debug)]
pub(crate) struct Member {
    pub(crate) outbox: Arc<Outbox>,
    pub(crate) version: Version,
    /// Whether it gets broadcasts.
    pub(crate) hears_broadcasts: bool,
    /// Whether it gets changes of presence.
    pub(crate) sees_presence: bool,
    /// Ids of the database's broadcasts that it has been sent already.
    pub(crate) replayed: Vec<Box<str>>,
    /// The database's broadcasts that arrive while earlier ones are read again ([`Topic::catch_up`]).
    pub(crate) held: Option<Vec<(Box<str>, Frame)>>,
}

impl Member {
    /// Sends the member a frame; returns whether it was sent now. A broadcast of the database has an `id`: one that the
    /// member already has is left out, and one that arrives while earlier ones are read again is held.
    fn send(&mut self, id: Option<&str>, frame: &Frame) -> bool {
        if let Some(id) = id {
            if self.replayed.iter().any(|replayed| **replayed == *id) {
                return false;
            }
            if let Some(held) = &mut self.held {
                held.push((id.into(), frame.clone()));
                return false;
            }
        }
        self.outbox.send(frame.clone())
    }
}

/// The presence of a channel of this node.
#[derive(Debug)]
pub(crate) struct LocalPresence {
    pub(crate) topic: TopicName,
    pub(crate) channel: ChannelId,
    pub(crate) key: String,
    /// A JSON object.
    pub(crate) payload: String,
    pub(crate) reference: String,
}

/// All topics with at least one member, and all sockets.
pub(crate) struct Hub {
    topics: Mutex<HashMap<TopicName, Arc<Topic>>>,
    sockets: Mutex<IndexMap<u64, Arc<Outbox>>>,
    /// A permit for each socket with a channel.
    users: FairSemaphore,
    /// The memory for what clients send and are sent, join with and are present with.
    memory: Memory,
    /// The number of joins that wait for the feed.
    waiting: AtomicUsize,
    /// Notified when a socket has its first channel, or a join waits.
    needed: Notify,
}

/// A topic with at least one member.
#[derive(Debug)]
pub(crate) struct Topic {
    name: TopicName,
    /// The name on the wire.
    wire_name: Box<str>,
    state: Mutex<State>,
}

#[derive(Debug)]
struct State {
    members: IndexMap<ChannelId, Member>,
    presences: Presences,
    /// Whether the last member has left: the topic is not the hub's any more.
    is_over: bool,
}

impl Hub {
    /// Returns a hub for which up to `users` sockets may have channels, and whose clients may take `memory`.
    pub(crate) fn new(users: usize, memory: Memory) -> Self {
        Self {
            topics: Mutex::default(),
            sockets: Mutex::default(),
            users: FairSemaphore::new(users, 0),
            memory,
            waiting: AtomicUsize::new(0),
            needed: Notify::new(),
        }
    }

    /// Adds `member` to a topic and returns the topic.
    pub(crate) fn join(&self, name: &TopicName, channel: ChannelId, member: Member) -> Arc<Topic> {
        let (topic, ()) = self.change(name, |_, state| {
            state.members.insert(channel, member);
        });
        topic
    }

    /// Ends the membership of a channel, and its presence. Returns how many members were told of the presence's end;
    /// `None` if there was no presence.
    pub(crate) fn leave(&self, topic: &Topic, channel: ChannelId) -> Option<u64> {
        let mut state = topic.state.lock();
        state.members.swap_remove(&channel);
        let left = state.presences.remove(Owner::Local(channel));
        let deliveries = left.map(|diff| topic.deliver_diff(&mut state, &diff));
        self.end_if_empty(topic, state);
        deliveries
    }

    /// Sets the presence of a channel of another node, and tells the members. Returns how many.
    pub(crate) fn track_remote(
        &self,
        node: NodeId,
        name: &TopicName,
        channel: u64,
        (key, payload, reference): (&str, &str, &str),
    ) -> u64 {
        let owner = Owner::Remote(node, channel);
        let (_, deliveries) = self.change(name, |topic, state| {
            let diff =
                state.presences.track(owner, key, payload, Some(reference)).unwrap_or_else(|TopicFull| {
                    tracing::warn!("there is no room for a presence of another node");
                    None
                });
            diff.map_or(0, |diff| topic.deliver_diff(state, &diff))
        });
        deliveries
    }

    /// Removes the presence of a channel of another node, and tells the members. Returns how many.
    pub(crate) fn untrack_remote(&self, node: NodeId, name: &TopicName, channel: u64) -> u64 {
        let topic = self.topic(name);
        topic.map_or(0, |topic| self.remove_presences(&topic, &[Owner::Remote(node, channel)]))
    }

    /// Removes the presences of all channels of another node, and tells the members. Returns how many.
    pub(crate) fn forget_node(&self, node: NodeId) -> u64 {
        let of_node = |topic: &Topic| -> Vec<Owner> {
            topic.state.lock().presences.of_node(node).map(|channel| Owner::Remote(node, channel)).collect()
        };
        let topics = self.topics();
        topics.iter().map(|topic| self.remove_presences(topic, &of_node(topic))).sum()
    }

    /// Returns the topics and channels of another node's presences.
    pub(crate) fn presences_of(&self, node: NodeId) -> HashSet<(TopicName, u64)> {
        let mut found = HashSet::new();
        for topic in self.topics() {
            found.extend(
                topic.state.lock().presences.of_node(node).map(|channel| (topic.name.clone(), channel)),
            );
        }
        found
    }

    /// Returns the presences of this node's channels.
    pub(crate) fn presences(&self) -> Vec<LocalPresence> {
        self.topics().iter().flat_map(|topic| topic.local_presences()).collect()
    }

    fn topics(&self) -> Vec<Arc<Topic>> {
        self.topics.lock().values().cloned().collect()
    }

    /// Calls `change` with the topic of this name, which is created if there is none. The hub is not locked meanwhile,
    /// since `change` may send a message to all members.
    fn change<T>(&self, name: &TopicName, change: impl FnOnce(&Topic, &mut State) -> T) -> (Arc<Topic>, T) {
        loop {
            let new = || Arc::new(Topic::new(name.clone(), self.memory.clone()));
            let topic = Arc::clone(self.topics.lock().entry(name.clone()).or_insert_with(new));
            let mut state = topic.state.lock();
            if !state.is_over {
                let changed = change(&topic, &mut state);
                drop(state);
                return (topic, changed);
            }
            drop(state);
            self.remove(&topic);
        }
    }

    fn remove_presences(&self, topic: &Topic, owners: &[Owner]) -> u64 {
        let mut state = topic.state.lock();
        let diffs: Vec<Diff> = owners.iter().filter_map(|owner| state.presences.remove(*owner)).collect();
        let deliveries = diffs.iter().map(|diff| topic.deliver_diff(&mut state, diff)).sum();
        self.end_if_empty(topic, state);
        deliveries
    }

    /// Removes a topic that has neither members nor presences.
    fn end_if_empty(&self, topic: &Topic, mut state: MutexGuard<'_, State>) {
        state.is_over = state.members.is_empty() && state.presences.is_empty();
        if state.is_over {
            drop(state);
            self.remove(topic);
        }
    }

    /// Removes a topic that is over, unless another one has its name by now.
    fn remove(&self, topic: &Topic) {
        let mut topics = self.topics.lock();
        if topics.get(&topic.name).is_some_and(|current| std::ptr::eq(&raw const **current, topic)) {
            topics.remove(&topic.name);
        }
    }

    /// Returns a topic that has members.
    pub(crate) fn topic(&self, name: &TopicName) -> Option<Arc<Topic>> {
        self.topics.lock().get(name).cloned()
    }

    /// Returns the notification that a socket has its first channel, or a join waits.
    pub(crate) fn needed(&self) -> &Notify {
        &self.needed
    }

    /// Returns the memory for what clients send and are sent, join with and are present with.
    pub(crate) const fn memory(&self) -> &Memory {
        &self.memory
    }

    /// Reports whether no socket has a channel, and no join waits for the feed.
    pub(crate) fn is_empty(&self) -> bool {
        self.users.held() == 0 && self.waiting.load(Ordering::Relaxed) == 0
    }

    /// Adds a socket, and returns its ID.
    pub(crate) fn open(&self, outbox: Arc<Outbox>) -> u64 {
        static NEXT: AtomicU64 = AtomicU64::new(1);
        let socket = NEXT.fetch_add(1, Ordering::Relaxed);
        self.sockets.lock().insert(socket, outbox);
        socket
    }

    /// Removes a socket.
    pub(crate) fn close(&self, socket: u64) {
        self.sockets.lock().swap_remove(&socket);
    }

    /// Returns the number of open sockets.
    pub(crate) fn sockets(&self) -> usize {
        self.sockets.lock().len()
    }

    /// Reports whether another socket of `network` may have channels.
    pub(crate) fn has_room(&self, network: Option<Network>) -> bool {
        self.users.has_room(network)
    }

    /// Admits a socket of `network` that is about to have its first channel, until the permit is dropped; `None` if too
    /// many have channels, in all or of this network.
    pub(crate) fn admit(&self, network: Option<Network>) -> Option<Permit> {
        let permit = self.users.try_acquire(network);
        if permit.is_some() {
            self.needed.notify_one();
        }
        permit
    }

    /// Asks all clients to disconnect and connect again.
    pub(crate) fn disconnect_all(&self) {
        for outbox in self.sockets.lock().values() {
            outbox.notify(Notice::Disconnect);
        }
    }
}

impl Topic {
    fn new(name: TopicName, memory: Memory) -> Self {
        let wire_name = format!("{PREFIX}{}", name.name).into();
        let state = State { members: IndexMap::new(), presences: Presences::new(memory), is_over: false };
        Self { name, wire_name, state: Mutex::new(state) }
    }

    /// Returns its name.
    pub(crate) fn name(&self) -> &TopicName {
        &self.name
    }

    /// Returns its name on the wire.
    pub(crate) fn wire_name(&self) -> &str {
        &self.wire_name
    }

    /// Delivers `broadcast` to the members that may hear it, except for channel `except`. Returns how many.
    pub(crate) fn publish(&self, broadcast: &Broadcast<'_>, except: Option<ChannelId>) -> u64 {
        let mut state = self.state.lock();
        let hearing = state.members.iter_mut();
        let hearing =
            hearing.filter(|(channel, member)| member.hears_broadcasts && Some(**channel) != except);
        let make = |version| broadcast.to_frame(&self.wire_name, version);
        deliver(hearing.map(|(_, member)| member), broadcast.id(), make)
    }

    /// Sends a channel the `stored` broadcasts that it does not have yet, then those that were held for it meanwhile.
    ///
    /// Some may have been committed between the first reading of stored broadcasts and the beginning of the membership.
    pub(crate) fn catch_up<'a>(&self, channel: ChannelId, stored: impl IntoIterator<Item = Broadcast<'a>>) {
        let mut state = self.state.lock();
        let Some(member) = state.members.get_mut(&channel) else { return };
        let held = member.held.take().unwrap_or_default();
        for broadcast in stored {
            if let Some(id) = broadcast.id()
                && let Some(frame) = broadcast.to_frame(&self.wire_name, member.version)
                && let frame = member.outbox.count(frame)
                && member.send(Some(id), &frame)
            {
                member.replayed.push(id.into());
            }
        }
        for (id, frame) in held {
            member.send(Some(&id), &frame);
        }
    }

    /// Sets the presence of a channel under `key`, and tells the members if it has changed. Returns how many, and the
    /// reference of the new presence.
    ///
    /// `payload` is a JSON object.
    ///
    /// Errors: [`TopicFull`].
    pub(crate) fn track(
        &self,
        channel: ChannelId,
        key: &str,
        payload: &str,
    ) -> Result<Option<(u64, Box<str>)>, TopicFull> {
        let mut state = self.state.lock();
        let diff = state.presences.track(Owner::Local(channel), key, payload, None)?;
        Ok(diff.and_then(|diff| Some((self.deliver_diff(&mut state, &diff), diff.reference()?.into()))))
    }

    /// Removes the presence of a channel, and tells the members. Returns how many; `None` if there was no presence.
    pub(crate) fn untrack(&self, channel: ChannelId) -> Option<u64> {
        let mut state = self.state.lock();
        let diff = state.presences.remove(Owner::Local(channel));
        diff.map(|diff| self.deliver_diff(&mut state, &diff))
    }

    fn local_presences(&self) -> Vec<LocalPresence> {
        let state = self.state.lock();
        let tracked = state.presences.local().map(|(channel, key, payload, reference)| LocalPresence {
            topic: self.name.clone(),
            channel,
            key: key.to_owned(),
            payload: payload.to_owned(),
            reference: reference.to_owned(),
        });
        tracked.collect()
    }

    /// Returns all presences, as the payload of `presence_state`.
    pub(crate) fn presence_state(&self) -> String {
        self.state.lock().presences.state()
    }

    /// Changes the rights of a member.
    pub(crate) fn change_rights(&self, channel: ChannelId, hears_broadcasts: bool, sees_presence: bool) {
        if let Some(member) = self.state.lock().members.get_mut(&channel) {
            (member.hears_broadcasts, member.sees_presence) = (hears_broadcasts, sees_presence);
        }
    }

    fn deliver_diff(&self, state: &mut State, diff: &Diff) -> u64 {
        let payload = diff.to_payload();
        let seeing = state.members.values_mut().filter(|member| member.sees_presence);
        let make = |version| Some(fan_out_frame(&self.wire_name, "presence_diff", &payload, version));
        deliver(seeing, None, make)
    }
}

/// Sends each member the frame of its version, which is made once. `id` is that of a broadcast of the database. Returns
/// to how many members it was sent.
fn deliver<'a>(
    members: impl Iterator<Item = &'a mut Member>,
    id: Option<&str>,
    make: impl Fn(Version) -> Option<Frame>,
) -> u64 {
    let mut made: [Option<Option<Frame>>; 2] = [None, None];
    let mut deliveries = 0;
    for member in members {
        let slot = &mut made[usize::from(member.version == Version::V2)];
        let count = |frame| member.outbox.count(frame);
        if let Some(frame) = slot.get_or_insert_with(|| make(member.version).map(count)) {
            deliveries += u64::from(member.send(id, frame));
        }
    }
    deliveries
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::broadcast::Origin;
    use crate::outbox::Item;
    use crate::protocol::Encoding;

    fn memory() -> Memory {
        Memory::new(1 << 20, 1 << 10)
    }

    fn hub() -> Hub {
        Hub::new(1, memory())
    }

    fn broadcast(origin: Origin<'_>) -> Broadcast<'_> {
        Broadcast::User { event: "event", encoding: Encoding::Json, payload: b"{}", origin }
    }

    #[test]
    fn broadcasts_that_come_while_earlier_ones_are_read_are_sent_once_and_in_order() {
        let (hub, outbox, channel) = (hub(), Arc::new(Outbox::new(memory())), ChannelId::new());
        let member = Member {
            outbox: Arc::clone(&outbox),
            version: Version::V2,
            hears_broadcasts: true,
            sees_presence: false,
            replayed: vec!["e0".into()],
            held: Some(Vec::new()),
        };
        let topic = hub.join(&TopicName { name: "room".into(), is_private: true }, channel, member);
        for id in ["e0", "e2", "e3"] {
            topic.publish(&broadcast(Origin::Database(id)), None);
        }
        // The first was replayed, the second was committed before the membership, the last is not read yet.
        topic.catch_up(channel, ["e0", "e1", "e2"].map(|id| broadcast(Origin::Replay(id))));
        topic.publish(&broadcast(Origin::Database("e4")), None);
        let sent = outbox.close().into_iter().map(|item| match item {
            Item::Frame(frame) => String::from_utf8_lossy(&frame).into_owned(),
            Item::Notice(_) => panic!("a notice"),
        });
        let order: Vec<_> = sent
            .flat_map(|text| ["e0", "e1", "e2", "e3", "e4"].into_iter().filter(move |id| text.contains(id)))
            .collect();
        assert_eq!(order, ["e1", "e2", "e3", "e4"]);
    }
}

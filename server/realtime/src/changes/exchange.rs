//! Row changes between nodes: the node that reads the replication stream, the leader, sends them to all others, the
//! followers. Each node decides which of its own clients get them.
//!
//! Batches are numbered. The leader keeps each batch until all followers have delivered it, and confirms it to Postgres
//! only then: if the leader ends, the next one reads again what a follower may lack. A follower that misses a number
//! asks for it; it ignores a batch that it already has.

use std::collections::{HashMap, VecDeque};
use std::time::{Duration, Instant};

use parking_lot::Mutex;
use tokio::sync::Notify;

use crate::bus::rows::{self, BatchHead, BatchRange, RelationCache, WalTimeline};
use crate::bus::{Head, Message};
use crate::ids::NodeId;
use crate::row::RowChange;

/// Bytes that a leader keeps for followers, and a follower for itself. Beyond it, the leader waits, and the follower
/// asks again later.
const MAX_BYTES: usize = 64 << 20;
/// How long a follower may lag so far behind that the leader has to wait.
const LAG_LIMIT: Duration = Duration::from_secs(20);
/// How often a follower asks for the same batches.
const ASK_INTERVAL: Duration = Duration::from_millis(500);
/// How long a leader may be silent. It says every two seconds that it lives.
const SILENCE_LIMIT: Duration = Duration::from_secs(7);

/// A message in a follower's inbox.
#[derive(Debug)]
pub(crate) enum InboxItem {
    /// A batch, to be acknowledged with [`Exchange::acknowledgement`].
    Batch { timeline: WalTimeline, rows: Vec<RowChange>, run: u64, number: u64 },
    /// Batches before the next one are lost.
    Gap,
}

/// The exchange of row changes with other nodes.
#[derive(Debug, Default)]
pub(crate) struct Exchange {
    state: Mutex<State>,
    changed: Notify,
}

#[derive(Debug, Default)]
struct State {
    /// The other nodes, each with the number of the first batch that it may not have delivered.
    peers: HashMap<NodeId, u64>,
    leading: Option<LeaderState>,
    following: FollowerState,
}

#[derive(Debug)]
struct LeaderState {
    run: u64,
    timeline: WalTimeline,
    next: u64,
    batches: VecDeque<Message>,
    bytes: usize,
    /// Since when the batches have been larger than [`MAX_BYTES`].
    full_since: Option<Instant>,
}

#[derive(Debug, Default)]
struct FollowerState {
    leader: Option<(NodeId, Instant)>,
    /// The run that is followed, and the number of the next batch; `None` before the first leader.
    next: Option<(u64, u64)>,
    inbox: VecDeque<InboxItem>,
    bytes: usize,
    requested_at: Option<Instant>,
    relations: RelationCache,
}

impl Exchange {
    /// Adds another node. It gets what is read from now on.
    pub(crate) fn add(&self, node: NodeId) {
        let state = &mut *self.state.lock();
        let next = state.next_number();
        state.peers.insert(node, next);
    }

    /// Removes another node.
    pub(crate) fn remove(&self, node: NodeId) {
        let state = &mut *self.state.lock();
        state.peers.remove(&node);
        state.following.leader = state.following.leader.filter(|(leader, _)| *leader != node);
        state.drop_delivered();
        self.changed.notify_one();
    }

    /// Reports whether there is another node.
    pub(crate) fn has_peers(&self) -> bool {
        !self.state.lock().peers.is_empty()
    }

    /// Waits for a change that the feed has to look at.
    pub(crate) async fn changed(&self) {
        self.changed.notified().await;
    }

    /// Makes this node the leader.
    pub(crate) fn lead(&self, timeline: WalTimeline) {
        let state = &mut *self.state.lock();
        for next in state.peers.values_mut() {
            *next = 0;
        }
        let (run, batches) = (rand::random(), VecDeque::new());
        state.leading = Some(LeaderState { run, timeline, next: 0, batches, bytes: 0, full_since: None });
        state.following = FollowerState::default();
    }

    /// Ends the leadership of this node. It follows the next leader from its first batch.
    pub(crate) fn end_leading(&self) {
        let state = &mut *self.state.lock();
        if let Some(leading) = state.leading.take() {
            state.following.next = Some((leading.run, leading.next));
        }
    }

    /// Returns the message that this node is alive, with the batches that it can send.
    pub(crate) fn alive(&self) -> Message {
        Head::Alive { rows: self.batch_range() }.into()
    }

    /// Returns the batches that this node can send; `None` if it is not the leader.
    fn batch_range(&self) -> Option<BatchRange> {
        self.state.lock().leading.as_ref().map(LeaderState::range)
    }

    /// Numbers `rows` as the next batch and keeps it. Returns the message for the followers, if there are any.
    pub(crate) fn send(&self, rows: &[RowChange]) -> Option<Message> {
        let state = &mut *self.state.lock();
        let leading = state.leading.as_mut().filter(|_| !state.peers.is_empty() && !rows.is_empty())?;
        let (head, body) = rows::encode(leading.run, leading.next, leading.timeline, rows);
        let message = Message { head: Head::Rows(head), body };
        leading.next += 1;
        leading.bytes += message.body.len();
        leading.batches.push_back(message.clone());
        Some(message)
    }

    /// Returns the number of the next batch: all before it have been sent.
    pub(crate) fn next_number(&self) -> u64 {
        self.state.lock().next_number()
    }

    /// Returns the number of the first batch that a follower may not have delivered.
    pub(crate) fn delivered_by_all(&self) -> u64 {
        let state = self.state.lock();
        state.leading.as_ref().map_or(0, |leading| leading.delivered_by(&state.peers))
    }

    /// Reports whether the leader has to wait for followers. Gives up followers that have lagged for too long.
    pub(crate) fn is_full(&self) -> bool {
        let state = &mut *self.state.lock();
        let Some(leading) = &mut state.leading else { return false };
        if leading.bytes <= MAX_BYTES {
            leading.full_since = None;
            return false;
        }
        let since = *leading.full_since.get_or_insert_with(Instant::now);
        if since.elapsed() < LAG_LIMIT {
            return true;
        }
        tracing::error!("another node is too slow for the row changes, and loses some");
        let first = leading.first();
        state.peers.retain(|_, next| *next > first);
        state.drop_delivered();
        false
    }

    /// Handles a message of another node about row changes, and returns the replies.
    pub(crate) fn handle(&self, node: NodeId, message: &Message) -> Vec<Message> {
        let state = &mut *self.state.lock();
        let replies = match &message.head {
            Head::Alive { rows: Some(range) } => state.following.note_range(node, *range),
            Head::Alive { rows: None } => {
                state.following.leader = state.following.leader.filter(|(leader, _)| *leader != node);
                Vec::new()
            }
            Head::Rows(head) => state.following.receive(node, head, message),
            Head::RowsTaken { run, next } => {
                if let Some(leading) = state.leading.as_ref().filter(|leading| leading.run == *run) {
                    state.peers.insert(node, leading.first().max(*next));
                    state.drop_delivered();
                }
                Vec::new()
            }
            Head::RowsMissed { run, next } => match &state.leading {
                Some(leading) if leading.run == *run => leading.batches_from(*next),
                _ => Vec::new(),
            },
            _ => Vec::new(),
        };
        self.changed.notify_one();
        replies
    }

    /// Takes the next message of the leader from the inbox; `None` if it is empty.
    pub(crate) fn receive(&self) -> Option<InboxItem> {
        let following = &mut self.state.lock().following;
        let received = following.inbox.pop_front()?;
        if following.inbox.is_empty() {
            following.bytes = 0;
        }
        Some(received)
    }

    /// Returns the message to the leader that a batch has been delivered.
    pub(crate) fn acknowledgement(run: u64, number: u64) -> Message {
        Head::RowsTaken { run, next: number.saturating_add(1) }.into()
    }

    /// Reports whether a leader has been heard recently.
    pub(crate) fn has_leader(&self) -> bool {
        let state = self.state.lock();
        state.following.leader.is_some_and(|(_, heard)| heard.elapsed() < SILENCE_LIMIT)
    }
}

impl State {
    /// Returns the number of the next batch; 0 for a follower.
    fn next_number(&self) -> u64 {
        self.leading.as_ref().map_or(0, |leading| leading.next)
    }

    /// Drops the batches that all followers have delivered.
    fn drop_delivered(&mut self) {
        let Some(leading) = &mut self.leading else { return };
        let delivered = leading.delivered_by(&self.peers);
        while leading.first() < delivered
            && let Some(message) = leading.batches.pop_front()
        {
            leading.bytes -= message.body.len();
        }
    }
}

impl LeaderState {
    /// Returns the number of the first batch that one of `peers` may not have delivered.
    fn delivered_by(&self, peers: &HashMap<NodeId, u64>) -> u64 {
        peers.values().copied().min().unwrap_or(self.next).min(self.next)
    }

    /// Returns the number of the first batch that is kept.
    fn first(&self) -> u64 {
        self.next - self.batches.len() as u64
    }

    fn range(&self) -> BatchRange {
        BatchRange { run: self.run, first: self.first(), next: self.next }
    }

    /// Returns the batches from `number` on, after a message with the range of batches.
    fn batches_from(&self, number: u64) -> Vec<Message> {
        let skipped = number.saturating_sub(self.first()) as usize;
        let alive = Head::Alive { rows: Some(self.range()) }.into();
        std::iter::once(alive).chain(self.batches.iter().skip(skipped).cloned()).collect()
    }
}

impl FollowerState {
    /// Notes that `node` leads and has the batches of `range`, and returns a request for missing ones.
    fn note_range(&mut self, node: NodeId, range: BatchRange) -> Vec<Message> {
        self.leader = Some((node, Instant::now()));
        let next = match self.next {
            Some((run, next)) if run == range.run => next,
            // A new leader begins with the batches that the previous one may not have sent to all followers.
            Some(_) => 0,
            // Before the first leader, no client has been promised anything.
            None => range.next,
        };
        if next < range.first && !matches!(self.inbox.back(), Some(InboxItem::Gap)) {
            self.inbox.push_back(InboxItem::Gap);
        }
        self.next = Some((range.run, next.max(range.first)));
        if next < range.next { self.ask() } else { Vec::new() }
    }

    /// Puts a batch into the inbox if it is the next one; otherwise returns a request for those before it.
    fn receive(&mut self, node: NodeId, head: &BatchHead, message: &Message) -> Vec<Message> {
        let (run, number) = (head.run, head.number);
        match self.next {
            Some((followed, next)) if followed == run => {
                if number < next {
                    // The follower has asked for it twice.
                    return Vec::new();
                }
                if number > next || self.bytes > MAX_BYTES {
                    return self.ask();
                }
            }
            Some(_) => {
                let request = self.note_range(node, BatchRange { run, first: 0, next: number });
                if number > 0 {
                    return request;
                }
            }
            None => {}
        }
        self.leader = Some((node, Instant::now()));
        self.next = Some((run, number.saturating_add(1)));
        self.bytes += message.body.len();
        self.inbox.push_back(match self.relations.decode(head, &message.body) {
            Some(rows) => InboxItem::Batch { timeline: head.timeline, rows, run, number },
            None => InboxItem::Gap,
        });
        Vec::new()
    }

    /// Returns a request for missing batches, unless it was sent just now.
    fn ask(&mut self) -> Vec<Message> {
        let Some((run, next)) = self.next else { return Vec::new() };
        if self.requested_at.is_some_and(|requested_at| requested_at.elapsed() < ASK_INTERVAL) {
            return Vec::new();
        }
        self.requested_at = Some(Instant::now());
        vec![Head::RowsMissed { run, next }.into()]
    }
}

#[cfg(test)]
mod tests;

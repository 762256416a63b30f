//! Row changes between nodes: the node that reads the replication stream, the leader, tells them to all others, the
//! followers; each judges for its own clients.
//!
//! Batches are numbered. The leader keeps each until all followers have dealt with it, and confirms it to Postgres only
//! then: if the leader ends, the next one reads again what a follower may lack. A follower that misses a number asks for
//! it again; it passes over what it has had already.

mod encoding;

use std::collections::{HashMap, VecDeque};
use std::sync::Mutex;
use std::time::{Duration, Instant};

use serde::{Deserialize, Serialize};
use tokio::sync::Notify;

use super::batch::RowChange;
use crate::bus::{Head, Message, NodeId};
use crate::lock;
pub(crate) use encoding::BatchHead;
use encoding::KnownRelations;

/// Bytes that a leader keeps for followers, and a follower for itself. Beyond it, the leader waits, and the follower asks
/// again later.
const MAX_BYTES: usize = 64 << 20;
/// How long a follower may lag so far behind that the leader has to wait.
const LAG_LIMIT: Duration = Duration::from_secs(20);
/// How often a follower asks for the same batches.
const ASK_INTERVAL: Duration = Duration::from_millis(500);
/// How long a leader may be silent. It says every two seconds that it lives.
const SILENCE_LIMIT: Duration = Duration::from_secs(7);

/// Where positions in the write-ahead log have one meaning: a server and its timeline.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Line {
    pub(crate) system: u64,
    pub(crate) timeline: u32,
}

/// Which batches can be had from a leader.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Kept {
    /// The time that this leader reads the stream.
    run: u64,
    /// The first batch that it has.
    first: u64,
    /// The one that comes next.
    next: u64,
}

/// What a follower gets.
#[derive(Debug)]
pub(crate) enum Received {
    /// A batch, to be acknowledged with [`Exchange::taken`].
    Batch { line: Line, rows: Vec<RowChange>, run: u64, number: u64 },
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
    /// The other nodes, and before which batch they have everything.
    peers: HashMap<NodeId, u64>,
    leading: Option<Leading>,
    following: Following,
}

#[derive(Debug)]
struct Leading {
    run: u64,
    line: Line,
    next: u64,
    kept: VecDeque<Message>,
    bytes: usize,
    /// Since when there has been more than fits.
    full_since: Option<Instant>,
}

#[derive(Debug, Default)]
struct Following {
    leader: Option<(NodeId, Instant)>,
    /// The run that is followed, and the batch that comes next; `None` before the first leader.
    next: Option<(u64, u64)>,
    inbox: VecDeque<Received>,
    bytes: usize,
    asked: Option<Instant>,
    relations: KnownRelations,
}

impl Exchange {
    /// Notes another node. It gets what is read from now on.
    pub(crate) fn add(&self, node: NodeId) {
        let state = &mut *lock(&self.state);
        let next = state.sent();
        state.peers.insert(node, next);
    }

    /// Forgets another node.
    pub(crate) fn remove(&self, node: NodeId) {
        let state = &mut *lock(&self.state);
        state.peers.remove(&node);
        state.following.leader = state.following.leader.filter(|(leader, _)| *leader != node);
        state.forget_taken();
        self.changed.notify_one();
    }

    /// Reports whether there is another node.
    pub(crate) fn has_peers(&self) -> bool {
        !lock(&self.state).peers.is_empty()
    }

    /// Waits until there is news for the feed.
    pub(crate) async fn changed(&self) {
        self.changed.notified().await;
    }

    /// Makes this node the leader.
    pub(crate) fn lead(&self, line: Line) {
        let state = &mut *lock(&self.state);
        for next in state.peers.values_mut() {
            *next = 0;
        }
        let (run, kept) = (rand::random(), VecDeque::new());
        state.leading = Some(Leading { run, line, next: 0, kept, bytes: 0, full_since: None });
        state.following = Following::default();
    }

    /// Ends the time that this node is the leader. It follows the next one from its beginning.
    pub(crate) fn end_leading(&self) {
        let state = &mut *lock(&self.state);
        if let Some(leading) = state.leading.take() {
            state.following.next = Some((leading.run, leading.next));
        }
    }

    /// Returns which batches can be had from this node, if it is the leader.
    pub(crate) fn kept(&self) -> Option<Kept> {
        lock(&self.state).leading.as_ref().map(Leading::kept)
    }

    /// Numbers `rows` as the next batch and keeps it; returns what tells the followers, if there are any.
    pub(crate) fn send(&self, rows: &[RowChange]) -> Option<Message> {
        let state = &mut *lock(&self.state);
        let leading = state.leading.as_mut().filter(|_| !state.peers.is_empty() && !rows.is_empty())?;
        let message = encoding::encode(leading.run, leading.next, leading.line, rows);
        leading.next += 1;
        leading.bytes += message.body.len();
        leading.kept.push_back(message.clone());
        Some(message)
    }

    /// Returns the number of the batch that comes next: all before it have been sent.
    pub(crate) fn sent(&self) -> u64 {
        lock(&self.state).sent()
    }

    /// Returns the number of the first batch that a follower may not have dealt with.
    pub(crate) fn taken_by_all(&self) -> u64 {
        let state = lock(&self.state);
        state.leading.as_ref().map_or(0, |leading| leading.taken_by(&state.peers))
    }

    /// Reports whether the leader has to wait for followers. One that has lagged too long is not waited for any more.
    pub(crate) fn is_full(&self) -> bool {
        let state = &mut *lock(&self.state);
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
        state.forget_taken();
        false
    }

    /// Deals with what another node says about row changes, and returns what it is to be told.
    pub(crate) fn heed(&self, node: NodeId, message: &Message) -> Vec<Message> {
        let state = &mut *lock(&self.state);
        let answers = match &message.head {
            Head::Alive { rows: Some(kept) } => state.following.hear(node, *kept),
            Head::Alive { rows: None } => {
                state.following.leader = state.following.leader.filter(|(leader, _)| *leader != node);
                Vec::new()
            }
            Head::Rows(head) => state.following.take(node, head, message),
            Head::RowsTaken { run, next } => {
                if let Some(leading) = state.leading.as_ref().filter(|leading| leading.run == *run) {
                    state.peers.insert(node, leading.first().max(*next));
                    state.forget_taken();
                }
                Vec::new()
            }
            Head::RowsMissed { run, next } => match &state.leading {
                Some(leading) if leading.run == *run => leading.from(*next),
                _ => Vec::new(),
            },
            _ => Vec::new(),
        };
        self.changed.notify_one();
        answers
    }

    /// Returns what has come next from the leader, if anything has.
    pub(crate) fn receive(&self) -> Option<Received> {
        let following = &mut lock(&self.state).following;
        let received = following.inbox.pop_front()?;
        if following.inbox.is_empty() {
            following.bytes = 0;
        }
        Some(received)
    }

    /// Returns what tells the leader that a batch has been dealt with.
    pub(crate) fn taken(run: u64, number: u64) -> Message {
        Head::RowsTaken { run, next: number + 1 }.into()
    }

    /// Reports whether there is a leader whose batches come.
    pub(crate) fn has_leader(&self) -> bool {
        let state = lock(&self.state);
        state.following.leader.is_some_and(|(_, heard)| heard.elapsed() < SILENCE_LIMIT)
    }
}

impl State {
    /// Returns the number of the batch that comes next; 0 for a follower.
    fn sent(&self) -> u64 {
        self.leading.as_ref().map_or(0, |leading| leading.next)
    }

    /// Forgets the batches that all followers have dealt with.
    fn forget_taken(&mut self) {
        let Some(leading) = &mut self.leading else { return };
        let taken = leading.taken_by(&self.peers);
        while leading.first() < taken
            && let Some(message) = leading.kept.pop_front()
        {
            leading.bytes -= message.body.len();
        }
    }
}

impl Leading {
    /// Returns the number of the first batch that one of `peers` may not have dealt with.
    fn taken_by(&self, peers: &HashMap<NodeId, u64>) -> u64 {
        peers.values().copied().min().unwrap_or(self.next).min(self.next)
    }

    fn first(&self) -> u64 {
        self.next - self.kept.len() as u64
    }

    fn kept(&self) -> Kept {
        Kept { run: self.run, first: self.first(), next: self.next }
    }

    /// Returns the batches from `number` on, after what says which there are.
    fn from(&self, number: u64) -> Vec<Message> {
        let skipped = number.saturating_sub(self.first()) as usize;
        let alive = Head::Alive { rows: Some(self.kept()) }.into();
        std::iter::once(alive).chain(self.kept.iter().skip(skipped).cloned()).collect()
    }
}

impl Following {
    /// Notes which batches `node` has, and returns a question for those that are missing.
    fn hear(&mut self, node: NodeId, kept: Kept) -> Vec<Message> {
        self.leader = Some((node, Instant::now()));
        let next = match self.next {
            Some((run, next)) if run == kept.run => next,
            // Another leader begins with what the one before may not have told everybody.
            Some(_) => 0,
            // Nobody has been promised anything before.
            None => kept.next,
        };
        if next < kept.first {
            self.inbox.push_back(Received::Gap);
        }
        self.next = Some((kept.run, next.max(kept.first)));
        if next < kept.next { self.ask() } else { Vec::new() }
    }

    /// Takes a batch if it is the next one, and returns a question for those before it otherwise.
    fn take(&mut self, node: NodeId, head: &BatchHead, message: &Message) -> Vec<Message> {
        let (run, number) = (head.run, head.number);
        match self.next {
            Some((followed, next)) if followed == run => {
                if number < next {
                    // It has asked twice.
                    return Vec::new();
                }
                if number > next || self.bytes > MAX_BYTES {
                    return self.ask();
                }
            }
            Some(_) => {
                let question = self.hear(node, Kept { run, first: 0, next: number });
                if number > 0 {
                    return question;
                }
            }
            None => {}
        }
        self.leader = Some((node, Instant::now()));
        self.next = Some((run, number + 1));
        self.bytes += message.body.len();
        self.inbox.push_back(match self.relations.decode(head, &message.body) {
            Some(rows) => Received::Batch { line: head.line, rows, run, number },
            None => Received::Gap,
        });
        Vec::new()
    }

    /// Returns a question for what is missing, unless that was asked just now.
    fn ask(&mut self) -> Vec<Message> {
        let Some((run, next)) = self.next else { return Vec::new() };
        if self.asked.is_some_and(|asked| asked.elapsed() < ASK_INTERVAL) {
            return Vec::new();
        }
        self.asked = Some(Instant::now());
        vec![Head::RowsMissed { run, next }.into()]
    }
}

#[cfg(test)]
mod tests;

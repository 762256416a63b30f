//! What a connection is doing, as far as it decides how long it may stay.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use poem::http::Version;
use tokio::time::{Instant, sleep_until};
use tokio_util::sync::CancellationToken;

/// A connection from when it was accepted to when it is closed.
pub(super) struct Life {
    state: Mutex<State>,
    /// Cancelled once the connection has to end: the server stops, or somebody else needs its place.
    pub(super) end: CancellationToken,
}

struct State {
    /// Requests that came whole and whose answers are not given out yet.
    requests: usize,
    /// Since when there has been none.
    idle: Instant,
    /// Since when the head of a request is due: from its first byte on, of a new connection from the start.
    head: Option<Instant>,
    /// What comes between requests is no head: it is HTTP/2, which talks for other reasons, too, or no HTTP any more.
    talks: bool,
    /// It has become a WebSocket, which is the service's to watch.
    upgraded: bool,
    /// The client is sending a body that nobody reads.
    unread: bool,
}

/// How long a connection may go without a request.
#[derive(Debug, Clone, Copy)]
pub(super) struct Patience {
    /// For the rest of a head.
    pub(super) head: Duration,
    /// Between two requests.
    pub(super) idle: Duration,
}

/// How much a connection is missed when its place is needed; the least first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Claim {
    /// It has not sent a whole head since this moment.
    Head(Instant),
    /// It has no request under way since this moment.
    Idle(Instant),
}

/// A request under way; dropped when its answer is given out, or not wanted any more.
pub(super) struct Busy(Arc<Life>);

impl Life {
    /// Of a connection that was just accepted, and has to end when `stop` does.
    pub(super) fn new(stop: &CancellationToken) -> Arc<Self> {
        let now = Instant::now();
        let state =
            State { requests: 0, idle: now, head: Some(now), talks: false, upgraded: false, unread: false };
        Arc::new(Self { state: Mutex::new(state), end: stop.child_token() })
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Bytes have come from the client.
    pub(super) fn heard(&self) {
        let mut state = self.state();
        if state.requests == 0 && !state.talks && state.head.is_none() {
            state.head = Some(Instant::now());
        }
    }

    /// Bytes of an answer have gone to the client, which may take them more slowly than the service gives them.
    pub(super) fn told(&self) {
        let mut state = self.state();
        if state.requests == 0 && !state.talks {
            state.idle = Instant::now();
        }
    }

    /// A whole head has come.
    pub(super) fn begin(self: &Arc<Self>, version: Version) -> Busy {
        let mut state = self.state();
        state.requests += 1;
        state.head = None;
        state.talks |= version == Version::HTTP_2;
        Busy(Arc::clone(self))
    }

    /// The connection has become a WebSocket.
    pub(super) fn upgrade(&self) {
        self.state().upgraded = true;
    }

    /// The service has left a body unread that the client is still sending.
    pub(super) fn leave_unread(&self) {
        self.state().unread = true;
    }

    /// Whether the client may be sending at this moment what nobody is going to read: then it has to be told what came
    /// of its request before it learns that the connection ends.
    pub(super) fn is_sending(&self) -> bool {
        let state = self.state();
        state.unread || state.head.is_some()
    }

    /// Whether a request is under way.
    pub(super) fn is_busy(&self) -> bool {
        self.state().requests > 0
    }

    /// When to give up waiting for a request; `None` while none is waited for.
    fn deadline(&self, patience: Patience) -> Option<Instant> {
        let state = self.state();
        if state.requests > 0 || state.upgraded {
            return None;
        }
        let idle = state.idle + patience.idle;
        Some(state.head.map_or(idle, |begun| idle.min(begun + patience.head)))
    }

    /// Waits until the connection has gone without a request for too long.
    pub(super) async fn overdue(&self, patience: Patience) {
        loop {
            let now = Instant::now();
            let deadline = self.deadline(patience);
            if deadline.is_some_and(|deadline| deadline <= now) {
                return;
            }
            // A head may begin after this look; the next one is early enough for it.
            let next = now + patience.head;
            sleep_until(deadline.map_or(next, |deadline| deadline.min(next))).await;
        }
    }

    /// How much the connection is missed if it is closed now; `None` if that must not be, or has been asked for already.
    pub(super) fn claim(&self) -> Option<Claim> {
        let state = self.state();
        if state.requests > 0 || state.upgraded || self.end.is_cancelled() {
            return None;
        }
        Some(state.head.map_or(Claim::Idle(state.idle), Claim::Head))
    }
}

impl Drop for Busy {
    fn drop(&mut self) {
        let mut state = self.0.state();
        state.requests -= 1;
        state.idle = Instant::now();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PATIENCE: Patience = Patience { head: Duration::from_secs(15), idle: Duration::from_secs(90) };

    /// Seconds until `life` is given up, while a byte comes every two of them.
    async fn seconds_of_drip(life: &Life) -> u64 {
        let begun = Instant::now();
        let dripping = async {
            loop {
                tokio::time::sleep(Duration::from_secs(2)).await;
                life.heard();
            }
        };
        tokio::select! {
            () = life.overdue(PATIENCE) => begun.elapsed().as_secs(),
            () = dripping => unreachable!(),
        }
    }

    #[tokio::test(start_paused = true)]
    async fn a_head_has_its_time_however_it_comes() {
        let life = Life::new(&CancellationToken::new());
        assert_eq!(seconds_of_drip(&life).await, 15);
        drop(life.begin(Version::HTTP_11));
        // Two of them until the first byte.
        assert_eq!(seconds_of_drip(&life).await, 17);
    }

    #[tokio::test(start_paused = true)]
    async fn a_connection_is_kept_between_requests_but_not_for_ever() {
        for version in [Version::HTTP_11, Version::HTTP_2] {
            let life = Life::new(&CancellationToken::new());
            let request = life.begin(version);
            let waited = tokio::time::timeout(Duration::from_secs(1000), life.overdue(PATIENCE)).await;
            assert!(waited.is_err(), "a request under way was given up");
            drop(request);
            let begun = Instant::now();
            life.overdue(PATIENCE).await;
            assert_eq!(begun.elapsed().as_secs(), 90);
        }
        let life = Life::new(&CancellationToken::new());
        drop(life.begin(Version::HTTP_2));
        assert_eq!(seconds_of_drip(&life).await, 90, "what HTTP/2 says between requests is no head");
    }

    #[tokio::test(start_paused = true)]
    async fn those_without_a_head_make_room_first() {
        let wait = || tokio::time::sleep(Duration::from_secs(1));
        let stop = CancellationToken::new();
        let (kept, busy, socket) = (Life::new(&stop), Life::new(&stop), Life::new(&stop));
        drop(kept.begin(Version::HTTP_11));
        let _request = busy.begin(Version::HTTP_11);
        drop(socket.begin(Version::HTTP_11));
        socket.upgrade();
        wait().await;
        let older = Life::new(&stop);
        wait().await;
        let newer = Life::new(&stop);
        assert!(busy.claim().is_none() && socket.claim().is_none());
        assert!(older.claim() < newer.claim() && newer.claim() < kept.claim());
        wait().await;
        kept.heard();
        assert!(newer.claim() < kept.claim(), "its head began later");
        older.end.cancel();
        assert!(older.claim().is_none(), "it was asked already");
    }
}

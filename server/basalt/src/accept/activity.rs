//! The activity of a connection, which decides how long it may stay open.

use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use poem::http::Version;
use tokio::time::{Instant, sleep_until};
use tokio_util::sync::CancellationToken;

use super::Limits;

/// How often it is looked whether the last request has begun.
const LAST_REQUEST_PAUSE: Duration = Duration::from_millis(5);

/// The activity of a connection from its acceptance to its close.
pub(super) struct Activity {
    state: Mutex<State>,
    /// Cancelled when the connection has to end: the server stops, or a new connection needs the slot.
    pub(super) end: CancellationToken,
}

struct State {
    /// Running requests: those whose head has been read and whose response has not been sent completely.
    requests: usize,
    /// Since when no request is running.
    idle: Instant,
    /// Since when a request head is expected to be completed: from its first byte, or on a new connection from its
    /// start.
    head: Option<Instant>,
    /// The connection uses HTTP/2, in which bytes between requests need not be a head.
    is_http2: bool,
    /// The connection has become a WebSocket, whose time the service limits.
    upgraded: bool,
    /// The client is sending a body that is not read.
    has_unread_body: bool,
}

/// The order in which connections are closed when their slots are needed; the least first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum EvictionOrder {
    /// It has sent an incomplete head, or nothing, since this moment.
    Head(Instant),
    /// It has had no request since this moment.
    Idle(Instant),
}

/// A running request. It is dropped when its response has been sent or is no longer needed.
pub(super) struct RequestGuard(Arc<Activity>);

impl Activity {
    /// Returns the activity of a connection that was just accepted and that ends when `stop` is cancelled.
    pub(super) fn new(stop: &CancellationToken) -> Arc<Self> {
        let now = Instant::now();
        let state = State {
            requests: 0,
            idle: now,
            head: Some(now),
            is_http2: false,
            upgraded: false,
            has_unread_body: false,
        };
        Arc::new(Self { state: Mutex::new(state), end: stop.child_token() })
    }

    /// Records that bytes have been received.
    pub(super) fn record_read(&self) {
        let mut state = self.state.lock();
        if state.requests == 0 && !state.is_http2 && state.head.is_none() {
            state.head = Some(Instant::now());
        }
    }

    /// Records that bytes have been sent. The client may read a response more slowly than the service produces it.
    pub(super) fn record_write(&self) {
        let mut state = self.state.lock();
        if state.requests == 0 && !state.is_http2 {
            state.idle = Instant::now();
        }
    }

    /// Records that a complete head has been received.
    pub(super) fn begin_request(self: &Arc<Self>, version: Version) -> RequestGuard {
        let mut state = self.state.lock();
        state.requests += 1;
        state.head = None;
        state.is_http2 |= version == Version::HTTP_2;
        RequestGuard(Arc::clone(self))
    }

    /// Records that the connection has become a WebSocket.
    pub(super) fn upgrade(&self) {
        self.state.lock().upgraded = true;
    }

    /// Records that the service has not read a body that the client is still sending.
    pub(super) fn record_unread_body(&self) {
        self.state.lock().has_unread_body = true;
    }

    /// Reports whether the client may be sending bytes that will not be read. It must then get the response before it
    /// notices that the connection ends.
    pub(super) fn is_sending(&self) -> bool {
        let state = self.state.lock();
        state.has_unread_body || state.head.is_some()
    }

    /// Reports whether a request is running.
    pub(super) fn is_busy(&self) -> bool {
        self.state.lock().requests > 0
    }

    /// Waits until a request begins; without one for `limit`, or on a connection that does not wait for one, it ends
    /// sooner. A request that is on its way when the server stops is then answered.
    pub(super) async fn last_request(&self, limit: Duration) {
        let end = Instant::now() + limit;
        while self.awaits_request() && Instant::now() < end {
            tokio::time::sleep(LAST_REQUEST_PAUSE).await;
        }
    }

    /// Reports whether an HTTP/1 connection is without a request. In HTTP/2 the server can refuse requests one by one.
    fn awaits_request(&self) -> bool {
        let state = self.state.lock();
        state.requests == 0 && !state.upgraded && !state.is_http2
    }

    /// Returns when the wait for a request ends; `None` while the connection does not wait for one.
    fn deadline(&self, limits: Limits) -> Option<Instant> {
        let state = self.state.lock();
        if state.requests > 0 || state.upgraded {
            return None;
        }
        let idle = state.idle + limits.idle;
        Some(state.head.map_or(idle, |begun| idle.min(begun + limits.head)))
    }

    /// Waits until the connection has been without a request for too long.
    pub(super) async fn overdue(&self, limits: Limits) {
        loop {
            let now = Instant::now();
            let deadline = self.deadline(limits);
            if deadline.is_some_and(|deadline| deadline <= now) {
                return;
            }
            // A head may begin after this check; the next check is early enough for it.
            let next = now + limits.head;
            sleep_until(deadline.map_or(next, |deadline| deadline.min(next))).await;
        }
    }

    /// Returns the connection's position in the order of eviction; `None` if it must not be closed, or is being closed
    /// already.
    pub(super) fn eviction_order(&self) -> Option<EvictionOrder> {
        let state = self.state.lock();
        if state.requests > 0 || state.upgraded || self.end.is_cancelled() {
            return None;
        }
        Some(state.head.map_or(EvictionOrder::Idle(state.idle), EvictionOrder::Head))
    }
}

impl Drop for RequestGuard {
    fn drop(&mut self) {
        let mut state = self.0.state.lock();
        state.requests -= 1;
        state.idle = Instant::now();
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    const LIMITS: Limits = Limits {
        head: Duration::from_secs(15),
        idle: Duration::from_secs(90),
        silence: Duration::MAX,
        drain: Duration::MAX,
        connections: crate::accept::MAX_CONNECTIONS,
        network_shares: false,
    };

    /// Returns the seconds until the connection is overdue while it receives a byte every two seconds.
    async fn seconds_of_drip(activity: &Activity) -> u64 {
        let begun = Instant::now();
        let dripping = async {
            loop {
                tokio::time::sleep(Duration::from_secs(2)).await;
                activity.record_read();
            }
        };
        tokio::select! {
            () = activity.overdue(LIMITS) => begun.elapsed().as_secs(),
            () = dripping => unreachable!(),
        }
    }

    #[tokio::test(start_paused = true)]
    async fn the_time_of_a_head_does_not_depend_on_its_pieces() {
        let activity = Activity::new(&CancellationToken::new());
        assert_eq!(seconds_of_drip(&activity).await, 15);
        drop(activity.begin_request(Version::HTTP_11));
        // Two more, until the first byte.
        assert_eq!(seconds_of_drip(&activity).await, 17);
    }

    #[tokio::test(start_paused = true)]
    async fn a_connection_is_kept_between_requests_but_not_for_ever() {
        for version in [Version::HTTP_11, Version::HTTP_2] {
            let activity = Activity::new(&CancellationToken::new());
            let request = activity.begin_request(version);
            let waited = tokio::time::timeout(Duration::from_secs(1000), activity.overdue(LIMITS)).await;
            assert!(waited.is_err(), "a request under way was given up");
            drop(request);
            let begun = Instant::now();
            activity.overdue(LIMITS).await;
            assert_eq!(begun.elapsed().as_secs(), 90);
        }
        let activity = Activity::new(&CancellationToken::new());
        drop(activity.begin_request(Version::HTTP_2));
        assert_eq!(seconds_of_drip(&activity).await, 90, "bytes of HTTP/2 between requests are not a head");
    }

    #[tokio::test(start_paused = true)]
    async fn connections_without_a_head_are_evicted_first() {
        let wait = || tokio::time::sleep(Duration::from_secs(1));
        let stop = CancellationToken::new();
        let (kept, busy, socket) = (Activity::new(&stop), Activity::new(&stop), Activity::new(&stop));
        drop(kept.begin_request(Version::HTTP_11));
        let _request = busy.begin_request(Version::HTTP_11);
        drop(socket.begin_request(Version::HTTP_11));
        socket.upgrade();
        wait().await;
        let older = Activity::new(&stop);
        wait().await;
        let newer = Activity::new(&stop);
        assert!(busy.eviction_order().is_none() && socket.eviction_order().is_none());
        assert!(
            older.eviction_order() < newer.eviction_order() && newer.eviction_order() < kept.eviction_order()
        );
        wait().await;
        kept.record_read();
        assert!(newer.eviction_order() < kept.eviction_order(), "its head began later");
        older.end.cancel();
        assert!(older.eviction_order().is_none(), "it is being closed already");
    }
}

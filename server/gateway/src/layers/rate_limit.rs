//! Limits how many requests an address and an API key may make in a minute, counted by all nodes together.
//!
//! Each node counts in memory, and sends its new counts to the others every half second. The count of the last sixty
//! seconds is estimated from those of the current and the previous minute, as if the latter had been evenly
//! distributed.

use std::collections::HashMap;
use std::net::IpAddr;
use std::sync::Arc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use fairness::Network;
use http::StatusCode;
use http::header::RETRY_AFTER;
use parking_lot::Mutex;
use poem::Response;
use tokio::time::MissedTickBehavior;

use crate::{Nodes, number_of};

/// The subject of messages to the other nodes.
const SUBJECT: &str = "requests";
/// How often new counts are sent to the other nodes.
const SHARE_INTERVAL: Duration = Duration::from_millis(500);
/// Seconds of a window.
const WINDOW: u64 = 60;
/// The maximum number of addresses and keys that are counted at the same time, some forty bytes each. Others are not
/// limited.
const MAX_COUNTERS: usize = 100_000;
/// The maximum number of counts in one message.
const MAX_ENTRIES: usize = 30_000;
/// The number of bytes of a count in a message: the number of the address or key, and the count.
const ENTRY_SIZE: usize = 8 + 4;

/// The limits, in requests a minute; 0 for none.
#[derive(Clone, Copy)]
pub(crate) struct RateLimit {
    pub(crate) per_address: u32,
    pub(crate) per_key: u32,
}

/// What addresses and keys have requested, which outlives a change of the limits.
#[derive(Default)]
pub(crate) struct RequestCounts(Mutex<Counters>);

#[derive(Default)]
struct Counters {
    /// The number of the minute, counted since 1970.
    window: u64,
    /// By [`number_of`] the address or key.
    counts: HashMap<u64, Count>,
}

#[derive(Default, Clone, Copy)]
struct Count {
    previous: u32,
    current: u32,
    /// The part that has not been sent to the other nodes.
    pending: u32,
}

impl RateLimit {
    /// Reports whether there is any limit.
    pub(crate) const fn exists(self) -> bool {
        self.per_address > 0 || self.per_key > 0
    }
}

impl RequestCounts {
    /// Counts a request of `address` with `key`, if it has one. Returns the refusal, 429 with `Retry-After`, if one of
    /// the two has made more than `limit` allows. Programs on this machine are not limited.
    pub(crate) fn refusal(&self, limit: RateLimit, address: IpAddr, key: Option<&str>) -> Option<Response> {
        self.take_at(limit, address, key, since_1970()).err().map(too_many)
    }

    /// Counts a request at `now`.
    ///
    /// Errors: the number of seconds after which another request is allowed.
    fn take_at(
        &self,
        limit: RateLimit,
        address: IpAddr,
        key: Option<&str>,
        now: Duration,
    ) -> Result<(), u64> {
        let Some(network) = Network::of(address) else { return Ok(()) };
        let limited = [
            (limit.per_address > 0)
                .then(|| (number_of(("address", network.to_string().as_str())), limit.per_address)),
            key.filter(|_| limit.per_key > 0).map(|key| (number_of(("key", key)), limit.per_key)),
        ];
        let mut counters = self.0.lock();
        counters.advance_to(now.as_secs() / WINDOW);
        // Only granted requests count, so that a client that ignores refusals still gets the allowed number.
        for (id, limit) in limited.iter().flatten() {
            let count = counters.counts.get(id).copied().unwrap_or_default();
            count.check(*limit, now)?;
        }
        for (id, _) in limited.iter().flatten() {
            counters.add(*id, 1, 1);
        }
        Ok(())
    }

    /// Adds the counts that other nodes send.
    pub(crate) fn listen_to(self: &Arc<Self>, nodes: &Nodes) {
        let counts = Arc::clone(self);
        nodes.listen(SUBJECT, move |message| counts.add_remote(message));
    }

    /// Sends new counts to the other nodes, until the future is dropped.
    pub(crate) async fn share(&self, nodes: &Nodes) {
        let mut ticks = tokio::time::interval(SHARE_INTERVAL);
        ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
        loop {
            ticks.tick().await;
            while let Some(message) = self.take_pending() {
                nodes.send(SUBJECT, &message);
            }
        }
    }

    /// Returns the counts that have not been sent to the other nodes, as a message, and resets them; `None` if there
    /// are none.
    fn take_pending(&self) -> Option<Vec<u8>> {
        let mut counters = self.0.lock();
        let mut message = Vec::new();
        let pending = counters.counts.iter_mut().filter(|(_, count)| count.pending > 0);
        for (id, count) in pending.take(MAX_ENTRIES) {
            message.extend_from_slice(&id.to_be_bytes());
            message.extend_from_slice(&std::mem::take(&mut count.pending).to_be_bytes());
        }
        (!message.is_empty()).then_some(message)
    }

    /// Adds the counts in a message from another node.
    fn add_remote(&self, message: &[u8]) {
        let mut counters = self.0.lock();
        counters.advance_to(since_1970().as_secs() / WINDOW);
        for entry in message.chunks_exact(ENTRY_SIZE) {
            let Some((id, number)) = entry.split_first_chunk() else { return };
            let Ok(number) = number.try_into().map(u32::from_be_bytes) else { return };
            counters.add(u64::from_be_bytes(*id), number, 0);
        }
    }
}

impl Counters {
    /// Begins `window`, unless it has begun.
    fn advance_to(&mut self, window: u64) {
        if window <= self.window {
            return;
        }
        let follows = window == self.window + 1;
        self.window = window;
        self.counts.retain(|_, count| {
            count.previous = if follows { count.current } else { 0 };
            count.current = 0;
            count.previous > 0 || count.pending > 0
        });
    }

    fn add(&mut self, id: u64, number: u32, pending: u32) {
        if self.counts.len() >= MAX_COUNTERS && !self.counts.contains_key(&id) {
            return;
        }
        let count = self.counts.entry(id).or_default();
        count.current = count.current.saturating_add(number);
        count.pending = count.pending.saturating_add(pending);
    }
}

impl Count {
    /// Checks that `limit` leaves room for another request.
    ///
    /// Errors: the number of seconds until it does.
    fn check(self, limit: u32, now: Duration) -> Result<(), u64> {
        let passed = now.as_secs() % WINDOW;
        // The maximum that the previous minute may contribute.
        let room = limit.saturating_sub(self.current);
        if u64::from(self.previous) * (WINDOW - passed) < u64::from(room) * WINDOW {
            return Ok(());
        }
        let (previous, until_next) = (u64::from(self.previous), WINDOW - passed);
        let wait = (u64::from(room) * WINDOW).checked_div(previous).map_or(until_next + 1, |left| {
            // Another request is allowed when less than `left` seconds of the previous minute still count.
            if room == 0 { until_next + 1 } else { (until_next + 1).saturating_sub(left) }
        });
        Err(wait.clamp(1, WINDOW))
    }
}

/// Returns the refusal of a request beyond the limit, with the message of Supabase's gateway.
pub(crate) fn too_many(wait: u64) -> Response {
    Response::builder()
        .status(StatusCode::TOO_MANY_REQUESTS)
        .header(RETRY_AFTER, wait)
        .content_type("application/json; charset=utf-8")
        .body(r#"{"message":"API rate limit exceeded"}"#)
}

fn since_1970() -> Duration {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    const ADDRESS: IpAddr = IpAddr::V4(std::net::Ipv4Addr::new(192, 0, 2, 7));

    const TEN: RateLimit = RateLimit { per_address: 10, per_key: 0 };

    fn at(seconds: u64) -> Duration {
        Duration::from_secs(WINDOW * 1000 + seconds)
    }

    #[test]
    fn addresses_have_their_number_of_requests_a_minute() {
        let counts = RequestCounts::default();
        let granted = |seconds, number| {
            (0..number).filter(|_| counts.take_at(TEN, ADDRESS, None, at(seconds)).is_ok()).count()
        };
        assert_eq!(granted(0, 20), 10);
        assert_eq!(granted(59, 20), 0);
        // Half a minute later, only half of the first minute still counts, so half of the number is available.
        assert_eq!(granted(90, 20), 5);
        assert_eq!(granted(240, 20), 10);
        let other = IpAddr::from([192, 0, 2, 8]);
        assert!(counts.take_at(TEN, other, None, at(240)).is_ok(), "others have their own");
        assert!((0..20).all(|_| counts.take_at(TEN, IpAddr::from([127, 0, 0, 1]), None, at(240)).is_ok()));
    }

    #[test]
    fn the_wait_ends_when_a_request_is_allowed() {
        let counts = RequestCounts::default();
        let take = |seconds| counts.take_at(TEN, ADDRESS, None, at(seconds));
        assert!((0..10).all(|_| take(20).is_ok()));
        let mut now = 20;
        for _ in 0..3 {
            let wait = take(now).unwrap_err();
            assert!((now..now + wait - 1).all(|earlier| take(earlier).is_err()), "not before {wait} s");
            now += wait;
            while take(now).is_err() {
                now += 1;
                assert!(now < 300);
            }
            while take(now).is_ok() {}
        }
    }

    #[test]
    fn keys_count_for_all_addresses_and_networks_as_one_address() {
        let (counts, limit) = (RequestCounts::default(), RateLimit { per_address: 0, per_key: 2 });
        let take = |last: u8, key| counts.take_at(limit, IpAddr::from([192, 0, 2, last]), key, at(0)).is_ok();
        assert!(take(1, Some("a")) && take(2, Some("a")) && !take(3, Some("a")));
        assert!(take(3, Some("b")) && take(3, None));
        let (counts, limit) = (RequestCounts::default(), RateLimit { per_address: 2, per_key: 0 });
        let take = |address: &str| counts.take_at(limit, address.parse().unwrap(), None, at(0)).is_ok();
        assert!(take("2001:db8:1:2:3::4") && take("2001:db8:1:2:4::5") && !take("2001:db8:1:2:5::6"));
        assert!(take("2001:db8:1:3::4"));
    }

    #[test]
    fn nodes_count_together() {
        let (one, other) = (RequestCounts::default(), RequestCounts::default());
        for _ in 0..6 {
            assert!(one.refusal(TEN, ADDRESS, None).is_none());
        }
        other.add_remote(&one.take_pending().unwrap());
        assert_eq!(one.take_pending(), None, "it is sent once");
        assert_eq!(other.take_pending(), None, "and not sent back");
        let granted = (0..20).filter(|_| other.refusal(TEN, ADDRESS, None).is_none()).count();
        // The minute may end during the test.
        assert!((4..=5).contains(&granted), "{granted}");
        other.add_remote(b"rubbish");
        let refused = other.refusal(TEN, ADDRESS, None).unwrap();
        assert_eq!(refused.status(), StatusCode::TOO_MANY_REQUESTS);
        assert!(refused.headers().contains_key(RETRY_AFTER));
    }
}

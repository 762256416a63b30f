//! Read replicas: which of them may answer a read now.
//!
//! A replica is used while it is in recovery, answers, and lags behind the primary by less than a bound. Lag is
//! measured by this process's clock alone: the primary's write position is noted at each probe, and a replica that
//! has replayed up to a noted position lags by that note's age.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Weak};
use std::time::{Duration, Instant};

use tokio_util::sync::CancellationToken;

use crate::connect::Target;
use crate::pool::Pool;
use crate::{Answer, Error, Settings, Transaction};

/// How long a probe may take. A replica that needs longer is not healthy.
const PROBE_TIMEOUT: Duration = Duration::from_secs(2);

/// Notes of the primary's position that are kept.
const NOTES: usize = 256;

/// The replicas of one primary, probed by a background task for as long as this value lives.
pub(crate) struct Replicas {
    members: Arc<[Replica]>,
    next: AtomicUsize,
    stop: CancellationToken,
}

struct Replica {
    pool: Arc<Pool>,
    /// Position in `Settings::replicas`, from 1: what logs call it, a server having no name to log.
    number: usize,
    healthy: AtomicBool,
}

impl Replicas {
    /// Prepares a pool for each of `settings.replicas` and begins to probe them.
    ///
    /// Errors: [`Error::Configuration`] for parameters that cannot be understood.
    pub(crate) fn start(primary: &Arc<Pool>, settings: &Settings) -> Result<Self, Error> {
        let members = settings.replicas.iter().enumerate().map(|(index, server)| {
            let target = Arc::new(Target::new(server, settings)?);
            let pool = Pool::start(target, settings);
            Ok(Replica { pool, number: index + 1, healthy: AtomicBool::new(false) })
        });
        let members: Arc<[Replica]> = members.collect::<Result<Vec<_>, Error>>()?.into();
        let stop = CancellationToken::new();
        if !members.is_empty() {
            let probes = probe_for_ever(
                Arc::downgrade(primary),
                Arc::clone(&members),
                settings.replica_max_lag,
                settings.replica_probe_interval,
            );
            let stop = stop.clone();
            tokio::spawn(async move { stop.run_until_cancelled(probes).await });
        }
        Ok(Self { members, next: AtomicUsize::new(0), stop })
    }

    /// Runs a read on one of the healthy replicas, in turn; `None` when there is none, or when the one that was
    /// chosen failed in a way that the primary would not.
    pub(crate) async fn run(&self, transaction: &Transaction<'_>) -> Option<Result<Answer, Error>> {
        let replica = self.choose()?;
        match replica.pool.run(transaction).await {
            Err(error) if error.is_unavailable() || matches!(error, Error::AcquireTimeout(_)) => {
                replica.set_healthy(false, &error);
                None
            }
            Err(error) if is_recovery_conflict(&error) || is_unknown_to_it(&error) => None,
            answer => Some(answer),
        }
    }

    /// How many replicas take reads now.
    pub(crate) fn healthy(&self) -> usize {
        self.members.iter().filter(|replica| replica.is_healthy()).count()
    }

    fn choose(&self) -> Option<&Replica> {
        if self.members.is_empty() {
            return None;
        }
        let start = self.next.fetch_add(1, Ordering::Relaxed);
        let count = self.members.len();
        (0..count)
            .map(|offset| &self.members[start.wrapping_add(offset) % count])
            .find(|one| one.is_healthy())
    }

    /// As [`Pool::close_outdated`], of all replicas.
    pub(crate) fn close_outdated(&self) {
        self.members.iter().for_each(|replica| replica.pool.close_outdated());
    }

    pub(crate) async fn close(&self) {
        self.stop.cancel();
        for replica in &*self.members {
            replica.pool.close().await;
        }
    }
}

impl Drop for Replicas {
    fn drop(&mut self) {
        self.stop.cancel();
    }
}

impl Replica {
    fn is_healthy(&self) -> bool {
        self.healthy.load(Ordering::Relaxed)
    }

    fn set_healthy(&self, healthy: bool, why: &dyn std::fmt::Display) {
        if self.healthy.swap(healthy, Ordering::Relaxed) != healthy {
            if healthy {
                tracing::info!(replica = self.number, %why, "the replica takes reads");
            } else {
                tracing::warn!(replica = self.number, %why, "the replica takes no reads until it recovers");
            }
        }
    }
}

/// Whether a standby cancelled the read because it stood in the way of replay; the primary has no such conflicts.
/// Source: PostgreSQL documentation, section 27.4.2.
fn is_recovery_conflict(error: &Error) -> bool {
    error.server().is_some_and(|error| {
        matches!(&*error.code, "40001" | "40P01") && error.message.contains("conflict with recovery")
    })
}

/// Whether it refused names or types, which may be in the part of the primary's log that it has yet to replay.
fn is_unknown_to_it(error: &Error) -> bool {
    error
        .server()
        .is_some_and(|error| error.code.starts_with("42") && error.code != "42501" && error.context.is_none())
}

async fn probe_for_ever(primary: Weak<Pool>, members: Arc<[Replica]>, max_lag: Duration, interval: Duration) {
    let mut notes = Notes::default();
    let mut tick = tokio::time::interval(interval);
    tick.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
    loop {
        tick.tick().await;
        let Some(primary) = primary.upgrade() else { return };
        // Without the primary its last position stands: a replica that has all of that is as good as can be had.
        if let Ok(position) = ask(&primary, "select pg_current_wal_lsn()::text").await {
            notes.add(Instant::now(), position);
        }
        drop(primary);
        for replica in &*members {
            match probe(replica, &notes, max_lag).await {
                Ok(lag) => replica.set_healthy(true, &format_args!("{} ms behind", lag.as_millis())),
                Err(error) => replica.set_healthy(false, &error),
            }
        }
    }
}

/// How far `replica` lags behind; an error says why it takes no reads.
async fn probe(replica: &Replica, notes: &Notes, max_lag: Duration) -> Result<Duration, Error> {
    // Not in recovery means promoted: from then on it has a history of its own.
    let sql = "select case when pg_is_in_recovery() then pg_last_wal_replay_lsn()::text end";
    let replayed = ask(&replica.pool, sql).await?;
    match notes.lag(replayed, Instant::now()) {
        Some(lag) if lag <= max_lag => Ok(lag),
        Some(lag) => Err(Error::Unavailable(format!("it is {} ms behind", lag.as_millis()))),
        None => Err(Error::Unavailable("its distance from the primary is not known yet".to_owned())),
    }
}

/// The position that `sql` gives.
async fn ask(pool: &Arc<Pool>, sql: &str) -> Result<u64, Error> {
    let transaction =
        Transaction::anonymous().statement(sql, Vec::new()).leaves_nothing().timeout(PROBE_TIMEOUT);
    let answer = pool.run(&transaction).await?;
    let text = answer.last().and_then(|rows| rows.first()?.text(0).map(str::to_owned));
    text.as_deref()
        .and_then(parse_position)
        .ok_or_else(|| Error::Unavailable("it is not a standby, or has replayed nothing yet".to_owned()))
}

/// A write position, `X/Y` in hexadecimal. Source: PostgreSQL documentation, section 8.20.
fn parse_position(text: &str) -> Option<u64> {
    let (high, low) = text.split_once('/')?;
    Some(u64::from_str_radix(high, 16).ok()? << 32 | u64::from_str_radix(low, 16).ok()?)
}

/// Where the primary was when, oldest first; both grow.
#[derive(Default)]
struct Notes(VecDeque<(Instant, u64)>);

impl Notes {
    fn add(&mut self, when: Instant, position: u64) {
        match self.0.back_mut() {
            // An idle primary stands still: whoever has this much is up to date as of now.
            Some(last) if last.1 == position => last.0 = when,
            // Going back means that another server answers as the primary.
            Some(last) if last.1 > position => {
                self.0.clear();
                self.0.push_back((when, position));
            }
            _ => self.0.push_back((when, position)),
        }
        if self.0.len() > NOTES {
            self.0.pop_front();
        }
    }

    /// The age of the newest note that `replayed` covers; zero when it covers them all, `None` when it covers none.
    fn lag(&self, replayed: u64, now: Instant) -> Option<Duration> {
        let covered = self.0.partition_point(|(_, position)| *position <= replayed);
        if covered == self.0.len() && covered > 0 {
            return Some(Duration::ZERO);
        }
        let (when, _) = self.0.get(covered.checked_sub(1)?)?;
        Some(now.saturating_duration_since(*when))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn positions_are_two_halves() {
        assert_eq!(parse_position("0/0"), Some(0));
        assert_eq!(parse_position("1/A0"), Some(0x1_0000_00A0));
        assert_eq!(parse_position("rubbish"), None);
    }

    #[test]
    fn lag_is_the_age_of_what_has_been_replayed() {
        let start = Instant::now();
        let at = |seconds| start + Duration::from_secs(seconds);
        let mut notes = Notes::default();
        assert_eq!(notes.lag(100, at(0)), None);
        notes.add(at(0), 100);
        notes.add(at(1), 200);
        notes.add(at(2), 300);
        assert_eq!(notes.lag(50, at(3)), None);
        assert_eq!(notes.lag(100, at(3)), Some(Duration::from_secs(3)));
        assert_eq!(notes.lag(250, at(3)), Some(Duration::from_secs(2)));
        assert_eq!(notes.lag(300, at(9)), Some(Duration::ZERO));
    }

    #[test]
    fn an_idle_primary_makes_nobody_late() {
        let start = Instant::now();
        let mut notes = Notes::default();
        notes.add(start, 100);
        notes.add(start + Duration::from_secs(60), 100);
        notes.add(start + Duration::from_secs(61), 200);
        assert_eq!(notes.lag(100, start + Duration::from_secs(61)), Some(Duration::from_secs(1)));
    }
}

//! Read replicas, and which of them may run a read now.
//!
//! A replica is used while it is in recovery, responds, and lags behind the primary by less than a bound. Lag is
//! measured with the clock of this process: each probe records the primary's write position, and a replica that has
//! replayed up to a recorded position lags by that record's age. A read that has to see a certain write goes to a
//! replica that had replayed it at its last probe.

use std::collections::VecDeque;
use std::pin::pin;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Weak};
use std::time::{Duration, Instant};

use futures_util::future::{Either, join_all, select};
use parking_lot::Mutex;
use tokio::time::sleep;
use tokio_util::sync::CancellationToken;

use crate::connect::Target;
use crate::error::Error;
use crate::lsn::Lsn;
use crate::pool::Pool;
use crate::reply::Reply;
use crate::retry;
use crate::settings::Settings;
use crate::transaction::Transaction;

/// How long a probe may take. A replica that needs longer is not healthy.
const PROBE_TIMEOUT: Duration = Duration::from_secs(2);

/// How many positions of the primary are kept.
const MAX_POSITIONS: usize = 256;

/// The replicas of one primary, probed by a background task for as long as this value lives.
pub(crate) struct Replicas {
    members: Arc<[Replica]>,
    next: AtomicUsize,
    stop: CancellationToken,
}

struct Replica {
    pool: Arc<Pool>,
    /// The connection of probes, which wait behind no read of a caller.
    reserved: Arc<Pool>,
    /// Its number in `Settings::replicas`, from 1, for the log: its connection string must not be logged.
    number: usize,
    healthy: AtomicBool,
    /// The position that it had replayed at its last probe.
    replayed: AtomicU64,
    /// Microseconds that it lagged behind when it was probed last.
    lag: AtomicU64,
}

/// The state of a replica.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct ReplicaState {
    /// Its number in `Settings::replicas`, from 1.
    pub(crate) number: usize,
    /// Whether it is used for reads.
    pub(crate) is_healthy: bool,
    /// How far it lagged behind when it was probed last.
    pub(crate) lag: Duration,
}

impl Replicas {
    /// Prepares a pool for each of `settings.replicas` and begins to probe them. `primary` are the reserved connections
    /// to the primary.
    ///
    /// Errors: [`Error::Configuration`] for invalid parameters.
    pub(crate) fn start(primary: &Arc<Pool>, settings: &Settings) -> Result<Self, Error> {
        let members = settings.replicas.iter().enumerate().map(|(index, server)| {
            let target = Arc::new(Target::new(server, settings)?);
            let pool = Pool::start(Arc::clone(&target), settings);
            let reserved = Pool::start(target, &settings.reserved());
            let (healthy, replayed, lag) = (AtomicBool::new(false), AtomicU64::new(0), AtomicU64::new(0));
            Ok(Replica { pool, reserved, number: index + 1, healthy, replayed, lag })
        });
        let members: Arc<[Replica]> = members.collect::<Result<Vec<_>, Error>>()?.into();
        let stop = CancellationToken::new();
        if !members.is_empty() {
            let probes = probe_periodically(
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

    /// Runs a read on the next one of the healthy replicas that have replayed everything up to `position`. Returns
    /// `None` if there is none, or if the chosen one failed for a reason that the primary does not have.
    pub(crate) async fn run(
        &self,
        transaction: &Transaction<'_>,
        position: Lsn,
    ) -> Option<Result<Reply, Error>> {
        let replica = self.choose(position)?;
        match replica.pool.run(transaction).await {
            Err(error) if error.is_unavailable() => {
                replica.set_healthy(false, &error);
                None
            }
            // Its connections are busy. Whether it responds is found out by the probes.
            Err(Error::AcquireTimeout(_)) => None,
            Err(error) if retry::is_of_replica(&error) => None,
            reply => Some(reply),
        }
    }

    /// Returns the number of replicas that accept reads now.
    pub(crate) fn healthy(&self) -> usize {
        self.members.iter().filter(|replica| replica.is_healthy()).count()
    }

    /// Reports whether there are any, healthy or not.
    pub(crate) fn is_empty(&self) -> bool {
        self.members.is_empty()
    }

    /// Returns the states of all replicas.
    pub(crate) fn states(&self) -> impl Iterator<Item = ReplicaState> + '_ {
        self.members.iter().map(|replica| ReplicaState {
            number: replica.number,
            is_healthy: replica.is_healthy(),
            lag: Duration::from_micros(replica.lag.load(Ordering::Relaxed)),
        })
    }

    fn choose(&self, position: Lsn) -> Option<&Replica> {
        if self.members.is_empty() {
            return None;
        }
        let start = self.next.fetch_add(1, Ordering::Relaxed);
        let count = self.members.len();
        (0..count)
            .map(|offset| &self.members[start.wrapping_add(offset) % count])
            .find(|one| one.is_healthy() && one.replayed.load(Ordering::Relaxed) >= position.0)
    }

    /// Calls [`Pool::close_outdated`] for all replicas.
    pub(crate) fn close_outdated(&self) {
        for replica in &*self.members {
            replica.pool.close_outdated();
            replica.reserved.close_outdated();
        }
    }

    pub(crate) async fn close(&self) {
        self.stop.cancel();
        for replica in &*self.members {
            replica.pool.close().await;
            replica.reserved.close().await;
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
                tracing::info!(replica = self.number, %why, "the replica is used for reads");
            } else {
                tracing::warn!(replica = self.number, %why, "the replica is not used for reads until it recovers");
            }
        }
    }
}

/// Probes all servers concurrently: one that does not respond must not make the others seem outdated.
async fn probe_periodically(
    primary: Weak<Pool>,
    members: Arc<[Replica]>,
    max_lag: Duration,
    interval: Duration,
) {
    let positions = Mutex::new(PositionHistory::default());
    // Lag is not known before there is a position.
    record_position(&primary, &positions).await;
    let primary = async {
        while primary.strong_count() > 0 {
            sleep(interval).await;
            record_position(&primary, &positions).await;
        }
    };
    let replicas = members.iter().map(async |replica| {
        loop {
            match probe(replica, &positions, max_lag).await {
                Ok(lag) => replica.set_healthy(true, &format_args!("{} ms behind", lag.as_millis())),
                Err(error) => replica.set_healthy(false, &error),
            }
            sleep(interval).await;
        }
    });
    // The replicas are probed for as long as there is a primary.
    let _: Either<_, _> = select(pin!(primary), join_all(replicas)).await;
}

/// Records the position of the primary. If it does not respond, its last one stays: no replica can have more than that.
async fn record_position(primary: &Weak<Pool>, positions: &Mutex<PositionHistory>) {
    let Some(primary) = primary.upgrade() else { return };
    if let Ok(position) = query_position(&primary, "select pg_current_wal_lsn()::text").await {
        positions.lock().add(Instant::now(), position);
    }
}

/// Returns how far `replica` lags behind; an error says why it is not used for reads.
async fn probe(
    replica: &Replica,
    positions: &Mutex<PositionHistory>,
    max_lag: Duration,
) -> Result<Duration, Error> {
    // A server that is not in recovery has been promoted, and no longer follows the primary.
    let sql = "select case when pg_is_in_recovery() then pg_last_wal_replay_lsn()::text end";
    let replayed = query_position(&replica.reserved, sql).await?;
    replica.replayed.store(replayed.0, Ordering::Relaxed);
    let lag = positions.lock().lag(replayed, Instant::now());
    if let Some(lag) = lag {
        replica.lag.store(u64::try_from(lag.as_micros()).unwrap_or(u64::MAX), Ordering::Relaxed);
    }
    match lag {
        Some(lag) if lag <= max_lag => Ok(lag),
        Some(lag) => Err(Error::Unavailable(format!("it is {} ms behind", lag.as_millis()))),
        None => Err(Error::Unavailable("its lag is not known yet".to_owned())),
    }
}

/// Returns the position that the query `sql` returns.
pub(crate) async fn query_position(pool: &Arc<Pool>, sql: &str) -> Result<Lsn, Error> {
    let transaction =
        Transaction::anonymous().statement(sql, Vec::new()).leaves_session_unchanged().timeout(PROBE_TIMEOUT);
    let reply = pool.run(&transaction).await?;
    let text = reply.row().and_then(|row| row.text(0).map(str::to_owned));
    text.as_deref()
        .and_then(|text| text.parse().ok())
        .ok_or_else(|| Error::Unavailable("it is not a standby, or has replayed nothing yet".to_owned()))
}

/// Times and the primary's positions at these times, oldest first; both grow.
#[derive(Default)]
struct PositionHistory(VecDeque<(Instant, Lsn)>);

impl PositionHistory {
    fn add(&mut self, when: Instant, position: Lsn) {
        match self.0.back_mut() {
            // The primary has written nothing: a replica that has replayed this position is up to date now.
            Some(last) if last.1 == position => last.0 = when,
            // A smaller position means that another server is the primary now.
            Some(last) if last.1 > position => {
                self.0.clear();
                self.0.push_back((when, position));
            }
            _ => self.0.push_back((when, position)),
        }
        if self.0.len() > MAX_POSITIONS {
            self.0.pop_front();
        }
    }

    /// Returns the age of the newest position that `replayed` has reached: zero if it has reached all, `None` if none.
    fn lag(&self, replayed: Lsn, now: Instant) -> Option<Duration> {
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
    fn lag_is_the_age_of_the_replayed_position() {
        let start = Instant::now();
        let at = |seconds| start + Duration::from_secs(seconds);
        let mut positions = PositionHistory::default();
        assert_eq!(positions.lag(Lsn(100), at(0)), None);
        positions.add(at(0), Lsn(100));
        positions.add(at(1), Lsn(200));
        positions.add(at(2), Lsn(300));
        assert_eq!(positions.lag(Lsn(50), at(3)), None);
        assert_eq!(positions.lag(Lsn(100), at(3)), Some(Duration::from_secs(3)));
        assert_eq!(positions.lag(Lsn(250), at(3)), Some(Duration::from_secs(2)));
        assert_eq!(positions.lag(Lsn(300), at(9)), Some(Duration::ZERO));
    }

    #[test]
    fn an_idle_primary_causes_no_lag() {
        let start = Instant::now();
        let mut positions = PositionHistory::default();
        positions.add(start, Lsn(100));
        positions.add(start + Duration::from_secs(60), Lsn(100));
        positions.add(start + Duration::from_secs(61), Lsn(200));
        assert_eq!(positions.lag(Lsn(100), start + Duration::from_secs(61)), Some(Duration::from_secs(1)));
    }
}

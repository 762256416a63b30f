//! A node without the slot: it delivers what the leader tells, and takes over when there is none.

use std::future::pending;
use std::ops::ControlFlow;
use std::time::Duration;

use database::replication::slot;
use tokio::time::{MissedTickBehavior, interval};
use tokio_util::sync::CancellationToken;

use super::watch::Watch;
use super::{Ended, Feed, FeedError, FeedState};
use crate::changes::exchange::{Exchange, Received};

/// How often a follower looks whether the slot is free.
const LOOK_INTERVAL: Duration = Duration::from_secs(1);

impl Feed {
    /// Delivers what the leader tells, until the slot is free or `stop` is cancelled.
    pub(super) async fn follow(&mut self, stop: &CancellationToken) -> Result<Ended, FeedError> {
        let realtime = self.realtime.clone();
        let exchange = &realtime.changes().exchange;
        let (mut watch, mut look) = (Watch::new(realtime.database()), interval(LOOK_INTERVAL));
        look.set_missed_tick_behavior(MissedTickBehavior::Delay);
        realtime.changes().catalog.forget();
        self.look_at_publications().await?;
        loop {
            while self.pending.is_some() || self.has_received() {
                if self.deliver_pending(stop).await?.is_break() {
                    return Ok(Ended::Stopped);
                }
            }
            let has_leader = exchange.has_leader();
            self.set_state(if has_leader { FeedState::Live } else { FeedState::Connecting });
            tokio::select! {
                () = exchange.changed() => {}
                _ = look.tick() => {
                    let found = slot::lag(realtime.database(), &self.slot).await?;
                    if found.is_none_or(|slot| slot.active_pid.is_none()) {
                        return Ok(Ended::Leaderless);
                    }
                }
                () = watch.due() => {
                    // How large the slot may become is the leader's affair.
                    let _ = self.watch().await;
                }
                () = stop.cancelled() => return Ok(Ended::Stopped),
            }
        }
    }

    /// Takes what has come next from the leader; reports whether anything has.
    fn has_received(&mut self) -> bool {
        self.pending = self.realtime.changes().exchange.receive();
        self.pending.is_some()
    }

    /// Delivers what is pending, which stays so if it cannot be delivered.
    async fn deliver_pending(&mut self, stop: &CancellationToken) -> Result<ControlFlow<()>, FeedError> {
        match self.pending.take() {
            None => {}
            Some(Received::Gap) => {
                tracing::error!("row changes were lost between nodes; clients are told to subscribe again");
                self.realtime.changes().renew_all();
            }
            Some(Received::Batch { line, rows, run, number }) => {
                self.set_line(line);
                let first = rows.partition_point(|row| row.position <= self.delivered);
                let delivered = self.deliver(&rows[first..], pending(), stop).await;
                if !matches!(delivered, Ok(ControlFlow::Continue(()))) {
                    self.pending = Some(Received::Batch { line, rows, run, number });
                    return delivered;
                }
                if let Some(last) = rows.last() {
                    self.delivered = self.delivered.max(last.position);
                }
                self.realtime.bus().tell(|| Exchange::taken(run, number));
            }
        }
        Ok(ControlFlow::Continue(()))
    }
}

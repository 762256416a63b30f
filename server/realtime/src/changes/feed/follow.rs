//! A follower: it delivers the batches of the leader, and takes over when there is no leader.

use std::future::pending;
use std::ops::ControlFlow;
use std::time::Duration;

use replication::slot;
use tokio::time::{MissedTickBehavior, interval};
use tokio_util::sync::CancellationToken;

use super::watch::Watch;
use super::{EndReason, Feed, FeedContext, FeedError, FeedState};
use crate::changes::exchange::{Exchange, InboxItem};

/// How often a follower checks whether the slot is free.
const LOOK_INTERVAL: Duration = Duration::from_secs(1);

impl Feed {
    /// Delivers the batches of the leader, until the slot is free or `stop` is cancelled.
    pub(super) async fn follow(&mut self, stop: &CancellationToken) -> Result<EndReason, FeedError> {
        let FeedContext { database, replication, changes, exchange, .. } = &self.context.clone();
        let (mut watch, mut look) = (Watch::new(database), interval(LOOK_INTERVAL));
        look.set_missed_tick_behavior(MissedTickBehavior::Delay);
        changes.catalog.forget();
        self.check_publications().await?;
        loop {
            while self.pending.is_some() || self.take_pending() {
                if self.deliver_pending(stop).await?.is_break() {
                    return Ok(EndReason::Stopped);
                }
            }
            let has_leader = exchange.has_leader();
            self.set_state(if has_leader { FeedState::Live } else { FeedState::Connecting });
            tokio::select! {
                () = exchange.changed() => {}
                _ = look.tick() => {
                    let found = slot::lag(replication, &self.slot).await?;
                    if found.is_none_or(|slot| slot.active_pid.is_none()) {
                        return Ok(EndReason::Leaderless);
                    }
                }
                () = watch.due() => {
                    // The leader checks the size of the slot.
                    let _ = self.watch().await;
                }
                () = stop.cancelled() => return Ok(EndReason::Stopped),
            }
        }
    }

    /// Takes the next message of the leader as `pending`; reports whether there is one.
    fn take_pending(&mut self) -> bool {
        self.pending = self.context.exchange.receive();
        self.pending.is_some()
    }

    /// Delivers the pending message, which stays pending if that fails.
    async fn deliver_pending(&mut self, stop: &CancellationToken) -> Result<ControlFlow<()>, FeedError> {
        match self.pending.take() {
            None => {}
            Some(InboxItem::Gap) => {
                tracing::error!("row changes were lost between nodes; clients are told to subscribe again");
                self.context.changes.renew_all();
            }
            Some(InboxItem::Batch { timeline, rows, run, number }) => {
                self.set_timeline(timeline);
                let first = rows.partition_point(|row| row.position <= self.delivered);
                let delivered = self.deliver(&rows[first..], pending(), stop).await;
                if !matches!(delivered, Ok(ControlFlow::Continue(()))) {
                    self.pending = Some(InboxItem::Batch { timeline, rows, run, number });
                    return delivered;
                }
                if let Some(last) = rows.last() {
                    self.delivered = self.delivered.max(last.position);
                }
                self.context.bus.tell(|| Exchange::acknowledgement(run, number));
            }
        }
        Ok(ControlFlow::Continue(()))
    }
}

//! Joins whose reply is sent when the subscription is certain (`postgres_changes_options.wait`).

use std::sync::atomic::Ordering;
use std::time::Duration;

use fairness::Network;

use super::binding::Binding;
use super::feed_state::FeedState;
use super::resolve::{Failure, Target};
use super::subscriptions::{Changes, log_refusal};
use crate::refusal::Refusal;
use crate::token::Access;

/// The pause before the bindings are resolved again.
const PAUSE: Duration = Duration::from_millis(500);

/// What a channel will be subscribed to as soon as it has joined.
#[derive(Debug)]
pub(crate) struct Prepared {
    pub(super) targets: Vec<Target>,
    /// How often all subscriptions had been renewed before the targets were found.
    pub(super) renewals: u64,
}

impl Changes {
    /// Returns what the holder of `access` gets of `bindings`, as soon as the feed is live. `network` is the client's.
    ///
    /// Errors: [`Refusal::NoSubscription`], and [`Refusal::SubscriptionTimeout`] after `limit`.
    pub(crate) async fn prepare(
        &self,
        access: &Access,
        bindings: &[Binding],
        network: Option<Network>,
        limit: Duration,
    ) -> Result<Prepared, Refusal> {
        let prepared = tokio::time::timeout(limit, self.try_to_prepare(access, bindings, network)).await;
        prepared.unwrap_or_else(|_| {
            let code = "PostgresChangesSubscribeTimeout";
            tracing::warn!(code, ?limit, "a join has waited too long for its row changes");
            Err(Refusal::SubscriptionTimeout(limit.as_millis()))
        })
    }

    /// Tries until it succeeds or the bindings are refused.
    async fn try_to_prepare(
        &self,
        access: &Access,
        bindings: &[Binding],
        network: Option<Network>,
    ) -> Result<Prepared, Refusal> {
        let mut state = self.state();
        loop {
            if state.wait_for(|state| *state == FeedState::Live).await.is_err() {
                return Err(Refusal::Restarting);
            }
            let renewals = self.renewals.load(Ordering::Acquire);
            match self.resolve(access, bindings, network).await {
                Ok(targets) => return Ok(Prepared { targets, renewals }),
                Err(Failure::Refused(message)) => {
                    log_refusal(&message);
                    return Err(Refusal::NoSubscription(message));
                }
                Err(Failure::Database(error)) => {
                    tracing::warn!(%error, "a subscription to row changes has to wait");
                    tokio::time::sleep(PAUSE).await;
                }
            }
        }
    }
}

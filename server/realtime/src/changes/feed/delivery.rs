//! The delivery of rows to the clients of this node.

use std::ops::ControlFlow;
use std::time::Duration;

use postgres::Error;
use replication::{Relation, Tuple};
use time::OffsetDateTime;
use tokio_util::sync::CancellationToken;

use super::intake::is_messages;
use super::{Feed, FeedError};
use crate::changes::batch::{self, DeliveryPlan};
use crate::changes::slow_filters::SlowBudget;
use crate::ids::TopicName;
use crate::messages::StoredMessage;
use crate::row::RowChange;

/// How often a batch is evaluated before it is given up, and the pause between.
const ATTEMPTS: u32 = 3;
const RETRY_PAUSE: Duration = Duration::from_millis(200);

impl Feed {
    /// Delivers rows: row changes to the clients that may see them, then messages to their topics. Stops before
    /// anything is delivered if `stop` is cancelled, or if `failure` completes.
    ///
    /// Errors: the failure; those of the database.
    pub(super) async fn deliver(
        &self,
        rows: &[RowChange],
        failure: impl Future<Output = FeedError>,
        stop: &CancellationToken,
    ) -> Result<ControlFlow<()>, FeedError> {
        let Some(last) = rows.last() else { return Ok(ControlFlow::Continue(())) };
        let metrics = &self.context.metrics;
        if rows.iter().any(|row| !is_messages(&row.relation)) {
            let plan = tokio::select! {
                plan = self.plan(rows) => plan?,
                error = failure => return Err(error),
                () = stop.cancelled() => return Ok(ControlFlow::Break(())),
            };
            metrics.deliveries.inc_by(plan.deliver().await);
            let lag = OffsetDateTime::now_utc() - last.committed_at;
            metrics.lag_seconds.set(lag.as_seconds_f64());
        }
        for row in rows.iter().filter(|row| is_messages(&row.relation)) {
            if let Some((topic, message)) = row.new.as_ref().and_then(|new| message(&row.relation, new)) {
                self.publish_stored(&topic, &message);
            }
        }
        Ok(ControlFlow::Continue(()))
    }

    /// Delivers a message of the database to the channels of its topic on this node.
    fn publish_stored(&self, name: &TopicName, message: &StoredMessage) {
        let (events, settings) = (&self.context.rates.events, self.context.settings.get());
        events.add(1);
        let is_too_large = message.payload.len() > settings.max_payload_size();
        if is_too_large || events.is_exceeded(settings.max_events_per_second) {
            tracing::warn!(
                code = "UnableToBroadcastChanges",
                id = &*message.id,
                "a message of the database was dropped"
            );
        } else {
            self.context.publisher.publish_here(name, &message.as_broadcast());
        }
    }

    /// Decides who gets `rows`.
    ///
    /// Errors: those of the database, after several attempts.
    async fn plan<'a>(&self, rows: &'a [RowChange]) -> Result<DeliveryPlan<'a>, Error> {
        let changes = &self.context.changes;
        let budget = SlowBudget::default();
        let mut attempt = 1;
        loop {
            match batch::plan(changes, rows, attempt == ATTEMPTS, &budget).await {
                Err(error) if attempt < ATTEMPTS => {
                    tracing::warn!(%error, attempt, "row changes could not be judged; they will be again");
                    attempt += 1;
                    tokio::time::sleep(RETRY_PAUSE).await;
                }
                outcome => return outcome,
            }
        }
    }
}

/// Returns the topic and the message of a row of `realtime.messages`; `None` if the row is not a broadcast, or one that
/// was stored after the topic's channels had got it.
fn message(relation: &Relation, row: &Tuple) -> Option<(TopicName, StoredMessage)> {
    let value = |name: &str| {
        let index = relation.columns.iter().position(|column| column.name == name)?;
        row.get(index)?.text()
    };
    if value("skip_broadcast") == Some("t") {
        return None;
    }
    let topic = TopicName { name: value("topic")?.into(), is_private: value("private")? == "t" };
    let message =
        StoredMessage::new(value("id")?, value("event")?, value("payload"), value("binary_payload"))?;
    Some((topic, message))
}

//! The delivery of rows to the clients of this node.

use std::ops::ControlFlow;
use std::time::Duration;

use database::Error;
use database::replication::{Relation, Tuple};
use time::OffsetDateTime;
use tokio_util::sync::CancellationToken;

use super::intake::is_messages;
use super::{Feed, FeedError};
use crate::changes::batch::{self, RowChange, Verdicts};
use crate::hub::TopicName;
use crate::messages::StoredMessage;

/// How often a batch is judged before it is given up, and the pause between.
const ATTEMPTS: u32 = 3;
const RETRY_PAUSE: Duration = Duration::from_millis(200);

impl Feed {
    /// Delivers rows: row changes to those who may have them, then messages to their topics. Breaks off before anything is
    /// delivered if `stop` is cancelled, or if `failure` comes to an end.
    ///
    /// Errors: the failure; the database cannot be asked.
    pub(super) async fn deliver(
        &self,
        rows: &[RowChange],
        failure: impl Future<Output = FeedError>,
        stop: &CancellationToken,
    ) -> Result<ControlFlow<()>, FeedError> {
        let Some(last) = rows.last() else { return Ok(ControlFlow::Continue(())) };
        let metrics = self.realtime.metrics();
        if rows.iter().any(|row| !is_messages(&row.relation)) {
            let verdicts = tokio::select! {
                verdicts = self.judge(rows) => verdicts?,
                error = failure => return Err(error),
                () = stop.cancelled() => return Ok(ControlFlow::Break(())),
            };
            metrics.deliveries.inc_by(verdicts.deliver(rows).await);
            let lag = OffsetDateTime::now_utc() - last.committed_at;
            metrics.lag_seconds.set(lag.as_seconds_f64());
        }
        for row in rows.iter().filter(|row| is_messages(&row.relation)) {
            if let Some((topic, message)) = row.new.as_ref().and_then(|new| message(&row.relation, new)) {
                self.realtime.publish_stored(&topic, &message);
            }
        }
        Ok(ControlFlow::Continue(()))
    }

    /// Decides who gets `rows`.
    ///
    /// Errors: the database cannot be asked, although that was tried several times.
    async fn judge(&self, rows: &[RowChange]) -> Result<Verdicts, Error> {
        let changes = self.realtime.changes();
        let mut attempt = 1;
        loop {
            match batch::judge(changes, rows, attempt == ATTEMPTS).await {
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

/// Returns the message that a row of `realtime.messages` is, and its topic; `None` if it is to reach nobody.
fn message(relation: &Relation, row: &Tuple) -> Option<(TopicName, StoredMessage)> {
    let value = |name: &str| {
        let index = relation.columns.iter().position(|column| column.name == name)?;
        row.get(index)?.text()
    };
    let topic = TopicName { name: value("topic")?.into(), is_private: value("private")? == "t" };
    let message =
        StoredMessage::new(value("id")?, value("event")?, value("payload"), value("binary_payload"))?;
    Some((topic, message))
}

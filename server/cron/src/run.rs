//! One run of a job.

use std::fmt::Write as _;

use database::{Database, DetachedClient, Error, Outcome};
use tokio::sync::oneshot;

use crate::jobs::{self, Job};
use crate::logins::Logins;

/// What all runs need.
pub(crate) struct Shared {
    pub(crate) database: Database,
    /// The connection that has the lock, over which everything is written down.
    pub(crate) client: DetachedClient,
    pub(crate) logins: Logins,
}

impl Shared {
    /// Runs `job` and writes down what came of it. `end` ends it early, for the reason that it says.
    pub(crate) async fn run(&self, job: &Job, end: oneshot::Receiver<&'static str>) {
        if let Err(error) = self.run_recorded(job, end).await {
            tracing::warn!(%error, job = job.id, "a run of pg_cron was not written down");
        }
    }

    async fn run_recorded(&self, job: &Job, end: oneshot::Receiver<&'static str>) -> Result<(), Error> {
        let run = jobs::begin(&self.client, job).await?;
        let mut process_id = None;
        let result = tokio::select! {
            result = self.execute(job, run, &mut process_id) => result,
            Ok(reason) = end => Err(reason.to_owned()),
        };
        if let (Err(_), Some(process_id)) = (&result, process_id) {
            jobs::terminate(&self.client, process_id).await?;
        }
        jobs::end(&self.client, run, &result).await
    }

    async fn execute(&self, job: &Job, run: i64, process_id: &mut Option<i32>) -> Result<Outcome, String> {
        let mut connection = self.logins.open(&self.client, &self.database, job).await?;
        *process_id = Some(connection.process_id());
        jobs::send(&self.client, run, connection.process_id()).await.map_err(described)?;
        connection.run(&job.command).await.map_err(described)
    }
}

/// Returns the error as libpq words it, which is what upstream writes down.
pub(crate) fn described(error: Error) -> String {
    let Error::Postgres(error) = error else { return error.to_string() };
    let mut text = format!("{}:  {}", error.severity, error.message);
    for (title, part) in [("DETAIL", &error.detail), ("HINT", &error.hint), ("CONTEXT", &error.context)] {
        if let Some(part) = part {
            // Writing to a `String` cannot fail.
            let _ = write!(text, "\n{title}:  {part}");
        }
    }
    text
}

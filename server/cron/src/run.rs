//! One run of a job.

use postgres::{Database, DetachedClient, Error, Outcome};
use tokio::sync::oneshot;

use crate::jobs::{self, Job};
use crate::logins::Logins;

/// The context of all runs.
pub(crate) struct RunContext {
    pub(crate) database: Database,
    /// The connection that holds the lock. It records the runs.
    pub(crate) client: DetachedClient,
    pub(crate) logins: Logins,
}

impl RunContext {
    /// Runs `job` and records the run. A message from `end` ends the run early, with that reason.
    pub(crate) async fn run(&self, job: &Job, end: oneshot::Receiver<&'static str>) {
        if let Err(error) = self.run_recorded(job, end).await {
            tracing::warn!(%error, job = job.id, "a run of pg_cron was not written down");
        }
    }

    /// Runs `job` and records the run.
    ///
    /// Errors: the run could not be recorded.
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

    /// Runs the command of `job` in a session of its user, and sets `process_id` to the session's process.
    ///
    /// Errors: a text for the table of runs.
    async fn execute(&self, job: &Job, run: i64, process_id: &mut Option<i32>) -> Result<Outcome, String> {
        let mut connection = self.logins.open(&self.client, &self.database, job).await?;
        *process_id = Some(connection.process_id());
        jobs::send(&self.client, run, connection.process_id()).await.map_err(jobs::error_text)?;
        connection.run(&job.command).await.map_err(jobs::error_text)
    }
}

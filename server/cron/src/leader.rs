//! The leader: the one node that runs the jobs of a database, as long as its connection holds the lock.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use postgres::{Database, DetachedClient, Error};
use tokio::sync::oneshot;
use tokio::task::JoinSet;
use tokio::time::{Instant, MissedTickBehavior, interval, timeout};
use tokio_util::sync::CancellationToken;

use crate::jobs::{self, Job, Minutes};
use crate::logins::Logins;
use crate::run::RunContext;

/// How many runs there may be at the same time, each with a connection of its own.
const MAX_RUNS: usize = 16;

/// How often the leader checks what is due.
const TICK: Duration = Duration::from_secs(1);

/// How early a job may begin, so that a slightly early tick need not leave it to the next one.
const SLACK: Duration = Duration::from_millis(100);

/// How long runs may take to end when the server shuts down.
const END_LIMIT: Duration = Duration::from_secs(3);

/// If the clock moves forward by more than this many minutes at once, it was set, or the machine was suspended: missed
/// runs of frequent jobs are not made up for, as with cron.
const JUMP: i64 = 5;

/// If the clock changes by more than this many minutes, forward or back, no missed run is made up for.
const CHANGE: i64 = 180;

/// The jobs and their runs.
pub(crate) struct Leader {
    context: Arc<RunContext>,
    tasks: HashMap<i64, Task>,
    runs: JoinSet<i64>,
    /// The minute up to which jobs have been checked.
    minute: i64,
    /// Whether the jobs for Postgres' start have not run yet.
    is_start: bool,
}

/// A job and the state of its runs.
struct Task {
    job: Job,
    /// Runs that are due and have not begun: a job's runs do not overlap.
    pending: i64,
    /// When it was due last, if it has an interval in seconds.
    due: Option<Instant>,
    is_running: bool,
    /// Ends the current run; `None` after it was used.
    end: Option<oneshot::Sender<&'static str>>,
}

impl Leader {
    /// Returns a leader with `client`, which holds the lock.
    pub(crate) async fn new(
        database: Database,
        client: DetachedClient,
        is_start: bool,
    ) -> Result<Self, Error> {
        jobs::bound(&client).await?;
        jobs::clear(&client).await?;
        let logins = Logins::new(&client).await?;
        let minute = jobs::minute(&client).await?;
        let context = Arc::new(RunContext { database, client, logins });
        Ok(Self { context, tasks: HashMap::new(), runs: JoinSet::new(), minute, is_start })
    }

    /// Runs the jobs that are due until `stop`.
    ///
    /// Errors: those of the database. All runs have ended then, and another node may lead.
    pub(crate) async fn lead(mut self, stop: &CancellationToken) -> Result<(), Error> {
        let mut ticks = interval(TICK);
        ticks.set_missed_tick_behavior(MissedTickBehavior::Skip);
        loop {
            tokio::select! {
                () = stop.cancelled() => break,
                Some(ended) = self.runs.join_next() => {
                    let id = ended.map_err(|error| Error::Protocol(format!("a run broke off: {error}")))?;
                    if let Some(task) = self.tasks.get_mut(&id) {
                        task.is_running = false;
                    }
                    self.begin_pending();
                }
                tick = ticks.tick() => {
                    // Waiting for a lock on the jobs must not delay the shutdown.
                    match stop.run_until_cancelled(self.check(tick)).await {
                        Some(checked) => checked?,
                        None => break,
                    }
                }
            }
        }
        self.end().await;
        Ok(())
    }

    /// Finds the jobs that are due, and begins as many runs as the limit allows.
    async fn check(&mut self, tick: Instant) -> Result<(), Error> {
        let client = &self.context.client;
        let (jobs, minute) = tokio::try_join!(jobs::list(client), jobs::minute(client))?;
        self.renew(jobs);
        for task in self.tasks.values_mut() {
            if task.is_due(tick) && task.pending == 0 {
                task.pending = 1;
            }
            if self.is_start && task.job.is_at_start {
                task.pending += 1;
            }
        }
        self.is_start = false;
        if let Some(minutes) = minutes(self.minute, minute) {
            for (id, count) in jobs::due(&self.context.client, minutes).await? {
                if let Some(task) = self.tasks.get_mut(&id) {
                    task.pending += count;
                }
            }
            self.minute = minute;
        }
        self.begin_pending();
        Ok(())
    }

    /// Replaces the jobs by the current ones. Ends the runs of jobs that no longer exist.
    fn renew(&mut self, jobs: Vec<Job>) {
        let mut known = std::mem::take(&mut self.tasks);
        for job in jobs {
            let task = match known.remove(&job.id) {
                Some(task) => Task { job, ..task },
                None => Task { job, pending: 0, due: None, is_running: false, end: None },
            };
            self.tasks.insert(task.job.id, task);
        }
        for (id, mut task) in known.into_iter().filter(|(_, task)| task.is_running) {
            if let Some(end) = task.end.take() {
                // A run that has just ended has dropped its receiver.
                let _ = end.send("job canceled");
            }
            // It stays until its run has ended, so that runs do not overlap if the job is activated again.
            self.tasks.insert(id, Task { pending: 0, due: None, ..task });
        }
    }

    /// Begins the pending runs, as many as the limit allows.
    fn begin_pending(&mut self) {
        for task in self.tasks.values_mut().filter(|task| task.pending > 0 && !task.is_running) {
            if self.runs.len() >= MAX_RUNS {
                return;
            }
            let (end, ended) = oneshot::channel();
            task.pending -= 1;
            task.is_running = true;
            task.end = Some(end);
            let (context, job) = (Arc::clone(&self.context), task.job.clone());
            self.runs.spawn(async move {
                context.run(&job, ended).await;
                job.id
            });
        }
    }

    /// Ends all runs.
    async fn end(&mut self) {
        for end in self.tasks.values_mut().filter_map(|task| task.end.take()) {
            // A run that has just ended has dropped its receiver.
            let _ = end.send("server stopped");
        }
        let ended = async { while self.runs.join_next().await.is_some() {} };
        if timeout(END_LIMIT, ended).await.is_err() {
            tracing::warn!("runs of pg_cron did not end in time");
        }
    }
}

impl Task {
    /// Reports whether the job's interval has passed. The first run begins at once, as upstream's does.
    fn is_due(&mut self, tick: Instant) -> bool {
        let Some(seconds) = self.job.seconds.and_then(|seconds| u64::try_from(seconds).ok()) else {
            return false;
        };
        let next = self.due.map(|due| due + Duration::from_secs(seconds));
        match next {
            Some(next) if next > tick + SLACK => false,
            // A run that was missed is not made up for.
            _ => {
                self.due = next.filter(|next| *next + TICK > tick).or(Some(tick));
                true
            }
        }
    }
}

/// Returns the minutes whose jobs are due after the clock has gone from minute `previous` to `now`; `None` if there are
/// none.
fn minutes(previous: i64, now: i64) -> Option<Minutes> {
    let (first, first_frequent) = match now - previous {
        passed if !(-CHANGE..=CHANGE).contains(&passed) => (now, now),
        // The clock was set back: until it has caught up, its times are repeated.
        passed if passed <= 0 => return None,
        passed if passed > JUMP => (previous + 1, now),
        _ => (previous + 1, previous + 1),
    };
    Some(Minutes { first, first_frequent, last: now })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn missed_runs_are_made_up_for_within_limits() {
        let due = |previous, now| minutes(previous, now).map(|m| (m.first, m.first_frequent, m.last));
        for (passed, expected) in [
            (0, None),
            (1, Some((1001, 1001, 1001))),
            (5, Some((1001, 1001, 1005))),
            (6, Some((1001, 1006, 1006))),
            (180, Some((1001, 1180, 1180))),
            (181, Some((1181, 1181, 1181))),
            (-1, None),
            (-180, None),
            (-181, Some((819, 819, 819))),
        ] {
            assert_eq!(due(1000, 1000 + passed), expected, "{passed}");
        }
    }

    #[test]
    fn a_job_keeps_its_rhythm() {
        let job = Job {
            id: 1,
            command: String::new(),
            database: String::new(),
            username: String::new(),
            seconds: Some(2),
            is_at_start: false,
        };
        let mut task = Task { job, pending: 0, due: None, is_running: false, end: None };
        let start = Instant::now();
        let mut due = |milliseconds| task.is_due(start + Duration::from_millis(milliseconds));
        assert!(due(0), "at once");
        assert!(!due(1000));
        assert!(due(1950), "a tick that is a little early");
        assert!(!due(3000), "from when it should have come");
        assert!(due(4000));
        assert!(due(9500), "late");
        assert!(!due(10_500));
        assert!(due(11_500), "from when it came");
    }
}

//! The tables and functions of schema `cron`.

use std::fmt::Write as _;

use postgres::{Error, Outcome};
use tokio_postgres::Client;
use tokio_postgres::types::{ToSql, Type};

/// The advisory lock of the node that runs the database's jobs. It is released when the connection closes.
const LOCK: i64 = 0x0062_6173_6372_6f6e;

/// The state of the database.
pub(crate) struct State {
    /// Whether the extension exists and is Basalt's own, by its comment.
    pub(crate) is_ours: bool,
    /// When Postgres started.
    pub(crate) started: String,
}

/// A job.
#[derive(Debug, Clone)]
pub(crate) struct Job {
    pub(crate) id: i64,
    pub(crate) command: String,
    pub(crate) database: String,
    pub(crate) username: String,
    /// The interval in seconds; `None` for a job at times of the clock.
    pub(crate) seconds: Option<i32>,
    /// Whether it runs when Postgres starts.
    pub(crate) is_at_start: bool,
}

/// Minutes since 1970 whose jobs are due.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Minutes {
    /// The first minute for jobs at times of the day; may be after `last`.
    pub(crate) first: i64,
    /// The first minute for frequent jobs: those whose minute or hour begins with a star.
    pub(crate) first_frequent: i64,
    pub(crate) last: i64,
}

type Parameter<'a> = (&'a (dyn ToSql + Sync), Type);

/// Returns the state of the database.
pub(crate) async fn state(client: &Client) -> Result<State, Error> {
    let sql = "select exists (
          select from pg_catalog.pg_extension
          where extname = 'pg_cron' and pg_catalog.obj_description(oid, 'pg_extension') like '%(by Basalt)'),
        pg_catalog.pg_postmaster_start_time()::text";
    let row = client.query_typed_one(sql, &[]).await?;
    Ok(State { is_ours: row.try_get(0)?, started: row.try_get(1)? })
}

/// Tries to take the lock; reports whether this node holds it now.
pub(crate) async fn lead(client: &Client) -> Result<bool, Error> {
    let sql = "select pg_catalog.pg_try_advisory_lock($1)";
    Ok(client.query_typed_one(sql, &[(&LOCK, Type::INT8)]).await?.try_get(0)?)
}

/// Sets a time limit for the statements of this connection, which may wait for locks on the tables.
pub(crate) async fn bound(client: &Client) -> Result<(), Error> {
    Ok(client.batch_execute("set statement_timeout = '60s'").await?)
}

/// Ends the runs of an earlier leader, and marks them as failed.
pub(crate) async fn clear(client: &Client) -> Result<(), Error> {
    // A process that began after the run is another one with the same process ID.
    let sql = "select pg_catalog.pg_terminate_backend(a.pid)
        from cron.job_run_details d join pg_catalog.pg_stat_activity a
          on a.pid = d.job_pid and a.backend_start <= d.start_time and a.datname = current_database()
        where d.status = 'running'";
    client.query_typed(sql, &[]).await?;
    let sql = "update cron.job_run_details set status = 'failed', return_message = 'server restarted'
        where status in ('starting', 'running')";
    client.query_typed(sql, &[]).await?;
    Ok(())
}

/// Returns the active jobs.
pub(crate) async fn list(client: &Client) -> Result<Vec<Job>, Error> {
    // This runs every second, so the parser gets only those schedules that cannot be times of the clock.
    let sql = "select jobid, command, database, username, t.seconds, coalesce(t.at_start, false)
        from cron.job left join lateral cron._times(schedule) as t on schedule ~* '^\\s*(\\d+\\s*second|@re)'
        where active";
    let rows = client.query_typed(sql, &[]).await?;
    let mut jobs = Vec::with_capacity(rows.len());
    for row in rows {
        jobs.push(Job {
            id: row.try_get(0)?,
            command: row.try_get(1)?,
            database: row.try_get(2)?,
            username: row.try_get(3)?,
            seconds: row.try_get(4)?,
            is_at_start: row.try_get(5)?,
        });
    }
    Ok(jobs)
}

/// Returns the current minute of Postgres' clock, since 1970.
pub(crate) async fn minute(client: &Client) -> Result<i64, Error> {
    let sql = "select pg_catalog.floor(extract(epoch from pg_catalog.clock_timestamp()) / 60)::bigint";
    Ok(client.query_typed_one(sql, &[]).await?.try_get(0)?)
}

/// Returns the jobs that are due in `minutes`, and how many times each is due.
pub(crate) async fn due(client: &Client, minutes: Minutes) -> Result<Vec<(i64, i64)>, Error> {
    let sql = "select jobid, count(*)
        from (select cron._timezone() as zone offset 0) as clock, cron.job, cron._times(schedule) as t,
          pg_catalog.generate_series(least($1, $2), $3) as minute
        where active and t.minutes is not null
          and minute >= case when t.is_frequent then $2 else $1 end
          and cron._matches(t, pg_catalog.to_timestamp(minute * 60.0) at time zone zone)
        group by jobid";
    let Minutes { first, first_frequent, last } = minutes;
    let parameters =
        [(&first as _, Type::INT8), (&first_frequent as _, Type::INT8), (&last as _, Type::INT8)];
    let rows = client.query_typed(sql, &parameters).await?;
    rows.iter().map(|row| Ok((row.try_get(0)?, row.try_get(1)?))).collect()
}

/// Records that a run of `job` begins; returns the run's number.
pub(crate) async fn begin(client: &Client, job: &Job) -> Result<i64, Error> {
    let sql = "insert into cron.job_run_details (jobid, database, username, command, status)
        values ($1, $2, $3, $4, 'starting') returning runid";
    let parameters: [Parameter<'_>; 4] = [
        (&job.id, Type::INT8),
        (&job.database, Type::TEXT),
        (&job.username, Type::TEXT),
        (&job.command, Type::TEXT),
    ];
    Ok(client.query_typed_one(sql, &parameters).await?.try_get(0)?)
}

/// Records that the command of `run` is sent to the server's process `process_id`.
pub(crate) async fn send(client: &Client, run: i64, process_id: i32) -> Result<(), Error> {
    let sql = "update cron.job_run_details
        set status = 'running', job_pid = $2, start_time = pg_catalog.clock_timestamp() where runid = $1";
    client.query_typed(sql, &[(&run, Type::INT8), (&process_id, Type::INT4)]).await?;
    Ok(())
}

/// Records the end of `run`.
pub(crate) async fn end(client: &Client, run: i64, result: &Result<Outcome, String>) -> Result<(), Error> {
    let (status, message) = match result {
        Ok(Outcome::Rows(1)) => ("succeeded", "1 row".to_owned()),
        Ok(Outcome::Rows(count)) => ("succeeded", format!("{count} rows")),
        Ok(Outcome::Command(tag)) => ("succeeded", tag.clone()),
        Err(message) => ("failed", message.clone()),
    };
    let sql = "update cron.job_run_details
        set status = $2, return_message = $3, end_time = pg_catalog.clock_timestamp(),
          start_time = coalesce(start_time, pg_catalog.clock_timestamp())
        where runid = $1";
    let parameters: [Parameter<'_>; 3] = [(&run, Type::INT8), (&status, Type::TEXT), (&message, Type::TEXT)];
    client.query_typed(sql, &parameters).await?;
    Ok(())
}

/// Ends a server's process.
pub(crate) async fn terminate(client: &Client, process_id: i32) -> Result<(), Error> {
    let sql = "select pg_catalog.pg_terminate_backend($1)";
    client.query_typed(sql, &[(&process_id, Type::INT4)]).await?;
    Ok(())
}

/// Returns the text of an error for the table of runs, in the form of libpq, as upstream records it.
pub(crate) fn error_text(error: Error) -> String {
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

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn minutes_are_those_of_the_time_zone() {
        if !testkit::has_extension("pg_cron").await {
            return;
        }
        let database = testkit::Database::create().await;
        let client = database.client().await;
        client.batch_execute("create extension pg_cron").await.unwrap();
        let setup = "insert into cron.job (jobid, schedule, command) values
            (1, '30 9 * * *', ''), (2, '* 9 * * *', ''), (3, '30 10 * * *', ''), (4, '10 seconds', ''),
            (5, 'no schedule', ''), (6, '@reboot', ''), (7, '31 9 1 7 thu', '')";
        client.batch_execute(setup).await.unwrap();
        // 2024-07-04, a Thursday, 09:28 to 09:32 in UTC.
        let first: i64 = 1_720_085_280 / 60;
        let minutes = Minutes { first, first_frequent: first + 4, last: first + 4 };
        for (zone, expected) in [
            ("''", vec![(1, 1), (2, 1), (7, 1)]),
            ("'Nowhere/Nothing'", vec![(1, 1), (2, 1), (7, 1)]),
            ("'Europe/London'", vec![(3, 1)]),
        ] {
            client.batch_execute(&format!("set cron.timezone = {zone}")).await.unwrap();
            let mut found = due(&client, minutes).await.unwrap();
            found.sort_unstable();
            assert_eq!(found, expected, "{zone}");
        }
        let every = due(&client, Minutes { first_frequent: first, ..minutes }).await.unwrap();
        assert!(every.contains(&(3, 1)) && !every.contains(&(2, 1)), "{every:?}");
    }
}

//! Jobs are run when they are due, with the rights of their users, by one node, and their results are recorded.

use std::time::Duration;

use postgres::{Database, Settings};
use tokio::task::JoinHandle;
use tokio_postgres::Client;
use tokio_util::sync::CancellationToken;

use crate::support::{self, number, text};

/// The maximum time that any step may take on a busy machine.
const PATIENCE: Duration = Duration::from_secs(60);

/// A node, which stops when this is dropped.
struct Node {
    stop: CancellationToken,
    task: JoinHandle<()>,
}

impl Node {
    async fn start(database: &testkit::Database) -> Self {
        let settings =
            Settings { client_pool_size: 1, pool_size: 1, ..Settings::new(database.uri().parse().unwrap()) };
        let database = Database::connect(settings).await.unwrap();
        let stop = CancellationToken::new();
        let task = tokio::spawn(cron::work(database, stop.clone()));
        Self { stop, task }
    }

    async fn stop(self) {
        self.stop.cancel();
        tokio::time::timeout(PATIENCE, self.task).await.unwrap().unwrap();
    }
}

/// Waits until the statement returns true.
async fn until(client: &Client, sql: &str) {
    let wait = async {
        while !client.query_one(sql, &[]).await.unwrap().get::<_, bool>(0) {
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    };
    assert!(tokio::time::timeout(PATIENCE, wait).await.is_ok(), "in vain: {sql}");
}

/// Waits until the job of that name has ended a run, and returns its status and message.
async fn outcome(client: &Client, job: &str) -> String {
    let ended = format!(
        "from cron.job_run_details d join cron.job j using (jobid) where jobname = '{job}' and end_time is not null"
    );
    until(client, &format!("select exists (select {ended})")).await;
    text(client, &format!("select concat_ws('|', d.status, d.return_message) {ended} order by runid limit 1"))
        .await
}

#[tokio::test]
async fn runs_are_recorded() {
    let Some((database, client)) = support::extended("").await else { return };
    let setup = "create table done (job text, by text default session_user, at timestamptz default now());
        select cron.schedule('insert', '1 second', $$insert into done values ('insert')$$);
        select cron.schedule('rows', '59 seconds', $$select 1; select generate_series(1, 3)$$);
        select cron.schedule('row', '@reboot', $$insert into done values ('row') returning 1$$);
        select cron.schedule('undone', '59 seconds', $$insert into done values ('undone'); select 1 / 0$$);
        select cron.schedule('hint', '59 seconds', $$select nothing()$$);
        select cron.schedule('vacuum', '59 seconds', 'vacuum done');
        select cron.schedule('in', '59 seconds', 'copy done from stdin');
        select cron.schedule('out', '59 seconds', 'copy (select generate_series(1, 9)) to stdout');
        select cron.schedule('large', '59 seconds', $$select repeat('x', 1000000) from generate_series(1, 9)$$);
        select cron.schedule('inactive', '1 second', $$insert into done values ('inactive')$$);
        select cron.alter_job(jobid, active := false) from cron.job where jobname = 'inactive';
        insert into cron.job (schedule, command, database, jobname) values ('59 seconds', 'x', 'template1', 'elsewhere');
        insert into cron.job (schedule, command, username, jobname)
          values ('59 seconds', 'x', 'nobody_here', 'of nobody'), ('59 seconds', 'x', 'anon', 'of anon'),
            ('no schedule', 'x', 'postgres', 'never')";
    client.batch_execute(setup).await.unwrap();
    let node = Node::start(&database).await;
    let elsewhere = format!("failed|jobs can only be run in the database {}", database.name());
    for (job, expected) in [
        ("insert", "succeeded|INSERT 0 1"),
        ("rows", "succeeded|3 rows"),
        ("row", "succeeded|1 row"),
        ("undone", "failed|ERROR:  division by zero"),
        (
            "hint",
            "failed|ERROR:  function nothing() does not exist\nHINT:  No function matches the given name and argument \
             types. You might need to add explicit type casts.",
        ),
        ("vacuum", "succeeded|VACUUM"),
        ("out", "failed|ERROR:  COPY not supported"),
        ("large", "succeeded|9 rows"),
        ("elsewhere", &elsewhere),
        ("of nobody", "failed|role \"nobody_here\" does not exist"),
        ("of anon", "failed|role \"anon\" is not permitted to log in"),
    ] {
        assert_eq!(outcome(&client, job).await, expected, "{job}");
    }
    assert!(outcome(&client, "in").await.contains("COPY not supported"));
    until(&client, "select count(*) >= 3 from done where job = 'insert'").await;
    assert_eq!(number(&client, "select count(*) from done where job not in ('insert', 'row')").await, 0);
    let user = text(&client, "select current_user::text").await;
    assert_eq!(text(&client, "select distinct by from done").await, user);
    let complete = &format!("select count(*) from cron.job_run_details d join cron.job using (jobid)
        where jobname = 'insert' and d.status = 'succeeded'
          and (job_pid is null or start_time > end_time or d.command <> job.command or d.username <> '{user}')");
    assert_eq!(number(&client, complete).await, 0);
    node.stop().await;
}

#[tokio::test]
async fn no_job_has_more_rights_than_its_user() {
    let Some((database, client)) = support::extended("").await else { return };
    let setup = "grant usage on schema cron to supabase_storage_admin;
        create table public.secret (id int);
        create table public.heard (who text, path text);
        grant insert on public.heard to supabase_storage_admin;";
    client.batch_execute(setup).await.unwrap();
    let user = database.client_as("supabase_storage_admin").await;
    for (name, command) in [
        ("plain", "insert into public.heard select current_user, current_setting('search_path')"),
        ("direct", "insert into public.secret values (1)"),
        ("reset", "reset role; insert into public.secret values (1)"),
        ("none", "set role none; insert into public.secret values (1)"),
        ("session", "reset session authorization; insert into public.secret values (1)"),
        ("default", "set session authorization default; insert into public.secret values (1)"),
        ("discard", "discard all"),
        ("role", "set role postgres"),
        ("authorization", "set session authorization postgres"),
        ("block", "do $$ begin perform set_config('role', 'postgres', false); end $$"),
        ("other", "set role supabase_auth_admin"),
        ("deeper", "reset role; set role postgres"),
        ("grant", "reset role; grant postgres to supabase_storage_admin"),
        ("superuser", "reset role; alter role supabase_storage_admin superuser"),
    ] {
        let schedule = "select cron.schedule($1, '59 seconds', $2)";
        user.query_one(schedule, &[&name, &command]).await.unwrap();
    }
    let node = Node::start(&database).await;
    assert_eq!(outcome(&client, "plain").await, "succeeded|INSERT 0 1");
    let path = "select split_part(setting, '=', 2) from pg_db_role_setting, unnest(setconfig) as setting
        where setrole = 'supabase_storage_admin'::regrole and setting like 'search_path=%'";
    let path = text(&client, path).await;
    assert_eq!(
        text(&client, "select who || '|' || path from public.heard").await,
        format!("supabase_storage_admin|{path}")
    );
    assert_eq!(outcome(&client, "discard").await, "succeeded|DISCARD ALL", "which gives nobody anything");
    for name in ["direct", "reset", "none", "session", "default", "grant", "superuser"] {
        let outcome = outcome(&client, name).await;
        assert!(outcome.starts_with("failed|ERROR:  permission denied"), "{name}: {outcome}");
    }
    for name in ["role", "authorization", "block", "other", "deeper"] {
        let outcome = outcome(&client, name).await;
        assert!(outcome.starts_with("failed|ERROR:  permission denied to set"), "{name}: {outcome}");
    }
    assert_eq!(number(&client, "select count(*) from public.secret").await, 0);
    node.stop().await;

    // The login role is created again even if another role has that name, and the next leader removes it. Other roles
    // stay.
    let login = format!(
        "select concat_ws('_', 'basalt_cron', (select oid from pg_database where datname = '{}'),
           (select oid from pg_roles where rolname = 'supabase_storage_admin'))",
        database.name()
    );
    let login = text(&client, &login).await;
    let count = format!("select count(*) from pg_roles where rolname = '{login}'");
    assert_eq!(number(&client, &count).await, 1);
    let intruder = format!("intruder_{}", database.name());
    let trap = format!(
        "drop role {login};
         create role {intruder} createrole;
         create role {intruder}_friend;
         set role {intruder};
         create role {login};
         reset role;
         delete from cron.job where jobname <> 'plain';
         delete from cron.job_run_details"
    );
    client.batch_execute(&trap).await.unwrap();
    let roles = format!(
        "select string_agg(rolname, ' ' order by rolname) from pg_roles
         where rolname ~ '^(anon|auth|dashboard|pgbouncer|service|supabase|{intruder})'"
    );
    let before = text(&client, &roles).await;
    let node = Node::start(&database).await;
    assert_eq!(outcome(&client, "plain").await, "succeeded|INSERT 0 1");
    let members = format!("select count(*) from pg_auth_members where roleid = '{login}'::regrole");
    assert_eq!(number(&client, &members).await, 0, "nobody else may become the login");
    node.stop().await;
    client.batch_execute("delete from cron.job").await.unwrap();
    let node = Node::start(&database).await;
    until(&client, &format!("select ({count}) = 0")).await;
    assert_eq!(text(&client, &roles).await, before);
    node.stop().await;
    client.batch_execute(&format!("drop role {intruder}; drop role {intruder}_friend")).await.unwrap();
}

#[tokio::test]
async fn one_node_runs_the_jobs_and_another_replaces_it() {
    let Some((database, client)) = support::extended("").await else { return };
    let setup = "insert into cron.job_run_details (jobid, command, status)
          values (0, 'a', 'running'), (0, 'b', 'starting'), (0, 'c', 'succeeded');
        create table beat (at timestamptz);
        create table boot (at timestamptz);
        select cron.schedule('beat', '1 second', 'insert into beat values (clock_timestamp())');
        select cron.schedule('boot', '@reboot', 'insert into boot values (clock_timestamp())')";
    client.batch_execute(setup).await.unwrap();
    let first = Node::start(&database).await;
    until(&client, "select count(*) >= 1 from beat").await;
    let second = Node::start(&database).await;
    let marked = "select string_agg(concat_ws('|', status, return_message), ' ' order by command)
        from cron.job_run_details where jobid = 0";
    assert_eq!(text(&client, marked).await, "failed|server restarted failed|server restarted succeeded");
    until(&client, "select count(*) >= 6 from beat").await;
    let more = "select count(*) - 2 > extract(epoch from max(at) - min(at)) from beat";
    assert!(!client.query_one(more, &[]).await.unwrap().get::<_, bool>(0), "each second once");

    first.stop().await;
    let beats = number(&client, "select count(*) from beat").await;
    until(&client, &format!("select count(*) > {beats} from beat")).await;
    assert_eq!(number(&client, "select count(*) from boot").await, 1, "a change of the leader is no start");
    second.stop().await;
}

#[tokio::test]
async fn runs_end_with_their_job_and_with_the_server() {
    let Some((database, client)) = support::extended("").await else { return };
    let setup = "select cron.schedule('gone', '1 second', 'select pg_sleep(600)');
        select cron.schedule('long', '1 second', 'select pg_sleep(601)')";
    client.batch_execute(setup).await.unwrap();
    let node = Node::start(&database).await;
    let running = "select count(*) from pg_stat_activity
        where application_name = 'pg_cron' and datname = current_database() and state = 'active'";
    until(&client, &format!("select ({running}) = 2")).await;
    client.batch_execute("select cron.unschedule('gone')").await.unwrap();
    let canceled = "select exists (select from cron.job_run_details
        where status = 'failed' and return_message = 'job canceled' and command like '%600%')";
    until(&client, canceled).await;
    // It was due several times since then, but its runs do not overlap.
    assert_eq!(
        number(&client, "select count(*) from cron.job_run_details where command like '%601%'").await,
        1
    );

    // The run of a killed node is ended by the next node.
    node.task.abort();
    let node = Node::start(&database).await;
    until(
        &client,
        &format!(
            "select ({running}) = 1 and count(*) = 2 from cron.job_run_details where command like '%601%'"
        ),
    )
    .await;
    assert_eq!(outcome_of(&client, 1).await, "failed|server restarted");
    until(&client, &format!("select ({running}) = 1")).await;
    node.stop().await;
    assert_eq!(outcome_of(&client, 2).await, "failed|server stopped");
    until(&client, &format!("select ({running}) = 0")).await;
}

/// Returns status and message of the run at this position among those of the long job.
async fn outcome_of(client: &Client, place: i64) -> String {
    let sql = format!(
        "select concat_ws('|', status, return_message) from cron.job_run_details where command like '%601%'
         order by runid offset {place} - 1 limit 1"
    );
    text(client, &sql).await
}

//! The extension's SQL without a worker: schedules and their meaning, and permissions.

use tokio_postgres::Client;
use tokio_postgres::error::DbError;

use crate::support::{self, number, text};

async fn error(client: &Client, sql: &str) -> DbError {
    client.batch_execute(sql).await.unwrap_err().as_db_error().unwrap().clone()
}

/// Reports whether the schedule is due in the minute; `None` if the schedule is invalid.
async fn is_due(client: &Client, schedule: &str, minute: &str) -> Option<bool> {
    let sql =
        "select case when t is null then null else coalesce(cron._matches(t, $2::text::timestamp), false) end
        from cron._times($1) as t";
    client.query_one(sql, &[&schedule, &minute]).await.unwrap().get(0)
}

#[tokio::test]
async fn schedules_have_the_meaning_of_cron() {
    let Some((_database, client)) = support::extended("").await else { return };
    // 2024-02-29 was a Thursday, the last day of its month; 2024-03-03 a Sunday.
    for (schedule, minute, expected) in [
        ("* * * * *", "2024-02-29 12:34", true),
        ("34 12 * * *", "2024-02-29 12:34", true),
        ("34 12 * * *", "2024-02-29 12:35", false),
        ("*/5 * * * *", "2024-02-29 12:35", true),
        ("*/5 * * * *", "2024-02-29 12:36", false),
        ("1-10/4 * * * *", "2024-02-29 12:09", true),
        ("1-10/4 * * * *", "2024-02-29 12:10", false),
        ("0,15,30-31 8-10 * * *", "2024-02-29 09:31", true),
        ("0,15,30-31 8-10 * * *", "2024-02-29 11:31", false),
        ("0 0 29 2 *", "2024-02-29 00:00", true),
        ("0 0 29 feb *", "2024-02-29 00:00", true),
        ("0 0 * JAN-Mar thu", "2024-02-29 00:00", true),
        ("0 0 * * mon-wed", "2024-02-29 00:00", false),
        ("0 0 * * 0", "2024-03-03 00:00", true),
        ("0 0 * * 7", "2024-03-03 00:00", true),
        ("0 0 * * 5-7", "2024-03-03 00:00", true),
        ("0 0 * * 1-6", "2024-03-03 00:00", false),
        // If both days are given, one of them has to match; if one of them begins with a star, both have to.
        ("0 0 1 * thu", "2024-02-29 00:00", true),
        ("0 0 29 * mon", "2024-02-29 00:00", true),
        ("0 0 1 * mon", "2024-02-29 00:00", false),
        ("0 0 */2 * thu", "2024-02-29 00:00", true),
        ("0 0 */2 * mon", "2024-02-29 00:00", false),
        ("0 0 $ * *", "2024-02-29 00:00", true),
        ("0 0 $ * *", "2024-02-28 00:00", false),
        ("0 0 $ * mon", "2024-02-29 00:00", true),
        ("0 0 $ 1-12 *", "2023-02-28 00:00", true),
        ("@hourly", "2024-02-29 12:00", true),
        ("@daily", "2024-02-29 00:00", true),
        ("@midnight", "2024-02-29 01:00", false),
        ("@weekly", "2024-03-03 00:00", true),
        ("@monthly", "2024-03-01 00:00", true),
        ("@yearly", "2024-01-01 00:00", true),
        ("@annually", "2024-02-01 00:00", false),
        ("@reboot", "2024-02-29 00:00", false),
        ("  0\t0 29 2 * and more", "2024-02-29 00:00", true),
    ] {
        assert_eq!(is_due(&client, schedule, minute).await, Some(expected), "{schedule} at {minute}");
    }
    for wrong in [
        "",
        "* * * *",
        "60 * * * *",
        "* 24 * * *",
        "* * 0 * *",
        "* * 32 * *",
        "* * * 13 * ",
        "* * * * 8",
        "5/10 * * * *",
        "*/0 * * * *",
        "*/60 * * * *",
        "9-5 * * * *",
        "1, * * * *",
        "x * * * *",
        "* * * mon *",
        "* * * * jan",
        "-1 * * * *",
        "1- * * * *",
        "1.5 * * * *",
        "@never",
        "@Daily",
        "0 0 $,1 * *",
        "0 0 1-$ * *",
        "0 seconds",
        "60 seconds",
        "-5 seconds",
        "5 second s",
        "5 minutes",
        "seconds",
        "5 seconds * * * *",
        &"1".repeat(1000),
    ] {
        assert_eq!(is_due(&client, wrong, "2024-02-29 00:00").await, None, "{wrong:?}");
    }
    for (schedule, seconds) in [("1 second", 1), ("59 seconds", 59), (" 30SECONDS ", 30)] {
        let found: Option<i32> =
            client.query_one("select (cron._times($1)).seconds", &[&schedule]).await.unwrap().get(0);
        assert_eq!(found, Some(seconds), "{schedule}");
    }
}

#[tokio::test]
async fn jobs_are_created_changed_and_removed() {
    let Some((_database, client)) = support::extended("with schema extensions").await else { return };
    let place = "select extnamespace::regnamespace::text from pg_extension where extname = 'pg_cron'";
    assert_eq!(text(&client, place).await, "pg_catalog", "as a dump should say");

    let nameless = number(&client, "select cron.schedule('30 3 * * 6', 'vacuum')").await;
    let named = number(&client, "select cron.schedule('nightly', '0 10 * * *', 'select 1')").await;
    assert_ne!(nameless, named);
    let replacement = number(&client, "select cron.schedule('nightly', '10 seconds', 'select 2')").await;
    assert_eq!(replacement, named, "replaced");
    let row = "select concat_ws('|', schedule, command, nodename, username, active, jobname) from cron.job
        where jobname = 'nightly' and database = current_database() and nodeport > 0";
    let user = text(&client, "select current_user::text").await;
    assert_eq!(text(&client, row).await, format!("10 seconds|select 2|localhost|{user}|t|nightly"));

    let alter = format!(
        "select cron.alter_job({named}, schedule := '* * * * *', active := false, username := 'authenticator')"
    );
    client.batch_execute(&alter).await.unwrap();
    let row =
        "select concat_ws('|', schedule, command, username, active) from cron.job where jobname = 'nightly'";
    assert_eq!(text(&client, row).await, "* * * * *|select 2|authenticator|f");

    assert_eq!(text(&client, &format!("select cron.unschedule({nameless})::text")).await, "true");
    client
        .batch_execute("select cron.schedule('mine', '@daily', 'select 1'), cron.unschedule('mine')")
        .await
        .unwrap();

    for (sql, expected) in [
        ("select cron.schedule('* * * *', 'select 1')", "invalid schedule: * * * *"),
        ("select cron.schedule('bad', '61 seconds', 'select 1')", "invalid schedule: 61 seconds"),
        ("select cron.alter_job(1, '* *')", "invalid schedule: * *"),
        ("select cron.schedule(null, '* * * * *', 'select 1')", "job_name can not be NULL"),
        ("select cron.schedule('a', null, 'select 1')", "schedule can not be NULL"),
        ("select cron.schedule('a', '* * * * *', null)", "command can not be NULL"),
        ("select cron.unschedule(4711)", "could not find valid entry for job 4711"),
        ("select cron.unschedule('nightly')", "could not find valid entry for job 'nightly'"),
        ("select cron.alter_job(null)", "job_id can not be NULL"),
        ("select cron.alter_job(4711)", "no updates specified"),
        ("select cron.alter_job(4711, active := true)", "Job 4711 does not exist or you don't own it"),
        (
            "select cron.schedule_in_database('a', '* * * * *', 'x', current_database(), 'nobody_here')",
            "role \"nobody_here\" does not exist",
        ),
        (
            "select cron.schedule_in_database('a', '* * * * *', 'x', current_database(), 'authenticated')",
            "role \"authenticated\" can not log in",
        ),
        (
            "select cron.schedule_in_database('a', '* * * * *', 'x', 'nowhere')",
            "database \"nowhere\" does not exist",
        ),
    ] {
        assert_eq!(error(&client, sql).await.message(), expected, "{sql}");
    }
    let elsewhere = "select cron.schedule_in_database('a', '* * * * *', 'x', 'template1')";
    assert_eq!(error(&client, elsewhere).await.code().code(), "0A000");
    let refused = error(&client, "select cron.schedule('* * * *', 'select 1')").await;
    assert_eq!(refused.code().code(), "22023");
    let hint = "Use cron format (e.g. 5 4 * * *), or interval format '[1-59] seconds'";
    assert_eq!(refused.hint(), Some(hint));
    let none: Option<i64> =
        client.query_one("select cron.schedule(null, 'select 1')", &[]).await.unwrap().get(0);
    assert_eq!(none, None);

    client
        .batch_execute("drop extension pg_cron; create extension pg_cron with schema pg_catalog")
        .await
        .unwrap();
}

#[tokio::test]
async fn each_user_has_separate_jobs() {
    let Some((database, client)) = support::extended("").await else { return };
    let setup = "grant usage on schema cron to postgres;
        grant all privileges on all tables in schema cron to postgres;
        grant usage on schema cron to supabase_storage_admin, supabase_auth_admin;
        select cron.schedule('of postgres', '* * * * *', 'select 1');
        insert into cron.job_run_details (jobid, username) values (1, 'postgres'), (2, 'supabase_storage_admin')";
    client.batch_execute(setup).await.unwrap();
    let theirs = number(&client, "select jobid from cron.job").await;

    let user = database.client_as("supabase_storage_admin").await;
    let mine = number(&user, "select cron.schedule('of postgres', '* * * * *', 'select 2')").await;
    assert_ne!(mine, theirs, "names are each user's own");
    assert_eq!(number(&user, "select count(*) from cron.job").await, 1);
    assert_eq!(number(&user, "select count(*) from cron.job_run_details").await, 1);
    assert_eq!(text(&user, "select username from cron.job").await, "supabase_storage_admin");

    for (sql, expected) in [
        (format!("select cron.unschedule({theirs})"), format!("could not find valid entry for job {theirs}")),
        (
            format!("select cron.alter_job({mine}, active := false)"),
            "permission denied for function alter_job".to_owned(),
        ),
        (
            "select cron.schedule_in_database('a', '* * * * *', 'x', current_database())".to_owned(),
            "permission denied for function schedule_in_database".to_owned(),
        ),
        (
            "select cron._schedule('a', '* * * * *', 'x', null, 'postgres', true)".to_owned(),
            "must be superuser to create a job for another role".to_owned(),
        ),
        (
            "insert into cron.job (schedule, command, username) values ('* * * * *', 'x', 'postgres')"
                .to_owned(),
            "new row violates row-level security policy for table \"job\"".to_owned(),
        ),
        (
            "update cron.job set username = 'postgres'".to_owned(),
            "new row violates row-level security policy for table \"job\"".to_owned(),
        ),
        (
            "insert into cron.job_run_details (username) values (current_user)".to_owned(),
            "permission denied for table job_run_details".to_owned(),
        ),
    ] {
        assert_eq!(error(&user, &sql).await.message(), expected, "{sql}");
    }
    user.batch_execute("delete from cron.job_run_details").await.unwrap();
    assert_eq!(number(&client, "select count(*) from cron.job_run_details").await, 1);

    client.batch_execute("grant execute on function cron.alter_job to supabase_storage_admin").await.unwrap();
    for (sql, expected) in [
        (
            format!("select cron.alter_job({theirs}, active := false)"),
            format!("Job {theirs} does not exist or you don't own it"),
        ),
        (
            format!("select cron.alter_job({mine}, username := 'postgres')"),
            "must be superuser to alter username".to_owned(),
        ),
    ] {
        assert_eq!(error(&user, &sql).await.message(), expected, "{sql}");
    }
    user.batch_execute(&format!("select cron.alter_job({mine}, active := false), cron.unschedule({mine})"))
        .await
        .unwrap();

    let nobody = database.client_as("authenticator").await;
    let sql = "select cron.schedule('* * * * *', 'select 1')";
    assert_eq!(error(&nobody, sql).await.message(), "permission denied for schema cron");
}

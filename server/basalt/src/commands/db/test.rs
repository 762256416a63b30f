//! `basalt db test` and `basalt test db`: runs the tests of `supabase/tests`, which are written with pgTAP.
//!
//! Each file is run by psql, as by `pg_prove` in the Supabase CLI, so that all of psql's commands work in it; what it
//! prints is read here. Source: the Supabase CLI, `internal/db/test`; the Test Anything Protocol, version 12.

mod tap;

use std::path::{Path, PathBuf};
use std::process::{Output, Stdio};
use std::time::{Duration, Instant};

use clap::Args;
use migrations::run_as_project;
use postgres::Client;
use tokio::time::timeout;

use super::super::source::Source;
use super::program::{self, CLIENT_PACKAGES};
use crate::backend::Backend;
use crate::console;
use crate::error::Error;
use crate::settings::{Settings, display_path};
use tap::Results;

/// How long one file may take.
const LIMIT: Duration = Duration::from_secs(600);

/// What `pg_prove` has psql do: rows without decoration, and an end at the first error.
const FLAGS: [&str; 8] = [
    "--no-psqlrc",
    "--no-align",
    "--quiet",
    "--pset=pager=off",
    "--pset=tuples_only=true",
    "--set=ON_ERROR_STOP=1",
    "--no-password",
    "--file",
];

/// Arguments of `db test`.
#[derive(Debug, Args)]
pub(in super::super) struct Arguments {
    /// Files and folders of tests [default: supabase/tests]
    #[arg(value_name = "PATHS")]
    paths: Vec<PathBuf>,
    #[command(flatten)]
    source: Source,
}

/// Runs the tests.
///
/// Errors: if one fails, or there are none.
pub(in super::super) async fn run(settings: Settings, arguments: Arguments) -> Result<(), Error> {
    let target = arguments.source.target(settings)?;
    let paths = match arguments.paths {
        none if none.is_empty() => vec![target.settings.project.base.join("tests")],
        paths => paths,
    };
    let files = find(&paths)?;
    let psql = embedded::find_psql(None).ok_or_else(|| {
        Error::Advice(format!("the tests are run by psql, which was not found. {CLIENT_PACKAGES}"))
    })?;
    // As in the Supabase CLI, `\i` starts from the first path.
    let first = paths.first().map_or(Path::new("."), PathBuf::as_path);
    let folder = if first.is_dir() { first } else { first.parent().unwrap_or(first) };
    let folder = std::path::absolute(folder).map_err(Error::io("find the folder of the tests"))?;
    target
        .attached(async |backend| {
            backend
                .with_project(async |project| {
                    let client = project.client().await?;
                    let is_new = enable(&client).await?;
                    let result = run_files(&psql, &folder, &files, backend).await;
                    if is_new {
                        disable(&client).await?;
                    }
                    result
                })
                .await
        })
        .await
}

/// Returns the files of tests in `paths`, and in folders below them, in the order of their names.
fn find(paths: &[PathBuf]) -> Result<Vec<PathBuf>, Error> {
    let mut files = Vec::new();
    for path in paths {
        let mut found = Vec::new();
        let reading = || format!("read the tests in {}", display_path(path));
        collect(path, &mut found).map_err(Error::io(reading()))?;
        found.sort();
        files.append(&mut found);
    }
    if files.is_empty() {
        let paths: Vec<String> = paths.iter().map(|path| display_path(path)).collect();
        return Err(Error::Advice(format!("there are no tests (*.sql, *.pg) in {}", paths.join(", "))));
    }
    files.into_iter().map(std::path::absolute).collect::<Result<_, _>>().map_err(Error::io("find the tests"))
}

fn collect(path: &Path, found: &mut Vec<PathBuf>) -> std::io::Result<()> {
    if std::fs::metadata(path)?.is_file() {
        found.push(path.to_owned());
        return Ok(());
    }
    for entry in std::fs::read_dir(path)? {
        let path = entry?.path();
        let is_test = path.extension().is_some_and(|extension| extension == "sql" || extension == "pg");
        if path.is_dir() || is_test {
            collect(&path, found)?;
        }
    }
    Ok(())
}

/// Creates the extension pgTAP, and reports whether it was not there.
async fn enable(client: &Client) -> Result<bool, Error> {
    let sql = "select exists (select from pg_catalog.pg_extension where extname = 'pgtap'), \
                      exists (select from pg_catalog.pg_available_extensions where name = 'pgtap'), \
                      exists (select from pg_catalog.pg_namespace where nspname = 'extensions')";
    let row = client.query_one(sql, &[]).await.map_err(postgres::Error::from)?;
    let (exists, is_available, has_schema): (bool, bool, bool) = (row.get(0), row.get(1), row.get(2));
    if exists {
        return Ok(false);
    }
    if !is_available {
        return Err(super::missing_extension("pgtap", "The tests need"));
    }
    let schema = if has_schema { " with schema extensions" } else { "" };
    let sql = format!("create extension if not exists pgtap{schema}");
    run_as_project(client, "pgTAP", &sql).await?;
    Ok(true)
}

async fn disable(client: &Client) -> Result<(), Error> {
    Ok(run_as_project(client, "pgTAP", "drop extension if exists pgtap").await?)
}

async fn run_files(psql: &Path, folder: &Path, files: &[PathBuf], backend: &Backend) -> Result<(), Error> {
    let begin = Instant::now();
    let names: Vec<String> = files.iter().map(|file| display_path(file)).collect();
    let width = names.iter().map(String::len).max().unwrap_or_default() + 3;
    let (mut tests, mut failed) = (0, 0);
    for (file, name) in files.iter().zip(&names) {
        let mut command = program::client(psql, backend.project_login());
        command.args(FLAGS).arg(file).current_dir(folder).stdin(Stdio::null());
        let output = timeout(LIMIT, command.output()).await;
        let output = output.map_err(|_| {
            Error::Advice(format!("{name} did not end within {} minutes", LIMIT.as_secs() / 60))
        })?;
        let output = output.map_err(Error::io(format!("run {}", psql.display())))?;
        let results = Results::read(&String::from_utf8_lossy(&output.stdout));
        tests += results.run();
        let problems = problems(&results, &output);
        let state = if problems.is_empty() { results.state() } else { "Failed" };
        console::print(format_args!("{name} {:.<1$} {state}", "", width - name.len()));
        for problem in &problems {
            console::print(format_args!("    {problem}"));
        }
        failed += usize::from(!problems.is_empty());
    }
    let seconds = begin.elapsed().as_secs();
    if failed == 0 {
        console::print("All tests successful.");
    }
    console::print(format_args!("Files={}, Tests={tests}, {seconds} wallclock secs", files.len()));
    console::print(format_args!("Result: {}", if failed == 0 { "PASS" } else { "FAIL" }));
    match failed {
        0 => Ok(()),
        _ => Err(Error::Advice(format!("{failed} of {} files of tests failed", files.len()))),
    }
}

/// Returns what is wrong with a file, a line each; nothing if it passed.
fn problems(results: &Results, output: &Output) -> Vec<String> {
    let mut problems = results.problems();
    if !output.status.success() || !problems.is_empty() {
        let messages = String::from_utf8_lossy(&output.stderr);
        problems.extend(messages.lines().map(str::to_owned));
    }
    if !output.status.success() {
        problems.push(format!("psql ended with {}", output.status));
    }
    problems
}

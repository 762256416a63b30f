//! `basalt db lint`, with the flags and the JSON of `supabase db lint`: checks functions in PL/pgSQL with the extension
//! plpgsql_check.
//!
//! Source: the Supabase CLI, `internal/db/lint`; `db lint --help` of version 3.1.

use clap::{Args, ValueEnum};
use migrations::run_as_project;
use postgres::{Client, quote_identifier};
use serde::{Deserialize, Serialize};

use super::super::source::Source;
use super::schemas::{INTERNAL, is_one_of};
use crate::console;
use crate::error::Error;
use crate::settings::Settings;

/// Arguments of `db lint`.
#[derive(Debug, Args)]
pub(in super::super) struct Arguments {
    /// The schemas to check, separated by commas [default: those that are not the platform's]
    #[arg(long, short = 's', value_delimiter = ',', value_name = "SCHEMAS")]
    schema: Vec<String>,
    /// The least serious level to show
    #[arg(long, value_enum, default_value = "warning")]
    level: Level,
    /// The least serious level that makes the command fail
    #[arg(long, value_enum, default_value = "none")]
    fail_on: FailOn,
    #[command(flatten)]
    source: Source,
}

/// How serious an issue is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, ValueEnum)]
enum Level {
    Warning,
    Error,
}

impl Level {
    /// Returns the level of an issue: `warning extra` is a warning. Others, such as `performance`, are less serious.
    fn of(issue: &Issue) -> Option<Self> {
        let is = |level: &str| issue.level.starts_with(level);
        if is("error") { Some(Self::Error) } else { is("warning").then_some(Self::Warning) }
    }
}

/// What makes the command fail.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum FailOn {
    None,
    Warning,
    Error,
}

impl FailOn {
    fn level(self) -> Option<(Level, &'static str)> {
        match self {
            Self::None => None,
            Self::Warning => Some((Level::Warning, "warning")),
            Self::Error => Some((Level::Error, "error")),
        }
    }
}

/// The issues of a function, in the order in which the Supabase CLI prints their fields.
#[derive(Debug, Deserialize, Serialize)]
struct Checked {
    #[serde(default)]
    function: String,
    #[serde(default)]
    issues: Vec<Issue>,
}

#[derive(Debug, Deserialize, Serialize)]
#[serde(rename_all = "camelCase")]
struct Issue {
    level: String,
    message: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    statement: Option<Place>,
    #[serde(skip_serializing_if = "Option::is_none")]
    query: Option<Place>,
    #[serde(skip_serializing_if = "Option::is_none")]
    hint: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    detail: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    context: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    sql_state: Option<String>,
}

/// Where an issue is: the line of a statement, or the position in a query.
#[derive(Debug, Deserialize, Serialize)]
#[serde(rename_all = "camelCase")]
struct Place {
    #[serde(skip_serializing_if = "Option::is_none")]
    line_number: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    position: Option<String>,
    text: String,
}

/// Checks the functions and prints their issues.
///
/// Errors: if the extension is absent; if there are issues of the level of `--fail-on`.
pub(super) async fn run(settings: Settings, arguments: Arguments) -> Result<(), Error> {
    let target = arguments.source.target(settings)?;
    let checked = target
        .attached(async |backend| {
            backend
                .with_project(async |project| lint(&project.client().await?, &arguments.schema).await)
                .await
        })
        .await?;
    let shown = filter(checked, arguments.level);
    if shown.is_empty() {
        console::note("\nNo schema errors found");
        return Ok(());
    }
    let text = serde_json::to_string_pretty(&shown).map_err(|error| Error::Advice(error.to_string()))?;
    console::print(text);
    let mut issues = shown.iter().flat_map(|checked| &checked.issues);
    match arguments.fail_on.level() {
        Some((level, name)) if issues.any(|issue| Level::of(issue) >= Some(level)) => {
            Err(Error::Advice(format!("fail-on is set to {name}, non-zero exit")))
        }
        _ => Ok(()),
    }
}

fn filter(checked: Vec<Checked>, level: Level) -> Vec<Checked> {
    let filtered = checked.into_iter().map(|mut checked| {
        checked.issues.retain(|issue| Level::of(issue) >= Some(level));
        checked
    });
    filtered.filter(|checked| !checked.issues.is_empty()).collect()
}

/// Checks functions in a transaction that is rolled back, so that the extension is not left behind.
async fn lint(client: &Client, schemas: &[String]) -> Result<Vec<Checked>, Error> {
    client.batch_execute("begin").await.map_err(postgres::Error::from)?;
    let checked = check(client, schemas).await;
    client.batch_execute("rollback").await.map_err(postgres::Error::from)?;
    checked
}

async fn check(client: &Client, schemas: &[String]) -> Result<Vec<Checked>, Error> {
    let available =
        "select exists (select from pg_catalog.pg_available_extensions where name = 'plpgsql_check')";
    let row = client.query_one(available, &[]).await.map_err(postgres::Error::from)?;
    if !row.get::<_, bool>(0) {
        return Err(super::missing_extension("plpgsql_check", "`basalt db lint` needs"));
    }
    run_as_project(client, "plpgsql_check", "create extension if not exists plpgsql_check").await?;
    let found = match schemas {
        [] => project_schemas(client).await?,
        named => named.to_vec(),
    };
    let own = "select n.nspname::text from pg_catalog.pg_extension e \
                 join pg_catalog.pg_namespace n on n.oid = e.extnamespace where e.extname = 'plpgsql_check'";
    let row = client.query_one(own, &[]).await.map_err(postgres::Error::from)?;
    let sql = format!(
        "select p.proname::text, {}.plpgsql_check_function(p.oid, format => 'json')::text \
           from pg_catalog.pg_proc p join pg_catalog.pg_namespace n on n.oid = p.pronamespace \
           join pg_catalog.pg_language l on l.oid = p.prolang \
          where l.lanname = 'plpgsql' and p.prorettype <> 'trigger'::regtype and n.nspname = $1::text::name \
          order by 1",
        quote_identifier(row.get(0))
    );
    let mut checked = Vec::new();
    for schema in &found {
        console::note(format_args!("Linting schema: {schema}"));
        for row in client.query(&sql, &[schema]).await.map_err(postgres::Error::from)? {
            let (name, issues): (String, String) = (row.get(0), row.get(1));
            checked.push(read(&format!("{schema}.{name}"), &issues)?);
        }
    }
    Ok(checked)
}

/// Returns the schemas that belong neither to the platform nor to an extension.
async fn project_schemas(client: &Client) -> Result<Vec<String>, Error> {
    let sql = "select nspname::text from pg_catalog.pg_namespace n where not exists ( \
                 select from pg_catalog.pg_depend where classid = 'pg_catalog.pg_namespace'::regclass \
                    and objid = n.oid and deptype = 'e') order by 1";
    let rows = client.query(sql, &[]).await.map_err(postgres::Error::from)?;
    let names = rows.iter().map(|row| row.get::<_, String>(0));
    Ok(names.filter(|name| !is_one_of(INTERNAL, name)).collect())
}

/// Reads what the extension says about a function.
fn read(function: &str, issues: &str) -> Result<Checked, Error> {
    let mut checked: Checked = serde_json::from_str(issues)
        .map_err(|error| Error::Advice(format!("plpgsql_check's answer about {function}: {error}")))?;
    function.clone_into(&mut checked.function);
    Ok(checked)
}

#[cfg(test)]
mod tests {
    use super::*;

    const RESULT: &str = r#"{ "function":"16404", "issues":[
        { "level":"error", "message":"column \"x\" does not exist",
          "statement":{ "lineNumber":"3", "text":"RETURN" }, "query":{ "position":"8", "text":"SELECT x" },
          "sqlState":"42703" },
        { "level":"warning extra", "message":"unused variable \"a\"", "sqlState":"00000" },
        { "level":"performance", "message":"slow", "sqlState":"00000" } ] }"#;

    #[test]
    fn issues_are_shown_by_their_level() {
        let levels = |level| {
            let shown = filter(vec![read("public.f", RESULT).unwrap()], level);
            shown
                .iter()
                .flat_map(|checked| &checked.issues)
                .map(|issue| issue.level.clone())
                .collect::<Vec<_>>()
        };
        assert_eq!(levels(Level::Warning), ["error", "warning extra"]);
        assert_eq!(levels(Level::Error), ["error"]);
        assert!(
            filter(vec![read("public.f", r#"{"function":"1","issues":[]}"#).unwrap()], Level::Error)
                .is_empty()
        );
    }

    #[test]
    fn an_issue_is_printed_as_by_the_supabase_cli() {
        let shown = filter(vec![read("public.f", RESULT).unwrap()], Level::Error);
        assert_eq!(
            serde_json::to_string(&shown).unwrap(),
            r#"[{"function":"public.f","issues":[{"level":"error","message":"column \"x\" does not exist","statement":{"lineNumber":"3","text":"RETURN"},"query":{"position":"8","text":"SELECT x"},"sqlState":"42703"}]}]"#
        );
    }
}

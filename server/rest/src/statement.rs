//! A plan as SQL: one text and its bound parameters.
//!
//! The same kind of request always gives the same text, so that Postgres' and our caches of prepared statements
//! work: values are parameters, whose types Postgres infers. What shapes a plan is in the text: names, JSON keys,
//! text search configurations, and small limits (a limit that is a parameter makes Postgres plan each time).

mod body;
mod call;
mod condition;
mod describe;
mod group;
mod mutate;
mod read;
mod sql;

use std::borrow::Cow;

use sql::Sql;
pub use sql::Statement;

use crate::error::Error;
use crate::plan::{Body, BodyWriter, Grouping, Node, Plan, ReadPlan};
use crate::request::{Count, Range, Request};
use crate::settings::Settings;

/// What the guard of a statement puts before the number of rows when there is not exactly one.
pub(crate) const NOT_SINGULAR: &str = "PGRST116 rows: ";
/// The same when there are more than the client allows.
pub(crate) const MAX_AFFECTED: &str = "PGRST124 rows: ";
/// The same when PUT's row is not the one that its filters name.
pub(crate) const PUT_MISMATCH: &str = "PGRST115 rows: ";

/// The name of the rows that a mutation or function call gives.
const SOURCE: &str = "pgrst_source";
/// The number of these rows, as SQL.
const AFFECTED: &str = "(SELECT count(*) FROM \"pgrst_source\")";
/// The name of the rows that are returned.
const PAGE: &str = "pgrst_page";

/// The protocol counts a statement's parameters in two bytes.
const MOST_PARAMETERS: usize = u16::MAX as usize;

/// The columns of the one row that a main statement gives.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ResultColumn {
    /// How many rows there are in all; null unless counted.
    Total = 0,
    /// How many rows are returned.
    Rows = 1,
    /// The body.
    Body = 2,
    /// `response.headers`; empty or null if it was not set.
    Headers = 3,
    /// `response.status`; empty or null if it was not set.
    Status = 4,
    /// How many rows an upsert inserted, the others being updated; null for anything else.
    Inserted = 5,
    /// The texts of the new row's primary key as a JSON array; null unless requested.
    Location = 6,
}

/// What the main statement of a request gives.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MainResult {
    /// One row with the columns of [`ResultColumn`].
    Page,
    /// Plain rows, to be written as JSON.
    PlainRows,
    /// Nothing but the number of rows that were changed, in its command tag.
    RowCount,
}

/// The columns of what the database set for the response.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ResponseColumn {
    /// `response.headers`; empty or null if it was not set.
    Headers = 0,
    /// `response.status`; empty or null if it was not set.
    Status = 1,
    /// After an upsert, as [`ResultColumn::Inserted`].
    Inserted = 2,
}

/// The statements of a request.
#[derive(Debug, Clone, PartialEq)]
pub struct Statements<'p> {
    /// Does what the request asks for.
    pub main: Statement<'p>,
    /// What that gives.
    pub main_result: MainResult,
    /// Reads what the database set for the response, and returns one row of [`ResponseColumn`]. `None` where the main
    /// statement does, whose result is a [`MainResult::Page`] then.
    pub response: Option<Statement<'p>>,
    /// Whether the response statement also returns something that is always needed.
    pub needs_response: bool,
    /// Asks for the planner's estimate of the total as `EXPLAIN (FORMAT JSON)` prints it.
    pub estimate: Option<Statement<'p>>,
}

impl<'p> Statements<'p> {
    /// Returns the statements of `plan`; `None` when it needs no database.
    ///
    /// Errors: `PGRST100` for more values than one statement can have.
    pub fn new(plan: &'p Plan, request: &Request, settings: &Settings) -> Result<Option<Self>, Error> {
        let mut statements = Self::of(plan, request, settings);
        if let (Some(statements), Some(explain)) = (&mut statements, plan.body().and_then(Body::explain)) {
            statements.main.explain(explain);
            statements.estimate = None;
        }
        let values = statements.as_ref().map_or(0, |statements| statements.main.parameters.len());
        if values <= MOST_PARAMETERS {
            return Ok(statements);
        }
        Err(Error::Syntax {
            message: "\"failed to bind the request's values\"".to_owned(),
            details: format!("unexpected {values} values expecting at most {MOST_PARAMETERS}"),
        })
    }

    const fn only(main: Statement<'p>) -> Self {
        Self { main, main_result: MainResult::Page, response: None, needs_response: false, estimate: None }
    }

    fn of(plan: &'p Plan, request: &Request, settings: &Settings) -> Option<Self> {
        let count = request.preferences.count;
        match plan {
            Plan::Read(plan) => {
                let mut sql = Sql::default();
                if let BodyWriter::Server(columns) = &plan.body.writer {
                    read::plain_rows(&mut sql, &plan.tree, columns);
                    return Some(Self {
                        main: sql.into(),
                        main_result: MainResult::PlainRows,
                        response: Some(response_statement()),
                        needs_response: false,
                        estimate: estimate(count, plan),
                    });
                }
                sql.push("SELECT ");
                total(&mut sql, count, settings, &plan.tree);
                sql.push("count(*) AS rows, ");
                page(&mut sql, &plan.body);
                sql.push(" FROM (");
                read::rows(&mut sql, &plan.tree, None);
                sql.push(") AS ").identifier(PAGE);
                Some(Self { estimate: estimate(count, plan), ..Self::only(sql.into()) })
            }
            Plan::Mutate(plan) => Some(mutate::statements(plan)),
            Plan::Call(plan) => Some(match &plan.body.writer {
                BodyWriter::Server(columns) => Self {
                    main_result: MainResult::PlainRows,
                    response: Some(response_statement()),
                    ..Self::only(call::plain_rows(plan, columns))
                },
                BodyWriter::Postgres => Self::only(call::statement(plan, count, settings)),
            }),
            Plan::Describe(plan) => Some(Self::only(describe::statement(plan))),
            Plan::Info(_) => None,
        }
    }
}

/// Returns the statement for the planner's estimate of the total, where it is wanted.
fn estimate(count: Option<Count>, plan: &ReadPlan) -> Option<Statement<'_>> {
    matches!(count, Some(Count::Planned | Count::Estimated)).then(|| {
        let mut sql = Sql::default();
        sql.push("EXPLAIN (FORMAT JSON) ");
        read::matching(&mut sql, &plan.tree);
        sql.into()
    })
}

/// Writes the total number of rows, where it is wanted. Without a range it is the number of rows returned.
fn total<'p>(sql: &mut Sql<'p>, wanted: Option<Count>, settings: &Settings, tree: &'p Node) {
    match (wanted, settings.db_max_rows) {
        (Some(Count::Exact | Count::Estimated), _) if tree.range == Range::ALL => sql.push("count(*)"),
        (Some(Count::Estimated), Some(limit)) => {
            // One row beyond the limit shows that there are more; the estimate avoids counting further.
            sql.push("(SELECT count(*) FROM (");
            read::matching(sql, tree);
            sql.push(" LIMIT ").number(limit.saturating_add(1)).push(") AS counted)")
        }
        (Some(Count::Exact | Count::Estimated), _) => sql.enclosed("(", ")", |sql| read::count(sql, tree)),
        (Some(Count::Planned) | None, _) => sql.push("NULL::bigint"),
    };
    sql.push(" AS total, ");
}

/// Writes the body and what the database set for the response.
fn page(sql: &mut Sql<'_>, body: &Body) {
    body::value(sql, body);
    sql.push(" AS body, ");
    response_columns(sql);
}

/// Returns a statement that gives nothing but what the database set for the response.
fn response_statement<'p>() -> Statement<'p> {
    let mut sql = Sql::default();
    response_columns(sql.push("SELECT "));
    sql.into()
}

/// Writes what the database set for the response.
fn response_columns(sql: &mut Sql<'_>) {
    let settings = [("response.headers", "headers"), ("response.status", "status")];
    sql.separated(settings, ", ", |sql, (setting, name)| {
        sql.push("current_setting('").push(setting).push("', true) AS ").push(name);
    });
}

/// How many rows a statement must give.
struct Guard {
    /// The comparison that must hold for the number of rows, as SQL.
    allowed: Cow<'static, str>,
    /// What an error of Postgres begins with where it does not hold.
    marker: &'static str,
}

impl Guard {
    /// Returns the guard for exactly one row, else for at most `row_limit`; `None` where any number is right.
    fn new(must_be_single: bool, row_limit: Option<i64>) -> Option<Self> {
        if must_be_single {
            return Some(Self { allowed: "= 1".into(), marker: NOT_SINGULAR });
        }
        row_limit.map(|rows| Self { allowed: format!("<= {rows}").into(), marker: MAX_AFFECTED })
    }
}

/// Writes the number of rows, or an error that [`crate::error`] knows when `guard` does not hold for it. Failing
/// inside the statement is what undoes the transaction in the same round trip.
fn guarded_rows(sql: &mut Sql<'_>, tree: &Node, guard: Option<Guard>) {
    let Some(Guard { allowed, marker }) = guard else {
        sql.push("count(*)");
        return;
    };
    // Groups say nothing about how many rows were changed.
    let is_affected = tree.grouping != Grouping::None && marker != NOT_SINGULAR;
    let rows = if is_affected { AFFECTED } else { "count(*)" };
    sql.push("CASE WHEN ").push(rows).push(" ").push(&allowed);
    sql.push(" THEN count(*) ELSE ('").push(marker).push("' || ").push(rows).push(")::bigint END");
}

#[cfg(test)]
mod tests;

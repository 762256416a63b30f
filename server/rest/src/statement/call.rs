//! Calling a function.

use super::sql::{Sql, Statement};
use super::{Guard, PAGE, SOURCE, guarded_rows, page, read, response_columns, total};
use crate::array;
use crate::plan::{Argument, ArgumentValue, CallPlan, PlainColumn, SCALAR};
use crate::request::Count;
use crate::settings::Settings;

/// The name of the function's result inside the common table expression.
const CALL: &str = "pgrst_call";

/// Returns the statement of `plan`.
pub(super) fn statement<'p>(plan: &'p CallPlan, count: Option<Count>, settings: &Settings) -> Statement<'p> {
    let mut sql = Sql::default();
    if count.is_none() && plan.shows_value_alone() {
        value(&mut sql, plan);
        return sql.into();
    }
    with_source(&mut sql, plan);
    sql.push("SELECT ");
    total(&mut sql, count, settings, &plan.tree);
    guarded_rows(&mut sql, &plan.tree, Guard::new(plan.must_be_single, plan.row_limit));
    sql.push(" AS rows, ");
    page(&mut sql, &plan.body);
    sql.push(" FROM ");
    sql.enclosed("(", ")", |sql| read::rows(sql, &plan.tree, None)).push(" AS ").identifier(PAGE);
    sql.into()
}

/// Returns the rows of `plan`. `columns` says which of its columns are written as JSON.
pub(super) fn plain_rows<'p>(plan: &'p CallPlan, columns: &'p [PlainColumn]) -> Statement<'p> {
    let mut sql = Sql::default();
    with_source(&mut sql, plan);
    read::plain_rows(&mut sql, &plan.tree, columns);
    sql.into()
}

/// Writes what the function gives, as a common table expression.
fn with_source<'p>(sql: &mut Sql<'p>, plan: &'p CallPlan) {
    sql.push("WITH ").identifier(SOURCE).push(" AS (SELECT ");
    source(sql, plan);
    sql.push(") ");
}

/// Writes the function's one value without a common table expression. What the function sets for the response is read
/// after the call: Postgres evaluates a select list in its order.
fn value<'p>(sql: &mut Sql<'p>, plan: &'p CallPlan) {
    sql.push("SELECT NULL::bigint AS total, 1::bigint AS rows, ");
    if plan.is_void {
        // A void result cannot be made JSON, and need not be.
        invocation(sql, plan);
    } else {
        let strips_nulls = plan.body.strips_nulls;
        sql.push("coalesce(").push(if strips_nulls { "json_strip_nulls(" } else { "" });
        sql.push(if plan.is_json { "json_build_array(" } else { "to_json(" });
        invocation(sql, plan);
        sql.push(if plan.is_json { ") -> 0" } else { ")" });
        sql.push(if strips_nulls { ")" } else { "" }).push(", 'null')");
    }
    sql.push(" AS body, ");
    response_columns(sql);
}

/// Writes what the function gives: its value under the name that stands for it, or its rows.
fn source<'p>(sql: &mut Sql<'p>, plan: &'p CallPlan) {
    if plan.is_scalar {
        // Rows of a type without columns can only be values of a select list.
        let is_source = plan.is_set && !plan.is_untyped;
        if is_source {
            sql.push("* FROM ");
        }
        invocation(sql, plan);
        if is_source {
            sql.push(" AS ").identifier(CALL).push(" (").identifier(SCALAR).push(")");
        } else {
            sql.push(" AS ").identifier(SCALAR);
        }
        return;
    }
    if plan.returning.is_empty() {
        sql.push("1");
    }
    sql.columns(CALL, &plan.returning).push(" FROM ");
    invocation(sql, plan);
    sql.push(" AS ").identifier(CALL);
}

fn invocation<'p>(sql: &mut Sql<'p>, plan: &'p CallPlan) {
    sql.qualified(&plan.schema, &plan.function).push("(");
    sql.separated(&plan.arguments, ", ", argument).push(")");
}

fn argument<'p>(sql: &mut Sql<'p>, argument: &'p Argument) {
    if argument.is_variadic {
        sql.push("VARIADIC ");
    }
    if !argument.name.is_empty() {
        sql.identifier(&argument.name).push(" := ");
    }
    match &argument.value {
        ArgumentValue::Text(value) => {
            sql.parameter(value.as_deref()).push("::").push(&argument.type_name);
        }
        ArgumentValue::Texts(values) => {
            sql.parameter(Some(array::encode(values))).push("::").push(&argument.type_name);
        }
        ArgumentValue::Json(value) => {
            let value: &'p [u8] = value;
            sql.push("(SELECT \"value\" FROM json_to_record(").parameter(Some(value));
            sql.push("::json) AS pgrst_body (\"value\" ").push(&argument.type_name).push("))");
        }
    }
}

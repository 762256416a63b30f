//! The rows of the page as one value: the body.

use super::PAGE;
use super::sql::Sql;
use crate::plan::{AggregateInput, Body, BodyShape, SCALAR};
use crate::schema_cache::QualifiedName;

/// Writes the value of `body`.
pub(super) fn value(sql: &mut Sql<'_>, body: &Body) {
    match &body.shape {
        BodyShape::Nothing => {
            sql.push("NULL");
        }
        BodyShape::Csv => csv(sql),
        BodyShape::GeoJson(feature) => features(sql, feature),
        BodyShape::Aggregate { function, input } => aggregate(sql, function, input),
        // There is one row, yet where rows are counted any column of it has to be aggregated too.
        BodyShape::Raw => {
            sql.push("(array_agg(").qualified(PAGE, SCALAR).push("))[1]");
        }
        BodyShape::Array => json(sql, body.strips_nulls, None, false, "[]"),
        BodyShape::Object | BodyShape::FunctionRow => json(sql, body.strips_nulls, None, true, "null"),
        BodyShape::Scalar => json(sql, body.strips_nulls, Some(SCALAR), true, "null"),
        BodyShape::ScalarArray => json(sql, body.strips_nulls, Some(SCALAR), false, "[]"),
    }
}

/// Writes an array of the rows, or of their values of `column`; with `first`, its first element alone.
fn json(sql: &mut Sql<'_>, strips_nulls: bool, column: Option<&str>, first: bool, fallback: &str) {
    sql.push("coalesce(");
    if strips_nulls {
        sql.push("json_strip_nulls(");
    }
    sql.push("json_agg(").identifier(PAGE).push(".");
    match column {
        Some(column) => sql.identifier(column),
        None => sql.push("*"),
    };
    sql.push(")");
    if first {
        sql.push(" -> 0");
    }
    if strips_nulls {
        sql.push(")");
    }
    sql.push(", '").push(fallback).push("')");
}

/// Writes a line of names, then a line for each row in the form in which Postgres prints composite values. That form is
/// CSV's (RFC 4180) except for backslashes, which it doubles.
fn csv(sql: &mut Sql<'_>) {
    sql.push("coalesce((SELECT string_agg(CASE WHEN name ~ '[\",\\n\\r]' THEN '\"' || replace(name, '\"', '\"\"') || '\"' ");
    sql.push("ELSE name END, ',') FROM json_object_keys(json_agg(").identifier(PAGE);
    sql.push(".*) -> 0) AS name), '') || E'\\n' || coalesce(string_agg(replace(substring(").identifier(PAGE);
    sql.push("::text, 2, length(").identifier(PAGE).push("::text) - 2), E'\\\\\\\\', E'\\\\'), E'\\n'), '')");
}

fn features(sql: &mut Sql<'_>, feature: &QualifiedName) {
    sql.push("json_build_object('type', 'FeatureCollection', 'features', coalesce(json_agg(");
    sql.qualified(&feature.schema, &feature.name).push("(").identifier(PAGE).push(")::json), '[]'))");
}

fn aggregate(sql: &mut Sql<'_>, function: &QualifiedName, input: &AggregateInput) {
    sql.qualified(&function.schema, &function.name).push("(");
    match input {
        AggregateInput::Row => sql.identifier(PAGE),
        AggregateInput::WholeRow(relation) => {
            sql.identifier(PAGE).push("::").qualified(&relation.schema, &relation.name)
        }
        AggregateInput::Value => sql.qualified(PAGE, SCALAR),
    };
    sql.push(")");
}

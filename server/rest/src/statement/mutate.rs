//! Changing rows: the change as a common table expression, and the returned rows read from that.

use super::condition::condition;
use super::sql::{Sql, Statement};
use super::{
    Guard, MainResult, PAGE, PUT_MISMATCH, SOURCE, Statements, guarded_rows, page, read, response_columns,
    response_statement,
};
use crate::plan::{BodyShape, BodyWriter, Change, Condition, MutatePlan, Payload, TypedColumn, Values};
use crate::request::Resolution;

/// The name of the payload's rows.
const BODY: &str = "pgrst_body";

/// Counts a row as inserted. It is one of the conditions that a payload's row must satisfy, so it runs once for each.
const COUNT_INSERTED: &str = "set_config('pgrst.inserted', (coalesce(nullif(current_setting('pgrst.inserted', true), \
                              '')::int, 0) + 1)::text, true) <> '0'";
/// Takes that back for a row that turned out to be an update.
const COUNT_UPDATED: &str = "set_config('pgrst.inserted', (coalesce(nullif(current_setting('pgrst.inserted', true), \
                             '')::int, 0) - 1)::text, true) <> '-1'";
/// Where there is one row alone, it is inserted unless this was run.
const NOT_INSERTED: &str = "set_config('pgrst.inserted', '0', true) = '0'";

/// Returns the statements of `plan`. If the changed rows are returned unchanged, or only their number is needed, the
/// change is the whole statement, which costs half of what a common table expression does.
pub(super) fn statements(plan: &MutatePlan) -> Statements<'_> {
    if let BodyWriter::Server(columns) = &plan.body.writer {
        let mut main = Sql::default();
        change(&mut main, plan);
        read::plain_columns(main.push(" RETURNING "), &plan.tree, columns);
        return Statements {
            main_result: MainResult::PlainRows,
            response: Some(response_statement()),
            ..Statements::only(main.into())
        };
    }
    if !is_bare(plan) {
        return Statements::only(with_result(plan));
    }
    let (mut main, mut response) = (Sql::default(), Sql::default());
    change(&mut main, plan);
    response_columns(response.push("SELECT "));
    let needs_response = counts_inserted(plan);
    if needs_response {
        inserted(&mut response, plan);
    }
    Statements {
        main: main.into(),
        main_result: MainResult::RowCount,
        response: Some(response.into()),
        needs_response,
        estimate: None,
    }
}

/// Reports whether nothing is returned of the changed rows, and their number is not limited.
fn is_bare(plan: &MutatePlan) -> bool {
    let has_location = plan.location.as_ref().is_some_and(|key| !key.is_empty());
    let is_guarded =
        matches!(plan.change, Change::Put { .. }) || plan.must_be_single || plan.row_limit.is_some();
    plan.body.shape == BodyShape::Nothing && !has_location && !is_guarded
}

/// Returns the change, and what is returned of it.
fn with_result(plan: &MutatePlan) -> Statement<'_> {
    let mut sql = Sql::default();
    sql.push("WITH ").identifier(SOURCE).push(" AS (");
    change(&mut sql, plan);
    returning(&mut sql, plan);
    sql.push(") SELECT NULL::bigint AS total, ");
    let guard = match plan.change {
        Change::Put { .. } => Some(Guard { allowed: "= 1".into(), marker: PUT_MISMATCH }),
        _ => Guard::new(plan.must_be_single, plan.row_limit),
    };
    guarded_rows(&mut sql, &plan.tree, guard);
    sql.push(" AS rows, ");
    page(&mut sql, &plan.body);
    inserted(&mut sql, plan);
    location(&mut sql, plan);
    sql.push(" FROM ");
    if plan.body.shape == BodyShape::Nothing {
        // Nothing is returned, so nothing is read: names in the select list must not fail either.
        sql.identifier(SOURCE);
    } else {
        sql.enclosed("(", ")", |sql| read::rows(sql, &plan.tree, None));
    }
    sql.push(" AS ").identifier(PAGE);
    sql.into()
}

/// Writes how many rows an upsert inserted.
fn inserted(sql: &mut Sql<'_>, plan: &MutatePlan) {
    sql.push(match &plan.change {
        Change::Insert { payload, .. } if counts_inserted(plan) && is_one_row(payload) => {
            ", coalesce(nullif(current_setting('pgrst.inserted', true), ''), '1')::int AS inserted"
        }
        _ if counts_inserted(plan) => {
            ", nullif(current_setting('pgrst.inserted', true), '')::int AS inserted"
        }
        _ => ", NULL::int AS inserted",
    });
}

/// Reports whether the values of one row are in the statement themselves.
const fn is_one_row(payload: &Payload) -> bool {
    matches!(payload.values, Some(Values::Row(_)))
}

fn counts_inserted(plan: &MutatePlan) -> bool {
    matches!(
        plan.change,
        Change::Put { .. } | Change::Insert { conflict: Some((Resolution::MergeDuplicates, _)), .. }
    )
}

/// Writes the key's values as they read in JSON; aggregates of the one row that there must be.
fn location(sql: &mut Sql<'_>, plan: &MutatePlan) {
    match plan.location.as_deref() {
        None | Some([]) => sql.push(", NULL::json AS location"),
        Some(key) => {
            sql.push(", CASE WHEN count(*) = 1 THEN json_build_array(");
            sql.separated(key, ", ", |sql, name| {
                sql.push("min(to_json(").qualified(PAGE, name).push(") #>> '{}')");
            });
            sql.push(") END AS location")
        }
    };
}

fn change<'p>(sql: &mut Sql<'p>, plan: &'p MutatePlan) {
    match &plan.change {
        Change::Insert { payload, conflict } => {
            insert(sql, plan, payload);
            if counts_inserted(plan) && !is_one_row(payload) {
                sql.push(" WHERE ").push(COUNT_INSERTED);
            }
            if let Some((resolution, columns)) = conflict {
                on_conflict(sql, payload, *resolution, columns);
            }
        }
        Change::Put { payload, key, conditions } => {
            insert(sql, plan, payload);
            sql.push(" WHERE ").push(COUNT_INSERTED);
            for item in conditions {
                sql.push(" AND ");
                condition(sql, &plan.tree, BODY, item);
            }
            on_conflict(sql, payload, Resolution::MergeDuplicates, key);
        }
        Change::Update { payload, .. } if payload.columns.is_empty() => {
            // Without values nothing is changed, but the columns that are returned must exist.
            sql.push("SELECT ");
            returned_columns(sql, plan);
            sql.push(" FROM ").qualified(&plan.schema, &plan.relation);
            sql.push(" AS ").identifier(&plan.relation).push(" WHERE false");
        }
        Change::Update { payload, conditions } => {
            sql.push("UPDATE ").qualified(&plan.schema, &plan.relation);
            sql.push(" AS ").identifier(&plan.relation).push(" SET ");
            assignments(sql, payload);
            filters(sql, plan, conditions);
        }
        Change::Delete { conditions } => {
            sql.push("DELETE FROM ").qualified(&plan.schema, &plan.relation);
            sql.push(" AS ").identifier(&plan.relation);
            filters(sql, plan, conditions);
        }
    }
}

/// Writes the columns of the changed rows that are needed.
fn returning(sql: &mut Sql<'_>, plan: &MutatePlan) {
    let is_select = matches!(&plan.change, Change::Update { payload, .. } if payload.columns.is_empty());
    if !is_select {
        sql.push(" RETURNING ");
        returned_columns(sql, plan);
    }
}

/// Writes the values that an update sets, and where they come from.
fn assignments<'p>(sql: &mut Sql<'p>, payload: &'p Payload) {
    if let Some(Values::Row(values)) = &payload.values {
        sql.separated(payload.columns.iter().zip(values), ", ", |sql, (column, value)| {
            typed_value(sql.identifier(&column.name).push(" = "), column, value.as_deref(), "");
        });
        return;
    }
    sql.separated(&payload.columns, ", ", |sql, column| {
        sql.identifier(&column.name).push(" = ").qualified(BODY, &column.name);
    });
    sql.push(" FROM ");
    payload_rows(sql, payload);
}

/// Writes a value for `column`, or with `[]` after its type an array of them.
fn typed_value<'p>(sql: &mut Sql<'p>, column: &TypedColumn, value: Option<&'p [u8]>, array: &str) {
    // The type comes from the catalog, which prints it as SQL.
    let type_name = column.scalar_type.as_deref().unwrap_or(&column.type_name);
    sql.parameter(value).push("::").push(type_name).push(array);
}

fn returned_columns(sql: &mut Sql<'_>, plan: &MutatePlan) {
    if plan.returning.is_empty() {
        // Counting needs a row, and no privilege to read any column.
        sql.push("1");
    }
    sql.columns(&plan.relation, &plan.returning);
}

fn filters<'p>(sql: &mut Sql<'p>, plan: &'p MutatePlan, conditions: &'p [Condition]) {
    for (index, item) in conditions.iter().enumerate() {
        sql.push(if index == 0 { " WHERE " } else { " AND " });
        condition(sql, &plan.tree, &plan.relation, item);
    }
}

fn insert<'p>(sql: &mut Sql<'p>, plan: &'p MutatePlan, payload: &'p Payload) {
    sql.push("INSERT INTO ").qualified(&plan.schema, &plan.relation).push(" AS ").identifier(&plan.relation);
    if !payload.columns.is_empty() {
        column_list(sql, payload);
    }
    if let Some(Values::Row(values)) = &payload.values {
        sql.push(" VALUES (");
        sql.separated(payload.columns.iter().zip(values), ", ", |sql, (column, value)| {
            typed_value(sql, column, value.as_deref(), "");
        });
        sql.push(")");
        return;
    }
    sql.push(" SELECT ");
    sql.separated(&payload.columns, ", ", |sql, column| {
        sql.qualified(BODY, &column.name);
    });
    sql.push(" FROM ");
    payload_rows(sql, payload);
}

fn on_conflict(sql: &mut Sql<'_>, payload: &Payload, resolution: Resolution, columns: &[String]) {
    sql.push(" ON CONFLICT (");
    sql.separated(columns, ", ", |sql, name| {
        sql.identifier(name);
    });
    if resolution == Resolution::IgnoreDuplicates || payload.columns.is_empty() {
        sql.push(") DO NOTHING");
        return;
    }
    sql.push(") DO UPDATE SET ");
    sql.separated(&payload.columns, ", ", |sql, column| {
        sql.identifier(&column.name).push(" = EXCLUDED.").identifier(&column.name);
    });
    sql.push(" WHERE ").push(if is_one_row(payload) { NOT_INSERTED } else { COUNT_UPDATED });
}

/// Writes the names of the payload's columns in parentheses.
fn column_list(sql: &mut Sql<'_>, payload: &Payload) {
    sql.push(" (");
    sql.separated(&payload.columns, ", ", |sql, column| {
        sql.identifier(&column.name);
    });
    sql.push(")");
}

/// Writes the payload as rows with the types of the columns that they are for.
fn payload_rows<'p>(sql: &mut Sql<'p>, payload: &'p Payload) {
    if let Some(Values::Arrays(arrays)) = &payload.values {
        sql.push("unnest(");
        sql.separated(payload.columns.iter().zip(arrays), ", ", |sql, (column, array)| {
            typed_value(sql, column, Some(array), "[]");
        });
        sql.push(") AS ").identifier(BODY);
        return column_list(sql, payload);
    }
    if payload.columns.iter().all(|column| column.parse.is_none()) {
        return unparsed_rows(sql, payload);
    }
    sql.push("(SELECT ");
    sql.separated(&payload.columns, ", ", |sql, column| match &column.parse {
        None => {
            sql.qualified(BODY, &column.name);
        }
        Some(parse) => {
            sql.push(parse).push("(").qualified(BODY, &column.name).push(") AS ").identifier(&column.name);
        }
    });
    sql.push(" FROM ");
    unparsed_rows(sql, payload);
    sql.push(") AS ").identifier(BODY);
}

/// Writes the payload as rows, where columns that have a function to read them are still JSON.
fn unparsed_rows<'p>(sql: &mut Sql<'p>, payload: &'p Payload) {
    let raw: &'p [u8] = &payload.raw;
    if payload.columns.is_empty() {
        if payload.is_object {
            sql.push("(VALUES (1))");
        } else {
            sql.push("json_array_elements(").parameter(Some(raw)).push("::json)");
        }
        sql.push(" AS ").identifier(BODY);
        return;
    }
    match (payload.applies_defaults, payload.is_object) {
        (false, true) => sql.push("json_to_record(").parameter(Some(raw)).push("::json)"),
        (false, false) => sql.push("json_to_recordset(").parameter(Some(raw)).push("::json)"),
        (true, true) => {
            sql.push("jsonb_to_record(");
            defaults(sql, payload);
            sql.push(" || ").parameter(Some(raw)).push("::jsonb)")
        }
        (true, false) => {
            sql.push("jsonb_array_elements(").parameter(Some(raw));
            sql.push("::jsonb) AS pgrst_element CROSS JOIN LATERAL jsonb_to_record(");
            defaults(sql, payload);
            sql.push(" || pgrst_element)")
        }
    };
    sql.push(" AS ").identifier(BODY).push(" (");
    sql.separated(&payload.columns, ", ", |sql, column| {
        // The type comes from the catalog, which prints it as SQL.
        let type_name = if column.parse.is_some() { "json" } else { column.type_name.as_str() };
        sql.identifier(&column.name).push(" ").push(type_name);
    });
    sql.push(")");
}

/// Writes an object of the columns' defaults, which the payload's keys then cover.
fn defaults(sql: &mut Sql<'_>, payload: &Payload) {
    sql.push("jsonb_build_object(");
    let with_default =
        payload.columns.iter().filter_map(|column| Some((&column.name, column.default.as_ref()?)));
    sql.separated(with_default, ", ", |sql, (name, default)| {
        sql.literal(name).push(", ").push(default);
    });
    sql.push(")");
}

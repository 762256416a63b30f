//! `list_tables`.

use serde_json::{Map, Value, json};

/// One row for each table of the schemas in `$1`, an array of JSON; of an empty one, of all but Postgres' own.
pub(super) const SQL: &str = include_str!("tables.sql");

/// The page about tables without row-level security.
const DOCUMENTATION: &str = "https://supabase.com/docs/guides/database/postgres/row-level-security";

/// Returns the answer for the `rows` of [`SQL`]. Errors: they are none.
pub(super) fn list(rows: &Value, is_verbose: bool) -> Result<Value, String> {
    let rows = rows.as_array().ok_or("The tables cannot be read")?;
    let mut answer = json!({ "tables": rows.iter().map(|row| table(row, is_verbose)).collect::<Vec<_>>() });
    let open: Vec<&Value> =
        rows.iter().filter(|row| row["rls_enabled"] == false && row["is_platforms"] == false).collect();
    if !open.is_empty() {
        answer["advisory"] = advisory(&open);
    }
    Ok(answer)
}

fn table(row: &Value, is_verbose: bool) -> Value {
    let mut table = json!({
        "name": format!("{}.{}", text(row, "schema"), text(row, "name")),
        "rls_enabled": row["rls_enabled"],
        "rows": row["live_rows_estimate"],
    });
    if !row["comment"].is_null() {
        table["comment"] = row["comment"].clone();
    }
    if is_verbose {
        table["columns"] = Value::Array(array(row, "columns").iter().map(column).collect());
        table["primary_keys"] = row["primary_keys"].clone();
        if !array(row, "foreign_keys").is_empty() {
            table["foreign_key_constraints"] = row["foreign_keys"].clone();
        }
    }
    table
}

/// Describes a column: what is not set is left out.
fn column(column: &Value) -> Value {
    const OPTIONS: [(&str, &str); 5] = [
        ("is_identity", "identity"),
        ("is_generated", "generated"),
        ("is_nullable", "nullable"),
        ("is_updatable", "updatable"),
        ("is_unique", "unique"),
    ];
    let mut described = Map::new();
    for name in ["name", "data_type", "format"] {
        described.insert(name.to_owned(), column[name].clone());
    }
    let options = OPTIONS.iter().filter(|(name, _)| column[*name] == true).map(|(_, option)| json!(option));
    described.insert("options".to_owned(), Value::Array(options.collect()));
    for name in ["default_value", "identity_generation", "enums", "check", "comment"] {
        let value = &column[name];
        let is_empty = value.is_null() || value.as_array().is_some_and(Vec::is_empty);
        if !is_empty {
            described.insert(name.to_owned(), value.clone());
        }
    }
    Value::Object(described)
}

/// Warns of tables that everybody with a public key may read and change.
fn advisory(open: &[&Value]) -> Value {
    let quoted = |row: &Value| {
        let (schema, name) = (text(row, "schema"), text(row, "name"));
        format!("{}.{}", postgres::quote_identifier(schema), postgres::quote_identifier(name))
    };
    let statements: Vec<String> =
        open.iter().map(|row| format!("ALTER TABLE {} ENABLE ROW LEVEL SECURITY;", quoted(row))).collect();
    json!({
        "id": "rls_disabled",
        "priority": 1,
        "level": "critical",
        "title": "Row-level security is off",
        "message": format!(
            "{} tables have no row-level security: where the API's roles have rights to them, everybody with a public \
             key has. Tell the user, and do not change it unasked: without policies nobody could read these tables \
             any more.",
            open.len()
        ),
        "remediation_sql": statements.join("\n"),
        "doc_url": DOCUMENTATION,
    })
}

fn text<'v>(value: &'v Value, name: &str) -> &'v str {
    value[name].as_str().unwrap_or_default()
}

fn array<'v>(value: &'v Value, name: &str) -> &'v [Value] {
    value[name].as_array().map(Vec::as_slice).unwrap_or_default()
}

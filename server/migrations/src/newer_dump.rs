//! Rows of a dump for tables of the platform that this server's release does not have: hosted Supabase is always ahead.

use super::split::Statement;

/// The schemas whose tables the platform changes with its releases.
const SCHEMAS: [&str; 3] = ["auth", "realtime", "storage"];
/// The SQLSTATEs for a table, a column and a schema that do not exist.
const MISSING: [&str; 3] = ["42P01", "42703", "3F000"];

/// Returns the schema of the platform into which the statement writes rows: `copy … from stdin` or `insert into`, as
/// `pg_dump` and `supabase db dump` write them; `None` for others.
pub(super) fn target(statement: &Statement<'_>) -> Option<&'static str> {
    let text = statement.text.get(statement.first_token.checked_sub(statement.offset)?..)?;
    let mut words = text.split_whitespace();
    let writes = match words.next()?.to_ascii_lowercase().as_str() {
        "copy" => true,
        "insert" => words.next()?.eq_ignore_ascii_case("into"),
        _ => false,
    };
    if !writes {
        return None;
    }
    let (schema, _) = words.next()?.split_once('.')?;
    let schema = schema.trim_matches('"');
    SCHEMAS.into_iter().find(|platform| *platform == schema)
}

/// Returns a query that fails if a `copy … from stdin` without rows into a schema of the platform would fail for lack
/// of the table or of a column; `None` for other statements.
pub(super) fn check_of_empty_copy(statement: &Statement<'_>) -> Option<String> {
    let is_empty = statement.data.is_some_and(str::is_empty);
    target(statement).filter(|_| is_empty)?;
    let text = statement.text.get(statement.first_token - statement.offset..)?;
    let end = text.to_ascii_lowercase().rfind("from")?;
    let copied = text.get("copy".len()..end)?.trim();
    let (table, columns) = copied.split_once('(').unwrap_or((copied, ""));
    Some(format!("select {} from {table} limit 0", columns.trim_end_matches(')')))
}

/// Returns what to do about a statement that was refused with the SQLSTATE `code`, because it writes what this release
/// does not have.
pub(super) fn hint(statement: &Statement<'_>, code: &str) -> Option<String> {
    let schema = target(statement).filter(|_| MISSING.contains(&code))?;
    Some(format!(
        "The rows are from a newer release of Supabase's schema {schema} than this server has. Update Basalt; or take \
         the table, or the column, out of the file, if the project can do without."
    ))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::split::split;

    #[test]
    fn rows_for_the_platform_are_recognized() {
        for (sql, schema, check) in [
            (
                "--\nCOPY \"auth\".\"users\" (\"id\", \"a\") FROM stdin;\n\\.\n",
                Some("auth"),
                Some("select \"id\", \"a\" from \"auth\".\"users\"  limit 0"),
            ),
            (
                "copy storage.objects from stdin with csv;\n\\.\n",
                Some("storage"),
                Some("select  from storage.objects limit 0"),
            ),
            ("copy storage.objects from stdin;\na\n\\.\n", Some("storage"), None),
            ("-- Data\n\nINSERT INTO \"realtime\".\"messages\" VALUES (1)", Some("realtime"), None),
            ("copy auth_backup.users from stdin;\n\\.\n", None, None),
            ("insert into public.notes values ('auth.users')", None, None),
            ("select 1", None, None),
        ] {
            let statements = split(sql).unwrap();
            let statement = &statements[0];
            assert_eq!(target(statement), schema, "{sql}");
            assert_eq!(check_of_empty_copy(statement).as_deref(), check, "{sql}");
            assert_eq!(hint(statement, "42703").is_some(), schema.is_some());
            assert_eq!(hint(statement, "23505"), None);
        }
    }
}

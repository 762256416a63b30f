//! Makes of a dump what another project can run: nothing of the platform, and nothing that fails where an object
//! exists.
//!
//! The rules are those of the scripts of `supabase db dump`, which are regular expressions on lines. Here they apply to
//! whole statements, so that lines inside of functions and texts stay as they are.
//!
//! Source: the Supabase CLI, `pkg/migration/scripts/dump_schema.sh` and `dump_role.sh`, and their state in version 3.1.

use migrations::{SplitError, Statement, split};

use super::super::schemas::is_one_of;

/// What is left out of a schema: the platform has made it, or only a superuser can.
const NOT_IN_SCHEMA: &[&str] = &[
    "CREATE PUBLICATION \"supabase_realtime",
    "CREATE EVENT TRIGGER ",
    "ALTER EVENT TRIGGER ",
    "ALTER PUBLICATION \"supabase_realtime_",
    "ALTER DEFAULT PRIVILEGES FOR ROLE \"supabase_admin\"",
    "COMMENT ON EXTENSION ",
    "COMMENT ON PUBLICATION \"supabase_realtime",
    "CREATE POLICY \"cron_job_",
    "ALTER TABLE \"cron\"",
    "SET transaction_timeout = 0",
];

/// Statements that are changed so that they succeed where the object exists.
const REPEATABLE: &[(&str, &str)] = &[
    ("CREATE SCHEMA \"", "CREATE SCHEMA IF NOT EXISTS \""),
    ("CREATE TABLE \"", "CREATE TABLE IF NOT EXISTS \""),
    ("CREATE SEQUENCE \"", "CREATE SEQUENCE IF NOT EXISTS \""),
    ("CREATE VIEW \"", "CREATE OR REPLACE VIEW \""),
    ("CREATE FUNCTION \"", "CREATE OR REPLACE FUNCTION \""),
    ("CREATE TRIGGER \"", "CREATE OR REPLACE TRIGGER \""),
];

/// Extensions that have a schema of their own, which a statement must not name.
const WITH_OWN_SCHEMA: [&str; 3] = ["pg_tle", "pgsodium", "pgmq"];

/// The roles that every project has.
const RESERVED_ROLES: &[&str] = &[
    "anon",
    "authenticated",
    "authenticator",
    "cli_login_*",
    "dashboard_user",
    "pgbouncer",
    "postgres",
    "service_role",
    "supabase_*",
    "pgsodium_keyholder",
    "pgsodium_keyiduser",
    "pgsodium_keymaker",
    "pgtle_admin",
];

/// Settings of reserved roles that a project may change.
const ROLE_SETTINGS: &[&str] =
    &["pgaudit*", "pgrst*", "session_replication_role", "statement_timeout", "track_io_timing"];

/// Returns the dump of a schema without what belongs to the platform. `internal` are patterns of the platform's
/// schemas. Comments, and what is left out, stay as comments if `keep_comments` is set.
///
/// Errors: if the text is not a dump.
pub(super) fn schema(sql: &str, internal: &[&str], keep_comments: bool) -> Result<String, SplitError> {
    rewrite(sql, keep_comments, |statement| {
        let is_left_out = NOT_IN_SCHEMA.iter().any(|prefix| statement.starts_with(prefix))
            || changes_wrapper(statement)
            || is_grant_on(statement, internal);
        (!is_left_out).then(|| repeatable(statement))
    })
}

/// Returns the dump of roles without those that every project has, and without what only a superuser can set.
///
/// Errors: if the text is not a dump.
pub(super) fn roles(sql: &str, keep_comments: bool) -> Result<String, SplitError> {
    let mut before = String::new();
    rewrite(sql, keep_comments, |statement| {
        let changed = role(statement)?;
        // The settings of a role can be dumped twice: once for each database.
        let is_new = changed != before;
        before.clone_from(&changed);
        is_new.then_some(changed)
    })
}

fn role(statement: &str) -> Option<String> {
    let reserved = |name: &str| is_one_of(RESERVED_ROLES, name);
    if let Some(created) = statement.strip_prefix("CREATE ROLE ")
        && reserved(quoted(created)?)
    {
        return None;
    }
    if let Some(altered) = statement.strip_prefix("ALTER ROLE ")
        && reserved(quoted(altered)?)
    {
        let setting = altered.split_once(" SET ").and_then(|(_, setting)| quoted(setting));
        let is_allowed = setting.is_some_and(|name| is_one_of(ROLE_SETTINGS, name));
        return is_allowed.then(|| statement.to_owned());
    }
    if statement.starts_with("GRANT ")
        && let Some((_, receiver)) = statement.rsplit_once(" TO ")
        && reserved(quoted(receiver)?)
    {
        return None;
    }
    Some(statement.replace(" NOSUPERUSER", "").replace(" NOREPLICATION", ""))
}

fn repeatable(statement: &str) -> String {
    for (from, to) in REPEATABLE {
        if let Some(rest) = statement.strip_prefix(from) {
            return format!("{to}{rest}");
        }
    }
    let extension = "CREATE EXTENSION IF NOT EXISTS ";
    match statement.strip_prefix(extension).and_then(quoted) {
        Some(name) if WITH_OWN_SCHEMA.contains(&name) => format!("{extension}\"{name}\""),
        _ => statement.to_owned(),
    }
}

fn changes_wrapper(statement: &str) -> bool {
    let changes_owner =
        statement.starts_with("ALTER FOREIGN DATA WRAPPER ") && statement.contains(" OWNER TO ");
    let grants = statement.starts_with("GRANT ALL ON FOREIGN DATA WRAPPER ")
        && statement.ends_with(" TO \"postgres\" WITH GRANT OPTION");
    changes_owner || grants
}

/// Reports whether the statement grants or takes rights on a schema of the platform, or on something in it.
fn is_grant_on(statement: &str, internal: &[&str]) -> bool {
    let is_grant = ["GRANT ", "REVOKE "].iter().any(|word| statement.starts_with(word));
    let Some((_, object)) = statement.split_once(" ON ").filter(|_| is_grant) else { return false };
    let Some((_, name)) = object.split_once(" \"") else { return false };
    name.split_once('"').is_some_and(|(name, _)| is_one_of(internal, name))
}

/// Returns the name in quotes that `text` begins with.
fn quoted(text: &str) -> Option<&str> {
    text.strip_prefix('"')?.split_once('"').map(|(name, _)| name)
}

/// Returns `sql` with each statement as `change` returns it, without the semicolon. Those for which it returns `None`
/// are left out, or become comments as all other comments if these are kept.
fn rewrite(
    sql: &str,
    keep_comments: bool,
    mut change: impl FnMut(&str) -> Option<String>,
) -> Result<String, SplitError> {
    let mut written = String::new();
    let mut end = 0;
    for statement in split(sql)?.iter().filter(|statement| !statement.is_comment()) {
        between(&mut written, &sql[end..statement.first_token], keep_comments);
        let (text, statement_end) = text_of(sql, statement);
        end = statement_end;
        match change(text) {
            Some(changed) => written.extend([&changed, ";\n"]),
            None if keep_comments => {
                written.extend(text.lines().map(|line| format!("-- {line}\n")));
            }
            None => {}
        }
    }
    between(&mut written, &sql[end..], keep_comments);
    Ok(written)
}

/// Returns the text of a statement from its first token, and where it ends in `sql`, behind its semicolon and the end
/// of the line.
fn text_of<'a>(sql: &'a str, statement: &Statement<'_>) -> (&'a str, usize) {
    let end = statement.offset + statement.text.len();
    let semicolon = sql[end..].find(';').map_or(sql.len(), |at| end + at + 1);
    let after = semicolon + usize::from(sql[semicolon..].starts_with('\n'));
    (&sql[statement.first_token..end], after)
}

/// Writes what is between two statements: comments, and commands of psql as comments; and at most one empty line.
fn between(written: &mut String, gap: &str, keep_comments: bool) {
    let mut is_apart = written.is_empty() || written.ends_with("\n\n");
    for line in gap.lines() {
        let is_command = line.starts_with('\\');
        if line.is_empty() {
            if !is_apart {
                written.push('\n');
            }
            is_apart = true;
        } else if keep_comments && (line.starts_with("--") || is_command) {
            written.extend([if is_command { "-- " } else { "" }, line, "\n"]);
            is_apart = false;
        }
    }
}

/// The lines of a dump of data, without psql's commands: `\restrict` before everything else, and `\unrestrict` with the
/// same word after it.
#[derive(Debug, Default)]
pub(super) struct DataLines {
    end: Option<Vec<u8>>,
}

impl DataLines {
    /// Returns the comment that replaces a command, or the line itself.
    pub(super) fn line(&mut self, line: &[u8]) -> Vec<u8> {
        let is_command = match (line.strip_prefix(b"\\restrict "), &self.end) {
            (Some(word), None) => {
                self.end = Some([b"\\unrestrict ", word].concat());
                true
            }
            (_, Some(end)) => line == end,
            _ => false,
        };
        if is_command { [b"-- ", line].concat() } else { line.to_owned() }
    }
}

#[cfg(test)]
mod tests {
    use super::super::super::schemas::INTERNAL;
    use super::*;

    #[test]
    fn a_schema_is_repeatable_and_without_the_platform() {
        let dump = "--\n-- PostgreSQL database dump\n--\n\n\\restrict abc\n\nSET statement_timeout = 0;\n\
             SET transaction_timeout = 0;\n\n\n--\n-- Name: f\n--\n\nCREATE FUNCTION \"public\".\"f\"() RETURNS \"text\"\n    \
             LANGUAGE \"sql\"\n    AS $$\nCREATE TABLE \"x\";\n-- stays\n$$;\n\n\nCREATE TABLE \"public\".\"t\" (\n    \"id\" integer\n);\n\n\
             CREATE EVENT TRIGGER \"e\" ON ddl_command_end\n         WHEN TAG IN ('X')\n   EXECUTE FUNCTION \"f\"();\n\n\
             CREATE EXTENSION IF NOT EXISTS \"pgmq\" WITH SCHEMA \"pgmq\";\n\n\
             GRANT USAGE ON SCHEMA \"auth\" TO \"anon\";\nGRANT ALL ON TABLE \"public\".\"t\" TO \"anon\";\n\n\\unrestrict abc\n\n";
        let kept = schema(dump, INTERNAL, false).unwrap();
        assert_eq!(
            kept,
            "SET statement_timeout = 0;\n\nCREATE OR REPLACE FUNCTION \"public\".\"f\"() RETURNS \"text\"\n    \
             LANGUAGE \"sql\"\n    AS $$\nCREATE TABLE \"x\";\n-- stays\n$$;\n\nCREATE TABLE IF NOT EXISTS \"public\".\"t\" (\n    \
             \"id\" integer\n);\n\nCREATE EXTENSION IF NOT EXISTS \"pgmq\";\n\n\
             GRANT ALL ON TABLE \"public\".\"t\" TO \"anon\";\n\n"
        );
        let commented = schema(dump, INTERNAL, true).unwrap();
        for line in
            ["-- \\restrict abc", "-- Name: f", "-- CREATE EVENT TRIGGER \"e\"", "-- SET transaction_timeout"]
        {
            assert!(commented.contains(line), "{line} in {commented}");
        }
    }

    #[test]
    fn a_named_schema_of_the_platform_keeps_its_grants() {
        let grant = "GRANT USAGE ON SCHEMA \"auth\" TO \"anon\";\n";
        assert_eq!(schema(grant, &[], false).unwrap(), grant);
    }

    #[test]
    fn only_the_projects_roles_are_created() {
        let dump = "CREATE ROLE \"anon\";\nALTER ROLE \"anon\" WITH NOSUPERUSER INHERIT;\n\
             ALTER ROLE \"anon\" SET \"statement_timeout\" TO '3s';\nALTER ROLE \"anon\" SET \"search_path\" TO 'x';\n\
             CREATE ROLE \"app\";\nALTER ROLE \"app\" WITH NOSUPERUSER INHERIT LOGIN NOREPLICATION;\n\
             GRANT \"app\" TO \"postgres\" WITH ADMIN OPTION;\nGRANT \"anon\" TO \"app\";\n\
             GRANT SET ON PARAMETER \"x\" TO \"supabase_admin\";\n";
        assert_eq!(
            roles(dump, false).unwrap(),
            "ALTER ROLE \"anon\" SET \"statement_timeout\" TO '3s';\nCREATE ROLE \"app\";\n\
             ALTER ROLE \"app\" WITH INHERIT LOGIN;\nGRANT \"anon\" TO \"app\";\n"
        );
    }

    #[test]
    fn only_the_commands_around_the_rows_are_comments() {
        let mut lines = DataLines::default();
        for (line, written) in [
            ("\\restrict abc\n", "-- \\restrict abc\n"),
            ("\\unrestrict xyz\n", "\\unrestrict xyz\n"),
            ("\\restrict abc\n", "\\restrict abc\n"),
            ("\\unrestrict abc\n", "-- \\unrestrict abc\n"),
        ] {
            assert_eq!(lines.line(line.as_bytes()), written.as_bytes(), "{line}");
        }
    }
}

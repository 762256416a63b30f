//! Writes the difference of two databases as migrations.

use std::fs::OpenOptions;
use std::io::Write as _;
use std::path::PathBuf;

use migrations::{Statement, creates_own_trigger, split};
use time::{Duration, OffsetDateTime};

use super::super::migration;
use crate::console;
use crate::error::Error;
use crate::settings::{Settings, display_path};

/// The words of the statement with which the engine begins a part that has functions.
const BEGINNING: [&str; 3] = ["SET", "LOCAL", "CHECK_FUNCTION_BODIES"];

/// A migration that was written.
#[derive(Debug)]
pub(super) struct Written {
    pub(super) path: PathBuf,
    pub(super) version: String,
}

/// Writes `sql` as migrations of the project named `name`: one, unless there is a statement that a later one can use
/// only after a commit, such as a new value of an enumeration.
pub(super) fn write(settings: &Settings, name: &str, sql: &str) -> Result<Vec<Written>, Error> {
    let folder = &settings.migrations.path;
    std::fs::create_dir_all(folder).map_err(Error::io(format!("create {}", display_path(folder))))?;
    let mut time = OffsetDateTime::now_utc();
    let mut written = Vec::new();
    for part in parts(sql) {
        let file = migration::file_name(name, time)?;
        let path = folder.join(&file);
        let create = || {
            let mut file = OpenOptions::new().write(true).create_new(true).open(&path)?;
            file.write_all(part.trim_end().as_bytes())?;
            file.write_all(b"\n")
        };
        create().map_err(Error::io(format!("write {}", display_path(&path))))?;
        let version = file.split('_').next().unwrap_or_default().to_owned();
        written.push(Written { path, version });
        time += Duration::SECOND;
    }
    Ok(written)
}

/// Divides `sql` into the parts that are run in transactions of their own: the engine writes two empty lines between
/// them.
fn parts(sql: &str) -> Vec<&str> {
    let mut borders = vec![0];
    let mut end = 0;
    for statement in split(sql).unwrap_or_default() {
        let gap = sql.get(end..statement.offset).unwrap_or_default();
        if end > 0 && gap.matches('\n').count() > 2 {
            borders.push(statement.offset);
        }
        end = end_of(sql, &statement);
    }
    borders.push(sql.len());
    borders.windows(2).map(|pair| &sql[pair[0]..pair[1]]).collect()
}

/// Returns where a statement ends in `sql`, behind its semicolon.
fn end_of(sql: &str, statement: &Statement<'_>) -> usize {
    sql.len().min(statement.offset + statement.text.len() + 1)
}

/// Returns the statements of `sql` that are about the project; empty if there are none.
///
/// The databases that are compared may be on two servers. A role that the project's own server has and the other one
/// lacks is no reason to drop it, and what Basalt itself has in a database is none to make it in another one, or to
/// drop it there.
pub(super) fn of_project(sql: &str) -> String {
    let statements = split(sql).unwrap_or_default();
    let drops = statements.iter().filter(|statement| drops_role(statement));
    let dropped: Vec<&str> = drops.filter_map(|statement| statement.text.rsplit(' ').next()).collect();
    let parts = parts(sql).into_iter().map(|part| part_of_project(part, &dropped));
    let parts: Vec<String> = parts.filter(|part| !part.is_empty()).collect();
    parts.join("\n\n\n")
}

/// Does that for one part, without line ends around it.
fn part_of_project(part: &str, dropped_roles: &[&str]) -> String {
    let statements = split(part).unwrap_or_default();
    let is_left_out = |statement: &Statement<'_>| {
        let is_membership = begins(statement, &["REVOKE"]) && !statement.words.contains(&"ON".to_owned());
        let is_of_dropped = is_membership && dropped_roles.iter().any(|role| statement.text.contains(role));
        drops_role(statement) || is_of_dropped || is_own(statement)
    };
    let kept = statements.iter().filter(|statement| !is_left_out(statement));
    let kept: Vec<&Statement<'_>> = kept.collect();
    if kept.iter().all(|statement| begins(statement, &BEGINNING)) {
        return String::new();
    }
    let texts: Vec<&str> =
        kept.iter().map(|statement| &part[statement.offset..end_of(part, statement)]).collect();
    texts.join("\n\n")
}

fn begins(statement: &Statement<'_>, phrase: &[&str]) -> bool {
    statement.words.iter().map(String::as_str).take(phrase.len()).eq(phrase.iter().copied())
}

fn drops_role(statement: &Statement<'_>) -> bool {
    begins(statement, &["DROP", "ROLE"])
}

/// Reports whether the statement is about a schema or a trigger of Basalt's own, which its first line names; or the second,
/// where the first has only what is done.
fn is_own(statement: &Statement<'_>) -> bool {
    const NAMES: [&str; 5] =
        [" \"basalt\"", " basalt.", " \"basalt_platform\"", " TRIGGER \"basalt_", " \"storage_vectors\""];
    let mut lines = statement.text.lines();
    let first = lines.next().unwrap_or_default();
    let line = if first.contains(['"', '.']) { first } else { lines.next().unwrap_or_default() };
    NAMES.iter().any(|name| line.contains(name)) || creates_own_trigger(statement)
}

/// Shows the statements that drop something.
pub(super) fn warn_of_drops(sql: &str) {
    let statements = split(sql).unwrap_or_default();
    let drops: Vec<&str> = statements
        .iter()
        .filter(|statement| {
            let words: Vec<&str> = statement.words.iter().map(String::as_str).collect();
            words.first() == Some(&"DROP") || (words.first() == Some(&"ALTER") && words.contains(&"DROP"))
        })
        .map(|statement| statement.text)
        .collect();
    if !drops.is_empty() {
        let drops = drops.join("\n");
        console::note(format_args!(
            "Found drop statements in schema diff. Please double check if these are expected:\n{drops}"
        ));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_project_is_compared() {
        let set = "SET local check_function_bodies = off;";
        let others = "REVOKE \"clerk\" FROM \"postgres\";\n\nDROP ROLE \"clerk\";\n\nDROP TABLE \"basalt\".\"a\";\n\n\
             CREATE OR REPLACE FUNCTION basalt.f()\n  RETURNS trigger;\n\nDROP TRIGGER \"basalt_notify\" ON \"storage\".\"buckets\";\n\n\
             CREATE TRIGGER t\n  AFTER DELETE ON storage.objects\n  EXECUTE FUNCTION basalt.f();";
        let table = "CREATE TABLE a ();\n\nREVOKE ALL ON TABLE a FROM \"clerk\";";
        assert_eq!(of_project(&format!("{set}\n\n{others}\n")), "");
        let project = format!("{set}\n\n{table}");
        assert_eq!(of_project(&format!("{project}\n")), project);
        assert_eq!(of_project(&format!("{set}\n\n{others}\n\n{table}\n")), project);
        assert_eq!(
            of_project(&format!("{others}\n\n\n{table}\n\n\n{project}\n")),
            format!("{table}\n\n\n{project}")
        );
        assert_eq!(of_project(""), "");
    }

    #[test]
    fn what_needs_a_commit_between_is_divided() {
        let first = "SET local check_function_bodies = off;\n\nALTER TYPE e ADD VALUE 'y';\n\n\n";
        let second = "CREATE FUNCTION f() RETURNS int LANGUAGE sql AS $$\n\n\n\nselect 1$$;\n\nselect 2;\n";
        assert_eq!(parts(&format!("{first}{second}")), [first, second]);
        assert_eq!(parts("CREATE TABLE a ();\n"), ["CREATE TABLE a ();\n"]);
    }
}

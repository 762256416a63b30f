//! Postgres' log, without the values that may be in it: its readers may read no table.
//!
//! Source: `log_line_prefix` of the embedded Postgres, and PostgreSQL documentation, section 19.8.

use std::fs::File;
use std::io::{self, Read as _, Seek as _, SeekFrom};
use std::path::Path;
use std::time::SystemTime;

use telemetry::without_values;
use time::PrimitiveDateTime;
use time::macros::format_description;

/// How many bytes at the end of the log are read.
const MOST: u64 = 2 << 20;
/// The longest message in bytes.
const LONGEST: usize = 8 << 10;

/// The severities with which a message begins.
const SEVERITIES: [&str; 12] = [
    "DEBUG1", "DEBUG2", "DEBUG3", "DEBUG4", "DEBUG5", "LOG", "INFO", "NOTICE", "WARNING", "ERROR", "FATAL",
    "PANIC",
];
/// What may begin a message, or follow a duration, before SQL of clients.
const BEFORE_SQL: [&str; 6] = ["statement:", "execute ", "parse ", "bind ", "plan:", "AUDIT:"];

/// A message of Postgres.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Line {
    /// Where it begins in the file.
    pub(super) offset: u64,
    pub(super) time: SystemTime,
    pub(super) process: String,
    pub(super) user: Option<String>,
    pub(super) database: Option<String>,
    pub(super) application: Option<String>,
    pub(super) severity: String,
    pub(super) message: String,
    pub(super) hint: Option<String>,
    /// The statement, without values.
    pub(super) query: Option<String>,
}

/// Returns the newest messages of `file`, and of the file that it has replaced. What cannot be read is left out.
pub(super) fn read(file: &Path) -> Vec<Line> {
    let of = |path: &Path, most: u64| end_of(path, most).unwrap_or_default();
    let (offset, newest) = of(file, MOST);
    let (older_offset, older) = match MOST.saturating_sub(newest.len() as u64) {
        0 => (0, String::new()),
        room => of(&file.with_extension("log.1"), room),
    };
    let mut lines = parse(&older, older_offset);
    lines.extend(parse(&newest, offset));
    lines
}

/// Returns the end of a file, and where it begins.
fn end_of(path: &Path, most: u64) -> io::Result<(u64, String)> {
    let mut file = File::open(path)?;
    let offset = file.metadata()?.len().saturating_sub(most);
    file.seek(SeekFrom::Start(offset))?;
    let mut bytes = Vec::new();
    file.take(most).read_to_end(&mut bytes)?;
    Ok((offset, String::from_utf8_lossy(&bytes).into_owned()))
}

/// Reads messages. Lines of another form are left out, such as the rest of one at the beginning.
fn parse(text: &str, offset: u64) -> Vec<Line> {
    let mut lines: Vec<Line> = Vec::new();
    let mut begin = offset;
    let mut rest = text;
    while !rest.is_empty() {
        let end = end_of_entry(rest);
        let entry = rest[..end].trim_end().replace("\n\t", "\n");
        if let Some((line, label, text)) = entry_of(&entry, begin) {
            match lines.last_mut().filter(|last| last.process == line.process) {
                _ if SEVERITIES.contains(&label) => {
                    let (severity, message) = (label.to_owned(), harmless(text));
                    lines.push(Line { severity, message, ..line });
                }
                Some(last) if label == "HINT" => last.hint = Some(text.to_owned()),
                Some(last) if label == "STATEMENT" => last.query = Some(without_values(text)),
                // The others have values: DETAIL, CONTEXT, QUERY.
                _ => {}
            }
        }
        begin += end as u64;
        rest = &rest[end..];
    }
    lines
}

/// Returns the length of the first line of `text` with those that continue it, which begin with a tab.
fn end_of_entry(text: &str) -> usize {
    let mut at = 0;
    while let Some(length) = text[at..].find('\n') {
        at += length + 1;
        if !text[at..].starts_with('\t') {
            return at;
        }
    }
    text.len()
}

/// Reads `2026-11-29 00:51:48.123 UTC [77] user@database application: ERROR:  text`: the prefix, the label and the
/// text.
fn entry_of(entry: &str, offset: u64) -> Option<(Line, &str, &str)> {
    let (stamp, rest) = entry.split_once(" UTC [")?;
    let form = format_description!("[year]-[month]-[day] [hour]:[minute]:[second].[subsecond]");
    let time = PrimitiveDateTime::parse(stamp, form).ok()?.assume_utc().into();
    let (process, rest) = rest.split_once("] ")?;
    let (label, text, session) = match labelled(rest) {
        Some((label, text)) => (label, text, None),
        None => {
            // The name of an application may have any text.
            let (at, _) = rest.match_indices(": ").find(|(at, _)| labelled(&rest[at + 2..]).is_some())?;
            let (label, text) = labelled(&rest[at + 2..])?;
            (label, text, Some(&rest[..at]))
        }
    };
    let session = session.and_then(|session| session.split_once(' ')).map(|(login, application)| {
        let (user, database) = login.rsplit_once('@').unwrap_or((login, ""));
        (user.to_owned(), database.to_owned(), application.to_owned())
    });
    let (user, database, application) = match session {
        Some((user, database, application)) => (Some(user), Some(database), Some(application)),
        None => (None, None, None),
    };
    let line = Line {
        offset,
        time,
        process: process.to_owned(),
        user,
        database,
        application,
        severity: String::new(),
        message: String::new(),
        hint: None,
        query: None,
    };
    Some((line, label, text))
}

/// Splits `ERROR:  text`.
fn labelled(text: &str) -> Option<(&str, &str)> {
    let (label, rest) = text.split_once(":  ")?;
    let is_label = SEVERITIES.contains(&label)
        || ["DETAIL", "HINT", "CONTEXT", "QUERY", "STATEMENT", "LOCATION", "BACKTRACE"].contains(&label);
    is_label.then_some((label, rest))
}

/// Returns a message without values of clients: SQL has none, and what follows a colon in quotes is left out.
fn harmless(message: &str) -> String {
    let after_duration = message.find(" ms  ").filter(|_| message.starts_with("duration: ")).map(|at| at + 5);
    let at = after_duration.unwrap_or(0);
    let mut text = match BEFORE_SQL.iter().any(|beginning| message[at..].starts_with(beginning)) {
        true => format!("{}{}", &message[..at], without_values(&message[at..])),
        false => match message.split_once(": \"") {
            Some((before, _)) => format!("{before}: …"),
            None => message.to_owned(),
        },
    };
    text.truncate(text.floor_char_boundary(LONGEST));
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    const LOG: &str = "half of a line\n\
        2026-11-29 00:51:48.123 UTC [7] LOG:  database system is ready to accept connections\n\
        2026-11-29 00:51:49.000 UTC [8] anon@postgres my app: a: ERROR:  relation \"lamps\" does not exist at character 15\n\
        2026-11-29 00:51:49.000 UTC [8] anon@postgres my app: a: HINT:  Look elsewhere.\n\
        2026-11-29 00:51:49.000 UTC [8] anon@postgres my app: a: STATEMENT:  select * from lamps\n\
        \t where name = 'secret-1'\n\
        2026-11-29 00:51:50.000 UTC [8] anon@postgres x: ERROR:  duplicate key value violates unique constraint \"k\"\n\
        2026-11-29 00:51:50.000 UTC [8] anon@postgres x: DETAIL:  Key (name)=(secret-2) already exists.\n\
        2026-11-29 00:51:51.000 UTC [8] anon@postgres x: ERROR:  invalid input syntax for type uuid: \"secret-3\"\n\
        2026-11-29 00:51:52.000 UTC [8] anon@postgres x: LOG:  duration: 5.1 ms  statement: alter role a password 'secret-4'\n\
        2026-11-29 00:51:53.000 UTC [8] anon@postgres x: LOG:  execute <unnamed>: select 'secret-5'\n";

    #[test]
    fn messages_are_read_without_values() {
        let lines = parse(LOG, 100);
        let messages: Vec<&str> = lines.iter().map(|line| line.message.as_str()).collect();
        assert_eq!(
            messages,
            [
                "database system is ready to accept connections",
                "relation \"lamps\" does not exist at character 15",
                "duplicate key value violates unique constraint \"k\"",
                "invalid input syntax for type uuid: …",
                "duration: 5.1 ms  statement: alter role a password ?",
                "execute <unnamed>: select ?",
            ]
        );
        assert_eq!((lines[0].offset, lines[0].user.as_deref()), (115, None));
        let one = &lines[1];
        assert_eq!((one.severity.as_str(), one.process.as_str()), ("ERROR", "8"));
        assert_eq!(one.application.as_deref(), Some("my app: a"));
        assert_eq!((one.user.as_deref(), one.database.as_deref()), (Some("anon"), Some("postgres")));
        assert_eq!(one.hint.as_deref(), Some("Look elsewhere."));
        assert_eq!(one.query.as_deref(), Some("select * from lamps where name = ?"));
        assert!(!format!("{lines:?}").contains("secret-"));
    }
}

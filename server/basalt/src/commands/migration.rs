//! `basalt migration`: creates files of migrations.

use std::fs::OpenOptions;
use std::io::{IsTerminal as _, Read as _, Write as _};

use clap::Subcommand;
use time::OffsetDateTime;
use time::macros::format_description;

use crate::console;
use crate::error::Error;
use crate::settings::{Settings, display_path};

/// Arguments of `migration`.
#[derive(Debug, Subcommand)]
pub(super) enum Arguments {
    /// Create a migration, empty or with the SQL of standard input: `basalt migration new add_prices < prices.sql`
    New {
        /// What it does, in a few words
        name: String,
    },
}

/// Runs the command.
pub(super) fn run(settings: &Settings, arguments: Arguments) -> Result<(), Error> {
    let Arguments::New { name } = arguments;
    let path = settings.migrations.path.join(file_name(&name, OffsetDateTime::now_utc())?);
    let mut sql = String::new();
    if !std::io::stdin().is_terminal() {
        std::io::stdin().read_to_string(&mut sql).map_err(Error::io("read standard input"))?;
    }
    let write = || {
        std::fs::create_dir_all(&settings.migrations.path)?;
        OpenOptions::new().write(true).create_new(true).open(&path)?.write_all(sql.as_bytes())
    };
    write().map_err(Error::io(format!("write {}", display_path(&path))))?;
    console::print(format_args!("Created {}", display_path(&path)));
    Ok(())
}

/// Returns a file name as the Supabase CLI forms it: the time in UTC, which is the version, and `name`.
pub(super) fn file_name(name: &str, now: OffsetDateTime) -> Result<String, Error> {
    let refused = |reason: &str| Error::Advice(format!("the name of a migration: {reason}, found {name:?}"));
    let words: Vec<&str> = name.split_whitespace().collect();
    let name = words.join("_");
    if name.is_empty() || name.contains(['/', '\\', '\0']) || name.starts_with('.') {
        return Err(refused("expected words without slashes"));
    }
    let version = now.format(format_description!("[year][month][day][hour][minute][second]"));
    Ok(format!("{}_{name}.sql", version.map_err(|error| refused(&error.to_string()))?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_are_named_by_time_and_words() {
        let now = OffsetDateTime::from_unix_timestamp(1_767_323_045).unwrap();
        assert_eq!(file_name("add prices", now).unwrap(), "20260102030405_add_prices.sql");
        for name in ["", "  ", "../x", "a/b", ".hidden"] {
            assert!(file_name(name, now).is_err(), "{name:?}");
        }
    }
}

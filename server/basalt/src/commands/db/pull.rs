//! `basalt db pull`, with the flags and texts of `supabase db pull`: writes what a database has beyond the project's
//! migrations as a migration, and records it there; or writes its schema as declared schemas.
//!
//! Source: the Supabase CLI, `internal/db/pull`; `db pull --help` of version 3.1.

use std::path::Path;

use clap::Args;
use migrations::{Migrator, State, creates_own_trigger, split};
use postgres::Client;

use super::super::source::{Source, Target};
use super::diff::Comparison;
use super::difference;
use super::engine::Engine;
use crate::backend::consent;
use crate::console;
use crate::declared;
use crate::error::Error;
use crate::settings::{Settings, display_path};
use crate::uri;

/// Arguments of `db pull`.
#[derive(Debug, Args)]
pub(in super::super) struct Arguments {
    /// The name of the migration
    #[arg(value_name = "NAME", default_value = "remote_schema")]
    name: String,
    /// Write the schema as declared schemas, supabase/schemas, in place of a migration
    #[arg(long)]
    declarative: bool,
    /// Only these schemas, separated by commas
    #[arg(long, short = 's', value_delimiter = ',', value_name = "SCHEMAS")]
    schema: Vec<String>,
    /// Do not ask
    #[arg(long, short)]
    yes: bool,
    #[command(flatten)]
    source: Source,
}

/// Writes the migration, or the declared schemas.
pub(super) async fn run(settings: Settings, arguments: Arguments) -> Result<(), Error> {
    let engine = Engine::find(&settings).await?;
    let target = arguments.source.target(settings.clone())?;
    if arguments.declarative {
        return export(&engine, &settings, &target, &arguments).await;
    }
    on(&target, async |client| check_history(&settings, client).await).await?;
    confirm(&target, arguments.yes).await?;
    let comparison = Comparison { engine: &engine, settings: &settings, schemas: &arguments.schema };
    let sql = match target.is_remote {
        true => comparison.with_remote(&target).await,
        false => target.attached(async |own| comparison.with_migrations(own, own).await).await,
    }?;
    if sql.trim().is_empty() {
        return Err(Error::Advice(
            "No schema changes found. The database is already in sync with your local migrations: nothing to pull"
                .to_owned(),
        ));
    }
    let written = difference::write(&settings, &arguments.name, &sql)?;
    for written in &written {
        console::note(format_args!("Schema written to {}", display_path(&written.path)));
    }
    let versions: Vec<String> = written.into_iter().map(|written| written.version).collect();
    on(&target, async |client| {
        let migrator = Migrator::new(client);
        let is_own = migrator.is_own().await?;
        let mut migrator = if is_own { migrator } else { migrator.history_only() };
        Ok(migrator.record(&settings.migrations.path, &versions).await?)
    })
    .await?;
    console::note(format_args!("Repaired migration history: [{}] => applied", versions.join(" ")));
    console::print("Finished basalt db pull.");
    Ok(())
}

/// Runs `work` on the database that is pulled from.
async fn on<T>(target: &Target, work: impl AsyncFnOnce(&mut Client) -> Result<T, Error>) -> Result<T, Error> {
    target
        .attached(async |backend| {
            backend.with_project(async |project| work(&mut project.client().await?).await).await
        })
        .await
}

/// Checks that the database and the project have the same migrations: the difference could be that of one of them.
async fn check_history(settings: &Settings, client: &mut Client) -> Result<(), Error> {
    let status = Migrator::new(client).status(&settings.migrations.path).await?;
    let repair = |state, word| {
        let entries = status.project.iter().filter(move |entry| entry.state == state);
        entries.map(move |entry| {
            format!("supabase migration repair --remote=URL --status {word} {}", entry.version)
        })
    };
    let repairs: Vec<String> =
        repair(State::Unknown, "reverted").chain(repair(State::Pending, "applied")).collect();
    if repairs.is_empty() {
        return Ok(());
    }
    Err(Error::Advice(format!(
        "The remote database's migration history does not match local files in supabase/migrations directory.\n\nMake sure \
         your local git repo is up-to-date. If the error persists, try repairing the migration history table:\n{}",
        repairs.join("\n")
    )))
}

/// Asks before the history of a database that is not on this machine is changed.
async fn confirm(target: &Target, yes: bool) -> Result<(), Error> {
    match target.settings.database.url.as_ref() {
        Some(url) if !yes && !uri::is_of_this_machine(url) => {
            let what = format!(
                "The difference is written to supabase/migrations, and recorded as applied in {}.",
                uri::describe(url)
            );
            let advice = "Nothing has been changed. To agree beforehand, use --yes";
            consent::confirm(&what, "Continue?", advice).await
        }
        _ => Ok(()),
    }
}

/// Writes the schema of the database as declared schemas, in place of those that there are.
async fn export(
    engine: &Engine,
    settings: &Settings,
    target: &Target,
    arguments: &Arguments,
) -> Result<(), Error> {
    let folder = settings.project.base.join(declared::FOLDER);
    if folder.exists() && !arguments.yes {
        let what = format!("This replaces the declared schemas in {}.", display_path(&folder));
        let advice = "Nothing has been changed. To agree beforehand, use --yes";
        consent::confirm(&what, "Continue?", advice).await?;
    }
    console::note("Preparing declarative schema export using pg-delta...");
    target
        .attached(async |backend| {
            engine.export(settings, backend, &arguments.schema, |files| replace(&folder, files)).await
        })
        .await?;
    console::note(format_args!("Declarative schema written to {}", display_path(&folder)));
    console::print("Finished basalt db pull.");
    Ok(())
}

/// Puts the folder `files` in the place of `folder`.
fn replace(folder: &Path, files: &Path) -> Result<(), Error> {
    let doing = || format!("write {}", display_path(folder));
    if folder.exists() {
        std::fs::remove_dir_all(folder).map_err(Error::io(doing()))?;
    }
    copy(files, folder).map_err(Error::io(doing()))
}

/// Copies a folder of exported files, without Basalt's own triggers on the platform's tables.
fn copy(from: &Path, to: &Path) -> std::io::Result<()> {
    std::fs::create_dir_all(to)?;
    for entry in std::fs::read_dir(from)? {
        let entry = entry?;
        let target = to.join(entry.file_name());
        if entry.file_type()?.is_dir() {
            copy(&entry.path(), &target)?;
        } else {
            std::fs::write(target, without_own_triggers(&std::fs::read_to_string(entry.path())?))?;
        }
    }
    Ok(())
}

/// Returns the text of an exported file without the statements that create a trigger with a function of schema
/// `basalt`.
fn without_own_triggers(sql: &str) -> String {
    let mut kept = sql.to_owned();
    for statement in split(sql).unwrap_or_default() {
        if creates_own_trigger(&statement) {
            kept = kept.replace(&format!("{};", statement.text), "");
        }
    }
    if kept.len() == sql.len() { kept } else { kept.trim_start().to_owned() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_export_is_without_our_triggers() {
        let own = "CREATE TRIGGER a\n  AFTER DELETE ON storage.objects\n  EXECUTE FUNCTION basalt.f();\n\n";
        let theirs = "CREATE TRIGGER b\n  AFTER DELETE ON storage.objects\n  EXECUTE FUNCTION public.f();\n";
        assert_eq!(without_own_triggers(&format!("{own}{theirs}")), theirs);
        assert_eq!(without_own_triggers(theirs), theirs);
        assert_eq!(without_own_triggers("{\n  \"loadOrder\": []\n}\n"), "{\n  \"loadOrder\": []\n}\n");
    }
}

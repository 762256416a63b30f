//! `basalt db push`, with the flags and texts of `supabase db push`: applies the project's pending migrations to a
//! database.
//!
//! Source: the Supabase CLI, `internal/db/push`, `pkg/migration/apply.go`; `db push --help` of version 3.1.

use std::path::PathBuf;

use clap::Args;
use migrations::{Entry, Migrator, Report, State};
use postgres::Client;

use super::super::source::{Source, Target};
use crate::backend::{Backend, consent};
use crate::console;
use crate::error::Error;
use crate::settings::Settings;
use crate::uri;

/// Arguments of `db push`.
#[derive(Debug, Args)]
pub(in super::super) struct Arguments {
    /// Apply migrations that are older than the last applied one, too
    #[arg(long)]
    include_all: bool,
    /// Run supabase/roles.sql first
    #[arg(long)]
    include_roles: bool,
    /// Run the seed of config.toml after the migrations
    #[arg(long)]
    include_seed: bool,
    /// Do not store the secrets of `[db.vault]`
    #[arg(long)]
    skip_vault: bool,
    /// Show what would be applied, and change nothing
    #[arg(long)]
    dry_run: bool,
    /// Do not ask
    #[arg(long, short)]
    yes: bool,
    #[command(flatten)]
    source: Source,
}

/// The files that a push runs.
#[derive(Debug, Default)]
struct Plan {
    roles: Vec<PathBuf>,
    /// File names.
    migrations: Vec<String>,
    seed: Vec<PathBuf>,
}

impl Plan {
    fn is_empty(&self) -> bool {
        self.roles.is_empty() && self.migrations.is_empty() && self.seed.is_empty()
    }

    /// Returns the plan's parts with their titles.
    fn parts(&self) -> Vec<(&'static str, Vec<String>)> {
        let paths = |paths: &[PathBuf]| paths.iter().map(|path| path.display().to_string()).collect();
        let parts = vec![
            ("Would create custom roles:", paths(&self.roles)),
            ("Would push these migrations:", self.migrations.clone()),
            ("Would seed these files:", paths(&self.seed)),
        ];
        parts.into_iter().filter(|(_, files)| !files.is_empty()).collect()
    }
}

/// Applies what is pending.
pub(super) async fn run(settings: Settings, arguments: Arguments) -> Result<(), Error> {
    if arguments.dry_run {
        console::note("DRY RUN: migrations will *not* be pushed to the database.");
    }
    let target = arguments.source.target(settings)?;
    let work = async |backend: &Backend| {
        backend
            .with_project(async |project| push(&target, &mut project.client().await?, &arguments).await)
            .await
    };
    match arguments.dry_run {
        true => Backend::attached(&target.settings, work).await,
        false => target.attached(work).await,
    }
}

async fn push(target: &Target, client: &mut Client, arguments: &Arguments) -> Result<(), Error> {
    let settings = &target.settings;
    let plan = plan(settings, client, arguments).await?;
    if plan.is_empty() {
        let name = if target.is_remote { "Remote" } else { "Local" };
        console::print(format_args!("{name} database is up to date."));
        return Ok(());
    }
    if arguments.dry_run {
        for (title, files) in plan.parts() {
            console::note(format_args!("{title}\n{}", list(&files)));
        }
    } else {
        confirm(target, &plan, arguments.yes).await?;
        apply(settings, client, &plan, arguments).await?;
    }
    console::print("Finished basalt db push.");
    Ok(())
}

async fn plan(settings: &Settings, client: &mut Client, arguments: &Arguments) -> Result<Plan, Error> {
    let mut plan = Plan::default();
    if settings.migrations.enabled {
        let status = Migrator::new(client).status(&settings.migrations.path).await?;
        plan.migrations = pending(&status.project, arguments.include_all)?;
    } else {
        console::note("Skipping migrations because they are disabled in config.toml.");
    }
    if arguments.include_roles {
        plan.roles.extend(settings.project.roles());
    }
    if arguments.include_seed && settings.seed.enabled {
        plan.seed = Migrator::new(client).pending_seed(&settings.project.root, &settings.seed.files).await?;
    } else if arguments.include_seed {
        console::note("Skipping seed because it is disabled in config.toml.");
    }
    Ok(plan)
}

/// Returns the files that the database does not have.
///
/// Errors: if the database has migrations without a file here; if files are older than its newest migration, unless
/// `all` are wanted.
fn pending(entries: &[Entry], all: bool) -> Result<Vec<String>, Error> {
    let of = |state: State| entries.iter().filter(move |entry| entry.state == state);
    let unknown: Vec<&str> = of(State::Unknown).map(|entry| &*entry.version).collect();
    if !unknown.is_empty() {
        return Err(Error::Advice(format!(
            "Remote migration versions not found in local migrations directory.\n\nMake sure your local git repo is \
             up-to-date. If the error persists, try repairing the migration history table:\nsupabase migration repair \
             --remote=URL --status reverted {}\n\nAnd update local migrations to match remote database:\nbasalt db pull",
            unknown.join(" ")
        )));
    }
    let is_applied = |entry: &&Entry| entry.state != State::Pending;
    let newest = entries.iter().filter(is_applied).map(|entry| &*entry.version).max().unwrap_or_default();
    let file = |entry: &Entry| format!("{}_{}.sql", entry.version, entry.name);
    let older: Vec<String> = of(State::Pending).filter(|entry| *entry.version < *newest).map(file).collect();
    if !older.is_empty() && !all {
        return Err(Error::Advice(format!(
            "Found local migration files to be inserted before the last migration on remote database.\n\nRerun the \
             command with --include-all flag to apply these migrations:\n{}",
            older.join("\n")
        )));
    }
    Ok(of(State::Pending).map(file).collect())
}

/// Asks before a database that is not on this machine is changed.
async fn confirm(target: &Target, plan: &Plan, yes: bool) -> Result<(), Error> {
    let Some(url) = target.settings.database.url.as_ref().filter(|url| !uri::is_of_this_machine(url)) else {
        return Ok(());
    };
    if yes {
        return Ok(());
    }
    let parts: Vec<String> =
        plan.parts().iter().map(|(title, files)| format!("{title}\n{}", list(files))).collect();
    let what = format!("{}\nin {}.", parts.join("\n"), uri::describe(url));
    let advice = "Nothing has been changed. To agree beforehand, use --yes";
    consent::confirm(&what, "Do you want to push?", advice).await
}

async fn apply(
    settings: &Settings,
    client: &mut Client,
    plan: &Plan,
    arguments: &Arguments,
) -> Result<(), Error> {
    let root = &settings.project.root;
    let is_own = Migrator::new(client).is_own().await?;
    show("Created custom roles from", &migrator(client, is_own).seed(root, &plan.roles).await?);
    if plan.migrations.is_empty() {
        console::note("Schema migrations are up to date.");
    } else {
        if !arguments.skip_vault && !settings.vault.0.is_empty() {
            settings.vault.store(client).await?;
        }
        show("Applied migration", &migrator(client, is_own).project(&settings.migrations.path).await?);
    }
    if !plan.seed.is_empty() {
        show("Seeded data from", &migrator(client, is_own).seed(root, &plan.seed).await?);
    } else if arguments.include_seed {
        console::note("Seed files are up to date.");
    }
    Ok(())
}

/// Returns a migrator that writes the history as the database's own server does.
fn migrator(client: &mut Client, is_own: bool) -> Migrator<'_> {
    let migrator = Migrator::new(client);
    if is_own { migrator } else { migrator.history_only() }
}

fn show(what: &str, report: &Report) {
    for file in &report.applied {
        console::note(format_args!("{what} {file}"));
    }
}

fn list(files: &[String]) -> String {
    files.iter().map(|file| format!(" • {file}")).collect::<Vec<_>>().join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entries(states: &[(&str, State)]) -> Vec<Entry> {
        let entry = |(version, state): &(&str, State)| Entry {
            version: (*version).to_owned(),
            name: "a".to_owned(),
            state: *state,
        };
        states.iter().map(entry).collect()
    }

    #[test]
    fn only_newer_files_are_pending() {
        let of =
            |states: &[(&str, State)], all| pending(&entries(states), all).map_err(|error| error.to_string());
        let newer = [("1", State::AppliedElsewhere), ("2", State::Pending), ("3", State::Pending)];
        assert_eq!(of(&newer, false).unwrap(), ["2_a.sql", "3_a.sql"]);
        let older = [("1", State::Pending), ("2", State::Applied), ("3", State::Pending)];
        let refusal = of(&older, false).unwrap_err();
        assert!(refusal.contains("--include-all") && refusal.ends_with("\n1_a.sql"), "{refusal}");
        assert_eq!(of(&older, true).unwrap(), ["1_a.sql", "3_a.sql"]);
        let unknown = [("1", State::Applied), ("2", State::Unknown)];
        assert!(of(&unknown, true).unwrap_err().contains("--status reverted 2"));
    }
}

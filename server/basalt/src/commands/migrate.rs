//! `basalt migrate`: applies migrations and seed, or shows their states.

use clap::Args;
use migrations::{Entry, Migrator, State};
use postgres::Database;

use crate::backend::{self, Backend};
use crate::console;
use crate::error::Error;
use crate::settings::Settings;

/// Arguments of `migrate`.
#[derive(Debug, Args)]
pub(super) struct Arguments {
    /// Show each migration and whether it is applied, and change nothing
    #[arg(long)]
    status: bool,
    /// Set up the database of DATABASE_URL without asking, if Basalt has not done so before
    /// [env: BASALT_ADOPT_DATABASE=1]
    #[arg(long, short)]
    pub(super) yes: bool,
}

/// Applies pending migrations, or shows the states of all.
pub(super) async fn run(settings: Settings, arguments: Arguments) -> Result<(), Error> {
    Backend::attached(&settings, async |backend| {
        if arguments.status {
            return backend.with_project(async |project| status(&settings, project).await).await;
        }
        backend::migrate(&settings, &backend::keys(&settings)?, backend).await?;
        console::print("The database is up to date.");
        Ok(())
    })
    .await
}

async fn status(settings: &Settings, project: &Database) -> Result<(), Error> {
    let mut client = project.client().await?;
    let status = Migrator::new(&mut client).status(&settings.migrations.path).await?;
    print_table("Platform", &status.platform);
    print_table("Project", &status.project);
    let changed = status.platform.iter().chain(&status.project).any(|entry| entry.state == State::Changed);
    console::print(match status.is_current() {
        _ if changed => {
            "\nFiles were changed after they had been applied, and are not applied again: put the change into new ones, \
             or create the database again with `basalt db reset`."
        }
        true => "\nNothing is pending.",
        false => "\nRun `basalt migrate` (or `basalt serve`) to apply what is pending.",
    });
    Ok(())
}

fn print_table(title: &str, entries: &[Entry]) {
    console::print(format_args!("{title}"));
    if entries.is_empty() {
        console::print("  (none)");
    }
    for entry in entries {
        console::print(format_args!("  {:<28} {} {}", entry.state, entry.version, entry.name));
    }
}

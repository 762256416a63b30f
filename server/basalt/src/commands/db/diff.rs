//! `basalt db diff`, with the flags and texts of `supabase db diff`: what a database has beyond the project's
//! migrations; or, for a project with declared schemas, what these have.
//!
//! Source: the Supabase CLI, `internal/db/diff`; `db diff --help` of version 3.1.

use std::path::PathBuf;

use clap::Args;
use migrations::Migrator;

use super::super::source::{Source, Target};
use super::difference::{self, Written};
use super::engine::Engine;
use crate::backend::Backend;
use crate::backend::shadow::Content;
use crate::console;
use crate::declared;
use crate::error::Error;
use crate::settings::{Settings, display_path};

/// Arguments of `db diff`.
#[derive(Debug, Args)]
pub(in super::super) struct Arguments {
    /// Write the difference as a migration of this name [default: print it]
    #[arg(long, short = 'f', value_name = "NAME")]
    file: Option<String>,
    /// Only these schemas, separated by commas
    #[arg(long, short = 's', value_delimiter = ',', value_name = "SCHEMAS")]
    schema: Vec<String>,
    /// Use pg-delta, which is always used
    #[arg(long)]
    use_pg_delta: bool,
    /// As with the Supabase CLI; pg-delta is used
    #[arg(long, conflicts_with = "use_pg_delta")]
    use_migra: bool,
    #[command(flatten)]
    source: Source,
}

/// Prints the difference, or writes it as a migration.
pub(super) async fn run(settings: Settings, arguments: Arguments) -> Result<(), Error> {
    let engine = Engine::find(&settings).await?;
    let target = arguments.source.target(settings.clone())?;
    if arguments.use_migra {
        console::note("--use-migra: pg-delta is used");
    }
    let declared = if target.is_remote { Vec::new() } else { declared::files(&settings) };
    let comparison = Comparison { engine: &engine, settings: &settings, schemas: &arguments.schema };
    let sql = match target.is_remote {
        false if declared.is_empty() => {
            target.attached(async |own| comparison.with_migrations(own, own).await).await
        }
        false => target.attached(async |own| comparison.of_declared(own, &declared).await).await,
        true => comparison.with_remote(&target).await,
    }?;
    console::note("Finished basalt db diff.");
    if sql.trim().is_empty() {
        console::note("No schema changes found");
        return remember(&settings, &declared, &arguments);
    }
    let Some(name) = &arguments.file else {
        console::print(sql.trim_end());
        difference::warn_of_drops(&sql);
        return Ok(());
    };
    let written = difference::write(&settings, name, &sql)?;
    for Written { path, .. } in &written {
        console::note(format_args!("Created {}", display_path(path)));
    }
    difference::warn_of_drops(&sql);
    console::note(
        "WARNING: The diff tool is not foolproof, so you may need to manually rearrange and modify the generated \
         migration.\nRun basalt db reset to verify that the new migration does not generate errors.",
    );
    match (target.is_remote, declared.is_empty()) {
        (false, true) => record(&settings, &written).await,
        _ => remember(&settings, &declared, &arguments),
    }
}

/// Remembers that the migrations make all that is declared.
fn remember(settings: &Settings, declared: &[PathBuf], arguments: &Arguments) -> Result<(), Error> {
    match declared.is_empty() || !arguments.schema.is_empty() {
        true => Ok(()),
        false => declared::remember(settings),
    }
}

/// Records the migrations in the project's database, which has what they make: the next start must not apply them.
async fn record(settings: &Settings, written: &[Written]) -> Result<(), Error> {
    let versions: Vec<String> = written.iter().map(|written| written.version.clone()).collect();
    Backend::attached(settings, async |backend| {
        backend
            .with_project(async |project| {
                let mut client = project.client().await?;
                Ok(Migrator::new(&mut client).record(&settings.migrations.path, &versions).await?)
            })
            .await
    })
    .await?;
    console::note("Recorded as applied in the project's database, which has these objects.");
    Ok(())
}

/// What databases are compared with.
pub(super) struct Comparison<'a> {
    pub(super) engine: &'a Engine,
    pub(super) settings: &'a Settings,
    pub(super) schemas: &'a [String],
}

impl Comparison<'_> {
    /// Returns what `other` has beyond the migrations, which are applied to a scratch database beside `own`.
    pub(super) async fn with_migrations(&self, own: &Backend, other: &Backend) -> Result<String, Error> {
        console::note("Creating shadow database...");
        own.with_shadow(self.settings, Content::Migrations, other, async |shadow| {
            self.report();
            let sql = self.engine.diff(self.settings, shadow, other, self.schemas).await?;
            Ok(difference::of_project(&sql))
        })
        .await
    }

    /// Does the same for a database that a flag has named.
    pub(super) async fn with_remote(&self, target: &Target) -> Result<String, Error> {
        Backend::attached(self.settings, async |own| {
            let other = Backend::start(&target.settings).await?;
            self.with_migrations(own, &other).await
        })
        .await
    }

    /// Returns what the declared schemas have beyond the migrations.
    async fn of_declared(&self, own: &Backend, files: &[PathBuf]) -> Result<String, Error> {
        console::note("Creating shadow database...");
        own.with_shadow(self.settings, Content::Migrations, own, async |migrated| {
            own.with_shadow(self.settings, Content::Declared(files), own, async |declared| {
                self.report();
                let sql = self.engine.diff(self.settings, migrated, declared, self.schemas).await?;
                Ok(difference::of_project(&sql))
            })
            .await
        })
        .await
    }

    fn report(&self) {
        console::note(match self.schemas {
            [] => "Diffing schemas...".to_owned(),
            schemas => format!("Diffing schemas: {}", schemas.join(",")),
        });
    }
}

//! `basalt backup`: makes, lists, verifies and removes backups, also while the server runs.

use backup::{Backup, Repository, Running};
use clap::Subcommand;

use super::restore;
use crate::backend::Backend;
use crate::backups;
use crate::console;
use crate::error::Error;
use crate::settings::Settings;

/// The number of bytes of a mebibyte, for the output.
const MEBIBYTE: u64 = 1 << 20;

/// Arguments of `backup`.
#[derive(Debug, Subcommand)]
pub(super) enum Arguments {
    /// Make a backup now
    ///
    /// The server makes one each day by itself, and copies the write-ahead log and objects all the time.
    Create {
        /// Make a full one, and not the difference from the last one
        #[arg(long)]
        full: bool,
    },
    /// List the backups, and what their verification found
    List,
    /// Restore a backup into a scratch folder and check all of it
    ///
    /// The server does this by itself after each full backup and each week. It takes as much disk as the database.
    Verify {
        /// The backup, as `list` shows it [default: the last one]
        label: Option<String>,
    },
    /// Bring the project back as it was at a moment; the same as `basalt restore`
    Restore(Box<restore::Arguments>),
    /// Remove what no moment within the retention needs
    ///
    /// The server does this after each backup.
    Prune,
    /// Have a restored copy make backups itself, in place of the server that it is a copy of
    ///
    /// That server must be gone, or make no backups any more.
    Adopt,
}

/// Runs the command.
pub(super) async fn run(settings: Settings, arguments: Arguments) -> Result<(), Error> {
    match arguments {
        Arguments::Create { full } => on_project(&settings, async |repository, running| {
            match repository.create(running, full).await? {
                Some(backup) => console::print(format_args!("The backup {} has been made.", backup.label)),
                None => console::print(
                    "Objects, keys and settings are in the target. The database of DATABASE_URL is backed up by its operator.",
                ),
            }
            Ok(())
        })
        .await,
        Arguments::List => list(&open(&settings).await?).await,
        Arguments::Verify { label } => verify(&settings, label).await,
        Arguments::Restore(arguments) => restore::run(settings, *arguments).await,
        Arguments::Prune => on_project(&settings, async |repository, running| {
            let objects = repository.prune(running).await?;
            console::print(format_args!("What is older than the retention has been removed, {objects} objects among it."));
            Ok(())
        })
        .await,
        Arguments::Adopt => adopt(&settings),
    }
}

/// Runs `work` on the backups of the project and the project itself, whether or not its server runs.
async fn on_project(
    settings: &Settings,
    work: impl AsyncFnOnce(&Repository, &Running) -> Result<(), Error>,
) -> Result<(), Error> {
    let repository = open(settings).await?;
    Backend::attached(settings, async |backend| {
        backend
            .with_admin(async |database| {
                let objects = backups::open_objects(settings).await?;
                let running = backups::running(settings, backend, &repository, database, objects)?;
                work(&repository, &running).await
            })
            .await
    })
    .await
}

/// Opens the backups of the project.
///
/// Errors: [`Error::Advice`] if there are none.
pub(super) async fn open(settings: &Settings) -> Result<Repository, Error> {
    if backup::is_copy(&settings.data_dir) {
        return Err(Error::Advice(
            "this is a restored copy, which makes no backups: `basalt backup adopt` changes that, once the server that it \
             is a copy of is gone"
                .to_owned(),
        ));
    }
    let repository = Repository::open_present(&settings.backup, &settings.data_dir).await?;
    repository.ok_or_else(|| {
        Error::Advice("backups are off: set basalt.backup.target, a folder or s3://BUCKET/PREFIX".to_owned())
    })
}

async fn list(repository: &Repository) -> Result<(), Error> {
    let backups = repository.list().await?;
    if backups.is_empty() {
        console::note("There is no backup yet.");
    }
    for backup in &backups {
        console::print(line(backup));
    }
    Ok(())
}

/// Describes a backup in one line.
fn line(backup: &Backup) -> String {
    let Backup { label, ended, size, stored, .. } = backup;
    let kind = if backup.is_full { "full" } else { "difference" };
    let verified = backup.verified.as_deref().unwrap_or("not yet");
    format!(
        "{label}  {kind}  ended: {ended}  database: {} MiB  stored: {} MiB  verified: {verified}",
        size / MEBIBYTE,
        stored / MEBIBYTE
    )
}

async fn verify(settings: &Settings, label: Option<String>) -> Result<(), Error> {
    let repository = open(settings).await?;
    let backups = repository.list().await?;
    let found = match &label {
        Some(label) => backups.iter().find(|backup| backup.label == *label),
        None => backups.last(),
    };
    let backup = found.ok_or_else(|| match label {
        Some(label) => Error::Advice(format!("there is no backup {label}; `basalt backup list` lists them")),
        None => Error::Advice("there is no backup yet".to_owned()),
    })?;
    let found = repository.verify(backup, &repository.scratch(), backups::scratch_options(settings)).await?;
    if found.problems.is_empty() {
        let tables = match found.tables {
            0 => "its rows had not been counted".to_owned(),
            count => format!("{count} tables have the rows that they had"),
        };
        console::print(format_args!(
            "The backup {} is whole: it was restored and checked, with {} objects; {tables}.",
            backup.label, found.objects
        ));
        return Ok(());
    }
    for problem in &found.problems {
        console::print(problem);
    }
    copy_again(settings, &repository, &found.copies).await;
    Err(Error::Advice(format!("the backup {} is damaged", backup.label)))
}

/// Has the objects of `versions` copied again, whose copies are damaged or missing.
async fn copy_again(settings: &Settings, repository: &Repository, versions: &[uuid::Uuid]) {
    if versions.is_empty() {
        return;
    }
    let forgotten = Backend::attached(settings, async |backend| {
        backend.with_admin(async |database| Ok(repository.forget_copies(database, versions).await?)).await
    });
    match forgotten.await {
        Ok(()) => console::note(
            "The server copies those objects again that it still has, within ten minutes; `basalt backup create` does so \
             at once. Verify then.",
        ),
        Err(error) => console::note(format_args!("The objects are not copied again: {error}")),
    }
}

fn adopt(settings: &Settings) -> Result<(), Error> {
    match backup::adopt(&settings.data_dir)? {
        true => console::print("From its next start on, the server on this folder makes backups."),
        false => console::print("Nothing to do: this is no restored copy."),
    }
    Ok(())
}

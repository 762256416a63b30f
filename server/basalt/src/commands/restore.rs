//! `basalt restore`: brings a project back as it was at a moment.

mod only;

use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::Command;

use backup::{Moment, Repository, Restored, Unlock};
use clap::Args;
use embedded::{Exchange, Options};
use postgres::Database;
use settings::Secret;
use storage::BackendKind;

use super::backup as command;
use crate::backend::{self, Backend};
use crate::backups;
use crate::console;
use crate::error::Error;
use crate::settings::{Settings, display_path};
use only::Only;

/// How many objects that are missing are named.
const NAMED: usize = 5;

/// Arguments of `restore`.
#[derive(Debug, Args)]
pub(super) struct Arguments {
    /// The moment, such as "2026-11-26 14:05:00+00" [default: the end of what the target has]
    #[arg(long, value_name = "MOMENT")]
    to: Option<String>,
    /// Put it into the place of the project's database, which is kept; stop the server first
    #[arg(long, conflicts_with_all = ["back", "serve", "adopt", "only", "target", "passphrase_file", "identity"])]
    in_place: bool,
    /// Undo the last restore in place; stop the server first
    #[arg(long, conflicts_with_all = ["to", "serve", "adopt", "only", "target", "passphrase_file", "identity"])]
    back: bool,
    /// Bring only this back, into the project's running database: `table public.orders`, as a new table in the schema
    /// `restored`, or `bucket avatars`, the objects that are missing in it
    #[arg(long, num_args = 2, value_names = ["KIND", "NAME"], conflicts_with_all = ["serve", "adopt"])]
    only: Option<Vec<String>>,
    /// Serve the restored project, beside the one that runs, on the next free ports
    #[arg(long)]
    serve: bool,
    /// Have the restored project make backups itself: the server that it is a copy of is gone
    #[arg(long)]
    adopt: bool,
    /// Where the backups are [default: basalt.backup.target]
    #[arg(long, value_name = "TARGET")]
    target: Option<String>,
    /// The file with the passphrase of the backups [default: basalt.backup.passphrase_file]
    #[arg(long, value_name = "FILE")]
    passphrase_file: Option<PathBuf>,
    /// The file with the private key whose public key is basalt.backup.recipient
    #[arg(long, value_name = "FILE")]
    identity: Option<PathBuf>,
}

/// Runs the command.
pub(super) async fn run(settings: Settings, arguments: Arguments) -> Result<(), Error> {
    let moment = arguments.to.as_deref().map(Moment::parse).transpose()?;
    if arguments.back {
        return go_back(&settings).await;
    }
    if let Some(words) = &arguments.only {
        let only = Only::parse(words)?;
        let repository = open(&settings, &arguments).await?;
        return only::run(&settings, &repository, moment, &only).await;
    }
    if arguments.in_place {
        let repository = command::open(&settings).await?;
        return in_place(&settings, &repository, moment, || Ok(())).await;
    }
    beside(settings, &arguments, moment).await
}

/// Opens the backups with what the arguments name, or with the settings and the key of the project.
async fn open(settings: &Settings, arguments: &Arguments) -> Result<Repository, Error> {
    let target = arguments.target.as_ref().or(settings.backup.target.as_ref());
    let target = target.ok_or_else(|| Error::Advice("name the backups with --target".to_owned()))?;
    let unlock = match (&arguments.identity, &arguments.passphrase_file) {
        (Some(file), _) => Unlock::Identity(read_secret(file)?),
        (None, Some(file)) => Unlock::Passphrase(read_secret(file)?),
        (None, None) => match settings.backup.passphrase().map_err(Error::Advice)? {
            Some(passphrase) => Unlock::Passphrase(passphrase),
            None if arguments.target.is_none() => return command::open(settings).await,
            None => {
                return Err(Error::Advice(
                    "name what opens the backups: --passphrase-file or --identity".to_owned(),
                ));
            }
        },
    };
    Ok(Repository::open_with(&settings.backup, target, &unlock, &settings.data_dir).await?)
}

fn read_secret(file: &Path) -> Result<Secret, Error> {
    let text = std::fs::read_to_string(file).map_err(Error::io(format!("read {}", file.display())))?;
    Ok(text.trim().to_owned().into())
}

/// Restores into the data folder of `settings`, which has no database.
async fn beside(mut settings: Settings, arguments: &Arguments, moment: Option<Moment>) -> Result<(), Error> {
    let folder = settings.data_dir.clone();
    if embedded::has_cluster(&folder) {
        embedded::check_restored(&folder)?;
        return Err(Error::Advice(format!(
            "{} has a database: name another folder with --data-dir, or add --in-place",
            display_path(&folder)
        )));
    }
    let repository = open(&settings, arguments).await?;
    // The copy must not write to the store of the original.
    let is_elsewhere = settings.services.storage.as_mut().is_some_and(|storage| {
        let is_elsewhere = storage.backend != BackendKind::File || !storage.path.starts_with(&folder);
        storage.backend = BackendKind::File;
        storage.path = folder.join("objects");
        is_elsewhere
    });
    let options = Options { port: None, ..backend::options(&settings) };
    let restored = repository.restore(moment, options, arguments.adopt).await?;
    let missing = bring_back_objects(&settings, &repository, &restored).await;
    restored.cluster.stop().await;
    let missing = missing?;
    embedded::end_restore(&folder)?;
    report(&restored, moment, &missing);
    if arguments.adopt {
        repository.record_timeline(restored.timeline).await?;
    }
    if is_elsewhere {
        console::note(
            "The objects are in the folder objects beside the database: start it with STORAGE_BACKEND=file and \
             STORAGE_FILE_BACKEND_PATH unset, or bring them to a store with `basalt storage move`.",
        );
    }
    let shown = display_path(&folder);
    if arguments.serve {
        return serve(&settings);
    }
    console::print(format_args!(
        "The project is in {shown}. `basalt serve --any-port --data-dir {shown}` serves it."
    ));
    if !arguments.adopt {
        console::print(
            "It makes no backups, and runs no cron jobs, until `basalt backup adopt`, with the same --data-dir.",
        );
    }
    Ok(())
}

/// Brings the objects of the restored database back, and returns those that are missing.
async fn bring_back_objects(
    settings: &Settings,
    repository: &Repository,
    restored: &Restored,
) -> Result<Vec<uuid::Uuid>, Error> {
    let Some(objects) = backups::open_objects(settings).await? else { return Ok(Vec::new()) };
    let database = Database::connect(postgres::Settings::new(restored.cluster.login())).await?;
    let missing = repository.bring_back_objects(&database, objects).await;
    database.close().await;
    Ok(missing?)
}

fn report(restored: &Restored, moment: Option<Moment>, missing: &[uuid::Uuid]) {
    let until = moment.map_or_else(|| "the end of the backups".to_owned(), |moment| moment.to_string());
    let last = restored.last_commit.as_deref().unwrap_or("before the base backup ended");
    console::note(format_args!("Restored to {until}; the last transaction in it: {last}."));
    if !missing.is_empty() {
        let named: Vec<String> = missing.iter().take(NAMED).map(ToString::to_string).collect();
        console::note(format_args!(
            "The bytes of {} objects had not reached the backups, or are damaged there. An earlier moment may have older \
             versions of them: {}{}",
            missing.len(),
            named.join(", "),
            if missing.len() > NAMED { ", …" } else { "" }
        ));
    }
}

/// Replaces this process by a server on the data folder of `settings`.
fn serve(settings: &Settings) -> Result<(), Error> {
    let program = std::env::current_exe().map_err(Error::io("find this program"))?;
    let mut command = Command::new(&program);
    command.arg("--project").arg(&settings.project.root).arg("--data-dir").arg(&settings.data_dir);
    command.args(["serve", "--any-port"]);
    Err(Error::io(format!("run {}", program.display()))(command.exec()))
}

/// Restores the database of the project in place; the one that it replaces is kept. Calls `before_exchange` when all is
/// restored and nothing is replaced yet.
pub(super) async fn in_place(
    settings: &Settings,
    repository: &Repository,
    moment: Option<Moment>,
    before_exchange: impl FnOnce() -> Result<(), Error>,
) -> Result<(), Error> {
    check_embedded(settings)?;
    let exchange = Exchange::begin(&settings.data_dir)?;
    let folder = repository.scratch();
    let options = Options { data_dir: folder.clone(), port: None, ..backend::options(settings) };
    let replaced = async {
        let restored = repository.restore(moment, options, true).await?;
        let missing = bring_back_objects(settings, repository, &restored).await;
        restored.cluster.stop().await;
        report(&restored, moment, &missing?);
        backup::want_backup(&settings.data_dir)?;
        before_exchange()?;
        let kept = exchange.complete(&folder)?;
        if let Err(error) = repository.record_timeline(restored.timeline).await {
            console::note(format_args!("The server tells the target at its next start: {error}"));
        }
        Ok(kept)
    };
    let replaced: Result<PathBuf, Error> = replaced.await;
    let _ = std::fs::remove_dir_all(&folder);
    console::print(format_args!(
        "The database is as it was then. The one that it replaces is kept in {}; `basalt restore --back` puts it back.",
        display_path(&replaced?)
    ));
    Ok(())
}

/// Undoes the last restore in place.
async fn go_back(settings: &Settings) -> Result<(), Error> {
    check_embedded(settings)?;
    let has_archive = settings.backup.target.is_some() && !backup::is_copy(&settings.data_dir);
    let kept = embedded::exchange_back(&settings.data_dir, has_archive)?
        .ok_or_else(|| Error::Advice("there was no restore in place that could be undone".to_owned()))?;
    if has_archive {
        backup::want_backup(&settings.data_dir)?;
    }
    // Objects that the restored database did not have may have gone from the store.
    let backend = Backend::start(settings).await?;
    let brought = async {
        let (Some(repository), Some(objects)) = (&backend.repository, backups::open_objects(settings).await?)
        else {
            return Ok(Vec::new());
        };
        backend.with_admin(async |database| Ok(repository.bring_back_objects(database, objects).await?)).await
    };
    let missing = brought.await;
    backend.stop().await;
    console::print(format_args!(
        "The database from before the restore is back; the restored one is kept in {}.",
        display_path(&kept)
    ));
    match missing?.len() {
        0 => {}
        count => console::note(format_args!("{count} objects are neither in the store nor in the backups.")),
    }
    Ok(())
}

fn check_embedded(settings: &Settings) -> Result<(), Error> {
    match settings.database.url {
        None => Ok(()),
        Some(_) => Err(Error::Advice(
            "the database of DATABASE_URL is backed up and restored by its operator".to_owned(),
        )),
    }
}

//! Connects backups with the database and the objects of a project.

use std::sync::Arc;

use backup::{Objects, Pieces, Repository, Retired, Running};
use embedded::{Engine, Options};
use futures_util::future::BoxFuture;
use postgres::Database;
use storage::{Keeper, VersionStore};
use uuid::Uuid;

use crate::backend::{self, Backend};
use crate::error::Error;
use crate::settings::Settings;

/// The objects' bytes, for backups.
#[derive(Debug, Clone)]
pub(crate) struct StoredObjects(pub(crate) VersionStore);

impl Objects for StoredObjects {
    fn read(&self, version: Uuid) -> BoxFuture<'_, Result<Option<Pieces>, String>> {
        Box::pin(async move { self.0.read(version).await.map_err(text) })
    }

    fn write(&self, version: Uuid, pieces: Pieces) -> BoxFuture<'_, Result<(), String>> {
        Box::pin(async move { self.0.write(version, pieces).await.map_err(text) })
    }

    fn contains(&self, version: Uuid) -> BoxFuture<'_, Result<bool, String>> {
        Box::pin(async move { self.0.contains(version).await.map_err(text) })
    }

    fn remove(&self, version: Uuid) -> BoxFuture<'_, Result<(), String>> {
        Box::pin(async move { self.0.remove(version).await.map_err(text) })
    }
}

fn text(error: storage::Error) -> String {
    format!("the store of objects: {error}")
}

/// Gives what storage no longer needs to the task of backups.
#[derive(Debug)]
pub(crate) struct KeptForBackups(pub(crate) Retired);

impl Keeper for KeptForBackups {
    fn retire(&self, versions: &[Uuid]) {
        self.0.push(versions);
    }
}

/// Opens the store of objects that `settings` name; `None` if storage is off.
pub(crate) async fn open_objects(settings: &Settings) -> Result<Option<Arc<dyn Objects>>, Error> {
    let Some(storage) = &settings.services.storage else { return Ok(None) };
    let store = VersionStore::open(storage).await.map_err(Error::service("storage"))?;
    Ok(Some(Arc::new(StoredObjects(store))))
}

/// Returns the options of a Postgres in a scratch folder.
pub(crate) fn scratch_options(settings: &Settings) -> Options {
    Options { progress: None, ..backend::options(settings) }
}

/// Returns what is backed up of the project on `backend`, which runs in this process or in another one, with the
/// administrator's `database`.
///
/// Errors: [`Error::Advice`] if its Postgres was started without backups.
pub(crate) fn running(
    settings: &Settings,
    backend: &Backend,
    repository: &Repository,
    database: &Database,
    objects: Option<Arc<dyn Objects>>,
) -> Result<Running, Error> {
    let engine = match &settings.database.url {
        Some(_) => None,
        None => {
            let password = backend.admin_password();
            let engine = Engine::of_running(&settings.data_dir, &repository.archiver(), password);
            Some(engine.ok_or_else(|| {
                Error::Advice(
                    "the server was started before backups were switched on: start it anew".to_owned(),
                )
            })?)
        }
    };
    Ok(Running { database: database.clone(), objects, engine })
}

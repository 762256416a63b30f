//! Restores in place that the platform interface asks for. The wish is a file in the data folder: the server stops, and
//! begins anew as the same process, which restores before it starts Postgres. If that fails, it goes on with the database
//! that it had.

use std::path::PathBuf;

use ::platform::{BackupEntry, Backups};
use backup::{Moment, Repository};
use futures_util::future::BoxFuture;
use serde::{Deserialize, Serialize};
use tokio_util::sync::CancellationToken;

use crate::commands::restore;
use crate::console;
use crate::error::Error;
use crate::settings::Settings;

/// The name of the file.
const FILE: &str = "restore-request.json";

/// How long the request that asked for it has to get its response.
const DELAY: std::time::Duration = std::time::Duration::from_millis(500);

/// What is wished for.
#[derive(Debug, Serialize, Deserialize)]
struct Wish {
    /// The moment to go back to, in microseconds since 1970.
    microseconds: i64,
}

/// The backups of a running server.
pub(super) struct ServedBackups {
    pub(super) repository: Repository,
    pub(super) data_dir: PathBuf,
    /// Stops the server.
    pub(super) signals: CancellationToken,
}

impl Backups for ServedBackups {
    fn list(&self) -> BoxFuture<'_, Result<Vec<BackupEntry>, String>> {
        Box::pin(async move {
            let backups = self.repository.list().await.map_err(|error| error.to_string())?;
            let entries = backups
                .iter()
                .map(|backup| BackupEntry { ended: backup.ended.seconds(), is_damaged: backup.is_damaged() });
            Ok(entries.collect())
        })
    }

    fn restore(&self, microseconds: i64) -> BoxFuture<'_, Result<(), String>> {
        Box::pin(async move {
            let moment = Moment::of_microseconds(microseconds).map_err(|error| error.to_string())?;
            self.repository.check(moment).await.map_err(|error| error.to_string())?;
            let wish = serde_json::to_vec(&Wish { microseconds }).map_err(|error| error.to_string())?;
            atomic_file::write(&self.data_dir.join(FILE), &wish, 0o600).map_err(|error| error.to_string())?;
            tracing::warn!(%moment, "the server stops serving to restore the project");
            let signals = self.signals.clone();
            tokio::spawn(async move {
                tokio::time::sleep(DELAY).await;
                signals.cancel();
            });
            Ok(())
        })
    }
}

/// Reports whether a restore is wished for in the data folder of `settings`.
pub(super) fn is_wished(settings: &Settings) -> bool {
    settings.data_dir.join(FILE).exists()
}

/// Restores what is wished for, if anything is. A restore that fails is logged, and not tried again; one that ends with
/// the machine is begun anew.
pub(super) async fn fulfil(settings: &Settings) -> Result<(), Error> {
    let file = settings.data_dir.join(FILE);
    let Ok(text) = std::fs::read(&file) else { return Ok(()) };
    let forget = || match std::fs::remove_file(&file) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
            Err(Error::io("remove the request for a restore")(error))
        }
        _ => Ok(()),
    };
    let restored = async {
        let wish: Wish = serde_json::from_slice(&text).map_err(|error| Error::Advice(error.to_string()))?;
        let moment = Moment::of_microseconds(wish.microseconds)?;
        let repository = Repository::open(&settings.backup, &settings.data_dir).await?;
        let off = || Error::Advice("backups have been switched off".to_owned());
        // A second restore would keep the first one in place of the database that was replaced.
        restore::in_place(settings, &repository.ok_or_else(off)?, Some(moment), forget).await
    };
    if let Err(error) = restored.await {
        tracing::error!(%error, "the project could not be restored; the server goes on with what it has");
        console::note(format_args!("The project could not be restored: {error}"));
    }
    forget()
}

//! Makes a backup: keys and settings, objects, the database, and what a restore is compared with.

use std::sync::Arc;
use std::time::Duration;

use embedded::Engine;
use postgres::Database;
use tokio::time::{Instant, sleep};

use crate::catalog::{Backup, Manifest};
use crate::error::Error;
use crate::objects::{Copies, Objects};
use crate::repository::{Repository, forget_wish};
use crate::{counts, files, watch};

/// How long a base backup may take.
const LIMIT: Duration = Duration::from_secs(24 * 3600);

/// How long a short command may take.
const SHORT_LIMIT: Duration = Duration::from_secs(300);

/// How long pgBackRest waits until the log is archived that a base backup needs, if the target takes it.
const LOG_LIMIT: &str = "--archive-timeout=300";

/// How long the target may refuse the log during a base backup, and how long after an error it counts as refusing it.
const REFUSED: Duration = Duration::from_secs(15);
const FORGOTTEN: Duration = Duration::from_secs(10);

/// How often that is looked at.
const LOOK: Duration = Duration::from_secs(1);

/// How often a lock of pgBackRest is tried, and the pause in between.
const LOCK_TRIES: u32 = 20;
const LOCK_PAUSE: Duration = Duration::from_millis(500);

/// The running project that is backed up.
#[derive(Clone)]
pub struct Running {
    /// The login of the server's administrator.
    pub database: Database,
    /// The objects; `None` if storage is off.
    pub objects: Option<Arc<dyn Objects>>,
    /// Runs pgBackRest on the embedded Postgres; `None` for a database that its operator backs up.
    pub engine: Option<Engine>,
}

impl Repository {
    /// Makes a backup of `running`, a full one or the difference from the last one, and removes what no moment within
    /// the retention needs. Returns it, or `None` for a database that its operator backs up.
    ///
    /// Errors: all; what has been copied stays.
    pub async fn create(&self, running: &Running, is_full: bool) -> Result<Option<Backup>, Error> {
        if let Some(engine) = &running.engine {
            prepare(engine).await?;
        }
        self.store_files().await?;
        let copies = self.copies(running);
        if let Some(copies) = &copies {
            copies.copy_new(&running.database).await?;
        }
        let created = match &running.engine {
            None => None,
            Some(engine) => {
                let kind = if is_full { "--type=full" } else { "--type=incr" };
                self.back_up(engine, kind).await?;
                forget_wish(&self.data_dir);
                let backup = self.list().await?.pop();
                if let Some(backup) = &backup {
                    self.describe(backup, running).await?;
                }
                backup
            }
        };
        self.prune(running).await?;
        Ok(created)
    }

    /// Makes a base backup of `kind`. It ends once the log is archived that it needs, so that it is given up if the target
    /// does not take that, or if a part of it may be dropped: pgBackRest would wait for that for minutes.
    async fn back_up(&self, engine: &Engine, kind: &str) -> Result<(), Error> {
        let options = [kind, LOG_LIMIT];
        tokio::select! {
            biased;
            () = watch::overflow(self) => Err(Error::Advice(
                "more of the write-ahead log waits for the target of backups than may, and is dropped".to_owned(),
            )),
            made = engine.run("backup", &options, LIMIT) => Ok(made.map(drop)?),
            reason = refused(engine) => Err(Error::Advice(match reason.contains("No space left") {
                true => "the target of backups is full: make room there, or name another one".to_owned(),
                false => format!("the target of backups does not take the write-ahead log: {reason}"),
            })),
        }
    }

    /// Writes what a restore of `backup` is compared with. Only full ones are counted: it reads all tables.
    async fn describe(&self, backup: &Backup, running: &Running) -> Result<(), Error> {
        let mut manifest = Manifest { version: env!("CARGO_PKG_VERSION").to_owned(), ..Manifest::default() };
        if backup.is_full
            && let Some(counted) = counts::take(&running.database).await?
        {
            manifest.position = Some(counted.position);
            manifest.rows = counted.rows;
            // The log is archived up to a position behind the one that the restore stops at.
            let sql =
                "select pg_catalog.pg_create_restore_point('basalt backup'), pg_catalog.pg_switch_wal()";
            running.database.client().await?.query_one(sql, &[]).await?;
        }
        let text = serde_json::to_vec(&manifest).map_err(|error| Error::Io(error.to_string()))?;
        self.target.write(&Manifest::path(&backup.label), self.key.encrypt(&text)?).await
    }

    /// Reads what a restore of the backup `label` is compared with.
    pub(crate) async fn manifest(&self, label: &str) -> Result<Manifest, Error> {
        let path = Manifest::path(label);
        let Some(sealed) = self.target.read(&path).await? else { return Ok(Manifest::default()) };
        let text = self.key.decrypt(&path, &sealed)?;
        serde_json::from_slice(&text).map_err(|_| Error::Damaged(path))
    }

    /// Removes what no moment within the retention needs: pgBackRest's own files, objects, settings, manifests.
    pub async fn prune(&self, running: &Running) -> Result<u64, Error> {
        if let Some(engine) = &running.engine {
            engine.run("expire", &[], LIMIT).await?;
        }
        let backups = match running.engine {
            Some(_) => self.list().await?,
            None => Vec::new(),
        };
        // Without base backups, the operator's own reach back as far as the retention says.
        let now = crate::Moment::now();
        let oldest = match (backups.first(), &running.engine) {
            (Some(first), _) => first.started,
            (None, Some(_)) => return Ok(0),
            (None, None) => now.days_before(self.settings.retention_days),
        };
        files::prune(&self.target, oldest).await?;
        for path in self.target.list("manifests").await? {
            if running.engine.is_some() && !backups.iter().any(|backup| path == Manifest::path(&backup.label))
            {
                self.target.remove(&path).await?;
            }
        }
        match self.copies(running) {
            Some(copies) => copies.prune(oldest, &running.database).await,
            None => Ok(0),
        }
    }

    /// Writes keys and settings to the target, if they differ from those that are there.
    pub(crate) async fn store_files(&self) -> Result<(), Error> {
        let present = files::collect(&self.data_dir, &self.settings.files)?;
        let stored = files::read(&self.target, &self.key, crate::Moment::now()).await?;
        match present == stored {
            true => Ok(()),
            false => files::store(&self.target, &self.key, &present).await,
        }
    }

    pub(crate) fn copies(&self, running: &Running) -> Option<Copies> {
        Some(self.copies_for(running.objects.clone()?))
    }

    pub(crate) fn copies_for(&self, objects: Arc<dyn Objects>) -> Copies {
        Copies { target: self.target.clone(), key: self.key.clone(), id: self.id.clone(), objects }
    }
}

/// Waits until the target has not taken the log for [`REFUSED`], and returns why.
async fn refused(engine: &Engine) -> String {
    let mut since = None;
    let mut last = Instant::now();
    loop {
        sleep(LOOK).await;
        let Some(reason) = engine.refusal() else {
            // Each try to archive begins without the error of the last one.
            if last.elapsed() > FORGOTTEN {
                since = None;
            }
            continue;
        };
        last = Instant::now();
        if since.get_or_insert(last).elapsed() > REFUSED {
            return reason;
        }
    }
}

/// Makes pgBackRest's own files for the cluster in the target, or, after an upgrade of Postgres, those of the new one.
async fn prepare(engine: &Engine) -> Result<(), Error> {
    let mut command = "stanza-create";
    for attempt in 1.. {
        match engine.run(command, &[], SHORT_LIMIT).await {
            Err(embedded::Error::Failed { log, .. }) if log.contains("stanza-upgrade") => {
                command = "stanza-upgrade";
            }
            // Postgres is archiving something at this moment.
            Err(embedded::Error::Failed { log, .. })
                if log.contains("unable to acquire lock") && attempt < LOCK_TRIES =>
            {
                sleep(LOCK_PAUSE).await;
            }
            result => return Ok(result.map(drop)?),
        }
    }
    Ok(())
}

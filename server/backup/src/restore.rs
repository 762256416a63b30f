//! Brings a project back as it was at a moment, into a data folder that has no database yet.

use std::sync::Arc;

use embedded::{Cluster, Options, Recovery, RecoveryTarget};
use postgres::Database;
use uuid::Uuid;

use crate::catalog::Backup;
use crate::error::Error;
use crate::files;
use crate::moment::Moment;
use crate::objects::{self, Objects};
use crate::repository::Repository;
use crate::timelines::{self, Present};

/// The database of a restored project, which runs.
#[derive(Debug)]
pub struct Restored {
    /// The Postgres.
    pub cluster: Cluster,
    /// When its last transaction was committed; `None` if there is none after the base backup.
    pub last_commit: Option<String>,
    /// The timeline that it has begun.
    pub timeline: Present,
}

impl Repository {
    /// Checks that `moment` can be brought back.
    ///
    /// Errors: [`Error::Advice`] if it is in the future, or before the first backup.
    pub async fn check(&self, moment: Moment) -> Result<(), Error> {
        self.start_of(Some(moment)).await.map(drop)
    }

    async fn start_of(&self, moment: Option<Moment>) -> Result<(Backup, Option<u32>), Error> {
        match moment {
            Some(moment) if moment > Moment::now() => {
                Err(Error::Advice(format!("{moment} is in the future")))
            }
            moment => self.before(moment).await,
        }
    }

    /// Brings keys, settings and the database back as they were at `moment`, also if the database has gone back to an
    /// earlier one since, or, without it, as they are in the target at the end, into the data folder of `options`.
    /// Unless the result `is_adopted`, it counts as a copy.
    ///
    /// What takes the place of the project's database is to be [recorded](Self::record_timeline) then.
    ///
    /// Errors: [`Error::Advice`] for a moment that cannot be brought back; [`Error::Engine`].
    pub async fn restore(
        &self,
        moment: Option<Moment>,
        options: Options,
        is_adopted: bool,
    ) -> Result<Restored, Error> {
        use std::os::unix::fs::DirBuilderExt as _;
        let now = Moment::now();
        let (backup, timeline) = self.start_of(moment).await?;
        let target = moment.map_or(RecoveryTarget::Latest, |moment| RecoveryTarget::Time(moment.to_string()));
        let folder = &options.data_dir;
        let created = std::fs::DirBuilder::new().recursive(true).mode(0o700).create(folder);
        created.map_err(Error::io(format!("create {}", folder.display())))?;
        files::put(folder, &files::read(&self.target, &self.key, moment.unwrap_or(now)).await?)?;
        self.keep_in(folder, is_adopted)?;
        let recovery = Recovery { backup: backup.label, target, timeline };
        let options = Options { archiver: Some(self.archiver()), recovery: Some(recovery), ..options };
        let cluster = Cluster::start(options).await?;
        let database = Database::connect(postgres::Settings::new(cluster.login())).await?;
        let found =
            async { Ok::<_, Error>((last_commit(&database).await?, timelines::present(&database).await?)) };
        let found = found.await;
        database.close().await;
        let (last_commit, timeline) = found?;
        if let Some(missing) = cluster.missing_log().map(str::to_owned) {
            let until = last_commit.as_deref().unwrap_or("the end of the base backup").to_owned();
            let Some(moment) = moment else {
                tracing::warn!(
                    file = missing,
                    until,
                    "the target lacks a file of the write-ahead log: what was written after it is not in this restore"
                );
                return Ok(Restored { cluster, last_commit, timeline });
            };
            cluster.stop().await;
            return Err(Error::Advice(format!(
                "{moment} cannot be brought back: the target lacks the file {missing} of the write-ahead log, though it has \
                 later ones. Moments up to {until} can, and those after the next backup"
            )));
        }
        Ok(Restored { cluster, last_commit, timeline })
    }

    /// Has the target know that a restored database, which has begun `timeline`, is the project's from now on.
    ///
    /// Errors: those of the target.
    pub async fn record_timeline(&self, timeline: Present) -> Result<(), Error> {
        timelines::write(&self.target, timeline).await
    }

    /// Brings the bytes of all objects of `database` back that `store` does not have, and returns the versions that the
    /// target does not have either: those that were written just before the end of what it has, or are damaged there.
    pub async fn bring_back_objects(
        &self,
        database: &Database,
        store: Arc<dyn Objects>,
    ) -> Result<Vec<Uuid>, Error> {
        let versions = objects::versions(database).await?;
        Ok(self.copies_for(store).bring_back(versions).await?.missing)
    }

    /// Brings the bytes of those of `versions` back that `store` does not have. Returns how many that were, and how
    /// many the target does not have either.
    pub async fn bring_back_versions(
        &self,
        versions: Vec<Uuid>,
        store: Arc<dyn Objects>,
    ) -> Result<(usize, usize), Error> {
        let brought = self.copies_for(store).bring_back(versions).await?;
        Ok((brought.count, brought.missing.len()))
    }

    /// Brings the bytes of `version` back, unless `store` has them, and reports whether it has them then.
    pub async fn bring_back_version(&self, version: Uuid, store: Arc<dyn Objects>) -> Result<bool, Error> {
        Ok(self.copies_for(store).bring_back(vec![version]).await?.missing.is_empty())
    }
}

async fn last_commit(database: &Database) -> Result<Option<String>, Error> {
    let sql = "select pg_catalog.pg_last_xact_replay_timestamp()::text";
    Ok(database.client().await?.query_one(sql, &[]).await?.get(0))
}

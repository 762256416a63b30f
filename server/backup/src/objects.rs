//! The objects' bytes in the target: each version once, as `objects/ab/<version>.age`.
//!
//! A version never changes. It is copied soon after it was written, and before its bytes are removed from the store;
//! `removed/<second>-<version>` then says since when no object has had it, so that it can go once no moment needs it.

use std::collections::HashSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use bytes::Bytes;
use futures_util::future::BoxFuture;
use futures_util::stream::BoxStream;
use futures_util::{StreamExt as _, TryStreamExt as _, stream};
use postgres::Database;
use uuid::Uuid;

use crate::error::Error;
use crate::key::Key;
use crate::moment::Moment;
use crate::target::Target;

/// Versions that are looked up at a time.
const BATCH: i64 = 256;

/// How often a version that the target does not have is looked for again, and the pause before that: the server may be
/// copying it.
const LOOKS: u32 = 5;
const PAUSE: Duration = Duration::from_secs(2);

/// Versions that are copied at the same time.
const CONCURRENT: usize = 4;

/// The bytes of one version, piece by piece.
pub type Pieces = BoxStream<'static, std::io::Result<Bytes>>;

/// The store of the objects' bytes.
pub trait Objects: Send + Sync {
    /// Returns the bytes of `version`; `None` if there are none.
    fn read(&self, version: Uuid) -> BoxFuture<'_, Result<Option<Pieces>, String>>;
    /// Stores `pieces` as the bytes of `version`.
    fn write(&self, version: Uuid, pieces: Pieces) -> BoxFuture<'_, Result<(), String>>;
    /// Reports whether there are bytes of `version`.
    fn contains(&self, version: Uuid) -> BoxFuture<'_, Result<bool, String>>;
    /// Removes the bytes of `version`, if there are any.
    fn remove(&self, version: Uuid) -> BoxFuture<'_, Result<(), String>>;
}

/// The objects of a project, and their copies in a target. Cheap to clone.
#[derive(Clone)]
pub(crate) struct Copies {
    pub(crate) target: Target,
    pub(crate) key: Key,
    /// The name of the target in the table of copies.
    pub(crate) id: String,
    pub(crate) objects: Arc<dyn Objects>,
}

/// How many objects were copied, and their bytes.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Copied {
    pub(crate) count: u64,
    pub(crate) bytes: u64,
}

/// What has been brought back into the store.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Brought {
    /// How many versions.
    pub(crate) count: usize,
    /// Those that the target does not have either, or that are damaged there.
    pub(crate) missing: Vec<Uuid>,
}

impl Copies {
    /// Copies all versions of `database` that the target does not have yet.
    pub(crate) async fn copy_new(&self, database: &Database) -> Result<Copied, Error> {
        let client = database.client().await?;
        let mut copied = Copied::default();
        let mut last = String::new();
        loop {
            let rows = client
                .query(
                    "select o.version from storage.objects o \
                     where o.version > $2 and not o.is_delete_marker and not exists \
                       (select from basalt.backed_up_objects b where b.target = $1 and b.version = o.version) \
                     order by o.version limit $3",
                    &[&self.id, &last, &BATCH],
                )
                .await?;
            let versions: Vec<String> = rows.iter().map(|row| row.get(0)).collect();
            let Some(end) = versions.last() else { return Ok(copied) };
            last.clone_from(end);
            let versions: Vec<Uuid> = versions.iter().filter_map(|text| Uuid::try_parse(text).ok()).collect();
            let lengths = stream::iter(versions).map(async |version| {
                let length = self.copy(version).await?;
                Ok::<_, Error>(length.map(|length| (version, length)))
            });
            let lengths: Vec<_> = lengths.buffer_unordered(CONCURRENT).try_collect().await?;
            let present: Vec<String> =
                lengths.iter().flatten().map(|(version, _)| version.hyphenated().to_string()).collect();
            client
                .execute(
                    "insert into basalt.backed_up_objects (target, version) select $1, unnest($2::text[]) \
                     on conflict do nothing",
                    &[&self.id, &present],
                )
                .await?;
            copied.count += present.len() as u64;
            copied.bytes += lengths.iter().flatten().map(|(_, length)| length).sum::<u64>();
        }
    }

    /// Copies a version and returns its length; `None` if its bytes have been removed meanwhile.
    async fn copy(&self, version: Uuid) -> Result<Option<u64>, Error> {
        let Some(pieces) = self.objects.read(version).await.map_err(Error::Io)? else { return Ok(None) };
        self.key.encrypt_to(pieces, &self.target, &path(version)).await.map(Some)
    }

    /// Makes sure that the target has `versions`, which no object has any more, and removes their bytes from the store.
    pub(crate) async fn retire(&self, versions: &[Uuid], database: &Database) -> Result<(), Error> {
        let texts: Vec<String> = versions.iter().map(|version| version.hyphenated().to_string()).collect();
        let rows = database
            .client()
            .await?
            .query(
                "select version from basalt.backed_up_objects where target = $1 and version = any($2::text[])",
                &[&self.id, &texts],
            )
            .await?;
        let present: HashSet<String> = rows.iter().map(|row| row.get(0)).collect();
        for (version, text) in versions.iter().zip(&texts) {
            if !present.contains(text) && self.copy(*version).await?.is_none() {
                continue;
            }
            let mark = format!("removed/{}-{text}", Moment::now().seconds());
            self.target.write(&mark, Vec::new()).await?;
            self.objects.remove(*version).await.map_err(Error::Io)?;
        }
        Ok(())
    }

    /// Removes the versions from the target that no object has had since `oldest`, and returns how many that were.
    pub(crate) async fn prune(&self, oldest: Moment, database: &Database) -> Result<u64, Error> {
        let marks = self.target.list("removed").await?;
        let client = database.client().await?;
        let mut removed = 0;
        for mark in marks {
            let name = mark.rsplit('/').next().unwrap_or_default();
            let Some((second, version)) = name.split_once('-') else { continue };
            let (Ok(second), Ok(version)) = (second.parse::<i64>(), Uuid::try_parse(version)) else {
                continue;
            };
            if second >= oldest.seconds() {
                continue;
            }
            let text = version.hyphenated().to_string();
            // A restore may have brought the object back.
            let row = client.query_opt("select from storage.objects where version = $1", &[&text]).await?;
            if row.is_none() {
                self.target.remove(&path(version)).await?;
                client
                    .execute(
                        "delete from basalt.backed_up_objects where target = $1 and version = $2",
                        &[&self.id, &text],
                    )
                    .await?;
                removed += 1;
            }
            self.target.remove(&mark).await?;
        }
        Ok(removed)
    }

    /// Brings those of `versions` back into the store that it does not have.
    pub(crate) async fn bring_back(&self, versions: Vec<Uuid>) -> Result<Brought, Error> {
        let absent = stream::iter(versions).map(async |version| {
            let is_there = self.objects.contains(version).await.map_err(Error::Io)?;
            Ok::<_, Error>(Some(version).filter(|_| !is_there))
        });
        let absent = absent.buffer_unordered(CONCURRENT).try_filter_map(async |version| Ok(version));
        let brought = absent.map_ok(async |version| Ok((version, self.bring(version).await?)));
        let brought: Vec<(Uuid, bool)> = brought.try_buffer_unordered(CONCURRENT).try_collect().await?;
        let missing: Vec<Uuid> =
            brought.iter().filter(|(_, is_there)| !is_there).map(|(version, _)| *version).collect();
        Ok(Brought { count: brought.len() - missing.len(), missing })
    }

    /// Brings `version` back into the store; reports `false` if the target does not have it, or if it is damaged there.
    async fn bring(&self, version: Uuid) -> Result<bool, Error> {
        let Some(pieces) = self.key.decrypt_from(&self.target, &path(version)).await? else {
            return Ok(false);
        };
        let is_damaged = Arc::new(AtomicBool::new(false));
        let seen = is_damaged.clone();
        let pieces = pieces.inspect_err(move |error| {
            let is_away = error.get_ref().is_some_and(|reason| reason.is::<object_store::Error>());
            seen.store(!is_away, Ordering::Relaxed);
        });
        match self.objects.write(version, pieces.boxed()).await {
            Ok(()) => Ok(true),
            Err(_) if is_damaged.load(Ordering::Relaxed) => Ok(false),
            Err(reason) => Err(Error::Io(reason)),
        }
    }
}

/// Reads every version in `target` completely, and returns how many there are and the paths of those that are damaged.
pub(crate) async fn check_all(target: &Target, key: &Key) -> Result<(HashSet<Uuid>, Vec<String>), Error> {
    let paths = target.list("objects").await?;
    let checks = stream::iter(paths).map(async |path| {
        let Some(pieces) = key.decrypt_from(target, &path).await? else { return Ok((path, true)) };
        let mut pieces = std::pin::pin!(pieces);
        while let Some(piece) = pieces.next().await {
            if piece.is_err() {
                return Ok((path, false));
            }
        }
        Ok::<_, Error>((path, true))
    });
    let checked: Vec<(String, bool)> = checks.buffer_unordered(CONCURRENT).try_collect().await?;
    let versions = checked.iter().filter(|(_, is_whole)| *is_whole).filter_map(|(path, _)| version_of(path));
    let versions = versions.collect();
    Ok((versions, checked.into_iter().filter(|(_, is_whole)| !is_whole).map(|(path, _)| path).collect()))
}

/// Returns those of `versions` that `target` does not have, also after a while in which the server may copy them.
pub(crate) async fn still_missing(target: &Target, mut versions: Vec<Uuid>) -> Result<Vec<Uuid>, Error> {
    for look in 0..LOOKS {
        let looked = stream::iter(versions).map(async |version| {
            let is_there = target.contains(&path(version)).await?;
            Ok::<_, Error>(Some(version).filter(|_| !is_there))
        });
        let missing = looked.buffer_unordered(CONCURRENT).try_filter_map(async |version| Ok(version));
        versions = missing.try_collect().await?;
        if versions.is_empty() || look + 1 == LOOKS {
            break;
        }
        tokio::time::sleep(PAUSE).await;
    }
    Ok(versions)
}

/// Has the table of copies in `database` no longer say that the target `id` has `versions`.
pub(crate) async fn forget(id: &str, versions: &[Uuid], database: &Database) -> Result<(), Error> {
    if versions.is_empty() {
        return Ok(());
    }
    let texts: Vec<String> = versions.iter().map(|version| version.hyphenated().to_string()).collect();
    let sql = "delete from basalt.backed_up_objects where target = $1 and version = any($2::text[])";
    database.client().await?.execute(sql, &[&id, &texts]).await?;
    Ok(())
}

/// Returns the versions that objects have in `database`.
pub(crate) async fn versions(database: &Database) -> Result<Vec<Uuid>, Error> {
    let sql = "select distinct version from storage.objects where not is_delete_marker";
    let rows = database.client().await?.query(sql, &[]).await?;
    Ok(rows.iter().filter_map(|row| Uuid::try_parse(row.get(0)).ok()).collect())
}

fn path(version: Uuid) -> String {
    let name = version.hyphenated().to_string();
    format!("objects/{}/{name}.age", &name[..2])
}

/// Returns the version whose copy is at `path`.
pub(crate) fn version_of(path: &str) -> Option<Uuid> {
    Uuid::try_parse(path.rsplit('/').next()?.strip_suffix(".age")?).ok()
}

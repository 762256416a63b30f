//! Removes bytes that no row names: what uploads, replacements and removals left behind when the process ended in the
//! middle of them.
//!
//! Bytes can be read before their row is committed, for as long as one transaction takes. So nothing is removed at the
//! first look: what has no row then is remembered, and removed if it has none at the next look either, which is later
//! than any transaction lasts.

use std::collections::HashSet;
use std::time::Duration;

use tokio_util::sync::CancellationToken;
use uuid::Uuid;

use crate::error::Error;
use crate::handles::Handles;
use crate::row::{self, names};
use crate::store::{Blobs, Rows};
use crate::{multipart, resumable};

/// The time from the start to the first look, so that starting is not slowed down.
const FIRST_LOOK: Duration = Duration::from_secs(60);
/// How long after the first look the second is: longer than transactions may take.
const SECOND_LOOK: Duration = Duration::from_secs(15 * 60);
/// The time from one pair of looks to the next.
const PERIOD: Duration = Duration::from_secs(24 * 3600);
/// From this number of orphans on, the store must have more bytes with rows than without. Otherwise it is more likely
/// that the database has not been restored yet, or belongs to another store, than that so many rows were lost.
const SUSPICIOUS: usize = 100;

/// Looks for bytes without rows, one look after the other.
#[derive(Debug)]
pub struct Sweeper {
    rows: Rows,
    blobs: Blobs,
    /// What had no row at the last look.
    suspects: HashSet<Uuid>,
}

impl Sweeper {
    /// Returns a sweeper that has not looked yet.
    pub fn new(handles: &Handles) -> Self {
        let (rows, blobs) = (handles.rows.clone(), handles.blobs.clone());
        Self { rows, blobs, suspects: HashSet::new() }
    }

    /// Looks soon after the start and every day, twice each, until `stop` is cancelled.
    pub async fn run(mut self, stop: CancellationToken) {
        let mut pause = FIRST_LOOK;
        let mut is_second = false;
        while stop.run_until_cancelled(tokio::time::sleep(pause)).await.is_some() {
            match stop.run_until_cancelled(self.look()).await {
                None => return,
                Some(Ok(0)) => {}
                Some(Ok(removed)) => tracing::info!(removed, "bytes that no object needs were removed"),
                Some(Err(error)) => tracing::warn!(%error, "the object store could not be swept"),
            }
            pause = if is_second { PERIOD } else { SECOND_LOOK };
            is_second = !is_second;
        }
    }

    /// Looks once: removes what had no row at the last look and has none now, and returns how much that was.
    ///
    /// Errors: [`Error::Backend`], [`Error::Database`]; nothing is removed that was not looked up.
    pub async fn look(&mut self) -> Result<usize, Error> {
        self.blobs.backend.remove_abandoned().await?;
        resumable::remove_expired(&self.rows, &self.blobs).await?;
        multipart::remove_expired(&self.rows, &self.blobs).await?;
        let Some(orphans) = self.orphans().await? else {
            self.suspects.clear();
            return Ok(0);
        };
        let (confirmed, suspects): (Vec<Uuid>, Vec<Uuid>) =
            orphans.into_iter().partition(|version| self.suspects.contains(version));
        self.suspects = suspects.into_iter().collect();
        if let Some(keeper) = self.blobs.keeper.get() {
            keeper.retire(&confirmed);
            return Ok(0);
        }
        for version in &confirmed {
            self.blobs.backend.remove(*version).await?;
        }
        Ok(confirmed.len())
    }

    /// Returns the versions that no row names; `None` if that is most of the store.
    ///
    /// Errors: [`Error::Backend`], [`Error::Database`].
    async fn orphans(&self) -> Result<Option<HashSet<Uuid>>, Error> {
        let (mut orphans, mut live) = (HashSet::new(), 0);
        for folder in 0..=u8::MAX {
            let stored = self.blobs.backend.list(folder).await?;
            let stored: Vec<Uuid> = stored.into_iter().map(|(version, _)| version).collect();
            if stored.is_empty() {
                continue;
            }
            let named = self.with_rows(&stored).await?;
            live += named.len();
            orphans.extend(stored.into_iter().filter(|version| !named.contains(version)));
        }
        if orphans.len() > live && (live == 0 || orphans.len() > SUSPICIOUS) {
            let (orphans, live) = (orphans.len(), live);
            tracing::warn!(
                orphans,
                live,
                "the object store holds mostly what the database does not know: nothing is removed"
            );
            return Ok(None);
        }
        Ok(Some(orphans))
    }

    /// Returns the bytes that an earlier process has left behind, if the store is a folder, which nobody else writes to.
    /// To be called before the first upload.
    ///
    /// Errors: [`Error::Backend`], [`Error::Database`].
    pub async fn left_behind(&self) -> Result<Vec<Uuid>, Error> {
        if !self.blobs.backend.is_folder() {
            return Ok(Vec::new());
        }
        Ok(self.orphans().await?.unwrap_or_default().into_iter().collect())
    }

    /// Returns those of `versions` that rows name.
    async fn with_rows(&self, versions: &[Uuid]) -> Result<HashSet<Uuid>, Error> {
        let texts: Vec<String> = versions.iter().map(|version| version.hyphenated().to_string()).collect();
        let sql = "with looked_up as (select jsonb_array_elements_text($1::jsonb) as version) \
             select version from storage.objects where version in (select version from looked_up) \
             union all \
             select part::text from basalt.resumable_uploads, unnest(parts) part \
             where part::text in (select version from looked_up) \
             union all \
             select version from storage.s3_multipart_uploads_parts \
             where version in (select version from looked_up)";
        let reply = self.rows.look_up(sql, vec![names(texts.iter().map(String::as_str))]).await?;
        Ok(reply.rows().iter().filter_map(|row| row::uuid(row, 0)).collect())
    }
}

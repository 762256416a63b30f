//! Deployed functions on this node: their files are in the database, and are laid out in the data folder.
//!
//! A deployment is checked, laid out, its imports are downloaded, it is started, and only then recorded and given the
//! calls. Other nodes hear of it and do the same. What does not start replaces nothing.

mod layout;
pub(crate) mod multipart;
pub(crate) mod upload;

use std::collections::{BTreeMap, HashMap};
use std::path::PathBuf;
use std::sync::Arc;

use bytes::Bytes;
use data_encoding::HEXLOWER;
use postgres::Database;
use sha2::{Digest as _, Sha256};
use tokio::sync::Mutex;
use uuid::Uuid;

use crate::Error;
use crate::runtime::{FunctionRuntime, TakeCalls, Version};
use crate::store::functions::{self, FunctionRow, VersionFields};
use upload::Upload;

/// The deployed functions of a project on this node.
pub(crate) struct Deployments {
    database: Database,
    runtime: Arc<dyn FunctionRuntime>,
    /// The folder in which versions are laid out.
    folder: PathBuf,
    /// The versions that take calls here, by slug. Held while another one gets them, so that this node and the database
    /// agree.
    active: Mutex<BTreeMap<String, Version>>,
    /// By slug, what a deployment holds until its end: those of one name follow each other. It has the number of the
    /// version that is being prepared, whose files nobody may remove.
    turns: parking_lot::Mutex<HashMap<String, Arc<Mutex<()>>>>,
    preparing: parking_lot::Mutex<Vec<(String, i32)>>,
}

/// Notes that a version is being prepared, until it is dropped.
struct Preparing<'d>(&'d Deployments, (String, i32));

impl Drop for Preparing<'_> {
    fn drop(&mut self) {
        self.0.preparing.lock().retain(|one| *one != self.1);
    }
}

/// A version that is kept in the database.
struct Kept {
    id: Uuid,
    version: Version,
}

impl Deployments {
    pub(crate) fn new(database: Database, runtime: Arc<dyn FunctionRuntime>, folder: PathBuf) -> Self {
        let (active, turns, preparing) = Default::default();
        Self { database, runtime, folder, active, turns, preparing }
    }

    /// Lays out the versions that take calls and registers them, at the start of the server. They are started by their
    /// first calls.
    pub(crate) async fn load(&self, project: &str) -> Result<(), Error> {
        let mut active = self.active.lock().await;
        layout::clear(&self.folder).await;
        for row in functions::list(&self.database, project).await? {
            let version = self.laid_out(&row).await?;
            active.insert(row.slug, version);
        }
        self.runtime.set_deployments(active.values().cloned().collect());
        Ok(())
    }

    /// Brings this node to the versions that the database has: another node may have deployed or deleted some. One that
    /// does not start here is logged, and the one before it goes on.
    pub(crate) async fn follow(&self, project: &str) -> Result<(), Error> {
        let mut active = self.active.lock().await;
        let rows = functions::list(&self.database, project).await?;
        let gone: Vec<String> =
            active.keys().filter(|slug| rows.iter().all(|row| row.slug != **slug)).cloned().collect();
        if !gone.is_empty() {
            active.retain(|slug, _| !gone.contains(slug));
            self.runtime.set_deployments(active.values().cloned().collect());
            for slug in &gone {
                layout::remove_all_but(&self.folder.join(slug), &self.in_preparation(slug)).await;
            }
        }
        for row in rows {
            if active.get(&row.slug).is_some_and(|current| current.version == row.version) {
                continue;
            }
            let version = self.laid_out(&row).await?;
            match self.runtime.boot(&version).await {
                Ok(take_calls) => self.replace(&mut active, version, take_calls).await,
                Err(reason) => {
                    tracing::error!(function = row.slug, reason, "a deployed function does not start")
                }
            }
        }
        Ok(())
    }

    /// Deploys `upload` as the function `slug`. With `bundle_only`, the version is kept but takes no calls yet.
    ///
    /// Errors: 400 with Deno's words if it cannot be started; nothing is deployed then.
    pub(crate) async fn deploy(
        &self,
        project: &str,
        slug: &str,
        upload: &Upload,
        bundle_only: bool,
    ) -> Result<FunctionRow, Error> {
        let turn = self.turn(slug);
        let _turn = turn.lock().await;
        let (id, number) = functions::next_version(&self.database, project, slug).await?;
        let _preparing = self.preparing(slug, number);
        let kept = self.prepare((id, number), slug, upload).await?;
        if bundle_only {
            self.keep(&kept, upload).await?;
        } else {
            let take_calls = self.boot(&kept).await?;
            self.keep(&kept, upload).await?;
            self.activate(vec![(kept, take_calls)], true).await?;
        }
        let found = functions::find(&self.database, project, slug, Some(number)).await?;
        found.ok_or_else(overtaken)
    }

    /// Returns what a deployment of `slug`, or its deletion, holds until its end.
    fn turn(&self, slug: &str) -> Arc<Mutex<()>> {
        let mut turns = self.turns.lock();
        // Those that nobody holds or waits for are not needed.
        turns.retain(|_, turn| Arc::strong_count(turn) > 1);
        Arc::clone(turns.entry(slug.to_owned()).or_default())
    }

    /// Returns the numbers of the versions of `slug` that are being prepared.
    fn in_preparation(&self, slug: &str) -> Vec<i32> {
        let preparing = self.preparing.lock();
        preparing.iter().filter(|(name, _)| name == slug).map(|(_, number)| *number).collect()
    }

    fn preparing(&self, slug: &str, number: i32) -> Preparing<'_> {
        let one = (slug.to_owned(), number);
        self.preparing.lock().push(one.clone());
        Preparing(self, one)
    }

    /// Gives the calls of several functions to versions that are kept, all at once. Each is a slug and a number; without
    /// the number it is the newest.
    ///
    /// Errors: 404 if there is none, 400 if one cannot be started; none is replaced then.
    pub(crate) async fn promote(&self, project: &str, wanted: &[(String, i32)]) -> Result<(), Error> {
        let mut ready = Vec::new();
        for (slug, number) in wanted {
            let found = functions::find(&self.database, project, slug, Some(*number)).await?;
            let row =
                found.ok_or_else(|| Error::missing(format!("Function {slug} has no version {number}")))?;
            let is_active =
                self.active.lock().await.get(slug).is_some_and(|current| current.version == row.version);
            if is_active {
                continue;
            }
            let _preparing = self.preparing(slug, row.version);
            let version = self.laid_out(&row).await?;
            let kept = Kept { id: row.id, version };
            let take_calls = self.boot(&kept).await?;
            ready.push((kept, take_calls));
        }
        self.activate(ready, false).await
    }

    /// Deletes a function. Its process ends with its last call. Errors: 404 if there is none.
    pub(crate) async fn delete(&self, project: &str, slug: &str) -> Result<(), Error> {
        let turn = self.turn(slug);
        let _turn = turn.lock().await;
        let was_there = functions::delete(&self.database, project, slug).await?;
        self.follow(project).await?;
        if was_there { Ok(()) } else { Err(Error::missing("Function not found")) }
    }

    /// Returns the upload that a version was made of.
    pub(crate) async fn upload_of(&self, row: &FunctionRow) -> Result<Upload, Error> {
        let (files, _) = functions::files(&self.database, row.id, row.version).await?;
        Ok(Upload { fields: row.fields(), files })
    }

    /// Lays out a new version and downloads its imports.
    async fn prepare(&self, (id, number): (Uuid, i32), slug: &str, upload: &Upload) -> Result<Kept, Error> {
        let version = layout::version(&self.folder, slug, number, &upload.fields);
        layout::write(&version, &upload.files, None).await?;
        if let Err(reason) = self.runtime.download_imports(&version).await {
            layout::remove(&version).await;
            return Err(refused(&reason, &version));
        }
        Ok(Kept { id, version })
    }

    /// Starts a version. Errors: 400 with Deno's words.
    async fn boot(&self, kept: &Kept) -> Result<TakeCalls, Error> {
        match self.runtime.boot(&kept.version).await {
            Ok(take_calls) => Ok(take_calls),
            Err(reason) => {
                layout::remove(&kept.version).await;
                Err(refused(&reason, &kept.version))
            }
        }
    }

    async fn keep(&self, kept: &Kept, upload: &Upload) -> Result<(), Error> {
        let lock = tokio::fs::read_to_string(&kept.version.lock).await.ok();
        let Upload { fields, files } = upload;
        let digest = digest(fields, files, lock.as_deref());
        let number = (kept.id, kept.version.version);
        functions::keep(&self.database, number, fields, files, lock.as_deref(), &digest).await
    }

    /// Records that versions take the calls, and gives them the calls of this node.
    ///
    /// Errors: 409 with `only_newer` if another node has deployed a newer version in the meantime.
    async fn activate(&self, ready: Vec<(Kept, TakeCalls)>, only_newer: bool) -> Result<(), Error> {
        if ready.is_empty() {
            return Ok(());
        }
        let mut active = self.active.lock().await;
        let versions: Vec<_> = ready.iter().map(|(kept, _)| (kept.id, kept.version.version)).collect();
        let changed = functions::activate(&self.database, &versions, only_newer).await?;
        if changed.len() < versions.len() {
            return Err(overtaken());
        }
        for (kept, take_calls) in ready {
            self.replace(&mut active, kept.version, take_calls).await;
        }
        Ok(())
    }

    async fn replace(&self, active: &mut BTreeMap<String, Version>, version: Version, take_calls: TakeCalls) {
        take_calls();
        let slug = version.slug.clone();
        let before = active.insert(slug.clone(), version.clone());
        // The process before it may still read its files.
        let mut kept: Vec<i32> =
            std::iter::once(&version).chain(&before).map(|version| version.version).collect();
        kept.extend(self.in_preparation(&slug));
        layout::remove_all_but(&self.folder.join(slug), &kept).await;
    }

    /// Lays out a version that the database has, unless its files are there.
    async fn laid_out(&self, row: &FunctionRow) -> Result<Version, Error> {
        let version = layout::version(&self.folder, &row.slug, row.version, &row.fields());
        if !layout::exists(&version).await {
            let (files, lock) = functions::files(&self.database, row.id, row.version).await?;
            layout::write(&version, &files, lock.as_deref()).await?;
        }
        Ok(version)
    }
}

/// Returns the refusal of a deployment that a newer one has overtaken.
fn overtaken() -> Error {
    Error::Refused(http::StatusCode::CONFLICT, "A newer version was deployed in the meantime".into())
}

/// Returns the refusal of a version that Deno does not take. Paths on this machine are shown as the deployer's.
fn refused(reason: &str, version: &Version) -> Error {
    let folder = version.folder.display().to_string();
    let reason = reason.replace(&format!("file://{folder}/"), "").replace(&format!("{folder}/"), "");
    Error::invalid(format!("The function cannot be started: {reason}"))
}

/// Returns the SHA-256 over everything that a version consists of, hexadecimal.
fn digest(fields: &VersionFields, files: &[(String, Bytes)], lock: Option<&str>) -> String {
    let mut digest = Sha256::new();
    let mut add = |part: &[u8]| {
        digest.update((part.len() as u64).to_be_bytes());
        digest.update(part);
    };
    add(fields.entrypoint_path.as_bytes());
    add(fields.import_map_path.as_deref().unwrap_or_default().as_bytes());
    add(lock.unwrap_or_default().as_bytes());
    for (path, content) in files {
        add(path.as_bytes());
        add(content);
    }
    HEXLOWER.encode(&digest.finalize())
}

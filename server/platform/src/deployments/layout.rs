//! The files of deployed functions in the data folder: `<slug>/<version>/source/…`, and `deno.lock` beside `source`.

use std::path::{Path, PathBuf};

use bytes::Bytes;
use tokio::fs;

use crate::Error;
use crate::runtime::Version;
use crate::store::functions::VersionFields;

/// The folder of the files of a version.
const SOURCE: &str = "source";
const LOCK: &str = "deno.lock";

/// Returns the version `number` of the function `slug`, as it lies in `folder`.
pub(super) fn version(folder: &Path, slug: &str, number: i32, fields: &VersionFields) -> Version {
    let own = folder.join(slug).join(number.to_string());
    let source = own.join(SOURCE);
    Version {
        slug: slug.to_owned(),
        version: number,
        verify_jwt: fields.verify_jwt,
        entry_point: source.join(&fields.entrypoint_path),
        import_map: fields.import_map_path.as_ref().map(|path| source.join(path)),
        folder: source,
        lock: own.join(LOCK),
    }
}

/// Reports whether the files of `version` are there, all of them.
pub(super) async fn exists(version: &Version) -> bool {
    fs::try_exists(&version.folder).await.unwrap_or(false)
}

/// Writes the files of `version`. They appear all at once.
pub(super) async fn write(
    version: &Version,
    files: &[(String, Bytes)],
    lock: Option<&str>,
) -> Result<(), Error> {
    let failed = |error| Error::Internal(format!("the files of {}: {error}", version.slug));
    let own = own_folder(version);
    let draft = own.join(format!(".{}", uuid::Uuid::new_v4().simple()));
    let written = async {
        for (path, content) in files {
            let path = draft.join(path);
            if let Some(folder) = path.parent() {
                fs::create_dir_all(folder).await?;
            }
            fs::write(path, content).await?;
        }
        if let Some(lock) = lock {
            fs::write(&version.lock, lock).await?;
        }
        // What a start that was killed may have left.
        let _ = fs::remove_dir_all(&version.folder).await;
        fs::rename(&draft, &version.folder).await
    };
    let written = written.await.map_err(failed);
    if written.is_err() {
        let _ = fs::remove_dir_all(&draft).await;
    }
    written
}

/// Removes the files of `version`.
pub(super) async fn remove(version: &Version) {
    remove_folder(&own_folder(version)).await;
}

/// Removes all versions in the folder of a function, except those with a number in `kept`.
pub(super) async fn remove_all_but(folder: &Path, kept: &[i32]) {
    let Ok(mut entries) = fs::read_dir(folder).await else { return };
    while let Ok(Some(entry)) = entries.next_entry().await {
        let path = entry.path();
        let number = path.file_name().and_then(|name| name.to_str()).and_then(|name| name.parse().ok());
        if !number.is_some_and(|number: i32| kept.contains(&number)) {
            remove_folder(&path).await;
        }
    }
}

/// Removes everything that an earlier run of the server has laid out.
pub(super) async fn clear(folder: &Path) {
    remove_folder(folder).await;
}

fn own_folder(version: &Version) -> PathBuf {
    version.folder.parent().unwrap_or(&version.folder).to_owned()
}

async fn remove_folder(folder: &Path) {
    match fs::remove_dir_all(folder).await {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
            tracing::warn!(%error, folder = %folder.display(), "files of a function cannot be removed");
        }
        _ => {}
    }
}

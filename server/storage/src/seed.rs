//! Buckets that a project defines and fills from a folder.
//!
//! The newer wins, as in make: a file is uploaded when its object is missing or when the file was changed after the
//! object was. An object that was replaced through the API since is left alone, and so are objects whose file is
//! gone.

use std::collections::HashMap;
use std::path::{Path, PathBuf};

use data_encoding::HEXLOWER;
use futures_util::TryStreamExt as _;
use md5::{Digest as _, Md5};
use serde_json::json;
use time::OffsetDateTime;
use tokio_util::io::ReaderStream;
use uuid::Uuid;

use crate::buckets::BucketDefinition;
use crate::caller::service_transaction;
use crate::error::Error;
use crate::handles::Handles;
use crate::objects::NewRow;
use crate::objects::versions::IS_CURRENT;
use crate::row::{self, names, text, timestamp};
use crate::settings::Settings;
use crate::store::{Rows, Store};
use crate::upload::{self, Description};
use crate::{buckets, key};

/// What `storage.operation()` is while files are seeded.
const OPERATION: &str = "storage.object.upload_update";

/// What [`seed_bucket`] did.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct SeedReport {
    /// Files that were uploaded.
    pub uploaded: usize,
    /// Files whose objects were up to date.
    pub unchanged: usize,
    /// Files that the bucket does not take; the log has a warning for each.
    pub refused: usize,
}

/// A file to be seeded.
struct File {
    path: PathBuf,
    key: String,
    modified: OffsetDateTime,
}

/// What the database knows about a file's object.
struct ExistingObject {
    version: Option<Uuid>,
    updated_at: Option<OffsetDateTime>,
    etag: Option<String>,
}

/// Creates or updates `bucket`, then uploads the new and changed files of its folder, whose names relative to it
/// become the objects' keys. Files whose name starts with a dot are left out, and so are symbolic links, except
/// those to a file in the same folder.
///
/// Running it again changes nothing; two nodes may run it at the same time. A file that is too large, of a type
/// that the bucket does not take, or whose name no object can have, is left out with a warning: it must not keep
/// the others from being served.
///
/// Errors: [`Error::InvalidKey`] for a name that is not UTF-8, [`Error::Backend`] for a folder or file that cannot
/// be read.
pub async fn seed_bucket(
    settings: &Settings,
    handles: &Handles,
    bucket: &BucketDefinition,
) -> Result<SeedReport, Error> {
    let store = handles.store(settings);
    buckets::upsert(&store.rows, bucket).await?;
    let Some(folder) = &bucket.objects_path else { return Ok(SeedReport::default()) };
    let files = list(folder).await?;
    let known = existing_objects(&store.rows, &bucket.name, &files).await?;
    let mut report = SeedReport::default();
    for file in &files {
        match seed_file(&store, bucket, file, known.get(&file.key)).await {
            Ok(true) => report.uploaded += 1,
            Ok(false) => report.unchanged += 1,
            Err(error @ (Error::EntityTooLarge | Error::InvalidMimeType(_) | Error::InvalidKey(_))) => {
                let path = file.path.display();
                tracing::warn!(bucket = bucket.name, %path, %error, "the bucket does not take a file");
                report.refused += 1;
            }
            Err(error) => return Err(error),
        }
    }
    Ok(report)
}

async fn existing_objects(
    rows: &Rows,
    bucket: &str,
    files: &[File],
) -> Result<HashMap<String, ExistingObject>, Error> {
    let keys = names(files.iter().map(|file| &*file.key));
    let sql = format!(
        "select o.name, o.version, o.updated_at, o.metadata->>'eTag' from storage.objects o \
         where o.bucket_id = $1 and o.name collate \"C\" in (select jsonb_array_elements_text($2::jsonb)) \
           and {IS_CURRENT}"
    );
    let reply = rows.look_up(sql, vec![text(bucket), keys]).await?;
    let found = reply.rows().iter();
    Ok(found
        .filter_map(|row| {
            let known = ExistingObject {
                version: row::uuid(row, 1),
                updated_at: row.text(2).and_then(timestamp),
                etag: row.text(3).map(str::to_owned),
            };
            Some((row.text(0)?.to_owned(), known))
        })
        .collect())
}

/// Uploads `file` if its object is missing or older. Reports whether it did.
async fn seed_file(
    store: &Store,
    bucket: &BucketDefinition,
    file: &File,
    known: Option<&ExistingObject>,
) -> Result<bool, Error> {
    key::check_key(&file.key)?;
    let present = match known.and_then(|known| known.version) {
        Some(version) => store.blobs.backend.size(version).await.is_ok(),
        None => false,
    };
    let newer = known.and_then(|known| known.updated_at).is_none_or(|updated| file.modified > updated);
    if present && !newer {
        return Ok(false);
    }
    let (md5, size) = digest(&file.path).await?;
    if present && known.and_then(|known| known.etag.as_deref()) == Some(&*format!("\"{md5}\"")) {
        return Ok(false);
    }
    let about = Description {
        mimetype: content_type(&file.key),
        cache_control: "max-age=3600".to_owned(),
        robots_tag: None,
        content_encoding: None,
        user_metadata: None,
        content_length: Some(size),
    };
    // The server itself adds the charset, so that it does not count for the bucket's list.
    let essence = about.mimetype.split(';').next().unwrap_or_default();
    bucket.rules().admit(&file.key, essence, size, store.max_size)?;
    let stored = upload::store(store, ReaderStream::new(open(&file.path).await?), size).await?;
    let row = NewRow {
        bucket: &bucket.name,
        key: &file.key,
        owner: None,
        version: stored.version,
        metadata: &stored.metadata(&about),
        user_metadata: &json!({}),
        replaces: true,
    };
    row.write(store, service_transaction(OPERATION)).await?;
    Ok(true)
}

/// Returns the MD5 of the file at `path` in hexadecimal digits, and its length.
async fn digest(path: &Path) -> Result<(String, u64), Error> {
    let mut chunks = ReaderStream::new(open(path).await?);
    let (mut hash, mut length) = (Md5::new(), 0_u64);
    while let Some(chunk) = chunks.try_next().await.map_err(|error| unreadable(path, &error))? {
        length += chunk.len() as u64;
        hash.update(&chunk);
    }
    Ok((HEXLOWER.encode(&hash.finalize()), length))
}

/// Returns the content type that a file's extension stands for; texts are UTF-8, as the Supabase CLI declares them.
fn content_type(key: &str) -> String {
    let guess = mime_guess::from_path(key).first_or_octet_stream();
    if guess.type_() == "text" { format!("{guess}; charset=utf-8") } else { guess.to_string() }
}

async fn open(path: &Path) -> Result<tokio::fs::File, Error> {
    tokio::fs::File::open(path).await.map_err(|error| unreadable(path, &error))
}

fn unreadable(path: &Path, error: &std::io::Error) -> Error {
    Error::Backend(format!("{} cannot be read: {error}", path.display()))
}

/// Returns the regular files under `folder`, in the order of their keys.
async fn list(folder: &Path) -> Result<Vec<File>, Error> {
    let folder = folder.to_owned();
    let listed = tokio::task::spawn_blocking(move || {
        let root = folder.canonicalize().map_err(|error| unreadable(&folder, &error))?;
        let mut files = Vec::new();
        walk(&folder, "", &root, &mut files)?;
        files.sort_by(|a: &File, b: &File| a.key.cmp(&b.key));
        Ok(files)
    });
    listed.await.map_err(|error| Error::Backend(error.to_string()))?
}

fn walk(folder: &Path, prefix: &str, root: &Path, files: &mut Vec<File>) -> Result<(), Error> {
    let entries = std::fs::read_dir(folder).map_err(|error| unreadable(folder, &error))?;
    for entry in entries {
        let entry = entry.map_err(|error| unreadable(folder, &error))?;
        let path = entry.path();
        let name = entry.file_name();
        let name = name.to_str().ok_or_else(|| Error::InvalidKey(path.display().to_string()))?;
        if name.starts_with('.') {
            continue;
        }
        let key = format!("{prefix}{name}");
        let kind = entry.file_type().map_err(|error| unreadable(&path, &error))?;
        if kind.is_dir() {
            walk(&path, &format!("{key}/"), root, files)?;
        } else if kind.is_file() || (kind.is_symlink() && leads_to_a_file_in(root, &path)) {
            let metadata = std::fs::metadata(&path).map_err(|error| unreadable(&path, &error))?;
            let modified = metadata.modified().map_err(|error| unreadable(&path, &error))?.into();
            files.push(File { path, key, modified });
        } else {
            let path = path.display();
            tracing::warn!(%path, "what is no file, or a link that leads out of the bucket's folder, is left out");
        }
    }
    Ok(())
}

/// Reports whether the link at `path` may be followed. Buckets can be public, and a link in another person's project
/// may lead to any file of this machine; one to a folder may cause a loop.
fn leads_to_a_file_in(root: &Path, path: &Path) -> bool {
    path.canonicalize().is_ok_and(|target| target.starts_with(root) && target.is_file())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn content_types_follow_the_extension() {
        assert_eq!(content_type("a/b.PNG"), "image/png");
        assert_eq!(content_type("clip.webm"), "video/webm");
        assert_eq!(content_type("notes.txt"), "text/plain; charset=utf-8");
        assert_eq!(content_type("noextension"), "application/octet-stream");
    }

    #[tokio::test]
    async fn links_out_of_the_folder_are_left_out() {
        use std::os::unix::fs::symlink;

        let parent = tempfile::tempdir().unwrap();
        std::fs::write(parent.path().join("secret.txt"), "secret").unwrap();
        let folder = parent.path().join("bucket");
        std::fs::create_dir_all(folder.join("deep")).unwrap();
        std::fs::write(folder.join("deep/a.txt"), "a").unwrap();
        for (target, link) in [
            ("../secret.txt", "relative.txt"),
            ("/etc/hostname", "absolute.txt"),
            ("..", "deep/circle"),
            ("../..", "deep/folder"),
            ("nowhere", "broken.txt"),
            ("deep/a.txt", "inside.txt"),
        ] {
            symlink(target, folder.join(link)).unwrap();
        }
        let through = parent.path().join("through");
        symlink(&folder, &through).unwrap();
        for folder in [folder, through] {
            let keys: Vec<String> = list(&folder).await.unwrap().into_iter().map(|file| file.key).collect();
            assert_eq!(keys, ["deep/a.txt", "inside.txt"], "{}", folder.display());
        }
    }
}

//! Buckets that a project defines and fills from a folder.
//!
//! The newer wins, as in make: a file is uploaded when its object is missing or when the file was changed after the
//! object was. An object that was replaced through the API since is left alone, and so are objects whose file is
//! gone.

use std::collections::HashMap;
use std::path::{Path, PathBuf};

use database::Transaction;
use serde_json::json;
use time::OffsetDateTime;
use time::format_description::well_known::Rfc3339;
use uuid::Uuid;

use crate::objects::{text, timestamp};
use crate::{BucketDefinition, Error, Storage, backend, buckets, key};

/// What [`Storage::seed_bucket`] did.
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
struct Known {
    version: Option<Uuid>,
    updated_at: Option<OffsetDateTime>,
    etag: Option<String>,
}

impl Storage {
    /// Creates or updates `bucket`, then uploads the new and changed files of the folder `objects_path`, whose
    /// names relative to it become the objects' keys. Files whose name starts with a dot are left out, and so are symbolic
    /// links, but for those to a file in the same folder.
    ///
    /// Running it again changes nothing; two nodes may run it at the same time. A file that is too large, of a type
    /// that the bucket does not take, or whose name no object can have, is left out with a warning: it must not keep
    /// the others from being served.
    ///
    /// Errors: [`Error::InvalidKey`] for a name that is not UTF-8, [`Error::Backend`] for a folder or file that cannot
    /// be read.
    pub async fn seed_bucket(
        &self,
        bucket: &BucketDefinition,
        objects_path: Option<&Path>,
    ) -> Result<SeedReport, Error> {
        buckets::upsert(self, bucket).await?;
        let Some(folder) = objects_path else { return Ok(SeedReport::default()) };
        let files = list(folder).await?;
        let known = self.known(&bucket.name, &files).await?;
        let mut report = SeedReport::default();
        for file in &files {
            match self.seed_file(bucket, file, known.get(&file.key)).await {
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

    async fn known(&self, bucket: &str, files: &[File]) -> Result<HashMap<String, Known>, Error> {
        let keys =
            serde_json::Value::from(files.iter().map(|file| &*file.key).collect::<Vec<_>>()).to_string();
        let transaction = Transaction::new("service_role").read_only().statement(
            "select name, version, updated_at, metadata->>'eTag' from storage.objects \
             where bucket_id = $1 and name in (select jsonb_array_elements_text($2::jsonb))",
            vec![text(bucket), text(&keys)],
        );
        let answer = self.database().run(&transaction).await?;
        let rows = answer.last().into_iter().flatten();
        Ok(rows
            .filter_map(|row| {
                let known = Known {
                    version: row.text(1).and_then(|version| Uuid::parse_str(version).ok()),
                    updated_at: row.text(2).and_then(timestamp),
                    etag: row.text(3).map(str::to_owned),
                };
                Some((row.text(0)?.to_owned(), known))
            })
            .collect())
    }

    /// Uploads `file` if its object is missing or older. Answers whether it did.
    async fn seed_file(
        &self,
        bucket: &BucketDefinition,
        file: &File,
        known: Option<&Known>,
    ) -> Result<bool, Error> {
        key::check_key(&file.key)?;
        let present = match known.and_then(|known| known.version) {
            Some(version) => self.backend().size(version).await.is_ok(),
            None => false,
        };
        let newer = known.and_then(|known| known.updated_at).is_none_or(|updated| file.modified > updated);
        if present && !newer {
            return Ok(false);
        }
        let mut source = open(&file.path).await?;
        let (digest, size) =
            backend::digest(&mut source).await.map_err(|error| unreadable(&file.path, &error))?;
        let etag = format!("\"{digest}\"");
        if present && known.and_then(|known| known.etag.as_deref()) == Some(&*etag) {
            return Ok(false);
        }
        let mimetype = content_type(&file.key);
        bucket.admit(size, &mimetype, self.settings().file_size_limit.0)?;
        let version = Uuid::new_v4();
        let written = self.backend().write(version, &mut open(&file.path).await?).await?;
        if written != size {
            self.backend().remove(version).await?;
            let path = file.path.display();
            return Err(Error::Backend(format!("{path} changed while it was read: start again")));
        }
        let metadata = json!({
            "eTag": etag, "size": size, "mimetype": mimetype, "cacheControl": "max-age=3600",
            "lastModified": iso_milliseconds(OffsetDateTime::now_utc()),
            "contentLength": size, "httpStatusCode": 200,
        });
        match self.replace_row(&bucket.name, &file.key, version, &metadata.to_string()).await {
            Ok(Some(replaced)) => self.backend().remove(replaced).await?,
            Ok(None) => {}
            Err(error) => {
                self.backend().remove(version).await?;
                return Err(error);
            }
        }
        Ok(true)
    }

    /// Makes `version` the object's current one and returns the version that it replaced.
    async fn replace_row(
        &self,
        bucket: &str,
        key: &str,
        version: Uuid,
        metadata: &str,
    ) -> Result<Option<Uuid>, Error> {
        let version = version.hyphenated().to_string();
        // The lock is a statement of its own: the next one's snapshot then sees what another node committed.
        let transaction = Transaction::new("service_role")
            .setting("storage.operation", "storage.object.upload_update")
            .statement(
                "select pg_advisory_xact_lock(hashtextextended($1 || '/' || $2, 0))",
                vec![text(bucket), text(key)],
            )
            .statement(
                "with old as (select version from storage.objects where bucket_id = $1 and name = $2) \
                 insert into storage.objects (bucket_id, name, version, metadata, user_metadata) \
                 values ($1, $2, $3, $4::jsonb, '{}') on conflict (bucket_id, name) do update set \
                 version = excluded.version, metadata = excluded.metadata, updated_at = now() \
                 returning (select version from old)",
                vec![text(bucket), text(key), text(&version), text(metadata)],
            );
        let answer = self.database().run(&transaction).await?;
        let replaced = answer.last().and_then(|rows| rows.first()).and_then(|row| row.text(0));
        Ok(replaced.and_then(|version| Uuid::parse_str(version).ok()))
    }
}

/// Upstream's form of a time: UTC with milliseconds.
fn iso_milliseconds(time: OffsetDateTime) -> String {
    let millisecond = time.nanosecond() / 1_000_000 * 1_000_000;
    let time = time.replace_nanosecond(millisecond).unwrap_or(time);
    time.format(&Rfc3339).unwrap_or_default()
}

/// The content type that a file's extension stands for; texts are UTF-8, as the Supabase CLI declares them.
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

/// The regular files under `folder`, in the order of their keys.
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

/// Whether the link at `path` may be followed. Buckets can be public, and a link in somebody else's project may lead to
/// anything on this machine; one to a folder may lead in circles.
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

    #[test]
    fn times_have_milliseconds() {
        let time = time::macros::datetime!(2026-01-31 12:00:00.123456 UTC);
        assert_eq!(iso_milliseconds(time), "2026-01-31T12:00:00.123Z");
    }
}

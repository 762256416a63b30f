//! The files of the client, in the binary or in a folder.

use std::collections::BTreeSet;
use std::collections::hash_map::DefaultHasher;
use std::hash::{Hash as _, Hasher as _};
use std::path::{Path, PathBuf};
use std::time::UNIX_EPOCH;

use bytes::Bytes;
use rust_embed::RustEmbed;

use crate::Encoding;

/// The files that the build script has embedded into the binary; none in debug builds.
#[derive(RustEmbed)]
#[folder = "$OUT_DIR/site"]
struct EmbeddedFiles;

/// The folder of the built client for debug builds.
const WORKSPACE_BUILD: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../client/dist");

/// The page of all routes of the client.
const PAGE: &str = "index.html";

/// The client's description of its pages' heads. It is hidden, so that the site does not serve it.
const HEADS: &str = ".heads.json";

/// How the names of scripts and styles end.
const CODE: [&str; 3] = [".js", ".mjs", ".css"];
/// The folder that has the paths of storage's objects.
const STORAGE: &str = "/storage/";
/// Folders in folders in which scripts are looked for.
const MAX_DEPTH: usize = 8;

/// A file, ready to be sent.
#[derive(Debug, Clone)]
pub(crate) struct File {
    /// The bytes to be sent.
    pub(crate) body: Bytes,
    /// The compression of `body`.
    pub(crate) encoding: Encoding,
    /// The quoted tag.
    pub(crate) etag: String,
    pub(crate) content_type: String,
}

/// The location of the client's files.
pub(crate) enum Assets {
    /// In the binary.
    Embedded,
    /// In a folder; read for each request, so that a new build is visible at once.
    Folder(PathBuf),
}

impl File {
    /// Returns a text file that was generated for a request.
    pub(crate) fn generated(content_type: String, body: String) -> Self {
        let mut hasher = DefaultHasher::new();
        body.hash(&mut hasher);
        let etag = format!("\"{:016x}\"", hasher.finish());
        Self { body: Bytes::from(body), encoding: Encoding::Identity, etag, content_type }
    }
}

impl Assets {
    /// Returns the files of `folder`; without one, those in the binary, or in a debug build those of
    /// [`WORKSPACE_BUILD`].
    pub(crate) fn choose(folder: Option<&Path>) -> Self {
        match folder {
            Some(folder) => Self::Folder(folder.to_owned()),
            None if cfg!(debug_assertions) => Self::Folder(PathBuf::from(WORKSPACE_BUILD)),
            None => Self::Embedded,
        }
    }

    /// Returns the paths of scripts and styles: files at the top, and the folders that hold the others, at the top,
    /// too, each with a slash at its end.
    pub(crate) fn code_paths(&self) -> Vec<String> {
        let mut files = Vec::new();
        match self {
            Self::Embedded => files.extend(EmbeddedFiles::iter().map(std::borrow::Cow::into_owned)),
            Self::Folder(folder) => walk(folder, "", 0, &mut files),
        }
        let code = files.iter().filter(|name| CODE.iter().any(|suffix| name.ends_with(suffix)));
        let paths: BTreeSet<String> = code
            .map(|name| match name.split_once('/') {
                Some((folder, _)) => format!("/{folder}/"),
                None => format!("/{name}"),
            })
            // It would also name what users have uploaded.
            .filter(|path| path != STORAGE)
            .collect();
        paths.into_iter().collect()
    }

    /// Reports whether there is a built client.
    pub(crate) fn has_page(&self) -> bool {
        match self {
            Self::Embedded => EmbeddedFiles::get(PAGE).is_some(),
            Self::Folder(folder) => folder.join(PAGE).is_file(),
        }
    }

    /// Returns the location of the files, for messages.
    pub(crate) fn place(&self) -> String {
        match self {
            Self::Embedded => "in this binary".to_owned(),
            Self::Folder(folder) => format!("in {}", folder.display()),
        }
    }

    /// Returns the page's template and its tag.
    pub(crate) async fn page(&self) -> Option<File> {
        self.plain(PAGE).await
    }

    /// Returns the description of the pages' heads and its tag.
    pub(crate) async fn heads(&self) -> Option<File> {
        self.plain(HEADS).await
    }

    /// Returns the file `name` in the best encoding that the client accepts; `None` for the page.
    pub(crate) async fn file(&self, name: &str, accepted: Encoding) -> Option<File> {
        if name == PAGE || !is_plain(name) {
            return None;
        }
        let content_type = content_type(name);
        for encoding in accepted.down_to_identity() {
            let path = match encoding.suffix() {
                Some(suffix) => format!("{name}.{suffix}"),
                None => name.to_owned(),
            };
            if let Some(file) = self.plain(&path).await {
                return Some(File { encoding, content_type, ..file });
            }
        }
        None
    }

    async fn plain(&self, name: &str) -> Option<File> {
        let (body, etag) = match self {
            Self::Embedded => {
                let file = EmbeddedFiles::get(name)?;
                let body = match file.data {
                    std::borrow::Cow::Borrowed(bytes) => Bytes::from_static(bytes),
                    std::borrow::Cow::Owned(bytes) => Bytes::from(bytes),
                };
                let hash = file.metadata.sha256_hash();
                (body, format!("\"{:032x}\"", u128::from_be_bytes(*hash.first_chunk()?)))
            }
            Self::Folder(folder) => read(&folder.join(name)).await?,
        };
        Some(File { body, encoding: Encoding::Identity, etag, content_type: content_type(name) })
    }
}

/// Adds the names of the files in `folder`, below `prefix`.
fn walk(folder: &Path, prefix: &str, depth: usize, files: &mut Vec<String>) {
    for entry in std::fs::read_dir(folder).into_iter().flatten().flatten() {
        let name = format!("{prefix}{}", entry.file_name().to_string_lossy());
        match entry.file_type() {
            Ok(kind) if kind.is_dir() && depth < MAX_DEPTH => {
                walk(&entry.path(), &format!("{name}/"), depth + 1, files);
            }
            _ if is_plain(&name) => files.push(name),
            _ => {}
        }
    }
}

async fn read(path: &Path) -> Option<(Bytes, String)> {
    let metadata = tokio::fs::metadata(path).await.ok().filter(std::fs::Metadata::is_file)?;
    let modified = metadata.modified().ok()?.duration_since(UNIX_EPOCH).ok()?;
    let body = tokio::fs::read(path).await.ok()?;
    Some((Bytes::from(body), format!("\"{:x}-{:x}\"", modified.as_nanos(), metadata.len())))
}

/// Reports whether `name` is safe: it has no `..`, no hidden part and no encoded character. The bundler creates no
/// other names.
fn is_plain(name: &str) -> bool {
    name.split('/').all(|part| {
        !part.is_empty()
            && !part.starts_with('.')
            && part.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-_.~@+".contains(&byte))
    })
}

fn content_type(name: &str) -> String {
    let guess = mime_guess::from_path(name).first_or_octet_stream();
    if guess.type_() == "text" { format!("{guess}; charset=utf-8") } else { guess.to_string() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_cannot_leave_the_folder() {
        assert!(is_plain("assets/index-Bd3_x~1.js") && is_plain("favicon.ico"));
        for name in ["", "../x", "a/../x", "a//b", "/etc/passwd", ".env", "a/.git", "%2e%2e/x", "a\\b", "a b"]
        {
            assert!(!is_plain(name), "{name}");
        }
    }
}

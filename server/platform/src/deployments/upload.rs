//! What a tool sends to deploy a function: `multipart/form-data` with a part `metadata`, and a part `file` for each file
//! whose filename is its path relative to the project.
//!
//! Source: the Supabase CLI, `functions deploy --use-api`.

use std::path::{Component, Path, PathBuf};

use bytes::Bytes;
use http::header::CONTENT_TYPE;
use multer::Multipart;
use poem::Request;
use serde::Deserialize;

use crate::Error;
use crate::store::functions::VersionFields;

/// The most files of a function.
const MAX_FILES: usize = 5_000;
/// The longest path of a file in bytes, as most file systems have it.
const MAX_PATH: usize = 1_024;
const MAX_NAME: usize = 255;
/// The beginning of where a file is, as tools are told.
pub(crate) const TOLD: &str = "file:///tmp/user_fn_";

/// A version of a function that is to be deployed.
#[derive(Debug, Clone)]
pub(crate) struct Upload {
    pub(crate) fields: VersionFields,
    /// The files by their paths, sorted.
    pub(crate) files: Vec<(String, Bytes)>,
}

/// The part `metadata`.
#[derive(Debug, Default, Deserialize)]
struct Metadata {
    name: Option<String>,
    entrypoint_path: Option<String>,
    import_map_path: Option<String>,
    verify_jwt: Option<bool>,
    static_patterns: Option<Vec<String>>,
}

impl Upload {
    /// Reads the body of `request`, which deploys the function `slug`.
    ///
    /// Errors: 400 for a body that is none, that breaks off, that lacks the entry point, or has paths that lead out of
    /// the project.
    pub(crate) async fn read(request: &mut Request, slug: &str) -> Result<Self, Error> {
        let content_type = request.headers().get(CONTENT_TYPE).and_then(|value| value.to_str().ok());
        let boundary = content_type.and_then(|value| multer::parse_boundary(value).ok());
        let boundary = boundary.ok_or_else(|| Error::invalid("Expected a body of multipart/form-data"))?;
        let mut parts = Multipart::new(request.take_body().into_bytes_stream(), boundary);
        let (mut metadata, mut files) = (None, Vec::new());
        while let Some(part) = parts.next_field().await.map_err(broken)? {
            match (part.name(), part.file_name().map(str::to_owned)) {
                (Some("metadata"), _) => {
                    let text = part.bytes().await.map_err(broken)?;
                    let read = serde_json::from_slice::<Metadata>(&text);
                    metadata = Some(read.map_err(|error| Error::invalid(format!("metadata: {error}")))?);
                }
                (Some("file"), Some(path)) => {
                    if files.len() >= MAX_FILES {
                        return Err(Error::invalid(format!("A function may have {MAX_FILES} files")));
                    }
                    let content = part.bytes().await.map_err(broken)?;
                    files.push((relative(&path)?, content));
                }
                (name, _) => {
                    let name = name.unwrap_or_default().to_owned();
                    return Err(Error::invalid(format!("Unexpected part {name:?} of the body")));
                }
            }
        }
        let metadata = metadata.ok_or_else(|| Error::invalid("The part metadata is missing"))?;
        Self::new(slug, metadata, files)
    }

    /// Returns the version of a function that is one file.
    pub(crate) fn of_text(slug: &str, name: Option<&str>, verify_jwt: bool, text: String) -> Self {
        let entrypoint_path = "index.ts".to_owned();
        let fields = VersionFields {
            name: name.unwrap_or(slug).to_owned(),
            verify_jwt,
            entrypoint_path: entrypoint_path.clone(),
            import_map_path: None,
            static_patterns: Vec::new(),
        };
        Self { fields, files: vec![(entrypoint_path, text.into())] }
    }

    fn new(slug: &str, metadata: Metadata, mut files: Vec<(String, Bytes)>) -> Result<Self, Error> {
        files.sort_by(|(one, _), (other, _)| one.cmp(other));
        if let Some(twice) = files.windows(2).find(|pair| pair[0].0 == pair[1].0) {
            return Err(Error::invalid(format!("The file {} was sent twice", twice[0].0)));
        }
        let is_folder = |path: &str| files.iter().any(|(other, _)| is_below(other, path));
        if let Some((path, _)) = files.iter().find(|(path, _)| is_folder(path)) {
            return Err(Error::invalid(format!("{path} cannot be both a file and a folder")));
        }
        let has = |path: &str| files.binary_search_by(|(known, _)| known.as_str().cmp(path)).is_ok();
        let entry = metadata.entrypoint_path.ok_or_else(|| Error::invalid("entrypoint_path is missing"))?;
        let entrypoint_path = relative(&entry)?;
        if !has(&entrypoint_path) {
            return Err(Error::invalid(format!("The entry point {entrypoint_path} is not among the files")));
        }
        let import_map_path = metadata.import_map_path.filter(|path| !path.is_empty());
        let import_map_path = import_map_path.map(|path| relative(&path)).transpose()?;
        if let Some(missing) = import_map_path.as_ref().filter(|path| !has(path)) {
            return Err(Error::invalid(format!("The import map {missing} is not among the files")));
        }
        let fields = VersionFields {
            name: metadata.name.unwrap_or_else(|| slug.to_owned()),
            verify_jwt: metadata.verify_jwt.unwrap_or(true),
            entrypoint_path,
            import_map_path,
            static_patterns: metadata.static_patterns.unwrap_or_default(),
        };
        Ok(Self { fields, files })
    }
}

/// Reports whether `path` is in the folder `folder`.
fn is_below(path: &str, folder: &str) -> bool {
    path.strip_prefix(folder).is_some_and(|rest| rest.starts_with('/'))
}

fn broken(error: multer::Error) -> Error {
    Error::invalid(format!("The body is malformed or incomplete: {error}"))
}

/// Returns `path` in its shortest form, below the project's folder. Tools may send back what they were told of where a
/// file is.
///
/// Errors: 400 for a path that leads out of it.
fn relative(path: &str) -> Result<String, Error> {
    let wrong = || Error::invalid(format!("The path {path:?} of a file leads out of the project"));
    let told = path.strip_prefix(TOLD).and_then(|rest| rest.split_once("/source/"));
    let path = told.map_or(path, |(_, below)| below);
    if path.len() > MAX_PATH || path.contains(['\0', '\\']) || path.contains("://") {
        return Err(wrong());
    }
    if path.split('/').any(|part| part.len() > MAX_NAME) {
        return Err(Error::invalid(format!(
            "A file or folder of {path:?} has a name of more than {MAX_NAME} bytes"
        )));
    }
    let mut parts = PathBuf::new();
    for component in Path::new(path).components() {
        match component {
            Component::Normal(part) => parts.push(part),
            Component::CurDir => {}
            Component::ParentDir if parts.pop() => {}
            Component::ParentDir | Component::RootDir | Component::Prefix(_) => return Err(wrong()),
        }
    }
    match parts.to_str() {
        Some(text) if !text.is_empty() => Ok(text.to_owned()),
        _ => Err(wrong()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_stay_below_the_project() {
        for (path, expected) in [
            ("supabase/functions/a/index.ts", Some("supabase/functions/a/index.ts")),
            ("./a/../b.ts", Some("b.ts")),
            ("file:///tmp/user_fn_x_y_1/source/index.ts", Some("index.ts")),
            ("a/source/index.ts", Some("a/source/index.ts")),
            ("../b.ts", None),
            ("file:///etc/passwd", None),
            ("a/../../b.ts", None),
            ("/etc/passwd", None),
            ("a\\..\\b", None),
            ("", None),
        ] {
            assert_eq!(relative(path).ok().as_deref(), expected, "{path}");
        }
    }

    #[test]
    fn an_upload_has_its_entry_point_and_no_file_twice() {
        let metadata = || Metadata { entrypoint_path: Some("a/index.ts".to_owned()), ..Metadata::default() };
        let file = |path: &str| (path.to_owned(), Bytes::from_static(b"x"));
        let upload = Upload::new("a", metadata(), vec![file("a/index.ts")]).unwrap();
        assert!(upload.fields.verify_jwt && upload.fields.name == "a");
        assert!(Upload::new("a", metadata(), vec![file("a/other.ts")]).is_err());
        assert!(Upload::new("a", metadata(), vec![file("a/index.ts"), file("a/index.ts")]).is_err());
        assert!(Upload::new("a", metadata(), vec![file("a/index.ts"), file("a/index.ts/b.ts")]).is_err());
    }
}

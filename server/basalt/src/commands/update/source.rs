//! Where releases are, and how their files are read: with limits of time and size.

use std::fmt;
use std::path::PathBuf;
use std::time::Duration;

use tokio::io::AsyncReadExt as _;

use super::version::Version;
use crate::error::Error;

/// The place of the publisher's releases, named when the program is built.
const OF_PUBLISHER: Option<&str> = option_env!("BASALT_RELEASE_URL");

/// How long a connection may take, how long nothing may arrive, and how long one file may take.
const CONNECT_LIMIT: Duration = Duration::from_secs(10);
const SILENCE_LIMIT: Duration = Duration::from_secs(30);
const FILE_LIMIT: Duration = Duration::from_secs(15 * 60);

/// A place with releases.
#[derive(Debug)]
pub(super) enum Source {
    /// A page of releases as GitHub has it: files are below `latest/download` and `download/v1.2.3`.
    Page(String),
    /// A folder with the files of the newest release, and those of others in `v1.2.3`.
    Folder(PathBuf),
}

impl Source {
    /// Returns the place that is named, else that of the publisher.
    ///
    /// Errors: if neither is known, or files of it cannot be read.
    pub(super) fn find(named: Option<&str>) -> Result<Self, Error> {
        let place = named.or(OF_PUBLISHER).filter(|place| !place.is_empty()).ok_or_else(|| {
            Error::Advice(
                "this program was built without a place of releases: name one with --from".to_owned(),
            )
        })?;
        let place = place.trim_end_matches('/');
        if place.starts_with("https://") || place.starts_with("http://") {
            return Ok(Self::Page(place.to_owned()));
        }
        let path = place.strip_prefix("file://").unwrap_or(place);
        match path.split_once("://") {
            Some((scheme, _)) => Err(Error::Advice(format!(
                "--from: releases are not read over {scheme}, only over https, http and from folders"
            ))),
            None => Ok(Self::Folder(PathBuf::from(path))),
        }
    }

    /// Reads `file` of the release `of`, else of the newest one, which has at most `limit` bytes.
    pub(super) async fn read(&self, of: Option<&Version>, file: &str, limit: u64) -> Result<Vec<u8>, Error> {
        let read = async {
            match self {
                Self::Folder(folder) => {
                    let own = of.map(|version| folder.join(format!("v{version}"))).filter(|own| own.is_dir());
                    let path = own.as_ref().unwrap_or(folder).join(file);
                    read_file(&path, limit).await.map_err(|error| error.to_string())
                }
                Self::Page(url) => {
                    let place = of.map_or("latest/download".to_owned(), |of| format!("download/v{of}"));
                    download(&format!("{url}/{place}/{file}"), limit).await
                }
            }
        };
        let read = tokio::time::timeout(FILE_LIMIT, read).await;
        let read = read.unwrap_or_else(|_| Err(format!("it takes longer than {} s", FILE_LIMIT.as_secs())));
        read.map_err(|reason| {
            Error::Advice(format!("{file} of the release at {self} cannot be read: {reason}"))
        })
    }
}

impl fmt::Display for Source {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            // Of a private page, it can have a password.
            Self::Page(url) => f.write_str(url.split_once('@').map_or(url, |(_, place)| place)),
            Self::Folder(folder) => write!(f, "{}", folder.display()),
        }
    }
}

async fn read_file(path: &std::path::Path, limit: u64) -> std::io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    tokio::fs::File::open(path).await?.take(limit + 1).read_to_end(&mut bytes).await?;
    match bytes.len() as u64 > limit {
        true => Err(std::io::Error::other(too_large(limit))),
        false => Ok(bytes),
    }
}

async fn download(url: &str, limit: u64) -> Result<Vec<u8>, String> {
    let client = tls::client_builder()?.connect_timeout(CONNECT_LIMIT).read_timeout(SILENCE_LIMIT).build();
    let sent = client.map_err(tls::describe)?.get(url).send().await.map_err(tls::describe)?;
    let mut response = sent.error_for_status().map_err(tls::describe)?;
    let mut bytes = Vec::new();
    while let Some(piece) = response.chunk().await.map_err(tls::describe)? {
        bytes.extend_from_slice(&piece);
        if bytes.len() as u64 > limit {
            return Err(too_large(limit));
        }
    }
    Ok(bytes)
}

fn too_large(limit: u64) -> String {
    format!("it has more than {limit} bytes")
}

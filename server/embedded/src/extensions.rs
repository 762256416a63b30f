//! Basalt's own implementations of some of hosted Supabase's extensions: SQL files that are installed into the npm
//! package's Postgres, where `create extension` finds them.

use std::fs;
use std::io;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use atomic_file::temporary_name;

use super::account::{self, Account};
use super::error::Error;
use super::files::write_atomically;
use migrations::extensions::PRIVILEGED;

/// The npm package's folder of extensions, below `native`.
pub(super) const FOLDER: &str = "share/postgresql/extension";

/// The first line of every control file, which identifies Basalt's own extensions.
const MARK: &str = "# Basalt's own\n";

/// The files of an extension. The control file is written last, since Postgres finds an extension by it.
struct Extension {
    /// The script of the first version, then the update scripts from each version to the next.
    scripts: &'static [(&'static str, &'static str)],
    control: (&'static str, &'static str),
}

macro_rules! embed {
    ($($name:literal $($versions:literal)+),* $(,)?) => {
        &[$(Extension {
            scripts: &[$((
                concat!($name, "--", $versions, ".sql"),
                include_str!(concat!("../../../schema/extensions/", $name, "--", $versions, ".sql")),
            )),+],
            control: (
                concat!($name, ".control"),
                include_str!(concat!("../../../schema/extensions/", $name, ".control")),
            ),
        }),*]
    };
}

const EXTENSIONS: &[Extension] = embed!["http" "1.6", "pg_cron" "1.6", "pg_graphql" "1.5.11", "pg_jsonschema" "0.3.3", "pg_net" "0.14.0" "0.14.0--0.14.1", "pg_tle" "1.4.0", "pgjwt" "0.2.0", "supabase_vault" "0.3.1"];

/// Installs the files into the package in `native` if they are missing or of another release of Basalt. An extension of
/// the same name that is not Basalt's stays. Those that `postgres` may create on hosted Supabase become trusted, so
/// that it may do so here, with any program. May be called repeatedly, also by two processes at once.
pub(super) fn install(native: &Path) -> io::Result<()> {
    let folder = native.join(FOLDER);
    if !folder.is_dir() {
        return Ok(());
    }
    for Extension { scripts, control } in EXTENSIONS {
        let present = fs::read_to_string(folder.join(control.0));
        if present.is_ok_and(|present| !present.starts_with(MARK)) {
            continue;
        }
        for (name, text) in scripts.iter().chain([control]) {
            write_file(&folder.join(name), text)?;
        }
    }
    PRIVILEGED.iter().try_for_each(|name| trust(&folder.join(format!("{name}.control"))))
}

/// Makes the extension of the control file `file`, if that exists, one that the owner of a database may create. Its
/// script still runs as the superuser. One of Basalt's own says by itself whether it is trusted.
///
/// Source: PostgreSQL documentation, section 36.17.1, `trusted`.
fn trust(file: &Path) -> io::Result<()> {
    let text = match fs::read_to_string(file) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        text => text?,
    };
    let is_decided =
        text.starts_with(MARK) || text.lines().any(|line| line.trim_start().starts_with("trusted"));
    if is_decided { Ok(()) } else { write_file(file, &format!("{}\ntrusted = true\n", text.trim_end())) }
}

fn write_file(file: &Path, text: &str) -> io::Result<()> {
    if fs::read_to_string(file).is_ok_and(|present| present == text) {
        return Ok(());
    }
    let temporary = temporary_name(file);
    fs::write(&temporary, text)?;
    fs::set_permissions(&temporary, fs::Permissions::from_mode(0o644))?;
    fs::rename(&temporary, file)
}

/// Creates the encryption key of the extension supabase_vault if there is none: 256 random bits in a file in the
/// cluster's folder, which only Postgres reads and which is not part of a dump.
pub(super) fn ensure_vault_key(cluster: &Path, account: Option<&Account>) -> Result<(), Error> {
    let file = cluster.join("vault.key");
    if file.exists() {
        return Ok(());
    }
    write_atomically(&file, &rand::random::<[u8; 32]>(), 0o600)?;
    account::give(&file, account)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_file_of_the_folder_is_embedded_and_marked() {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../schema/extensions");
        let names = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().file_name());
        let mut there: Vec<String> = names.map(|name| name.into_string().unwrap()).collect();
        there.retain(|name| name != "README.md");
        there.sort();
        let embedded = EXTENSIONS.iter().flat_map(|Extension { scripts, control }| {
            scripts.iter().map(|script| script.0).chain([control.0])
        });
        let mut embedded: Vec<_> = embedded.collect();
        embedded.sort_unstable();
        assert_eq!(embedded, there);
        for Extension { scripts, control } in EXTENSIONS {
            assert!(control.1.starts_with(MARK), "{}", control.0);
            let version = scripts.last().unwrap().0.trim_end_matches(".sql").rsplit("--").next().unwrap();
            assert!(control.1.contains(&format!("default_version = '{version}'")), "{}", control.0);
        }
    }

    #[test]
    fn an_extension_of_another_author_stays() {
        let native = tempfile::tempdir().unwrap();
        let folder = native.path().join(FOLDER);
        fs::create_dir_all(&folder).unwrap();
        fs::write(folder.join("pgjwt.control"), "default_version = '9'\n").unwrap();
        fs::write(folder.join("supabase_vault.control"), format!("{MARK}default_version = '0.0.1'\n"))
            .unwrap();
        install(native.path()).unwrap();
        assert!(!folder.join("pgjwt--0.2.0.sql").exists());
        let control = fs::read_to_string(folder.join("supabase_vault.control")).unwrap();
        assert!(
            control.contains("default_version = '0.3.1'"),
            "an older one of Basalt's is renewed: {control}"
        );
        assert!(folder.join("supabase_vault--0.3.1.sql").exists());
    }

    #[test]
    fn extensions_of_hosted_supabase_become_trusted_and_no_others() {
        let native = tempfile::tempdir().unwrap();
        let folder = native.path().join(FOLDER);
        fs::create_dir_all(&folder).unwrap();
        for name in ["postgis", "file_fdw"] {
            fs::write(folder.join(format!("{name}.control")), "default_version = '1'\n").unwrap();
        }
        for _ in 0..2 {
            install(native.path()).unwrap();
        }
        let control = |name: &str| fs::read_to_string(folder.join(format!("{name}.control"))).unwrap();
        assert_eq!(control("postgis"), "default_version = '1'\ntrusted = true\n");
        assert_eq!(control("file_fdw"), "default_version = '1'\n");
        assert!(!control("supabase_vault").contains("trusted"));
    }
}

//! The variables that Postgres, and the programs that are run for it, inherit from the server. Many of the server's own are
//! secrets, which a superuser of the database and the user that Postgres runs as could read in the process.

use std::ffi::OsString;

/// The variables that programs and their libraries read, by their names or by what the names begin with.
const NAMES: [&str; 11] = [
    "HOME",
    "LANG",
    "LANGUAGE",
    "LOGNAME",
    "OPENSSL_CONF",
    "PATH",
    "TMPDIR",
    "TZ",
    "TZDIR",
    "USER",
    "XDG_RUNTIME_DIR",
];
const PREFIXES: [&str; 9] = ["GDAL_", "ICU_", "JAVA_", "LC_", "LD_", "MALLOC_", "PERL", "PROJ_", "PYTHON"];

/// Returns the variables that are inherited.
pub(super) fn inherited() -> impl Iterator<Item = (OsString, OsString)> {
    std::env::vars_os().filter(|(name, _)| name.to_str().is_some_and(is_inherited))
}

fn is_inherited(name: &str) -> bool {
    NAMES.contains(&name) || PREFIXES.iter().any(|prefix| name.starts_with(prefix))
}

#[cfg(test)]
mod tests {
    use super::is_inherited;

    #[test]
    fn no_setting_of_the_server_is_inherited() {
        for name in ["PATH", "LD_LIBRARY_PATH", "LC_ALL", "TZ"] {
            assert!(is_inherited(name), "{name}");
        }
        for name in
            ["BASALT_BACKUP_PASSPHRASE", "JWT_SECRET", "AWS_SECRET_ACCESS_KEY", "PGPASSWORD", "PGDATA"]
        {
            assert!(!is_inherited(name), "{name}");
        }
    }
}

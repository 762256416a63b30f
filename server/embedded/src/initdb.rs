//! Creates a new cluster: under a temporary name, then renamed, so that it exists completely or not at all.

use std::fs;
use std::os::unix::fs::DirBuilderExt;
use std::path::Path;
use std::process::Stdio;
use std::time::Duration;

use atomic_file::{sync_folder, temporary_name};
use tokio::process::Command;
use tokio::time::timeout;

use super::account::{self, Account, FolderAccess, run_as, start_error};
use super::binaries::Binaries;
use super::configuration::{self, Tuning};
use super::data_dir::DataDir;
use super::error::Error;
use super::files::write_atomically;
use super::log::last_lines;
use super::superuser::Superuser;

/// How long `initdb` may take. On a slow disk it takes about ten seconds.
const LIMIT: Duration = Duration::from_secs(300);

/// Creates the cluster of `data` with this superuser and its password.
pub(super) async fn create(
    data: &DataDir,
    binaries: &Binaries,
    account: Option<&Account>,
    superuser: (Superuser, &str),
    tuning: Tuning,
) -> Result<(), Error> {
    let staging = temporary_name(&data.cluster());
    let created = create_in(&staging, binaries, account, superuser, tuning).await;
    let renamed = created.and_then(|()| {
        let cluster = data.cluster();
        let renamed = fs::rename(staging.join("data"), &cluster).and_then(|()| sync_folder(data.path()));
        renamed.map_err(Error::io("create", &cluster))
    });
    // Best effort: the next start removes what remains.
    let _ = fs::remove_dir_all(&staging);
    renamed
}

/// Runs `initdb` on `staging/data` and writes the settings there.
pub(super) async fn create_in(
    staging: &Path,
    binaries: &Binaries,
    account: Option<&Account>,
    (superuser, password): (Superuser, &str),
    tuning: Tuning,
) -> Result<(), Error> {
    let cluster = staging.join("data");
    let created = fs::DirBuilder::new().recursive(true).mode(0o700).create(&cluster);
    created.map_err(Error::io("create", &cluster))?;
    let secret = staging.join("password");
    write_atomically(&secret, password.as_bytes(), 0o600)?;
    account::give(staging, account)?;
    let mut failure = None;
    for locale in locales(binaries) {
        match run(staging, binaries, account, superuser, &locale, tuning.throwaway).await {
            Ok(()) => {
                superuser.record(&cluster, account)?;
                configuration::include(&cluster, account)?;
                return configuration::write(&cluster, binaries, tuning, account);
            }
            Err(error @ Error::Failed { .. }) if error.to_string().contains("locale") => {
                failure = Some(error)
            }
            Err(error) => return Err(error),
        }
    }
    Err(failure.unwrap_or(Error::Failed {
        program: "initdb",
        status: "not run".to_owned(),
        log: String::new(),
    }))
}

/// Returns the locales to try, best first. All of them order by code point, so that an index stays valid after an
/// update of the C library.
fn locales(binaries: &Binaries) -> Vec<Vec<&'static str>> {
    let mut locales = vec![vec!["--locale-provider=libc", "--locale=C.UTF-8"]];
    if binaries.version().major >= 17 {
        // The system has no C.UTF-8 (macOS), but Postgres brings its own.
        locales.push(vec!["--locale-provider=builtin", "--builtin-locale=C.UTF-8", "--locale=C"]);
    }
    locales.push(vec!["--locale-provider=libc", "--locale=C"]);
    locales
}

async fn run(
    staging: &Path,
    binaries: &Binaries,
    account: Option<&Account>,
    superuser: Superuser,
    locale: &[&str],
    throwaway: bool,
) -> Result<(), Error> {
    let folder = FolderAccess::open(staging, account)?;
    let mut command = Command::new(binaries.program("initdb"));
    command.arg("--pgdata").arg(folder.path().join("data"));
    command.arg("--pwfile").arg(folder.path().join("password"));
    command.args(["--username", superuser.name(), "--auth=scram-sha-256", "--encoding=UTF8"]);
    command.args(["--data-checksums", "--no-instructions"]).args(locale);
    if throwaway {
        command.arg("--no-sync");
    }
    // `/` is a working directory that every user has access to.
    command.env("LC_ALL", "C").current_dir("/").stdin(Stdio::null()).kill_on_drop(true);
    run_as(&mut command, account);
    let output = match timeout(LIMIT, command.output()).await {
        Err(_) => return Err(Error::Timeout { what: "initdb", limit: LIMIT, log: String::new() }),
        Ok(Err(error)) => return Err(start_error("initdb", &binaries.program("initdb"), account, error)),
        Ok(Ok(output)) => output,
    };
    if output.status.success() {
        return Ok(());
    }
    let printed = [output.stdout, output.stderr].concat();
    let log = last_lines(&String::from_utf8_lossy(&printed), 20);
    Err(Error::ended("initdb", staging.parent().unwrap_or(staging), &output.status.to_string(), log))
}

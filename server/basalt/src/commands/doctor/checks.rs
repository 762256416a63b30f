//! The checks of `basalt doctor`.

use std::io::ErrorKind;
use std::net::{IpAddr, Ipv4Addr, SocketAddr, TcpListener};
use std::path::Path;
use std::time::Duration;

use embedded::{Binaries, Cluster, MINIMUM_MAJOR, Search, find_psql};
use health::Space;
use migrations::extensions::HOSTED;
use migrations::{Migrator, State};
use postgres::Database;

use super::memory::memory;
use super::{Finding, Verdict, realtime};
use crate::backend::{Backend, RunningPostgres, search, unusable};
use crate::edge_functions::EdgeFunctions;
use crate::https;
use crate::instance::Instance;
use crate::machine_memory;
use crate::ports::Owner;
use crate::settings::{Settings, display_path};

/// How long the database may take to respond.
const RESPONSE_LIMIT: Duration = Duration::from_secs(5);

/// Runs all checks. A check comes after those that it depends on.
pub(super) async fn all(settings: &Settings) -> Vec<Finding> {
    let running = RunningPostgres::find_responsive(&settings.data_dir).await;
    let is_served = running.is_some() || Instance::find(&settings.data_dir).await.is_some();
    let finding = |subject, verdict| Finding { subject, verdict };
    let mut findings = vec![finding("Project", project(settings)), finding("Settings", warnings(settings))];
    findings.push(finding("Data folder", data_folder(&settings.data_dir)));
    findings.push(finding("Disk", disk(&settings.data_dir)));
    findings.push(finding("Memory", memory(settings.server.memory, machine_memory::available())));
    findings.push(finding("Keys", keys(settings)));
    if settings.database.url.is_none() {
        let (search, copies) = (search(settings), settings.data_dir.join("binaries"));
        let binaries = Binaries::find(&search, &copies).await;
        findings.push(finding("Postgres", postgres(settings, &binaries, &search, &copies).await));
        findings.push(finding("Extensions", extensions(&binaries, &copies).await));
        findings.push(finding("Superuser", superuser(settings)));
    }
    findings.push(finding("Database", database(settings, running.as_ref(), is_served).await));
    if let Some(running) = &running {
        findings.push(finding("Preloaded libraries", preloads(running).await));
    }
    if settings.services.realtime.is_some() {
        findings.push(finding("Realtime", realtime(settings, running.as_ref()).await));
    }
    findings.push(finding("Backups", backups(settings).await));
    findings.push(finding("psql", psql()));
    let own = IpAddr::V4(Ipv4Addr::LOCALHOST);
    let (api, fixed) = ((settings.server.host, settings.server.port), settings.fixed_ports);
    findings.push(finding("Port", port("api.port", api, fixed.api, is_served)));
    if settings.database.url.is_none() {
        let database = port("db.port", (own, settings.database.port), fixed.database, is_served);
        findings.push(finding("Port of Postgres", database));
    }
    let admin = port("basalt.admin_port", (own, settings.server.admin_port), false, is_served);
    findings.push(finding("Admin port", admin));
    if settings.tls.is_on() {
        findings.push(finding("HTTPS", ports_of_https(settings, is_served)));
    }
    findings.push(finding("Buckets", buckets(settings)));
    findings.extend(EdgeFunctions::new(settings).map(|functions| finding("Functions", edge(&functions))));
    if settings.site.enabled {
        findings.push(finding("Site", site(settings)));
    }
    findings
}

/// Looks at the last backup. Nothing is written to a target that has none yet.
async fn backups(settings: &Settings) -> Verdict {
    if settings.backup.target.is_none() {
        return Verdict::Note(
            "off: a machine that burns takes everything with it. basalt.backup.target switches them on"
                .to_owned(),
        );
    }
    if backup::is_copy(&settings.data_dir) {
        return Verdict::Note("off: this is a restored copy; `basalt backup adopt` changes that".to_owned());
    }
    let program = match backup::Program::find(settings.backup.program.as_deref()).await {
        Ok(program) => program,
        Err(error) => return Verdict::Broken(error.to_string()),
    };
    let found = format!("pgBackRest {} in {}", program.version, display_path(&program.path));
    if !backup::has_key(&settings.data_dir) {
        return match settings.backup.passphrase() {
            Err(error) => Verdict::Broken(error),
            Ok(None) if settings.backup.recipient.is_none() => Verdict::Broken(
                "neither basalt.backup.passphrase_file nor basalt.backup.recipient is set: backups are always encrypted"
                    .to_owned(),
            ),
            Ok(_) => Verdict::Fine(format!("{found}; the first start begins them")),
        };
    }
    let listed = async {
        let repository = backup::Repository::open_present(&settings.backup, &settings.data_dir).await?;
        match repository {
            Some(repository) => repository.list().await,
            None => Ok(Vec::new()),
        }
    };
    match listed.await {
        Err(error) => Verdict::Broken(error.to_string()),
        Ok(backups) => match (backups.last(), backup::damaged(&backups)) {
            (_, Some(damaged)) => Verdict::Broken(format!(
                "{} is damaged: {}",
                damaged.label,
                damaged.verified.as_deref().unwrap_or_default()
            )),
            (Some(last), None) => Verdict::Fine(format!("{found}; the last one ended at {}", last.ended)),
            (None, None) => Verdict::Note(format!("{found}; there is none yet")),
        },
    }
}

fn project(settings: &Settings) -> Verdict {
    match &settings.project.config_path {
        Some(path) => Verdict::Fine(display_path(path)),
        None => Verdict::Note(
            "there is no supabase/config.toml and no config.toml with a project_id: a bare backend will be served.\n\
             Name the project's folder with --project"
                .to_owned(),
        ),
    }
}

fn warnings(settings: &Settings) -> Verdict {
    match settings.warnings.as_slice() {
        [] => Verdict::Fine("all keys are known".to_owned()),
        warnings => Verdict::Note(warnings.join("\n")),
    }
}

fn data_folder(folder: &Path) -> Verdict {
    // If the folder does not exist yet, the nearest existing one above it must be writable.
    let existing = folder.ancestors().find(|path| path.exists()).unwrap_or(folder);
    let writable = rustix::fs::access(existing, rustix::fs::Access::WRITE_OK | rustix::fs::Access::EXEC_OK);
    match writable {
        Ok(()) if existing == folder => Verdict::Fine(display_path(folder)),
        Ok(()) => Verdict::Fine(format!("{} will be created", display_path(folder))),
        Err(error) => Verdict::Broken(format!(
            "{} cannot be written to ({error}): change its owner, or use another folder with --data-dir",
            display_path(existing)
        )),
    }
}

fn disk(folder: &Path) -> Verdict {
    let Ok(Space { free, .. }) = Space::of(folder) else {
        return Verdict::Note("the free space cannot be determined".to_owned());
    };
    let text = format!("{:.1} GiB are free", free as f64 / f64::from(1 << 30));
    match free {
        free if free < Space::LEAST => {
            Verdict::Broken(format!("{text}, too little for Postgres: free some space"))
        }
        free if free < Space::LOW => Verdict::Note(format!("{text}, which a busy database fills soon")),
        _ => Verdict::Fine(text),
    }
}

fn keys(settings: &Settings) -> Verdict {
    use std::os::unix::fs::PermissionsExt as _;
    let file = settings.key_file();
    let path = display_path(&file);
    match std::fs::metadata(&file) {
        Ok(metadata) if metadata.permissions().mode() & 0o077 != 0 => Verdict::Note(format!(
            "other users can read {path}; the next start changes that, as does `chmod 600 {path}`"
        )),
        Ok(_) => match crate::backend::keys(settings) {
            Ok(_) => Verdict::Fine(path),
            Err(error) => Verdict::Broken(error.to_string()),
        },
        Err(_) => Verdict::Fine("will be created at the first start".to_owned()),
    }
}

async fn postgres(
    settings: &Settings,
    binaries: &Result<Binaries, embedded::Error>,
    search: &Search,
    copies: &Path,
) -> Verdict {
    let binaries = match binaries {
        Ok(binaries) => binaries,
        Err(error) => return Verdict::Broken(error.to_string()),
    };
    if let Err(error) = binaries.check_data(&settings.data_dir, search, copies).await {
        return Verdict::Broken(error.to_string());
    }
    let found = format!("{} in {}", binaries.version(), display_path(binaries.folder()));
    let major = binaries.version().major;
    match settings.database.major_version {
        Some(wanted) if wanted != major => Verdict::Note(format!(
            "{found}, but db.major_version is {wanted}: SQL may behave differently in production.\n\
             Set POSTGRES_BIN to the folder of that version (at least {MINIMUM_MAJOR}), or change the setting"
        )),
        _ => Verdict::Fine(found),
    }
}

/// Checks whether functions and migrations have the rights of a superuser.
fn superuser(settings: &Settings) -> Verdict {
    let consequence =
        "functions and `security definer` functions can read files of this machine and run programs.";
    match Cluster::is_postgres_superuser(&settings.data_dir) {
        Err(error) => Verdict::Broken(error.to_string()),
        Ok(Some(true)) => Verdict::Note(format!(
            "postgres is the superuser of this database, as in those of older releases: {consequence}\n\
             `basalt db harden` gives it the rights that it has on hosted Supabase"
        )),
        Ok(_) if settings.database.postgres_superuser => {
            Verdict::Note(format!("basalt.postgres_superuser makes postgres a superuser: {consequence}"))
        }
        Ok(_) => Verdict::Fine("postgres has the rights that it has on hosted Supabase".to_owned()),
    }
}

/// Lists the extensions of hosted Supabase that the chosen Postgres has, and those that only another one on this
/// machine has.
async fn extensions(chosen: &Result<Binaries, embedded::Error>, copies: &Path) -> Verdict {
    let Ok(chosen) = chosen else {
        return Verdict::Note("there is no Postgres to check".to_owned());
    };
    let of = |binaries: &Binaries| -> Vec<&'static str> {
        let present = binaries.extensions();
        HOSTED.iter().map(|hosted| hosted.name).filter(|name| present.contains(*name)).collect()
    };
    let has = of(chosen);
    let more = Binaries::system(copies).await.into_iter().filter_map(|other| {
        let more: Vec<_> = of(&other).into_iter().filter(|name| !has.contains(name)).collect();
        let folder = display_path(other.folder());
        (!more.is_empty()).then(|| format!("with POSTGRES_BIN={folder} there are also {}", more.join(", ")))
    });
    let lines: Vec<_> = std::iter::once(match has.as_slice() {
        [] => "none beyond Postgres' own; `make extensions` adds some to the embedded Postgres".to_owned(),
        has => format!("{}, beside Postgres' own", has.join(", ")),
    })
    .chain(more)
    .collect();
    Verdict::Fine(lines.join("\n"))
}

/// Checks that the database responds and is up to date. The embedded one is only checked if it runs, since `doctor`
/// does not start anything.
async fn database(settings: &Settings, running: Option<&RunningPostgres>, is_served: bool) -> Verdict {
    let Some(backend) = Backend::existing(settings, running) else {
        if is_served {
            return Verdict::Broken(
                "Basalt is running, but its Postgres does not answer: see the log".to_owned(),
            );
        }
        return Verdict::Fine("the embedded Postgres is not running; `basalt serve` starts it".to_owned());
    };
    let project = match backend.project().await {
        Ok(project) => project,
        Err(error) => return Verdict::Broken(unusable(error).to_string()),
    };
    let verdict = match tokio::time::timeout(RESPONSE_LIMIT, project.ping()).await {
        Ok(Ok(())) => pending(settings, &project).await,
        Ok(Err(error)) => Verdict::Broken(format!("the database does not answer: {error}")),
        Err(_) => Verdict::Broken(format!(
            "the database does not answer within {} s: check host and port, and whether a firewall is between",
            RESPONSE_LIMIT.as_secs()
        )),
    };
    project.close().await;
    verdict
}

/// Lists the libraries that logins would preload and this Postgres does not have.
async fn preloads(running: &RunningPostgres) -> Verdict {
    let missing =
        tokio::time::timeout(RESPONSE_LIMIT, embedded::missing_libraries(&running.logins.superuser)).await;
    let Ok(Ok(missing)) = missing else {
        return Verdict::Note("what roles and databases preload could not be found out".to_owned());
    };
    let lines = missing
        .iter()
        .map(|missing| format!("{} = {}: {}", missing.statement, missing.library, missing.reason));
    match lines.collect::<Vec<_>>().join("\n") {
        lines if lines.is_empty() => Verdict::Fine("none is missing".to_owned()),
        lines => Verdict::Note(format!("{lines}\nNew logins fail; the next start undoes it")),
    }
}

/// Checks whether the database, if it runs and responds, is set up for realtime.
async fn realtime(settings: &Settings, running: Option<&RunningPostgres>) -> Verdict {
    let silent = || Verdict::Fine("the database is not running, or does not answer".to_owned());
    let Some(backend) = Backend::existing(settings, running) else { return silent() };
    // The one that reads the replication stream.
    let Ok(admin) = backend.admin().await else { return silent() };
    let verdict = match tokio::time::timeout(RESPONSE_LIMIT, admin.ping()).await {
        Ok(Ok(())) => match tokio::time::timeout(RESPONSE_LIMIT, realtime::check(&admin)).await {
            Ok(Some(verdict)) => verdict,
            Ok(None) | Err(_) => Verdict::Note("what realtime needs could not be found out".to_owned()),
        },
        _ => silent(),
    };
    admin.close().await;
    verdict
}

async fn pending(settings: &Settings, project: &Database) -> Verdict {
    let read: Result<(migrations::Status, Vec<&str>), String> = async {
        let mut client = project.client().await.map_err(|error| error.to_string())?;
        let mut migrator = Migrator::new(&mut client);
        if let Some(obstacle) = migrator.obstacle().await.map_err(|error| error.to_string())? {
            return Err(obstacle);
        }
        let missing = migrator.missing_schemas().await.map_err(|error| error.to_string())?;
        let status = migrator.status(&settings.migrations.path).await;
        Ok((status.map_err(|error| error.to_string())?, missing))
    }
    .await;
    let (status, missing) = match read {
        Ok(read) => read,
        Err(error) => return Verdict::Broken(error),
    };
    if !missing.is_empty() {
        return Verdict::Note(format!(
            "answers, but schemas that Basalt has created there are missing: {}.\n\
             The next start of `basalt serve` creates them again, without the rows that they had",
            missing.join(", ")
        ));
    }
    let changed = |entries: &[migrations::Entry]| -> String {
        let changed = entries.iter().filter(|entry| entry.state == State::Changed);
        changed.map(|entry| entry.version.as_str()).collect::<Vec<_>>().join(", ")
    };
    let (of_platform, of_project) = (changed(&status.platform), changed(&status.project));
    if !of_platform.is_empty() {
        return Verdict::Broken(format!(
            "the database was created by another release, whose files {of_platform} differ: use that release or a later one"
        ));
    }
    if !of_project.is_empty() {
        return Verdict::Note(format!(
            "answers; migrations were changed after they had been applied, and are not applied again: {of_project}.\n\
             Put the change into new ones, or create the database again with `basalt db reset`"
        ));
    }
    let entries = || status.platform.iter().chain(&status.project);
    if settings.database.url.is_some() && entries().all(|entry| entry.state == State::Pending) {
        return Verdict::Note(
            "answers, and was not set up by Basalt: `basalt serve` asks before it does so, unless it has --yes".to_owned(),
        );
    }
    match entries().filter(|entry| entry.state == State::Pending).count() {
        0 => Verdict::Fine("answers, and no migration is pending".to_owned()),
        1 => Verdict::Note("answers; 1 migration is pending, which `basalt serve` applies".to_owned()),
        count => {
            Verdict::Note(format!("answers; {count} migrations are pending, which `basalt serve` applies"))
        }
    }
}

fn psql() -> Verdict {
    match find_psql(None) {
        Some(path) => Verdict::Fine(path.display().to_string()),
        None => Verdict::Note(
            "not found, which only `basalt psql` needs. Packages: postgresql-client (Debian), libpq (Homebrew)"
                .to_owned(),
        ),
    }
}

/// Checks the port that `key` sets. A start refuses to leave one that `is_fixed` for another one.
fn port(key: &str, (host, port): (IpAddr, u16), is_fixed: bool, running: bool) -> Verdict {
    match TcpListener::bind((host, port)) {
        Ok(_) => Verdict::Fine(format!("{host}:{port} is free")),
        Err(_) if running => Verdict::Fine(format!("{host}:{port} is in use, and Basalt is running")),
        Err(error) => {
            let reason = match Owner::of(port) {
                Some(owner) if error.kind() == ErrorKind::AddrInUse => format!("taken by {owner}"),
                _ => error.to_string(),
            };
            let outcome =
                if is_fixed { "the server will not start" } else { "the next free one will be used" };
            let verdict = if is_fixed { Verdict::Broken } else { Verdict::Note };
            verdict(format!("{host}:{port}: {reason}; {outcome}: set {key}, or give it --any-port"))
        }
    }
}

/// Looks whether the ports of HTTPS can be had.
fn ports_of_https(settings: &Settings, running: bool) -> Verdict {
    let tls = &settings.tls;
    for port in [tls.port, tls.http_port] {
        match https::listen(SocketAddr::new(tls.host, port)) {
            Err(error) if error.kind() == ErrorKind::PermissionDenied => {
                return Verdict::Broken(format!("{}:{port}: {}", tls.host, https::PRIVILEGED));
            }
            Err(error) if !running => return Verdict::Broken(format!("{}:{port}: {error}", tls.host)),
            _ => {}
        }
    }
    Verdict::Fine(format!("ports {} and {}", tls.port, tls.http_port))
}

fn buckets(settings: &Settings) -> Verdict {
    let folders = settings.buckets.iter().filter_map(|bucket| bucket.objects_path.as_deref());
    let missing: Vec<_> = folders.filter(|path| !path.is_dir()).map(display_path).collect();
    match missing.as_slice() {
        [] => Verdict::Fine(match settings.buckets.len() {
            0 => "none is defined".to_owned(),
            1 => "1 is defined".to_owned(),
            count => format!("{count} are defined"),
        }),
        missing => Verdict::Broken(format!(
            "objects_path names folders that do not exist: {}. Create them, or remove the key",
            missing.join(", ")
        )),
    }
}

fn edge(functions: &EdgeFunctions) -> Verdict {
    match (functions.problem(), &functions.deno) {
        (Some(problem), _) => Verdict::Note(problem),
        (None, Ok(deno)) if functions.count > 0 => {
            Verdict::Fine(format!("{}, run by {}", functions.count_text(), display_path(deno)))
        }
        _ => Verdict::Fine("there is none".to_owned()),
    }
}

fn site(settings: &Settings) -> Verdict {
    match site::check(&settings.site) {
        Ok(()) => Verdict::Fine("the client is built".to_owned()),
        Err(error) => Verdict::Broken(error.to_string()),
    }
}

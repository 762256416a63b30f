//! pgBackRest, which carries the write-ahead log and base backups of the cluster to a repository.
//!
//! Postgres calls it for each file of the log (`archive_command`); backups and restores call it with the same
//! configuration. That is written for each run of Postgres into the folder of the socket, which the user that Postgres
//! runs as can reach, and is removed with it: it has the repository's secrets.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::Duration;

use settings::Secret;
use tokio::process::Command;
use tokio::time::timeout;

use super::account::{Account, FolderAccess, Slot, give, private_folder, run_as, start_error};
use super::archiving::Archiving;
use super::environment;
use super::error::Error;
use super::files::write_atomically;
use super::layout::cluster_in;
use super::log::last_lines;
use super::postmaster::LaunchPlan;

/// What pgBackRest calls the cluster.
const STANZA: &str = "basalt";

/// The folder in that of the socket with the configuration, locks, and what waits to be archived.
const FOLDER: &str = "backup";

/// The name of the configuration's file.
const CONFIGURATION: &str = "pgbackrest.conf";

/// The option that says how much of the log may wait.
const QUEUE_MAX: &str = "archive-push-queue-max";

/// The descriptors below this number are closed by the process with which pgBackRest archives in the background. Source:
/// `archiveAsyncExec` in its `command/archive/common.c`.
const CLOSED: i32 = 1024;

/// How long ago an error may have been for the repository still not to take the log: Postgres tries again after a
/// minute.
const REFUSAL_AGE: Duration = Duration::from_secs(90);

/// How much of what the program writes is part of an error, in lines.
const LOG_LINES: usize = 12;

/// How pgBackRest reaches the repository.
#[derive(Debug, Clone)]
pub struct Archiver {
    /// The program.
    pub program: PathBuf,
    /// Options of pgBackRest with their values, which may be secret: where the repository is and how it is encrypted.
    pub options: Vec<(String, String)>,
    /// The folder of a repository of files. It is created if it is missing, and given to the user that Postgres runs
    /// as. Without one, the options name another kind of repository.
    pub folder: Option<PathBuf>,
    /// How much of the log may wait for the repository, in mebibytes. Beyond that it is dropped.
    pub waiting_mb: u32,
    /// How long Postgres may keep a file of its log that is not full before it is archived.
    pub timeout: Duration,
}

/// Until when a cluster is brought back.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum RecoveryTarget {
    /// Up to this time, such as `2026-11-26 14:05:00.25+00`.
    Time(String),
    /// Up to this position of the write-ahead log, without what begins there.
    Position(String),
    /// Up to this position of the write-ahead log, with what begins there.
    Through(String),
    /// Up to the end of the base backup.
    Consistent,
    /// Everything that the repository has.
    Latest,
}

/// How a cluster is brought back from the repository.
#[derive(Debug, Clone)]
pub struct Recovery {
    /// The name of the base backup to begin with.
    pub backup: String,
    /// Until when.
    pub target: RecoveryTarget,
    /// The number of the timeline that is followed [default: the last one that continues that of the backup].
    pub timeline: Option<u32>,
}

impl Archiver {
    /// Makes the folder for `plan`, writes the configuration, and returns what Postgres has to inherit.
    pub(super) fn prepare(&self, plan: &LaunchPlan) -> Result<Access, Error> {
        let account = plan.account.as_ref();
        // Those of a run that was killed have its locks.
        Self::archiving(plan).end();
        let folder = plan.run_dir.join(FOLDER);
        for folder in [folder.clone(), folder.join("lock"), folder.join("spool")] {
            private_folder(&folder, 0o700, account)?;
        }
        let cluster = FolderAccess::open_in(Slot::Cluster, &plan.cluster, account)?;
        let repository = self.folder.as_deref().map(|folder| open_repository(folder, account)).transpose()?;
        let mut text = self.global(&folder.join("lock"), &folder.join("spool"), repository.as_ref());
        text.push_str(&format!("[{STANZA}]\n"));
        let mut line = |name: &str, value: &str| text.push_str(&format!("{name}={value}\n"));
        line("pg1-path", &cluster.path().to_string_lossy());
        line("pg1-socket-path", &plan.run_dir.to_string_lossy());
        line("archive-async", if cluster.is_below(CLOSED) { "n" } else { "y" });
        line("pg1-port", &plan.port.to_string());
        line("pg1-user", plan.superuser);
        let file = configuration_in(&plan.run_dir);
        write_atomically(&file, text.as_bytes(), 0o600)?;
        give(&file, account)?;
        Ok(Access { cluster, _repository: repository })
    }

    /// Returns the archiving of a run of `plan`.
    pub(super) fn archiving(plan: &LaunchPlan) -> Archiving {
        Archiving::of(&plan.cluster, configuration_in(&plan.run_dir))
    }

    /// Returns the part of the configuration that is the same for every cluster.
    fn global(&self, lock: &Path, spool: &Path, repository: Option<&FolderAccess>) -> String {
        let mut text = String::from("# Written by Basalt.\n[global]\n");
        let mut line = |name: &str, value: &str| text.push_str(&format!("{name}={value}\n"));
        line("lock-path", &lock.to_string_lossy());
        line("spool-path", &spool.to_string_lossy());
        line("log-level-file", "off");
        if let Some(repository) = repository {
            line("repo1-path", &repository.path().to_string_lossy());
        }
        line(QUEUE_MAX, &format!("{}MiB", self.waiting_mb));
        for (name, value) in &self.options {
            line(name, value);
        }
        text
    }

    /// Returns the settings with which Postgres archives its log; with those that bring it back for a cluster that begins a
    /// new timeline, and whose own log is not archived if it `is_restored`.
    pub(super) fn settings(&self, run_dir: &Path, is_restored: bool) -> Vec<(&'static str, String)> {
        let mut settings = vec![
            ("restore_command", self.shell_command(run_dir, "archive-get %f \"%p\"")),
            // It accepts connections, and counts as started, once it has reached its moment.
            ("hot_standby", "off".to_owned()),
        ];
        match is_restored {
            true => settings.push(("archive_mode", "off".to_owned())),
            false => settings.extend([
                // A cluster that was put back into its place leaves the timeline that was begun after it.
                ("recovery_target_timeline", "current".to_owned()),
                ("archive_mode", "on".to_owned()),
                ("archive_command", self.shell_command(run_dir, "archive-push %p")),
                ("archive_timeout", self.timeout.as_secs().max(1).to_string()),
            ]),
        }
        settings
    }

    fn shell_command(&self, run_dir: &Path, words: &str) -> String {
        let quoted = |path: &Path| format!("'{}'", path.to_string_lossy().replace('\'', "'\\''"));
        let configuration = configuration_in(run_dir);
        format!("{} --config={} --stanza={STANZA} {words}", quoted(&self.program), quoted(&configuration))
    }
}

/// Returns what an error of pgBackRest says without the names of files, which differ each time: the text of the
/// system's error, or the line that names the repository.
fn reason(text: &str) -> String {
    let line = text.lines().find(|line| line.contains("repo1: ")).or(text.lines().nth(1)).unwrap_or(text);
    let of_system =
        line.rfind(": [").and_then(|at| line.get(at + 3..)?.split_once("] ")).map(|(_, text)| text);
    let of_repository = line.split_once("repo1: ").map(|(_, text)| text);
    of_system.or(of_repository).unwrap_or(line).trim_end_matches(':').to_owned()
}

/// Returns the file of the configuration, in the folder of the socket.
fn configuration_in(run_dir: &Path) -> PathBuf {
    run_dir.join(FOLDER).join(CONFIGURATION)
}

/// Has Postgres archive the histories of the timelines of `cluster` at its next start, if it has not done so: a restored
/// cluster began its timeline without an archive, and who follows the log needs its history.
pub(super) fn announce_timelines(cluster: &Path, account: Option<&Account>) -> Result<(), Error> {
    let wal = cluster.join("pg_wal");
    let status = wal.join("archive_status");
    let entries = fs::read_dir(&wal).map_err(Error::io("read", &wal))?;
    let names = entries.flatten().filter_map(|entry| entry.file_name().into_string().ok());
    for name in names.filter(|name| name.ends_with(".history")) {
        let (ready, done) = (status.join(format!("{name}.ready")), status.join(format!("{name}.done")));
        if !ready.exists() && !done.exists() {
            write_atomically(&ready, b"", 0o600)?;
            give(&ready, account)?;
        }
    }
    Ok(())
}

/// The folders that Postgres and pgBackRest inherit.
#[derive(Debug)]
pub(super) struct Access {
    /// That of the cluster.
    pub(super) cluster: FolderAccess,
    _repository: Option<FolderAccess>,
}

impl From<FolderAccess> for Access {
    fn from(cluster: FolderAccess) -> Self {
        Self { cluster, _repository: None }
    }
}

/// Creates the folder of the repository where it is missing, for `account`, and opens it.
fn open_repository(folder: &Path, account: Option<&Account>) -> Result<FolderAccess, Error> {
    private_folder(folder, 0o700, account)?;
    FolderAccess::open_in(Slot::Repository, folder, account)
}

/// Runs commands of pgBackRest on a cluster and its repository.
#[derive(Debug, Clone)]
pub struct Engine {
    program: PathBuf,
    configuration: PathBuf,
    account: Option<Account>,
    /// The folders that the program inherits, if they exist.
    cluster: PathBuf,
    repository: Option<PathBuf>,
    /// The superuser's password, for commands that ask Postgres.
    password: Option<Secret>,
}

impl Engine {
    /// Returns the one of a cluster that runs with `archiver` on `data_dir`, in this process or in another one; `None`
    /// if none does.
    pub fn of_running(data_dir: &Path, archiver: &Archiver, password: &str) -> Option<Self> {
        let cluster = cluster_in(data_dir);
        let pid_file = fs::read_to_string(cluster.join("postmaster.pid")).ok()?;
        // Line 5 is the folder of the socket. Source: PostgreSQL, `utils/pidfile.h`.
        let run_dir = PathBuf::from(pid_file.lines().nth(4)?.trim());
        let configuration = configuration_in(&run_dir);
        configuration.exists().then_some(())?;
        let account = Account::choose(&cluster).ok()?;
        Some(Self {
            program: archiver.program.clone(),
            configuration,
            account,
            cluster: cluster.canonicalize().ok()?,
            repository: archiver.folder.clone(),
            password: Some(password.to_owned().into()),
        })
    }

    /// Returns one for commands that need only the repository, which writes its configuration into `folder`.
    ///
    /// It runs as the owner of the repository, whose files it may write.
    pub fn of_repository(folder: &Path, archiver: &Archiver) -> Result<Self, Error> {
        let repository = archiver.folder.as_deref().filter(|folder| folder.exists());
        let account = repository.map(Account::owner_of).transpose()?.flatten();
        let access =
            repository.map(|folder| FolderAccess::open_in(Slot::Repository, folder, account.as_ref()));
        let text = archiver.global(folder, folder, access.transpose()?.as_ref());
        let configuration = folder.join(CONFIGURATION);
        write_atomically(&configuration, text.as_bytes(), 0o600)?;
        give(folder, account.as_ref())?;
        Ok(Self {
            program: archiver.program.clone(),
            configuration,
            account,
            cluster: PathBuf::new(),
            repository: archiver.folder.clone(),
            password: None,
        })
    }

    /// Returns the one with which the cluster of `plan` is brought back.
    pub(super) fn of_plan(plan: &LaunchPlan, archiver: &Archiver) -> Self {
        Self {
            program: archiver.program.clone(),
            configuration: configuration_in(&plan.run_dir),
            account: plan.account.clone(),
            cluster: plan.cluster.clone(),
            repository: archiver.folder.clone(),
            password: None,
        }
    }

    /// Runs a command, which may have arguments without blanks, with `options`, and returns what it printed.
    ///
    /// Errors: [`Error::Failed`] with the last lines that it wrote; [`Error::Timeout`] after `limit`, which ends it.
    pub async fn run(&self, command: &str, options: &[&str], limit: Duration) -> Result<String, Error> {
        let mut child = Command::new(&self.program);
        child.env_clear().envs(environment::inherited());
        child.arg(format!("--config={}", self.configuration.display())).arg(format!("--stanza={STANZA}"));
        child.args(options).args(command.split(' '));
        child.current_dir("/").stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        if let Some(password) = &self.password {
            child.env("PGPASSWORD", password.expose());
        }
        child.kill_on_drop(true).process_group(0);
        run_as(&mut child, self.account.as_ref());
        let failed = |error| start_error("pgbackrest", &self.program, self.account.as_ref(), error);
        let spawned = {
            let _cluster = self.access(Slot::Cluster, Some(&self.cluster))?;
            let _repository = self.access(Slot::Repository, self.repository.as_deref())?;
            child.spawn().map_err(failed)?
        };
        let output = match timeout(limit, spawned.wait_with_output()).await {
            Err(_) => return Err(Error::Timeout { what: "pgBackRest", limit, log: command.to_owned() }),
            Ok(output) => output.map_err(failed)?,
        };
        let printed = String::from_utf8_lossy(&output.stdout);
        if output.status.success() {
            return Ok(printed.into_owned());
        }
        let log = format!("{printed}\n{}", String::from_utf8_lossy(&output.stderr));
        let folder = self.repository.as_deref().unwrap_or(&self.cluster);
        Err(Error::ended("pgbackrest", folder, &output.status.to_string(), last_lines(log.trim(), LOG_LINES)))
    }

    /// Returns why the repository did not take the log when Postgres last tried to archive it in the background; `None`
    /// if it did, or if nothing is known.
    pub fn refusal(&self) -> Option<String> {
        let results = self.configuration.parent()?.join("spool/archive").join(STANZA).join("out");
        let fresh = |entry: fs::DirEntry| {
            let modified = entry.metadata().ok()?.modified().ok()?;
            let is_error = entry.path().extension().is_some_and(|extension| extension == "error");
            let is_fresh = modified.elapsed().is_ok_and(|age| age < REFUSAL_AGE);
            (is_error && is_fresh).then(|| fs::read_to_string(entry.path()).ok()).flatten()
        };
        fs::read_dir(results).ok()?.flatten().find_map(fresh).map(|text| reason(&text))
    }

    /// Has more of the log than `megabytes` that waits for the repository be dropped when archiving begins. Reports
    /// whether that is new.
    ///
    /// Errors: if the configuration cannot be written.
    pub fn limit_waiting(&self, megabytes: u64) -> Result<bool, Error> {
        let file = &self.configuration;
        let text = fs::read_to_string(file).map_err(Error::io("read", file))?;
        let limit = format!("{QUEUE_MAX}={megabytes}MiB");
        if text.lines().any(|line| line == limit) {
            return Ok(false);
        }
        let others = text.lines().filter(|line| !line.starts_with(QUEUE_MAX));
        // The first line of all is a comment, the second begins the part for every cluster.
        let mut lines: Vec<&str> = others.collect();
        lines.insert(lines.len().min(2), &limit);
        write_atomically(file, format!("{}\n", lines.join("\n")).as_bytes(), 0o600)?;
        give(file, self.account.as_ref())?;
        Ok(true)
    }

    /// Ends what archives the log now. Postgres tries again.
    pub fn end_archiving(&self) {
        Archiving::of(&self.cluster, self.configuration.clone()).end_pushing();
    }

    fn access(&self, slot: Slot, folder: Option<&Path>) -> Result<Option<FolderAccess>, Error> {
        let folder = folder.filter(|folder| self.account.is_some() && folder.exists());
        folder.map(|folder| FolderAccess::open_in(slot, folder, self.account.as_ref())).transpose()
    }

    /// Returns the names of all files of the log in the repository, as `<database>/<folder>/<name>-<checksum>.<ending>`.
    pub(super) async fn archived_log(&self, limit: Duration) -> Result<String, Error> {
        self.run(&format!("repo-ls archive/{STANZA}"), &["--recurse"], limit).await
    }

    /// Brings the files of the cluster back into its folder, which is empty unless it `has_files` of a try before.
    pub(super) async fn restore(
        &self,
        recovery: &Recovery,
        has_files: bool,
        limit: Duration,
    ) -> Result<(), Error> {
        let set = format!("--set={}", recovery.backup);
        let mut options = match recovery.target {
            RecoveryTarget::Latest => Vec::new(),
            _ => vec!["--target-action=promote"],
        };
        if has_files {
            options.extend(["--delta", "--log-level-console=error"]);
        }
        let target;
        match &recovery.target {
            RecoveryTarget::Latest => options.push("--type=default"),
            RecoveryTarget::Consistent => options.push("--type=immediate"),
            RecoveryTarget::Time(time) => {
                target = format!("--target={time}");
                options.extend(["--type=time", &target]);
            }
            RecoveryTarget::Position(position) => {
                target = format!("--target={position}");
                options.extend(["--type=lsn", "--target-exclusive", &target]);
            }
            RecoveryTarget::Through(position) => {
                target = format!("--target={position}");
                options.extend(["--type=lsn", &target]);
            }
        }
        // pgBackRest's own option is not for all types.
        let timeline =
            recovery.timeline.map(|number| format!("--recovery-option=recovery_target_timeline={number}"));
        options.extend(timeline.as_deref());
        options.push(&set);
        self.run("restore", &options, limit).await.map(drop)
    }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::path::PathBuf;
    use std::time::Duration;

    use super::{Archiver, Engine, reason};

    #[test]
    fn how_much_may_wait_changes_in_place() {
        let folder = tempfile::tempdir().unwrap();
        let archiver = Archiver {
            program: PathBuf::from("pgbackrest"),
            options: vec![("repo1-type".to_owned(), "posix".to_owned())],
            folder: None,
            waiting_mb: 4096,
            timeout: Duration::from_secs(1),
        };
        let engine = Engine::of_repository(folder.path(), &archiver).unwrap();
        let file = folder.path().join(super::CONFIGURATION);
        let before = fs::read_to_string(&file).unwrap();
        assert!(!engine.limit_waiting(4096).unwrap());
        assert!(engine.limit_waiting(16).unwrap());
        let limited = fs::read_to_string(&file).unwrap();
        let sorted = |text: &str| {
            let mut lines: Vec<String> = text.lines().map(str::to_owned).collect();
            lines.sort();
            lines
        };
        assert_eq!(sorted(&limited), sorted(&before.replace("4096MiB", "16MiB")));
        assert!(limited.find("[global]") < limited.find("archive-push-queue-max=16MiB"));
    }

    #[test]
    fn an_error_is_told_without_names_of_files() {
        for (text, told) in [
            (
                "104\nraised from local-1 protocol: archive-push command encountered error(s):\n\
                 repo1: [FileWriteError] unable to write '/a/b.tmp': [28] No space left on device\n    [CommandError]",
                "No space left on device",
            ),
            (
                "104\narchive-push command encountered error(s):\n\
                 repo1: [ProtocolError] HTTP request failed with 403 (Forbidden):\n",
                "HTTP request failed with 403 (Forbidden)",
            ),
            ("103\nunable to find a valid repository", "unable to find a valid repository"),
        ] {
            assert_eq!(reason(text), told);
        }
    }
}

//! One run of the `postgres` program: its start, the wait until it is ready, its end.

use std::convert::Infallible;
use std::net::{Ipv4Addr, TcpListener};
use std::path::{Path, PathBuf};
use std::process::{ExitStatus, Stdio};
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process};
use tokio::process::{Child, Command};
use tokio::task::JoinHandle;
use tokio::time::{Instant, sleep, timeout};

use super::account::{Account, FolderAccess, run_as, start_error};
use super::archiver::Archiver;
use super::archiving::Archiving;
use super::binaries::Binaries;
use super::environment;
use super::error::Error;
use super::log::{self, Tail};
use super::orphan::{self, POLL, PidFile};
use super::watchdog::Watchdog;

/// How long Postgres may take until it is ready. After a crash, it replays at most `max_wal_size` of log first.
const READY_LIMIT: Duration = Duration::from_secs(300);

/// How long it may take if it comes from a backup: as long as it takes to replay days of log.
const RECOVERY_LIMIT: Duration = Duration::from_secs(24 * 3600);

/// How long the processes of a killed Postgres may continue to use its shared memory.
const SHARED_MEMORY_LIMIT: Duration = Duration::from_secs(10);

/// How long each shutdown mode may take before the next, more forceful one is tried.
const FAST_LIMIT: Duration = Duration::from_secs(20);
const IMMEDIATE_LIMIT: Duration = Duration::from_secs(5);

/// How long the log of an ended Postgres may take to be read.
const LOG_LIMIT: Duration = Duration::from_millis(500);

/// Everything that a start of Postgres needs: the first start and each restart.
#[derive(Debug, Clone)]
pub(super) struct LaunchPlan {
    pub(super) binaries: Binaries,
    pub(super) account: Option<Account>,
    pub(super) cluster: PathBuf,
    pub(super) run_dir: PathBuf,
    pub(super) log_file: PathBuf,
    /// Part of the socket's name, and the TCP port if `tcp` is set.
    pub(super) port: u16,
    pub(super) tcp: bool,
    /// The folder to remove at the end, if the cluster is temporary.
    pub(super) throwaway: Option<PathBuf>,
    /// The superuser's name.
    pub(super) superuser: &'static str,
    /// Where the write-ahead log goes, or comes from.
    pub(super) archiver: Option<Archiver>,
    /// Whether the cluster comes from the archiver's repository. Its log is not archived: another cluster's is there.
    pub(super) is_restored: bool,
}

/// A running Postgres.
#[derive(Debug)]
pub(super) struct Postmaster {
    child: Child,
    pid: Pid,
    watchdog: Watchdog,
    tail: Tail,
    /// The task that reads the log; `None` once it has been waited for.
    log: Option<JoinHandle<()>>,
    archiving: Option<Archiving>,
}

impl LaunchPlan {
    /// Starts Postgres and waits until it accepts connections.
    ///
    /// Errors: [`Error::PortTaken`] if another process listens on the port; otherwise an error with Postgres' log.
    pub(super) async fn launch(&self) -> Result<Postmaster, Error> {
        let until = Instant::now() + SHARED_MEMORY_LIMIT;
        loop {
            let mut postmaster = self.spawn().await?;
            let failure = match self.wait_until_ready(&mut postmaster).await {
                Ok(()) => return Ok(postmaster),
                Err(failure) => failure,
            };
            postmaster.kill().await;
            match failure {
                Error::Failed { ref log, .. } if log.contains("pre-existing shared memory block") => {
                    if Instant::now() > until {
                        return Err(failure);
                    }
                    sleep(Duration::from_millis(100)).await;
                }
                Error::Failed { ref log, .. } if self.tcp && log.contains("could not bind IPv4 address") => {
                    return Err(Error::PortTaken(self.port));
                }
                failure => return Err(failure),
            }
        }
    }

    async fn spawn(&self) -> Result<Postmaster, Error> {
        let program = self.binaries.program("postgres");
        let account = self.account.as_ref();
        let failed = |error| start_error("postgres", &program, account, error);
        let signal = if self.throwaway.is_some() { Signal::QUIT } else { Signal::INT };
        // The watchdog is started first, so that Postgres runs unwatched only until its process ID is written.
        let shell = Watchdog::start(signal, self.throwaway.as_deref());
        let mut watchdog = shell.map_err(Error::io("run", "/bin/sh".as_ref()))?;
        let mut child = self.start_process(&program)?;
        let (Some(stderr), Some(id)) = (child.stderr.take(), child.id()) else {
            return Err(failed(std::io::ErrorKind::BrokenPipe.into()));
        };
        let Some(pid) = Pid::from_raw(id.cast_signed()) else {
            return Err(failed(std::io::ErrorKind::InvalidData.into()));
        };
        // If the watchdog has ended already, Postgres runs without it.
        let _ = watchdog.watch(id).await;
        let (tail, log) = log::follow(stderr, self.log_file.clone());
        let archiving = self.archiver.as_ref().map(|_| Archiver::archiving(self));
        Ok(Postmaster { child, pid, watchdog, tail, log: Some(log), archiving })
    }

    /// Returns the settings that cannot be changed in the configuration files.
    fn start_process(&self, program: &Path) -> Result<Child, Error> {
        let account = self.account.as_ref();
        let access = match &self.archiver {
            Some(archiver) => archiver.prepare(self)?,
            None => FolderAccess::open(&self.cluster, account)?.into(),
        };
        let mut command = Command::new(program);
        command.arg("-D").arg(access.cluster.path());
        for (name, value) in self.settings() {
            command.arg("-c").arg(format!("{name}={value}"));
        }
        // The last argument, so that a list of processes shows it at the end of the line.
        command.arg("-c").arg(orphan::marker(&self.cluster));
        command.env_clear().envs(environment::inherited()).env("LC_ALL", "C").current_dir("/");
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::piped());
        // Not in the terminal's process group: Ctrl-C must not end Postgres before `stop` does.
        command.process_group(0);
        run_as(&mut command, account);
        command.spawn().map_err(|error| start_error("postgres", program, account, error))
    }

    fn settings(&self) -> Vec<(&'static str, String)> {
        let mut settings = vec![
            ("listen_addresses", if self.tcp { Ipv4Addr::LOCALHOST.to_string() } else { String::new() }),
            ("port", self.port.to_string()),
            ("unix_socket_directories", self.run_dir.display().to_string()),
        ];
        if let Some(archiver) = &self.archiver {
            settings.extend(archiver.settings(&self.run_dir, self.is_restored));
        }
        settings
    }

    /// Waits for the word `ready` in `postmaster.pid`, as `pg_ctl` does.
    async fn wait_until_ready(&self, postmaster: &mut Postmaster) -> Result<(), Error> {
        let limit = if self.is_restored { RECOVERY_LIMIT } else { READY_LIMIT };
        let until = Instant::now() + limit;
        loop {
            if let Ok(Some(status)) = postmaster.child.try_wait() {
                postmaster.drain().await;
                let log = postmaster.tail.lines();
                return Err(Error::ended("postgres", &self.cluster, &status.to_string(), log));
            }
            if let Some(file) = PidFile::read(&self.cluster)
                && file.pid == postmaster.pid
                && file.ready
            {
                return Ok(());
            }
            if Instant::now() > until {
                let log = postmaster.tail.lines();
                return Err(Error::Timeout { what: "the start of Postgres", limit, log });
            }
            sleep(POLL).await;
        }
    }
}

impl Postmaster {
    pub(super) fn pid(&self) -> u32 {
        self.pid.as_raw_nonzero().get().cast_unsigned()
    }

    /// Returns the end of the log.
    pub(super) fn tail(&self) -> &Tail {
        &self.tail
    }

    /// Waits until Postgres ends by itself and returns its exit status. Safe to cancel.
    pub(super) async fn ended(&mut self) -> String {
        describe(self.child.wait().await)
    }

    /// Shuts Postgres down with the signal `first`, without what cannot be archived in a while; if that takes too long,
    /// without writing (the next start recovers); finally by killing it. Reports whether the first signal was enough
    /// and everything has been written.
    pub(super) async fn stop(mut self, first: Signal) -> bool {
        let mut clean = false;
        for (signal, limit) in [(first, FAST_LIMIT), (Signal::QUIT, IMMEDIATE_LIMIT)] {
            // Once it has been waited for, its process ID may belong to another process.
            if self.child.id().is_some() {
                let _ = kill_process(self.pid, signal);
            }
            let ended = async {
                tokio::select! {
                    ended = self.child.wait() => ended,
                    never = give_up_if_stuck(self.archiving.as_ref()) => match never {},
                }
            };
            if let Ok(ended) = timeout(limit, ended).await {
                clean = signal == first && ended.is_ok_and(|status| status.success());
                break;
            }
        }
        let archiving = self.archiving.take();
        self.kill().await;
        if let Some(archiving) = archiving {
            archiving.end();
        }
        clean
    }

    /// Kills Postgres and ends the reader of its log and the watchdog.
    pub(super) async fn kill(mut self) {
        let _ = self.child.start_kill();
        let _ = self.child.wait().await;
        self.drain().await;
        self.watchdog.dismiss().await;
    }

    /// Waits until the log is read to its end. Bounded, because a child of a killed Postgres may keep it open.
    async fn drain(&mut self) {
        if let Some(mut log) = self.log.take()
            && timeout(LOG_LIMIT, &mut log).await.is_err()
        {
            log.abort();
        }
    }
}

async fn give_up_if_stuck(archiving: Option<&Archiving>) -> Infallible {
    match archiving {
        Some(archiving) => archiving.give_up_if_stuck().await,
        None => std::future::pending().await,
    }
}

fn describe(ended: std::io::Result<ExitStatus>) -> String {
    ended.map_or_else(|error| error.to_string(), |status| status.to_string())
}

/// How many ports are tried, from the configured one upwards.
const PORTS_TRIED: u16 = 100;

/// Returns the first free port from `wanted` upwards; any free port for 0.
pub(super) fn free_port(wanted: u16) -> Result<u16, Error> {
    if wanted == 0 {
        let any = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).and_then(|listener| listener.local_addr());
        return any.map(|address| address.port()).map_err(|_| Error::NoPort { first: 0, last: u16::MAX });
    }
    let last = wanted.saturating_add(PORTS_TRIED - 1);
    let mut ports = wanted..=last;
    let free = ports.find(|port| TcpListener::bind((Ipv4Addr::LOCALHOST, *port)).is_ok());
    free.ok_or(Error::NoPort { first: wanted, last })
}

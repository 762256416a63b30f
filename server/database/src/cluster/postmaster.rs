//! One run of the `postgres` program: started, watched until it is ready, ended.

use std::net::{Ipv4Addr, TcpListener};
use std::path::PathBuf;
use std::process::{ExitStatus, Stdio};
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process};
use tokio::process::{Child, Command};
use tokio::task::JoinHandle;
use tokio::time::{Instant, sleep, timeout};

use super::account::{Account, Doorway, run_as};
use super::binaries::Binaries;
use super::error::Error;
use super::initdb::start_error;
use super::log::{self, Tail};
use super::orphan::{self, PidFile};
use super::watchdog::Watchdog;

/// How long Postgres may take until it is ready. Recovery after a crash replays at most `max_wal_size` of log.
const READY_LIMIT: Duration = Duration::from_secs(300);

/// How long the processes of a killed Postgres may keep its shared memory in use.
const SHARED_MEMORY_LIMIT: Duration = Duration::from_secs(10);

/// The pause between two looks at something that changes within milliseconds.
pub(super) const POLL: Duration = Duration::from_millis(5);

/// How long each way of shutting down may take before the next, ruder one.
const FAST_LIMIT: Duration = Duration::from_secs(20);
const IMMEDIATE_LIMIT: Duration = Duration::from_secs(5);

/// How long the log of an ended Postgres may take to be read.
const LOG_LIMIT: Duration = Duration::from_millis(500);

/// All that it takes to start Postgres, the first time and every time after it died.
#[derive(Debug, Clone)]
pub(super) struct Plan {
    pub(super) binaries: Binaries,
    pub(super) account: Option<Account>,
    pub(super) cluster: PathBuf,
    pub(super) run_dir: PathBuf,
    pub(super) log_file: PathBuf,
    /// Names the socket, and is listened on where `tcp` says so.
    pub(super) port: u16,
    pub(super) tcp: bool,
    /// The folder to remove with the cluster, where nothing in it is to be kept.
    pub(super) throwaway: Option<PathBuf>,
}

/// A running Postgres.
#[derive(Debug)]
pub(super) struct Postmaster {
    child: Child,
    pid: Pid,
    watchdog: Watchdog,
    tail: Tail,
    /// Reads the log; `None` once it was waited for.
    log: Option<JoinHandle<()>>,
}

impl Plan {
    /// Starts Postgres and waits until it takes connections.
    ///
    /// Errors: [`Error::PortTaken`] when another process was faster on the port; what Postgres said, otherwise.
    pub(super) async fn launch(&self) -> Result<Postmaster, Error> {
        let until = Instant::now() + SHARED_MEMORY_LIMIT;
        loop {
            let mut postmaster = self.spawn().await?;
            let failure = match self.ready(&mut postmaster).await {
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
        // First the watchdog: there is no moment at which Postgres runs unwatched for longer than a write takes.
        let shell = Watchdog::start(signal, self.throwaway.as_deref());
        let mut watchdog = shell.map_err(Error::io("run", "/bin/sh".as_ref()))?;
        let door = Doorway::open(&self.cluster, account)?;
        let mut command = Command::new(&program);
        command.arg("-D").arg(door.path());
        for (name, value) in self.settings() {
            command.arg("-c").arg(format!("{name}={value}"));
        }
        // Last, where a list of processes shows it at the end of the line.
        command.arg("-c").arg(orphan::marker(&self.cluster));
        command.env("LC_ALL", "C").env_remove("PGDATA").current_dir("/");
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::piped());
        // Out of the terminal's group: Ctrl-C must reach Postgres last, by way of `stop`.
        command.process_group(0);
        run_as(&mut command, account);
        let mut child = command.spawn().map_err(failed)?;
        drop(door);
        let (Some(stderr), Some(id)) = (child.stderr.take(), child.id()) else {
            return Err(failed(std::io::ErrorKind::BrokenPipe.into()));
        };
        let Some(pid) = Pid::from_raw(id.cast_signed()) else {
            return Err(failed(std::io::ErrorKind::InvalidData.into()));
        };
        // A watchdog that is gone already is no reason not to serve.
        let _ = watchdog.watch(id).await;
        let (tail, log) = log::follow(stderr, self.log_file.clone());
        Ok(Postmaster { child, pid, watchdog, tail, log: Some(log) })
    }

    /// What only Basalt decides, whatever the settings' files say.
    fn settings(&self) -> [(&'static str, String); 3] {
        [
            ("listen_addresses", if self.tcp { Ipv4Addr::LOCALHOST.to_string() } else { String::new() }),
            ("port", self.port.to_string()),
            ("unix_socket_directories", self.run_dir.display().to_string()),
        ]
    }

    /// Waits for the word `ready` in `postmaster.pid`, which is what `pg_ctl` goes by too.
    async fn ready(&self, postmaster: &mut Postmaster) -> Result<(), Error> {
        let until = Instant::now() + READY_LIMIT;
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
                return Err(Error::Timeout { what: "the start of Postgres", limit: READY_LIMIT, log });
            }
            sleep(POLL).await;
        }
    }
}

impl Postmaster {
    pub(super) fn pid(&self) -> u32 {
        self.pid.as_raw_nonzero().get().cast_unsigned()
    }

    /// The end of the log.
    pub(super) fn tail(&self) -> &Tail {
        &self.tail
    }

    /// Waits until Postgres ends by itself. Safe to cancel.
    pub(super) async fn ended(&mut self) -> String {
        describe(self.child.wait().await)
    }

    /// Shuts Postgres down: sessions are cut off and everything is written; where that takes too long, without
    /// writing (the next start recovers); at last by force. Returns whether everything was written.
    pub(super) async fn stop(mut self, first: Signal) -> bool {
        let mut clean = false;
        for (signal, limit) in [(first, FAST_LIMIT), (Signal::QUIT, IMMEDIATE_LIMIT)] {
            // Once it has been waited for, its number may be another process's.
            if self.child.id().is_some() {
                let _ = kill_process(self.pid, signal);
            }
            if let Ok(ended) = timeout(limit, self.child.wait()).await {
                clean = signal == first && ended.is_ok_and(|status| status.success());
                break;
            }
        }
        self.kill().await;
        clean
    }

    /// Ends whatever is left: Postgres, the reader of its log, the watchdog.
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

fn describe(ended: std::io::Result<ExitStatus>) -> String {
    ended.map_or_else(|error| error.to_string(), |status| status.to_string())
}

/// How many ports are tried, from the wanted one upwards.
const PORTS_TRIED: u16 = 100;

/// The first port from `wanted` upwards that can be listened on; any free one for 0.
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

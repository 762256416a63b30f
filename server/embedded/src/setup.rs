//! The steps of a start of the cluster, in order.

use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::Duration;

use ::settings::Secret;
use postgres_protocol::password::scram_sha_256;
use tokio::io::AsyncWriteExt;
use tokio::process::Command;
use tokio::sync::{Mutex, mpsc, watch};
use tokio::time::timeout;
use tokio_util::sync::CancellationToken;

use super::account::{Account, FolderAccess, private_folder, run_as, start_error};
use super::binaries::Binaries;
use super::configuration::Tuning;
use super::data_dir::DataDir;
use super::error::Error;
use super::log::last_lines;
use super::postmaster::{LaunchPlan, Postmaster, free_port};
use super::superuser::{self, POSTGRES, Superuser};
use super::{
    Cluster, Engine, Options, Password, Progress, Recovery, RecoveryTarget, State, archiver, configuration,
    extensions, initdb, log_gap, orphan, preload, restore, run_dir, supervisor,
};
use postgres::quote_literal;

/// How long the first connection may take.
const CONNECT_LIMIT: Duration = Duration::from_secs(10);

/// How long setting a new password may take.
const PASSWORD_LIMIT: Duration = Duration::from_secs(60);

/// How many times another port is tried if the port is taken between the check and the start.
const MAX_PORT_RACES: u32 = 5;

/// Returns the file with Postgres' log in the data folder `data`.
pub fn log_file(data: &Path) -> PathBuf {
    data.join("logs/postgres.log")
}

/// Implements [`Cluster::start`] and, with `throwaway`, [`Cluster::ephemeral`].
pub(super) async fn start(options: Options, throwaway: bool) -> Result<Cluster, Error> {
    let report = |step: Progress| options.report(&step);
    let data = DataDir::lock(&options.data_dir)?;
    data.recover().await?;
    if options.recovery.is_none() {
        restore::check_restored(data.path())?;
    }
    let account = Account::choose(&data.cluster())?;
    let binaries = binaries(&options, &data, account.as_ref(), &report).await?;
    if let Some(recovery) = &options.recovery {
        report(Progress::Restoring);
        restore::bring_files(&options, recovery, &data, &binaries, account.clone()).await?;
        binaries.check_data(data.path(), &options.search, &data.path().join("binaries")).await?;
    }
    let tuning = Tuning { memory: options.memory, throwaway };
    let credentials = match &options.recovery {
        Some(_) => prepare_restored(tuning, &data, &binaries, account.as_ref())?,
        None => prepare(options.password, tuning, &data, &binaries, account.as_ref(), &report).await?,
    };
    extensions::ensure_vault_key(&data.cluster(), account.as_ref())?;
    let plan = LaunchPlan {
        throwaway: throwaway.then(|| data.path().to_owned()),
        superuser: credentials.superuser.name(),
        ..plan(&options, &data, &data.cluster(), &binaries, account)?
    };
    if plan.archiver.is_some() && !plan.is_restored {
        archiver::announce_timelines(&plan.cluster, plan.account.as_ref())?;
    }
    report(Progress::Starting);
    let launched = launch(plan.clone(), options.port).await;
    let mut reads_all = matches!(&options.recovery, Some(Recovery { target: RecoveryTarget::Latest, .. }));
    let (plan, postmaster) = match (launched, &options.recovery) {
        (Err(error), Some(recovery)) => {
            let plan = restore::without_target(plan, recovery, error).await?;
            reads_all = true;
            launch(plan, options.port).await?
        }
        (launched, _) => launched?,
    };
    let engine =
        plan.archiver.as_ref().filter(|_| reads_all).map(|archiver| Engine::of_plan(&plan, archiver));
    let (run_dir, port) = (plan.run_dir.clone(), plan.port);
    let (sender, state) = watch::channel(State::Running { pid: postmaster.pid() });
    let stop = CancellationToken::new();
    let (restarts, orders) = mpsc::channel(1);
    let account = plan.account.clone();
    let task = tokio::spawn(supervisor::supervise(plan, postmaster, sender, orders, stop.clone()));
    let mut cluster = Cluster {
        data,
        binaries,
        run_dir,
        port,
        wanted_port: options.port,
        credentials,
        throwaway,
        is_restored: options.recovery.is_some(),
        missing_log: None,
        account,
        restarts,
        state,
        stop,
        supervisor: Mutex::new(Some(task)),
    };
    let connected = async {
        connect(&cluster, options.postgres_superuser).await?;
        match &engine {
            Some(engine) => log_gap::find(engine, &log_file(cluster.data.path())).await,
            None => Ok(None),
        }
    };
    let connected = connected.await;
    match connected {
        Ok(missing_log) => {
            cluster.missing_log = missing_log;
            Ok(cluster)
        }
        Err(error) => {
            cluster.stop().await;
            Err(error)
        }
    }
}

/// Returns how Postgres is started on the folder `cluster` in that of `data`.
pub(super) fn plan(
    options: &Options,
    data: &DataDir,
    cluster: &Path,
    binaries: &Binaries,
    account: Option<Account>,
) -> Result<LaunchPlan, Error> {
    Ok(LaunchPlan {
        binaries: binaries.clone(),
        cluster: cluster.canonicalize().map_err(Error::io("resolve", cluster))?,
        run_dir: run_dir::open(data.path(), account.as_ref())?,
        log_file: log_file(data.path()),
        port: free_port(options.port.unwrap_or(0))?,
        tcp: options.port.is_some(),
        throwaway: None,
        superuser: POSTGRES,
        archiver: options.archiver.clone(),
        is_restored: options.recovery.is_some(),
        account,
    })
}

/// Finds the programs for the cluster of `data` in a folder where `account` can run them.
async fn binaries(
    options: &Options,
    data: &DataDir,
    account: Option<&Account>,
    report: &impl Fn(Progress),
) -> Result<Binaries, Error> {
    let copies = data.path().join("binaries");
    let found = Binaries::find(&options.search, &copies).await?;
    found.check_data(data.path(), &options.search, &copies).await?;
    runnable(found, account, report).await
}

/// Returns the programs that were `found`, if necessary copied into a folder where `account` can run them.
pub(super) async fn runnable(
    found: Binaries,
    account: Option<&Account>,
    report: &impl Fn(Progress),
) -> Result<Binaries, Error> {
    let Some(account) = account else { return Ok(found) };
    if account.can_run(&found.program("postgres")).await {
        return Ok(found);
    }
    let mut failure = None;
    for folder in ["/var/lib/basalt", "/tmp/basalt-binaries"].map(Path::new) {
        report(Progress::CopyingBinaries { to: folder.to_owned() });
        let (source, target) = (found.clone(), folder.to_owned());
        let copy = move || private_folder(&target, 0o755, None).and_then(|()| source.copy_to(&target));
        match tokio::task::spawn_blocking(copy).await {
            Ok(Ok(copy)) if account.can_run(&copy.program("postgres")).await => return Ok(copy),
            Ok(Err(error)) => failure = Some(error),
            _ => {}
        }
    }
    let reason =
        || format!("uid {}, which runs it instead, cannot run {}", account.uid, found.folder().display());
    Err(failure.unwrap_or_else(|| Error::Root { reason: reason() }))
}

/// The superuser of a cluster, its password and that of the role `postgres`, which are the same if that is the
/// superuser.
#[derive(Debug)]
pub(super) struct Credentials {
    pub(super) superuser: Superuser,
    pub(super) superuser_password: Secret,
    pub(super) postgres_password: Secret,
}

impl Credentials {
    /// Returns those of a new cluster with another superuser, whose password is random.
    pub(super) fn with_other_superuser(&self, superuser: Superuser) -> Self {
        let postgres_password = self.postgres_password.clone();
        Self { superuser, superuser_password: random_password().into(), postgres_password }
    }

    /// Stores the passwords in place of those that are stored.
    pub(super) fn store(&self, data: &DataDir) -> Result<(), Error> {
        let superuser = (self.superuser.name(), self.superuser_password.expose());
        data.store_passwords(&[superuser, (POSTGRES, self.postgres_password.expose())])
    }
}

/// Creates the cluster if it is missing, or prepares the existing one for a start. The password of the role `postgres`
/// is the `wanted` one; that of another superuser is always random.
pub(super) async fn prepare(
    wanted: Password,
    tuning: Tuning,
    data: &DataDir,
    binaries: &Binaries,
    account: Option<&Account>,
    report: &impl Fn(Progress),
) -> Result<Credentials, Error> {
    let is_new = data.major()?.is_none();
    let superuser = match is_new {
        true => Superuser::of_new(binaries.version().major),
        false => Superuser::of(&data.cluster())?,
    };
    let random_or = |known: Option<&str>| known.map_or_else(random_password, str::to_owned);
    let stored_postgres = data.password(POSTGRES)?.filter(|stored| wanted.fits(stored));
    let postgres_password = stored_postgres.clone().unwrap_or_else(|| random_or(wanted.known()));
    let stored = match superuser {
        Superuser::Postgres => stored_postgres,
        Superuser::SupabaseAdmin => data.password(superuser.name())?,
    };
    let superuser_password = match superuser {
        Superuser::Postgres => postgres_password.clone(),
        Superuser::SupabaseAdmin => random_or(stored.as_deref()),
    };
    let credentials = Credentials {
        superuser,
        superuser_password: superuser_password.clone().into(),
        postgres_password: postgres_password.into(),
    };
    if is_new {
        report(Progress::CreatingCluster { version: binaries.version().clone() });
        // Stored first: if this is interrupted, a password without a cluster is better than a cluster without a
        // known password.
        credentials.store(data)?;
        initdb::create(data, binaries, account, (superuser, &superuser_password), tuning).await?;
        return Ok(credentials);
    }
    data.fix_permissions(account)?;
    orphan::clear(&data.cluster(), |pid| report(Progress::StoppingOrphan { pid })).await?;
    configuration::write(&data.cluster(), binaries, tuning, account)?;
    if stored.is_none() {
        // In this order, so that a stored password is always one that is set in the cluster.
        data.remove_passwords()?;
        set_password(data, binaries, account, &credentials).await?;
    }
    // The password of a `postgres` that is no superuser is set at each start, after this.
    credentials.store(data)?;
    Ok(credentials)
}

/// Prepares a cluster whose files have been brought back for the start in which it reaches its moment. Its passwords are
/// those of that moment, whatever is wanted now: any start before, such as one that sets a password, would begin the
/// recovery without the log.
///
/// Errors: if the passwords were not brought back with it.
fn prepare_restored(
    tuning: Tuning,
    data: &DataDir,
    binaries: &Binaries,
    account: Option<&Account>,
) -> Result<Credentials, Error> {
    let superuser = Superuser::of(&data.cluster())?;
    let Some(superuser_password) = data.password(superuser.name())? else {
        let missing = std::io::Error::other(format!("it has no password of {}", superuser.name()));
        return Err(Error::io("restore with", &data.password_file())(missing));
    };
    let postgres_password = data.password(POSTGRES)?.unwrap_or_else(random_password);
    data.fix_permissions(account)?;
    configuration::write(&data.cluster(), binaries, tuning, account)?;
    Ok(Credentials {
        superuser,
        superuser_password: superuser_password.into(),
        postgres_password: postgres_password.into(),
    })
}

/// Returns a password of 256 random bits.
fn random_password() -> String {
    format!("{:032x}{:032x}", rand::random::<u128>(), rand::random::<u128>())
}

/// Sets the superuser's password in a cluster that is not running, with Postgres' single-user mode.
async fn set_password(
    data: &DataDir,
    binaries: &Binaries,
    account: Option<&Account>,
    credentials: &Credentials,
) -> Result<(), Error> {
    let program = binaries.program("postgres");
    let cluster = data.cluster();
    let folder = FolderAccess::open(&cluster, account)?;
    let mut command = Command::new(&program);
    command.args(["--single", "-D"]).arg(folder.path()).args(["-c", "exit_on_error=on", super::DATABASE]);
    command.env("LC_ALL", "C").current_dir("/").kill_on_drop(true);
    command.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::piped());
    run_as(&mut command, account);
    let failed = |error| start_error("postgres", &program, account, error);
    let mut child = command.spawn().map_err(failed)?;
    let verifier = quote_literal(&scram_sha_256(credentials.superuser_password.expose().as_bytes()));
    let statement = format!("alter role {} password {verifier}\n", credentials.superuser.name());
    let run = async {
        if let Some(mut input) = child.stdin.take() {
            input.write_all(statement.as_bytes()).await?;
        }
        child.wait_with_output().await
    };
    match timeout(PASSWORD_LIMIT, run).await {
        Err(_) => {
            Err(Error::Timeout { what: "setting a password", limit: PASSWORD_LIMIT, log: String::new() })
        }
        Ok(Err(error)) => Err(failed(error)),
        Ok(Ok(output)) if output.status.success() => Ok(()),
        Ok(Ok(output)) => {
            let log = last_lines(&String::from_utf8_lossy(&output.stderr), 20);
            Err(Error::ended("postgres", &cluster, &output.status.to_string(), log))
        }
    }
}

/// Starts Postgres on `plan`'s port, or on a later one if that has been taken in the meantime.
async fn launch(mut plan: LaunchPlan, wanted: Option<u16>) -> Result<(LaunchPlan, Postmaster), Error> {
    let mut races = 0;
    loop {
        match plan.launch().await {
            Ok(postmaster) => return Ok((plan, postmaster)),
            Err(Error::PortTaken(port)) if races < MAX_PORT_RACES => {
                races += 1;
                plan.port = free_port(if wanted == Some(0) { 0 } else { port.saturating_add(1) })?;
            }
            Err(error) => return Err(error),
        }
    }
}

/// Connects as the superuser, which checks the socket and the password, and sets up the role `postgres` unless that is
/// the superuser.
async fn connect(cluster: &Cluster, postgres_superuser: bool) -> Result<(), Error> {
    let credentials = &cluster.credentials;
    let role = credentials.superuser.name();
    let attempt = async {
        let client = preload::log_in(&cluster.login()).await?;
        if cluster.is_restored {
            restore::finish(&client).await?;
        }
        preload::remove_missing(&client).await?;
        match credentials.superuser {
            Superuser::Postgres => Ok(()),
            Superuser::SupabaseAdmin => {
                let password = credentials.postgres_password.expose();
                superuser::set_up_postgres(&client, password, postgres_superuser, !cluster.throwaway).await
            }
        }
    };
    let log = String::new();
    let timed_out =
        |_| Error::Timeout { what: "the first connection to Postgres", limit: CONNECT_LIMIT, log };
    match timeout(CONNECT_LIMIT, attempt).await.map_err(timed_out)? {
        Ok(()) => Ok(()),
        Err(error) if error.code() == Some(&tokio_postgres::error::SqlState::INVALID_PASSWORD) => {
            let message =
                error.as_db_error().map_or_else(|| error.to_string(), |server| server.message().to_owned());
            Err(Error::Password { file: cluster.password_file(), role, message })
        }
        Err(error) => {
            let source = std::io::Error::other(error);
            Err(Error::Io { action: "connect to Postgres in", path: cluster.run_dir.clone(), source })
        }
    }
}

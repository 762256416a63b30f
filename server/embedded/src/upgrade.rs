//! Copies a cluster into a new one: of a newer major version of Postgres, or with another superuser.
//!
//! The old cluster is dumped, with no other clients connected, and restored into a new one. The old one stays in place
//! until the new one is complete; then it is renamed and kept. `pg_upgrade` would be faster, but the npm packages do
//! not contain the programs that it needs of both versions. The role that `initdb` made stays a superuser as long as
//! the cluster exists, so that only a new cluster can have another one.

mod transfer;

use std::fs;
use std::path::{Path, PathBuf};

use atomic_file::temporary_name;
use rustix::process::Signal;

use super::account::{self, Account};
use super::binaries::{Binaries, Search};
use super::configuration::Tuning;
use super::data_dir::DataDir;
use super::error::Error;
use super::postmaster::{LaunchPlan, Postmaster};
use super::setup::Credentials;
use super::superuser::{self, Superuser};
use super::version::Version;
use super::{Options, Progress, archiving, initdb, run_dir, setup};
use migrations::statement_statistics;
use transfer::{ClusterConnection, DumpPrograms};

/// The result of an upgrade.
#[derive(Debug)]
pub enum Upgrade {
    /// The data folder has no cluster yet.
    NoCluster,
    /// The cluster has the major version of these programs already.
    Current(Version),
    /// The cluster has been upgraded.
    Done {
        /// The version that made the old cluster.
        from: Version,
        /// The version that the cluster has now.
        to: Version,
        /// The folder of the old cluster.
        kept: PathBuf,
    },
}

/// The result of [`super::Cluster::harden`].
#[derive(Debug)]
pub enum Hardening {
    /// The data folder has no cluster yet.
    NoCluster,
    /// The role `postgres` is not the cluster's superuser.
    Current,
    /// The cluster has been copied into one whose superuser is `supabase_admin`.
    Done {
        /// The folder of the old cluster.
        kept: PathBuf,
    },
}

/// Takes note that the archive of a cluster's log is about to have a gap.
pub type GapNotice<'a> = &'a (dyn Fn() -> std::io::Result<()> + Sync);

fn note(gap: Option<GapNotice<'_>>, data: &DataDir) -> Result<(), Error> {
    gap.map_or(Ok(()), |note| note().map_err(Error::io("note that a backup is due in", data.path())))
}

/// Implements [`super::Cluster::upgrade`].
pub(super) async fn run(
    options: Options,
    old_folder: Option<&Path>,
    gap: Option<GapNotice<'_>>,
) -> Result<Upgrade, Error> {
    let report = |step: Progress| options.report(&step);
    let data = DataDir::lock(&options.data_dir)?;
    data.recover().await?;
    let Some(major) = data.major()? else { return Ok(Upgrade::NoCluster) };
    let copies = data.path().join("binaries");
    let new = Binaries::find(&options.search, &copies).await?;
    if major == new.version().major {
        return Ok(Upgrade::Current(new.version().clone()));
    }
    if major > new.version().major {
        new.check_data(data.path(), &options.search, &copies).await?;
    }
    let kept = data.path().join(format!("postgres.{major}"));
    if kept.exists() {
        return Err(Error::OldClusterExists { folder: kept });
    }
    if gap.is_some() {
        archiving::check(&data.cluster())?;
    }
    let old = old_binaries(major, old_folder, &options.search, &copies, &data, &new).await?;
    let programs = DumpPrograms::find([&old, &new]).await?;
    let account = Account::choose(&data.cluster())?;
    let old = setup::runnable(old, account.as_ref(), &report).await?;
    let new = setup::runnable(new, account.as_ref(), &report).await?;
    let credentials =
        setup::prepare(options.password, tuning(&options), &data, &old, account.as_ref(), &report).await?;
    let (from, to) = (old.version().clone(), new.version().clone());
    report(Progress::Upgrading { from: from.clone(), to: to.clone() });
    let (old, new) = ((old, &credentials), (new, &credentials));
    let job = UpgradeJob { data: &data, old, new, account, programs, report: &report };
    note(gap, &data)?;
    job.replace(&kept).await?;
    Ok(Upgrade::Done { from, to, kept })
}

/// Implements [`super::Cluster::harden`].
pub(super) async fn harden(options: Options, gap: Option<GapNotice<'_>>) -> Result<Hardening, Error> {
    let report = |step: Progress| options.report(&step);
    let data = DataDir::lock(&options.data_dir)?;
    data.recover().await?;
    let Some(major) = data.major()? else { return Ok(Hardening::NoCluster) };
    if Superuser::of(&data.cluster())? == Superuser::SupabaseAdmin {
        return Ok(Hardening::Current);
    }
    if Superuser::of_new(major) == Superuser::Postgres {
        return Err(Error::CannotHarden { found: major });
    }
    let copies = data.path().join("binaries");
    let binaries = Binaries::find(&options.search, &copies).await?;
    binaries.check_data(data.path(), &options.search, &copies).await?;
    let kept = data.path().join(format!("postgres.{major}"));
    if kept.exists() {
        return Err(Error::OldClusterExists { folder: kept });
    }
    if gap.is_some() {
        archiving::check(&data.cluster())?;
    }
    let programs = DumpPrograms::find([&binaries, &binaries]).await?;
    let account = Account::choose(&data.cluster())?;
    let binaries = setup::runnable(binaries, account.as_ref(), &report).await?;
    let old = setup::prepare(options.password, tuning(&options), &data, &binaries, account.as_ref(), &report)
        .await?;
    let new = old.with_other_superuser(Superuser::SupabaseAdmin);
    new.store(&data)?;
    report(Progress::Hardening);
    let (old, new) = ((binaries.clone(), &old), (binaries, &new));
    let job = UpgradeJob { data: &data, old, new, account, programs, report: &report };
    note(gap, &data)?;
    job.replace(&kept).await?;
    Ok(Hardening::Done { kept })
}

/// Returns what the old cluster is configured for while it is copied.
fn tuning(options: &Options) -> Tuning {
    Tuning { memory: options.memory, throwaway: false }
}

/// Finds the programs of the version `major`: in `named`, or, without it, on this machine.
async fn old_binaries(
    major: u32,
    named: Option<&Path>,
    search: &Search,
    copies: &Path,
    data: &DataDir,
    new: &Binaries,
) -> Result<Binaries, Error> {
    let found = match named {
        Some(folder) => {
            let only = Search { folder: Some(folder.to_owned()), projects: Vec::new() };
            Some(Binaries::find(&only, copies).await?)
        }
        None => Binaries::find_major(major, search, copies).await,
    };
    found.filter(|found| found.version().major == major).ok_or_else(|| Error::NoOldBinaries {
        cluster: data.cluster(),
        found: major,
        version: new.version().clone(),
        named: named.map(Path::to_owned),
    })
}

/// A copy and everything that it needs.
struct UpgradeJob<'a> {
    data: &'a DataDir,
    old: (Binaries, &'a Credentials),
    new: (Binaries, &'a Credentials),
    account: Option<Account>,
    programs: DumpPrograms,
    report: &'a (dyn Fn(Progress) + Sync),
}

impl UpgradeJob<'_> {
    /// Creates the new cluster and puts it in the place of the old one, which is kept as `kept`.
    async fn replace(&self, kept: &Path) -> Result<(), Error> {
        let staging = temporary_name(&self.data.cluster());
        let created = self.create_upgraded(&staging).await;
        let replaced = created.and_then(|cluster| self.data.replace_cluster(&cluster, kept));
        // Best effort: the next start removes what remains.
        let _ = fs::remove_dir_all(&staging);
        replaced
    }

    /// Creates the new cluster with the old one's data in `staging` and returns its folder. When this returns, both
    /// servers have stopped.
    async fn create_upgraded(&self, staging: &Path) -> Result<PathBuf, Error> {
        let (old_credentials, new_credentials) = (self.old.1, self.new.1);
        let superuser = (new_credentials.superuser, new_credentials.superuser_password.expose());
        initdb::create_in(staging, &self.new.0, self.account.as_ref(), superuser, Tuning::default()).await?;
        let cluster = staging.join("data");
        self.copy_settings(&cluster)?;
        let run_dir = run_dir::open(self.data.path(), self.account.as_ref())?;
        let plan = |binaries: &Binaries, cluster: &Path, port, log: &str| -> Result<LaunchPlan, Error> {
            Ok(LaunchPlan {
                binaries: binaries.clone(),
                account: self.account.clone(),
                cluster: cluster.canonicalize().map_err(Error::io("resolve", cluster))?,
                run_dir: run_dir.clone(),
                log_file: self.data.path().join("logs").join(log),
                port,
                tcp: false,
                throwaway: None,
                superuser: superuser::POSTGRES,
                archiver: None,
                is_restored: false,
            })
        };
        let connection = |port, cluster, credentials| ClusterConnection {
            cluster,
            socket_dir: &run_dir,
            port,
            credentials,
            password_file: self.data.password_file(),
        };
        let old_plan = plan(&self.old.0, &self.data.cluster(), OLD_PORT, "postgres.log")?;
        let new_plan = plan(&self.new.0, &cluster, NEW_PORT, "upgrade.log")?;
        let old = old_plan.launch().await?;
        let transferred = match new_plan.launch().await {
            Ok(new) => {
                let source = connection(OLD_PORT, &old_plan.cluster, old_credentials);
                let target = connection(NEW_PORT, &new_plan.cluster, new_credentials);
                let transferred = self.transfer(&source, &target).await;
                let stopped = stop(new, &cluster).await;
                transferred.and(stopped)
            }
            Err(error) => Err(error),
        };
        let stopped = stop(old, &self.data.cluster()).await;
        let _ = fs::remove_dir_all(&run_dir);
        transferred.and(stopped).map(|()| cluster)
    }

    /// Copies the files that an administrator has added to the old cluster's folder or edited there, and the vault's
    /// key.
    fn copy_settings(&self, cluster: &Path) -> Result<(), Error> {
        let old = self.data.cluster();
        for entry in fs::read_dir(&old).map_err(Error::io("read", &old))? {
            let file = entry.map_err(Error::io("read", &old))?.path();
            let name = file.file_name().unwrap_or_default();
            if !file.is_file() || VERSION_FILES.iter().any(|own| name == *own) {
                continue;
            }
            let copy = cluster.join(name);
            fs::copy(&file, &copy).map_err(Error::io("copy", &file))?;
            account::give(&copy, self.account.as_ref())?;
        }
        Ok(())
    }

    /// Copies everything from `old` to `new`, which are both running.
    async fn transfer(&self, old: &ClusterConnection<'_>, new: &ClusterConnection<'_>) -> Result<(), Error> {
        let databases = old.databases().await?;
        self.check_extensions(old, &databases).await?;
        self.programs.copy_roles(old, new).await?;
        // Its dump creates it with its settings and its encoding.
        new.execute(TEMPLATE, "drop database postgres").await?;
        for name in &databases {
            // These functions have other arguments in the next version, and a dump would name the old ones. The next
            // start grants it again.
            old.execute(name, &statement_statistics::revoke()).await?;
            (self.report)(Progress::CopyingDatabase { name: name.clone() });
            self.programs.copy_database(name, old, new).await?;
            if old.superuser() != new.superuser() {
                new.execute(name, TO_SUPERUSER).await?;
            }
            new.execute(name, "analyze").await?;
        }
        Ok(())
    }

    /// Checks that the new version has all extensions that are in use. Errors: [`Error::NoExtensions`].
    async fn check_extensions(&self, old: &ClusterConnection<'_>, databases: &[String]) -> Result<(), Error> {
        let present = self.new.0.extensions();
        let mut missing = Vec::new();
        for database in databases {
            missing.extend(old.list(database, "select extname from pg_extension").await?);
        }
        missing.sort();
        missing.dedup();
        missing.retain(|name| !present.contains(name));
        // Every server has plpgsql: if it seems to be missing, the server's folder of extensions is unknown.
        if missing.is_empty() || !present.contains("plpgsql") {
            return Ok(());
        }
        Err(Error::NoExtensions { names: missing.join(", "), binaries: self.new.0.folder().to_owned() })
    }
}

/// The ports in the names of the two clusters' sockets. Neither of them listens on TCP.
const OLD_PORT: u16 = 5432;
const NEW_PORT: u16 = 5433;

/// The database to connect to while the others are dropped and created.
const TEMPLATE: &str = "template1";

/// Files in a cluster's folder that belong to its version or to one run of it, and are not copied.
const VERSION_FILES: [&str; 7] = [
    "PG_VERSION",
    "postmaster.opts",
    "postmaster.pid",
    "basalt.conf",
    superuser::FILE,
    "backup_manifest",
    "current_logfiles",
];

/// Gives the superuser what only a superuser may own, before `postgres` ceases to be one.
const TO_SUPERUSER: &str = "
do $$
declare
  statement text;
begin
  for statement in
    select pg_catalog.format('alter event trigger %I owner to current_user', evtname)
    from pg_catalog.pg_event_trigger where evtowner <> current_user::pg_catalog.regrole
    union all
    select pg_catalog.format('alter foreign data wrapper %I owner to current_user', fdwname)
    from pg_catalog.pg_foreign_data_wrapper where fdwowner <> current_user::pg_catalog.regrole
  loop
    execute statement;
  end loop;
end $$";

/// Shuts `postgres` down, so that `cluster` is completely on disk.
async fn stop(postgres: Postmaster, cluster: &Path) -> Result<(), Error> {
    let log = postgres.tail().lines();
    match postgres.stop(Signal::INT).await {
        true => Ok(()),
        false => Err(Error::ended("postgres", cluster, "it did not shut down", log)),
    }
}

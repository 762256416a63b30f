//! Brings a cluster that an older major version of Postgres made over to a newer one.
//!
//! The old cluster is dumped while it runs alone, and restored into a new one beside it. Until the new one is whole, the
//! old one stays in its place; then it is renamed and kept. `pg_upgrade` would be faster, but the npm packages lack what
//! it needs of either version.

mod transfer;

use std::fs;
use std::path::{Path, PathBuf};

use rustix::process::Signal;

use super::account::Account;
use super::binaries::{Binaries, Search, Version};
use super::data_dir::{DataDir, SUPERUSER};
use super::error::Error;
use super::package::temporary_name;
use super::postmaster::{Plan, Postmaster};
use super::{Options, Progress, initdb, run_dir, setup};
use transfer::{End, Programs};

/// What has become of a data folder that was to be upgraded.
#[derive(Debug)]
pub enum Upgrade {
    /// It has no cluster yet.
    NoCluster,
    /// Its cluster is of the major version of these programs.
    Current(Version),
    /// Its cluster has been brought over.
    Done {
        /// The version that made the old cluster.
        from: Version,
        /// The version that the cluster has now.
        to: Version,
        /// Where the old cluster is kept.
        kept: PathBuf,
    },
}

/// See [`super::Cluster::upgrade`].
pub(super) async fn run(options: Options, old_folder: Option<&Path>) -> Result<Upgrade, Error> {
    let report = |step: Progress| {
        if let Some(listener) = &options.progress {
            listener(&step);
        }
    };
    let data = DataDir::lock(&options.data_dir)?;
    data.settle().await?;
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
        return Err(Error::KeptBefore { folder: kept });
    }
    let old = old_binaries(major, old_folder, &options.search, &copies, &data, &new).await?;
    let programs = Programs::find([&old, &new]).await?;
    let account = Account::choose(&data.cluster())?;
    let old = setup::runnable(old, account.as_ref(), &report).await?;
    let new = setup::runnable(new, account.as_ref(), &report).await?;
    let password = setup::cluster(options.password, false, &data, &old, account.as_ref(), &report).await?;
    let (from, to) = (old.version().clone(), new.version().clone());
    report(Progress::Upgrading { from: from.clone(), to: to.clone() });
    let staging = temporary_name(&data.cluster());
    let job = Job { data: &data, old, new, account, password: &password, programs, report: &report };
    let brought_over = job.bring_over(&staging).await;
    let placed = brought_over.and_then(|cluster| data.replace_cluster(&cluster, &kept));
    // Best effort: what stays is removed by the next start.
    let _ = fs::remove_dir_all(&staging);
    placed.map(|()| Upgrade::Done { from, to, kept })
}

/// The programs of the version `major`: in `named`, else wherever they are on this machine.
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

/// What an upgrade works with.
struct Job<'a> {
    data: &'a DataDir,
    old: Binaries,
    new: Binaries,
    account: Option<Account>,
    password: &'a str,
    programs: Programs,
    report: &'a (dyn Fn(Progress) + Sync),
}

impl Job<'_> {
    /// Makes the new cluster in `staging` and returns its folder. Nothing runs any more when this returns.
    async fn bring_over(&self, staging: &Path) -> Result<PathBuf, Error> {
        initdb::fill(staging, &self.new, self.account.as_ref(), self.password, false).await?;
        let cluster = staging.join("data");
        self.copy_settings(&cluster)?;
        let run_dir = run_dir::open(self.data.path(), self.account.as_ref())?;
        let plan = |binaries: &Binaries, cluster: &Path, port, log: &str| -> Result<Plan, Error> {
            Ok(Plan {
                binaries: binaries.clone(),
                account: self.account.clone(),
                cluster: cluster.canonicalize().map_err(Error::io("resolve", cluster))?,
                run_dir: run_dir.clone(),
                log_file: self.data.path().join("logs").join(log),
                port,
                tcp: false,
                throwaway: None,
            })
        };
        let end = |port, cluster| End {
            cluster,
            socket_dir: &run_dir,
            port,
            password: self.password,
            password_file: self.data.password_file(),
        };
        let old_plan = plan(&self.old, &self.data.cluster(), OLD_PORT, "postgres.log")?;
        let new_plan = plan(&self.new, &cluster, NEW_PORT, "upgrade.log")?;
        let old = old_plan.launch().await?;
        let transferred = match new_plan.launch().await {
            Ok(new) => {
                let ends = (end(OLD_PORT, &old_plan.cluster), end(NEW_PORT, &new_plan.cluster));
                let transferred = self.transfer(&ends.0, &ends.1).await;
                let stopped = stop(new, &cluster).await;
                transferred.and(stopped)
            }
            Err(error) => Err(error),
        };
        let stopped = stop(old, &self.data.cluster()).await;
        let _ = fs::remove_dir_all(&run_dir);
        transferred.and(stopped).map(|()| cluster)
    }

    /// Copies the files that an administrator has put into the old cluster's folder or edited there, and the vault's key.
    fn copy_settings(&self, cluster: &Path) -> Result<(), Error> {
        let old = self.data.cluster();
        for entry in fs::read_dir(&old).map_err(Error::io("read", &old))? {
            let file = entry.map_err(Error::io("read", &old))?.path();
            let name = file.file_name().unwrap_or_default();
            if !file.is_file() || OF_POSTGRES.iter().any(|own| name == *own) {
                continue;
            }
            let copy = cluster.join(name);
            fs::copy(&file, &copy).map_err(Error::io("copy", &file))?;
            if let Some(account) = &self.account {
                account.own(&copy).map_err(Error::io("change the owner of", &copy))?;
            }
        }
        Ok(())
    }

    /// Copies everything from `old` to `new`, which are both running.
    async fn transfer(&self, old: &End<'_>, new: &End<'_>) -> Result<(), Error> {
        let databases = old.databases().await?;
        self.check_extensions(old, &databases).await?;
        self.programs.copy_roles(old, new).await?;
        // Made anew by its dump, which alone has its settings and its encoding.
        new.execute(TEMPLATE, "drop database postgres").await?;
        for name in &databases {
            (self.report)(Progress::CopyingDatabase { name: name.clone() });
            self.programs.copy_database(name, old, new).await?;
            new.execute(name, "analyze").await?;
        }
        Ok(())
    }

    /// Errors: [`Error::NoExtensions`] where the new version lacks some that are in use.
    async fn check_extensions(&self, old: &End<'_>, databases: &[String]) -> Result<(), Error> {
        let present = self.new.extensions();
        let mut missing = Vec::new();
        for database in databases {
            missing.extend(old.list(database, "select extname from pg_extension").await?);
        }
        missing.sort();
        missing.dedup();
        missing.retain(|name| !present.contains(name));
        // A server whose folder of extensions is not found seems to lack what all have.
        if missing.is_empty() || !present.contains("plpgsql") {
            return Ok(());
        }
        Err(Error::NoExtensions { names: missing.join(", "), binaries: self.new.folder().to_owned() })
    }
}

/// What tells the sockets of the two clusters apart, which listen on nothing else.
const OLD_PORT: u16 = 5432;
const NEW_PORT: u16 = 5433;

/// The database that is there whatever becomes of the others.
const TEMPLATE: &str = "template1";

/// Files in a cluster's folder that belong to its version, or to one run of it.
const OF_POSTGRES: [&str; 6] =
    ["PG_VERSION", "postmaster.opts", "postmaster.pid", "basalt.conf", "backup_manifest", "current_logfiles"];

/// Shuts `postgres` down, so that all of `cluster` is on disk.
async fn stop(postgres: Postmaster, cluster: &Path) -> Result<(), Error> {
    let log = postgres.tail().lines();
    match postgres.stop(Signal::INT).await {
        true => Ok(()),
        false => Err(Error::ended("postgres", cluster, "it did not shut down", log)),
    }
}

//! The running services with their pools and tasks: started in order, stopped in the opposite order.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use ::platform::Access;
use backup::Objects;
use functions::Functions;
use gateway::Gateway;
use otlp::Export;
use postgres::{Database, PoolMetrics};
use storage::{BucketDefinition, Expiry, Sweeper};
use telemetry::SlowStatements;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use super::database_access::DatabaseAccess;
use super::platform::Databases;
use super::problems::Problems;
use super::{edge, metrics, nodes, scheduled_calls};
use crate::accept;
use crate::backend::{AUTH_ADMIN, AUTHENTICATOR, Backend, Logins, STORAGE_ADMIN};
use crate::backups::{self, KeptForBackups, StoredObjects};
use crate::console;
use crate::error::Error;
use crate::logging;
use crate::server;
use crate::settings::Settings;

/// How long background tasks may take to end.
const STOP_LIMIT: Duration = Duration::from_secs(5);

/// What the running services keep when they are made anew from changed settings, and what is shared by all of them.
pub(super) struct RunningServices {
    pub(super) gateway: Gateway,
    pub(super) rest: Option<rest::Rest>,
    pub(super) auth: Option<auth::Handles>,
    pub(super) storage: Option<storage::Handles>,
    pub(super) realtime: Option<realtime::Handles>,
    /// The pools of the platform interface.
    pub(super) platform: Option<Databases>,
    /// Verifies tokens for all services.
    pub(super) verifier: tokens::Verifier,
    /// The database that is pinged to check readiness.
    pub(super) probe: Database,
    /// The database that checks look at, as its administrator; `None` if another server does that.
    pub(super) watched: Option<Database>,
    /// How backups are, if this server makes some.
    pub(super) backups: Option<backup::Metrics>,
    /// Decides which node makes a scheduled call, if there are schedules.
    pub(super) take_call: Option<functions::TakeCall>,
    /// Cancelled when clients should send no more requests.
    pub(super) draining: CancellationToken,
    /// The table of slow statements.
    pub(super) slow: SlowStatements,
    /// All pools with their names in metrics.
    databases: Vec<(&'static str, Database)>,
    /// `None` if neither traces nor metrics are sent.
    export: Option<Export>,
    stop: CancellationToken,
    tasks: TaskTracker,
}

/// What services are made with, besides settings.
#[derive(Clone, Copy)]
pub(super) struct Parts<'s> {
    pub(super) keys: &'s tokens::Keys,
    pub(super) running: &'s RunningServices,
    pub(super) functions: Option<&'s Functions>,
    pub(super) platform: Option<&'s ::platform::Handles>,
    /// What is wrong; `None` if another server says that.
    pub(super) problems: Option<&'s Problems>,
    /// The address of the public port.
    pub(super) address: SocketAddr,
    pub(super) admin_address: SocketAddr,
}

impl RunningServices {
    /// Opens the pools and starts the services that `settings` enable, of a server at `address`. If one fails, the
    /// others are stopped: they would only log errors about the end of Postgres, after the actual reason.
    pub(super) async fn start(
        settings: &Settings,
        access: &DatabaseAccess<'_>,
        address: SocketAddr,
    ) -> Result<Self, Error> {
        let connections = &settings.services.connections;
        let authenticator = access.database(AUTHENTICATOR, |base| connections.apply_to(base)).await?;
        let export = Export::start(&settings.telemetry).map_err(Error::service("telemetry"))?;
        let tracer = export.as_ref().and_then(Export::tracer);
        let gateway = Gateway::new(settings.gateway.clone(), access.keys.clone(), tracer);
        let gateway = match settings.platform.access {
            Access::Off => gateway,
            _ => gateway.recording(logging::events()),
        };
        let mut running = Self {
            gateway,
            rest: None,
            auth: None,
            storage: None,
            realtime: None,
            platform: None,
            verifier: access.keys.verifier(),
            probe: authenticator.clone(),
            watched: None,
            backups: None,
            take_call: None,
            draining: CancellationToken::new(),
            slow: access.slow.clone(),
            databases: vec![("rest", authenticator.clone())],
            export,
            stop: CancellationToken::new(),
            tasks: TaskTracker::new(),
        };
        running.gateway.divide_connections(accept::max_connections(settings.gateway.max_connections));
        let started = running.start_services(settings, access, authenticator, address).await;
        match started {
            Ok(()) => Ok(running),
            Err(error) => {
                running.stop().await;
                Err(error)
            }
        }
    }

    async fn start_services(
        &mut self,
        settings: &Settings,
        access: &DatabaseAccess<'_>,
        authenticator: Database,
        address: SocketAddr,
    ) -> Result<(), Error> {
        let (keys, services) = (access.keys, &settings.services);
        let replicas = &services.connections.read_uris.servers;
        self.add_third_parties(&services.third_parties)?;
        let verifier = self.verifier.clone();
        if let Some(rest) = &services.rest {
            self.start_rest(rest::service(rest.clone(), authenticator, verifier.clone())).await;
        }
        if let Some(auth) = &services.auth {
            let adjusted = |base| postgres::Settings { replicas: replicas.clone(), ..base };
            let database = self.open(access, ("auth", AUTH_ADMIN), adjusted).await?;
            let handles = auth::Handles::new(database, keys.clone(), self.gateway.nodes(), auth);
            let handles = handles.map_err(Error::service("auth"))?;
            self.gateway.register(|registry| handles.register(registry));
            self.auth = Some(handles);
        }
        if let Some(storage) = &services.storage {
            let channel = services.connections.channel_enabled.then(|| storage::CHANNEL.to_owned());
            let adjusted = |base| postgres::Settings { channel, replicas: replicas.clone(), ..base };
            let database = self.open(access, ("storage", STORAGE_ADMIN), adjusted).await?;
            let storage = open_storage(storage, &database, keys, &verifier, &settings.buckets).await?;
            self.gateway.register(|registry| storage.register(registry));
            self.tasks.spawn(Sweeper::new(&storage).run(self.stop.clone()));
            self.tasks.spawn(Expiry::new(&storage).run(self.stop.clone()));
            self.storage = Some(storage);
        }
        if let Some(realtime) = &services.realtime {
            self.start_nodes(realtime.nats_url.expose(), keys);
            self.start_realtime(realtime, &services.connections, access).await?;
        }
        let is_copy = backup::is_copy(&settings.data_dir);
        if is_copy {
            // It would do what the original does: send mails, charge cards.
            tracing::warn!(
                "this is a restored copy: cron jobs, requests of pg_net and scheduled functions wait until `basalt backup adopt`"
            );
            self.take_call = Some(scheduled_calls::take_none());
        } else if services.functions.as_ref().is_some_and(|functions| !functions.schedules.is_empty()) {
            let database = access.backend.admin().await?;
            self.databases.push(("schedules", database.clone()));
            self.take_call = Some(scheduled_calls::take_from(database));
        }
        if settings.platform.access != Access::Off && settings.functions_api.is_none() {
            let databases = Databases::open(access).await?;
            self.databases.extend(databases.named());
            self.platform = Some(databases);
        }
        if settings.functions_api.is_none() {
            let watched = access.backend.admin().await?;
            self.databases.push(("health", watched.clone()));
            self.watched = Some(watched);
        }
        self.start_backups(settings, access.backend).await?;
        if !is_copy {
            self.start_workers(access.backend, address).await?;
        }
        self.report();
        Ok(())
    }

    /// Starts a task, which is told when it has to end.
    pub(super) fn spawn<F: Future<Output = ()> + Send + 'static>(
        &self,
        task: impl FnOnce(CancellationToken) -> F,
    ) {
        self.tasks.spawn(task(self.stop.clone()));
    }

    /// Registers the metrics that belong to no single service, and starts to send all metrics.
    fn report(&mut self) {
        let pools = PoolMetrics(self.databases.clone());
        let shared = metrics::shared(self.verifier.clone(), self.slow.clone());
        self.gateway.register(|registry| {
            registry.register_collector(Box::new(pools));
            registry.register_collector(shared);
        });
        if let Some(export) = &mut self.export {
            self.gateway.register(|registry| export.register(registry));
            export.report(self.gateway.metrics_reader());
        }
    }

    /// Starts the tasks that share counts and positions of writes between nodes, if there can be several nodes.
    fn start_nodes(&self, nats_url: &str, keys: &tokens::Keys) {
        if nats_url.is_empty() {
            return;
        }
        let gateway = self.gateway.clone();
        if let Some(rest) = &self.rest {
            rest.share_writes_with(gateway.nodes());
        }
        let subject = format!("basalt.nodes.{}", keys.derive("notes of nodes"));
        let seal = keys.message_seal("seals of notes");
        let transport = nodes::Transport { url: nats_url.to_owned(), subject: subject.into(), seal };
        self.tasks.spawn(nodes::transfer(gateway.nodes().clone(), transport, self.stop.clone()));
        let stop = self.stop.clone();
        self.tasks.spawn(async move { stop.run_until_cancelled(gateway.share_request_counts()).await });
    }

    /// Starts realtime with the login of the project's administrator: it checks policies as the callers' roles, whose
    /// functions could undo that. Only the replication stream needs another login: who may replicate may have any file
    /// loaded as a library, and read all of the cluster.
    async fn start_realtime(
        &mut self,
        settings: &realtime::Settings,
        connections: &rest::Connections,
        access: &DatabaseAccess<'_>,
    ) -> Result<(), Error> {
        let pool_size = settings.pool_size as usize;
        let (renewal, slow) = (access.renewal.clone(), access.slow.clone());
        // The channel has notifications of changes to tables, rights and policies.
        let channel = connections.channel_enabled.then(|| connections.channel.clone());
        let database = access
            .backend
            .project_with(|base| postgres::Settings {
                pool_size,
                renewal,
                slow,
                channel,
                application_name: "basalt-realtime".to_owned(),
                ..base
            })
            .await?;
        self.databases.push(("realtime", database.clone()));
        let replication = match access.backend.has_one_administrator() {
            true => database.clone(),
            false => {
                let replication = access.backend.admin().await?;
                self.databases.push(("replication", replication.clone()));
                replication
            }
        };
        let (keys, verifier) = (access.keys.clone(), self.verifier.clone());
        let realtime = realtime::Handles::new(settings, database, replication, keys, verifier);
        self.gateway.register(|registry| realtime.register(registry));
        self.tasks.spawn(realtime.clone().run(self.stop.clone()));
        self.realtime = Some(realtime);
        Ok(())
    }

    /// Starts the task that makes backups, if they are on. Storage then leaves to it what it no longer needs.
    async fn start_backups(&mut self, settings: &Settings, backend: &Backend) -> Result<(), Error> {
        let Some(repository) = &backend.repository else { return Ok(()) };
        let database = backend.admin().await?;
        self.databases.push(("backups", database.clone()));
        let objects = self
            .storage
            .as_ref()
            .map(|storage| -> Arc<dyn Objects> { Arc::new(StoredObjects(storage.versions())) });
        let running = backups::running(settings, backend, repository, &database, objects)?;
        let metrics = backup::Metrics::default();
        self.backups = Some(metrics.clone());
        self.gateway.register(|registry| metrics.register(registry));
        let options = backups::scratch_options(settings);
        let (task, retired) = backup::Task::new(repository.clone(), running, options, metrics.clone());
        if let Some(storage) = &self.storage {
            // What a killed process was about to retire.
            if backend.cluster.is_some() {
                let left = Sweeper::new(storage).left_behind().await.map_err(Error::service("backups"))?;
                retired.push(&left);
            }
            storage.set_keeper(KeptForBackups(retired));
        }
        let running = tokio::spawn(task.run(self.stop.clone()));
        self.tasks.spawn(async move {
            if let Err(error) = running.await {
                tracing::error!(%error, "nothing is backed up until the server is started anew");
                metrics.give_up();
            }
        });
        Ok(())
    }

    /// Starts the workers behind the extensions pg_cron and pg_net, which only the embedded Postgres has.
    async fn start_workers(&mut self, backend: &Backend, address: SocketAddr) -> Result<(), Error> {
        if backend.cluster.is_none() {
            return Ok(());
        }
        let admin = backend.admin().await?;
        self.databases.push(("workers", admin.clone()));
        self.tasks.spawn(cron::work(admin.clone(), self.stop.clone()));
        let stop = self.stop.clone();
        let api = edge::local_url(address);
        self.tasks.spawn(async move {
            if let Err(error) = net::work(admin, &api, stop).await {
                tracing::error!(error, "requests of pg_net are not sent");
            }
        });
        Ok(())
    }

    /// Accepts the tokens of `third_parties`, too, and starts a task that keeps their keys up to date.
    fn add_third_parties(&mut self, third_parties: &[String]) -> Result<(), Error> {
        if third_parties.is_empty() {
            return Ok(());
        }
        let third_parties = auth::ThirdParties::new(third_parties).map_err(Error::service("auth"))?;
        self.verifier = self.verifier.with_issuers(third_parties.issuers());
        let stop = self.stop.clone();
        self.tasks.spawn(async move { stop.run_until_cancelled(third_parties.keep_fresh()).await });
        Ok(())
    }

    /// Starts the task that keeps the schema cache up to date, and waits briefly until it is loaded, for the first
    /// request.
    async fn start_rest(&mut self, rest: rest::Rest) {
        let (service, stop) = (rest.clone(), self.stop.clone());
        self.tasks.spawn(async move { service.keep_fresh(stop).await });
        self.gateway.register(|registry| rest.register(registry));
        if !server::is_ready_in_time(rest.loaded()).await {
            tracing::warn!("the schema cache is not loaded yet; REST responds with 503 until it is");
        }
        self.rest = Some(rest);
    }

    async fn open(
        &mut self,
        access: &DatabaseAccess<'_>,
        (name, role): (&'static str, &str),
        adjust: impl FnOnce(postgres::Settings) -> postgres::Settings,
    ) -> Result<Database, Error> {
        let opened = access.database(role, adjust).await?;
        self.databases.push((name, opened.clone()));
        Ok(opened)
    }

    /// Ends the background tasks and closes the pools.
    pub(super) async fn stop(&self) {
        self.stop.cancel();
        self.tasks.close();
        if tokio::time::timeout(STOP_LIMIT, self.tasks.wait()).await.is_err() {
            tracing::warn!("background tasks did not end in time");
        }
        for (_, database) in self.databases.iter().rev() {
            database.close().await;
        }
        if let Some(export) = &self.export {
            export.stop().await;
        }
    }
}

/// Uploads the files of the project's buckets, as a start does. A server may be running at the same time.
pub(in crate::commands) async fn fill_buckets(
    settings: &Settings,
    backend: &Backend,
    logins: Logins,
    keys: &tokens::Keys,
) -> Result<(), Error> {
    let Some(storage) = &settings.services.storage else { return Ok(()) };
    let access =
        DatabaseAccess::new(backend, logins, keys, SlowStatements::default(), settings.database.pool_size);
    let database = access.database(STORAGE_ADMIN, |base| base).await?;
    let filled = open_storage(storage, &database, keys, &keys.verifier(), &settings.buckets).await;
    database.close().await;
    filled.map(drop)
}

/// Opens the object store and fills `buckets`.
async fn open_storage(
    settings: &storage::Settings,
    database: &Database,
    keys: &tokens::Keys,
    verifier: &tokens::Verifier,
    buckets: &[BucketDefinition],
) -> Result<storage::Handles, Error> {
    let handles = storage::Handles::new(settings, database.clone(), keys.clone(), verifier.clone()).await;
    let handles = handles.map_err(Error::service("storage"))?;
    seed(settings, &handles, buckets).await?;
    Ok(handles)
}

async fn seed(
    settings: &storage::Settings,
    handles: &storage::Handles,
    buckets: &[BucketDefinition],
) -> Result<(), Error> {
    for bucket in buckets {
        let report = storage::seed_bucket(settings, handles, bucket).await;
        let report = report.map_err(|source| Error::Bucket { bucket: bucket.name.clone(), source })?;
        if report.uploaded > 0 {
            console::step(format_args!("bucket {}: {} files uploaded", bucket.name, report.uploaded));
        }
    }
    Ok(())
}

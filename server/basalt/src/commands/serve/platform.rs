//! The start of the platform interface, and what connects it with the other services.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;

use ::platform::{
    Backups, CHANNEL, Configurable, DatabaseGate, FunctionRuntime, Handles, Health, LOGS_READER, LogParts,
    Parts, PostgresRefusal, PostgresSettings, READER, ServiceHealth, TakeCalls, Version,
};
use embedded::{OverrideError, Overrides};
use functions::{DeployedFunction, Deployment, Function, Functions, Secrets};
use futures_util::FutureExt as _;
use futures_util::future::BoxFuture;
use postgres::{Database, Transaction, text};
use settings::Managed;

use super::database_access::DatabaseAccess;
use super::managed::Orders;
use super::services::RunningServices;
use crate::backend::{self, Logins};
use crate::database_port::Gate;
use crate::error::Error;
use crate::logging;
use crate::settings::Settings;

/// The folder in the data folder in which deployed functions are laid out.
const FUNCTIONS: &str = "functions";
/// How many statements of the interface itself run at the same time.
const POOL: usize = 4;
/// How long the question for a role may take.
const QUESTION_LIMIT: std::time::Duration = std::time::Duration::from_secs(10);

/// The pools of the platform interface.
#[derive(Clone)]
pub(super) struct Databases {
    store: Database,
    project: Database,
    reader: Option<Database>,
    /// The password of [`LOGS_READER`]; `None` if this server may not have that role.
    logs_password: Option<String>,
}

impl Databases {
    /// Opens the pools.
    pub(super) async fn open(access: &DatabaseAccess<'_>) -> Result<Self, Error> {
        let store = postgres::Settings {
            client_pool_size: POOL,
            pool_size: POOL,
            channel: Some(CHANNEL.to_owned()),
            application_name: "basalt-platform".to_owned(),
            slow: access.slow.clone(),
            ..access.backend.admin_settings()
        };
        let store = Database::connect(store).await?;
        let project = access
            .backend
            .project_with(|base| postgres::Settings {
                client_pool_size: POOL,
                pool_size: 1,
                application_name: "basalt-platform".to_owned(),
                renewal: access.renewal.clone(),
                slow: access.slow.clone(),
                ..base
            })
            .await?;
        let reader = match access.logins == Logins::OwnRoles && has_role(&store, READER).await? {
            true => {
                let small = |base| postgres::Settings { client_pool_size: 2, pool_size: 2, ..base };
                Some(access.database(READER, small).await?)
            }
            false => None,
        };
        let logs_password = match access.logins == Logins::OwnRoles && has_role(&store, LOGS_READER).await? {
            true => Some(backend::password(access.keys, LOGS_READER)),
            false => None,
        };
        Ok(Self { store, project, reader, logs_password })
    }

    /// Returns the pools by their names in metrics.
    pub(super) fn named(&self) -> Vec<(&'static str, Database)> {
        let mut named = vec![("platform", self.store.clone()), ("platform_project", self.project.clone())];
        named.extend(self.reader.clone().map(|reader| ("platform_reader", reader)));
        named
    }
}

async fn has_role(database: &Database, role: &str) -> Result<bool, Error> {
    let question = "select 1 from pg_catalog.pg_roles where rolname = $1";
    let transaction = Transaction::anonymous().read_only().statement(question, vec![text(role)]);
    Ok(database.run(&transaction.timeout(QUESTION_LIMIT)).await?.row().is_some())
}

/// What the platform interface needs besides the services.
pub(super) struct Surroundings {
    /// Decides who may connect to the database from other machines.
    pub(super) gate: Option<Arc<Gate>>,
    /// The settings of Postgres, if that is this program's.
    pub(super) postgres: Option<Overrides>,
    /// Makes backups of the database, if they are on.
    pub(super) backups: Option<Arc<dyn Backups>>,
    /// Takes changes of settings, if they can be read again, with the managed settings that the services were made with.
    pub(super) server: Option<(Arc<Orders>, Managed)>,
}

/// Starts the platform interface beside the `running` services; `None` if it is off.
pub(super) async fn start(
    settings: &Settings,
    keys: &tokens::Keys,
    running: &RunningServices,
    functions: Option<&Functions>,
    Surroundings { gate, postgres, backups, server }: Surroundings,
) -> Result<Option<Handles>, Error> {
    let Some(databases) = running.platform.clone() else { return Ok(None) };
    let runtime = functions.map(|functions| {
        let runtime: Arc<dyn FunctionRuntime> = Arc::new(Runtime(functions.clone()));
        // Deno names files by paths without `..`.
        let data_dir = settings.data_dir.canonicalize().unwrap_or_else(|_| settings.data_dir.clone());
        (runtime, data_dir.join(FUNCTIONS))
    });
    let Databases { store, project, reader, logs_password: password } = databases;
    let gate = gate.map(|gate| -> Arc<dyn DatabaseGate> { gate });
    let (keys, functions, health) = (keys.clone(), runtime, health(running));
    let (server, managed) = server.unzip();
    let (server, managed) =
        (server.map(|server| -> Arc<dyn Configurable> { server }), managed.unwrap_or_default());
    let postgres_log = postgres.is_some().then(|| embedded::log_file(&settings.data_dir));
    let postgres =
        postgres.map(|overrides| -> Arc<dyn PostgresSettings> { Arc::new(OwnPostgres(overrides)) });
    let logs = LogParts { events: logging::events(), postgres_log, password };
    let parts = Parts {
        store,
        project,
        reader,
        keys,
        functions,
        gate,
        postgres,
        server,
        managed,
        health,
        logs,
        backups,
    };
    let handles = Handles::new(&settings.platform, parts).await.map_err(Error::Advice)?;
    running.spawn(|stop| handles.clone().keep_fresh(stop));
    Ok(Some(handles))
}

/// Asks the services how they are: all but REST live or die with the database. Those that are off are left out.
fn health(running: &RunningServices) -> Health {
    let (database, rest) = (running.probe.clone(), running.rest.clone());
    let has = [
        ("auth", running.auth.is_some()),
        ("realtime", running.realtime.is_some()),
        ("storage", running.storage.is_some()),
    ];
    Arc::new(move || {
        let (database, rest) = (database.clone(), rest.clone());
        async move {
            let state = database.ping().await.map_err(|error| error.to_string());
            let of_rest = rest.map(|rest| match rest.is_ready() {
                true => state.clone(),
                false => Err("The schema cache is not loaded".to_owned()),
            });
            let mut states: Vec<ServiceHealth> =
                has.into_iter().filter(|(_, is_on)| *is_on).map(|(name, _)| (name, state.clone())).collect();
            states.extend(of_rest.map(|state| ("rest", state)));
            states
                .extend(["db", "db_postgres_user", "pooler", "pg_bouncer"].map(|name| (name, state.clone())));
            states
        }
        .boxed()
    })
}

/// Changes settings of the Postgres that this program runs.
struct OwnPostgres(Overrides);

impl PostgresSettings for OwnPostgres {
    fn read<'a>(
        &'a self,
        names: &'a [&'a str],
    ) -> BoxFuture<'a, Result<BTreeMap<String, String>, PostgresRefusal>> {
        async { self.0.read(names).await.map_err(refusal) }.boxed()
    }

    fn replace<'a>(
        &'a self,
        names: &'a [&'a str],
        values: &'a BTreeMap<String, String>,
        may_restart: bool,
    ) -> BoxFuture<'a, Result<(), PostgresRefusal>> {
        async move { self.0.replace(names, values, may_restart).await.map_err(refusal) }.boxed()
    }
}

fn refusal(error: OverrideError) -> PostgresRefusal {
    match error {
        OverrideError::Refused(message) => PostgresRefusal::Refused(message),
        failed @ OverrideError::Failed(_) => PostgresRefusal::Failed(failed.to_string()),
    }
}

/// Runs deployed functions in the service of functions.
struct Runtime(Functions);

impl FunctionRuntime for Runtime {
    fn download_imports<'a>(&'a self, version: &'a Version) -> BoxFuture<'a, Result<(), String>> {
        async move { self.0.download_imports(&deployed(version)).await }.boxed()
    }

    fn boot<'a>(&'a self, version: &'a Version) -> BoxFuture<'a, Result<TakeCalls, String>> {
        async move {
            let booted = self.0.boot(&deployed(version)).await?;
            let take_calls: TakeCalls = Box::new(move || booted.take_calls());
            Ok(take_calls)
        }
        .boxed()
    }

    fn set_deployments(&self, versions: Vec<Version>) {
        let all: BTreeMap<_, _> =
            versions.iter().map(|version| (version.slug.clone(), deployed(version))).collect();
        self.0.set_deployments(all);
    }

    fn set_secrets(&self, secrets: BTreeMap<String, String>) {
        self.0.set_secrets(Secrets(secrets));
    }
}

fn deployed(version: &Version) -> DeployedFunction {
    let folder: PathBuf = version.folder.clone();
    DeployedFunction {
        name: version.slug.clone(),
        entry_point: version.entry_point.clone(),
        function: Function {
            verify_jwt: version.verify_jwt,
            import_map: version.import_map.clone(),
            ..Function::default()
        },
        deployment: Some(Deployment { version: version.version, folder, lock: version.lock.clone() }),
    }
}

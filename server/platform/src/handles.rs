//! What the platform interface keeps when it is made anew from changed settings.

use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use data_encoding::HEXLOWER;
use futures_util::future::BoxFuture;
use parking_lot::RwLock;
use postgres::Database;
use serde_json::Value;
use settings::Managed;
use tokens::{ApiKeyKind, Keys, ValueSeal};
use tokio_util::sync::CancellationToken;

use crate::access::Failures;
use crate::backups::Backups;
use crate::console::Console;
use crate::deployments::Deployments;
use crate::gate::DatabaseGate;
use crate::logs::{LogParts, Logs};
use crate::managed::{Configurable, ServiceConfig};
use crate::postgres_settings::PostgresSettings;
use crate::project::Project;
use crate::runtime::FunctionRuntime;
use crate::services::{Service, ServiceEndpoint};
use crate::store;
use crate::{Error, Settings};

/// The pause before another attempt to read what has changed, and the longest time without one: a notice may be lost.
const PAUSE: Duration = Duration::from_secs(1);
const LONGEST: Duration = Duration::from_secs(30);

/// How many clients a network may register each minute. So those of one network do not push out a new client before its
/// operator can have agreed.
const REGISTRATIONS: u32 = 60;

/// The state of one service: its name in the interface, and what is wrong with it.
pub type ServiceHealth = (&'static str, Result<(), String>);

/// Asks all services how they are.
pub type Health = Arc<dyn Fn() -> BoxFuture<'static, Vec<ServiceHealth>> + Send + Sync>;

/// Returns the list of what is wrong with the server.
pub type ProblemList = Arc<dyn Fn() -> BoxFuture<'static, Value> + Send + Sync>;

/// What the service is made with.
pub struct Parts {
    /// Connects as the owner of schema `basalt_platform`, and listens to [`crate::CHANNEL`].
    pub store: Database,
    /// Connects as the project's administrator.
    pub project: Database,
    /// Connects as `supabase_read_only_user`; `None` if this server may not have that role.
    pub reader: Option<Database>,
    /// The server's keys, to which API keys are added.
    pub keys: Keys,
    /// What runs functions, and the folder in which their files are laid out; `None` if functions are off.
    pub functions: Option<(Arc<dyn FunctionRuntime>, PathBuf)>,
    /// What decides who may connect to the database from other machines; `None` if nobody may.
    pub gate: Option<Arc<dyn DatabaseGate>>,
    /// Changes settings of Postgres; `None` if it does not belong to this server.
    pub postgres: Option<Arc<dyn PostgresSettings>>,
    /// What is made of the settings; `None` if they cannot be changed while the server runs.
    pub server: Option<Arc<dyn Configurable>>,
    /// The managed settings that it was made of.
    pub managed: Managed,
    /// Asks all services how they are.
    pub health: Health,
    /// What logs are made of.
    pub logs: LogParts,
    /// What makes backups of the database; `None` if nothing does.
    pub backups: Option<Arc<dyn Backups>>,
}

/// What the service keeps; cheap to clone.
#[derive(Clone)]
pub struct Handles(pub(crate) Arc<Inner>);

pub(crate) struct Inner {
    pub(crate) store: Database,
    pub(crate) project_database: Database,
    pub(crate) reader: Option<Database>,
    pub(crate) console: Console,
    pub(crate) keys: Keys,
    pub(crate) seal: ValueSeal,
    pub(crate) project: Project,
    pub(crate) deployments: Option<Deployments>,
    pub(crate) failures: Failures,
    /// Registrations of clients, which anybody may send.
    pub(crate) registrations: Failures,
    pub(crate) gate: Option<Arc<dyn DatabaseGate>>,
    pub(crate) postgres: Option<Arc<dyn PostgresSettings>>,
    pub(crate) health: Health,
    pub(crate) server: Option<Arc<dyn Configurable>>,
    /// The managed settings that were used last, or that could not be used. Held while they are changed.
    pub(crate) managed: tokio::sync::Mutex<Managed>,
    pub(crate) logs: Logs,
    pub(crate) backups: Option<Arc<dyn Backups>>,
    /// Held while a migration is applied or recorded, so that the next request sees its key and its version.
    pub(crate) migrating: tokio::sync::Mutex<()>,
    pub(crate) auth: Service,
    pub(crate) rest: Service,
    /// `None` until the server looks for problems.
    pub(crate) problems: RwLock<Option<ProblemList>>,
    runtime: Option<Arc<dyn FunctionRuntime>>,
    has_token: AtomicBool,
    /// Tells requests that something has changed, such as that their tokens were revoked.
    changed: tokio::sync::watch::Sender<()>,
}

impl Handles {
    /// Finds the project in the database, or makes it, and puts its deployed functions, secrets and API keys in force.
    ///
    /// Errors: a sentence for the operator.
    pub async fn new(settings: &Settings, parts: Parts) -> Result<Self, String> {
        if let Some(wrong) =
            settings.project_ref.as_deref().filter(|text| !crate::project::is_reference(text))
        {
            return Err(format!("basalt.platform.ref: expected 20 lowercase letters, found {wrong:?}"));
        }
        let Parts {
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
        } = parts;
        let identity = Project::load(&store, &keys, settings).await.map_err(Error::described)?;
        let runtime = functions.as_ref().map(|(runtime, _)| Arc::clone(runtime));
        let deployments = functions.map(|(runtime, folder)| Deployments::new(store.clone(), runtime, folder));
        let inner = Inner {
            console: Console::new(project.clone(), reader.clone()),
            seal: crate::seal::of(&keys),
            failures: Failures::new(settings.failures_per_minute),
            registrations: Failures::new(REGISTRATIONS),
            has_token: AtomicBool::new(false),
            changed: tokio::sync::watch::Sender::default(),
            project_database: project,
            project: identity,
            store,
            reader,
            keys,
            deployments,
            runtime,
            gate,
            postgres,
            health,
            server,
            managed: tokio::sync::Mutex::new(managed),
            logs: Logs::new(logs),
            backups,
            migrating: tokio::sync::Mutex::default(),
            auth: Service::default(),
            rest: Service::default(),
            problems: RwLock::default(),
        };
        inner.refresh().await.map_err(Error::described)?;
        if let Some(deployments) = &inner.deployments {
            deployments.load(&inner.project.reference()).await.map_err(Error::described)?;
        }
        Ok(Self(Arc::new(inner)))
    }

    /// Returns the reference of the project.
    pub fn project_ref(&self) -> String {
        self.0.project.reference()
    }

    /// Sets the auth service, which is made anew when settings have changed.
    pub fn set_auth(&self, endpoint: ServiceEndpoint) {
        self.0.auth.set(endpoint);
    }

    /// Sets the REST service.
    pub fn set_rest(&self, endpoint: ServiceEndpoint) {
        self.0.rest.set(endpoint);
    }

    /// Sets what returns the list of problems.
    pub fn set_problems(&self, list: ProblemList) {
        *self.0.problems.write() = Some(list);
    }

    /// Follows what other nodes change, until `stop` is cancelled.
    pub async fn keep_fresh(self, stop: CancellationToken) {
        let mut notices = self.0.store.notifications();
        let follow = async {
            loop {
                // Without a listener, or if a notice is lost, the timer is what notices a change.
                let _ = tokio::time::timeout(LONGEST, notices.changed()).await;
                while let Err(error) = self.0.follow().await {
                    tracing::warn!(%error, "changes over the platform interface are not followed yet");
                    tokio::time::sleep(PAUSE).await;
                }
            }
        };
        stop.run_until_cancelled(follow).await;
    }
}

impl Inner {
    /// Reports whether there was an access token when that was looked up last.
    pub(crate) fn has_token(&self) -> bool {
        self.has_token.load(Ordering::Relaxed)
    }

    /// Returns once the token of `operator` is valid no more.
    pub(crate) async fn revoked(&self, operator: uuid::Uuid) {
        let mut changed = self.changed.subscribe();
        // The sender lives as long as this does.
        while changed.changed().await.is_ok() {
            if matches!(store::tokens::is_valid(&self.store, operator).await, Ok(false)) {
                return;
            }
        }
    }

    /// Reads again what may have changed, and puts it in force on this node.
    pub(crate) async fn follow(&self) -> Result<(), Error> {
        self.refresh().await?;
        self.follow_settings().await?;
        match &self.deployments {
            Some(deployments) => deployments.follow(&self.project.reference()).await,
            None => Ok(()),
        }
    }

    /// Uses the managed settings if they have changed.
    async fn follow_settings(&self) -> Result<(), Error> {
        let Some(server) = &self.server else { return Ok(()) };
        let mut used = self.managed.lock().await;
        let found = store::settings::read(&self.store, &self.seal).await?.settings;
        if found != *used {
            // What cannot be used here stays unused until it changes again; the server has said why.
            let _ = self.use_settings(server, &mut used, found).await;
        }
        Ok(())
    }

    /// Uses managed settings in place of those that are `used`, and returns what the settings are then.
    ///
    /// Errors: a sentence about a setting that is not valid.
    pub(crate) async fn use_settings(
        &self,
        server: &Arc<dyn Configurable>,
        used: &mut Managed,
        settings: Managed,
    ) -> Result<ServiceConfig, String> {
        used.clone_from(&settings);
        server.apply(settings).await
    }

    /// Does what [`Self::follow`] does, except for functions and settings.
    pub(crate) async fn refresh(&self) -> Result<(), Error> {
        let project = self.project.reference();
        self.has_token.store(store::tokens::exist(&self.store).await?, Ordering::Relaxed);
        self.changed.send_replace(());
        if let Err(error) = store::login_roles::remove_revoked(&self.store).await {
            tracing::warn!(%error, "login roles of revoked access tokens are not removed yet");
        }
        let further = store::api_keys::list(&self.store, &project).await?;
        let further = further.iter().filter_map(|row| {
            let hash = HEXLOWER.decode(row.hash.as_bytes()).ok()?;
            let kind = if row.kind == "secret" { ApiKeyKind::Secret } else { ApiKeyKind::Publishable };
            Some((<[u8; 32]>::try_from(hash).ok()?, kind))
        });
        self.keys.api_keys().set_further(further.collect::<HashMap<_, _>>());
        if let Some(gate) = &self.gate {
            let settings = store::network::read(&self.store, &project).await?;
            match settings.rules() {
                Ok(rules) => gate.set_rules(rules),
                Err(wrong) => tracing::error!(wrong, "what is kept about networks cannot be read"),
            }
        }
        if let Some(runtime) = &self.runtime {
            runtime.set_secrets(store::secrets::values(&self.store, &project, &self.seal).await?);
        }
        Ok(())
    }

    /// Returns the database in which the advisors and other reads look.
    pub(crate) fn reading_database(&self) -> &Database {
        self.reader.as_ref().unwrap_or(&self.project_database)
    }
}

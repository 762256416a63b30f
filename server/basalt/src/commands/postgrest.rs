//! `basalt postgrest`: REST of any database, with the arguments, the file and the variables of the `postgrest` binary,
//! which it replaces.
//!
//! The service is at `/`, without API keys; nothing is written to disk, and nothing in the database is changed.
//!
//! Source: PostgREST's documentation, "CLI" and "Configuration".

mod action;
mod reload;

use std::path::PathBuf;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use clap::Args;
use postgres::Database;
use rest::Rest;
use settings::Variables;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use super::block_on;
use crate::error::Error;
use crate::server::{self, BoundEndpoint, BoundListener};
use crate::settings::PostgrestSettings;
use crate::{accept, console, logging};
use action::Action;
use reload::SettingsSource;

/// The SQLSTATE of a refused password.
const WRONG_PASSWORD: &str = "28P01";
/// How long a connection to the API's own port may take. The admin server connects to it to check that it is open.
const PROBE_LIMIT: Duration = Duration::from_secs(1);
/// How often the database is checked: until it first responds, or always if the process ends when it loses the
/// database.
const PING_INTERVAL: Duration = Duration::from_secs(1);

/// Arguments of `postgrest`.
#[derive(Debug, Args)]
pub(super) struct Arguments {
    /// PostgREST's configuration file; PGRST_* variables override it
    #[arg(value_name = "FILENAME")]
    file: Option<PathBuf>,
    /// Print the settings, including those in the database, and exit
    #[arg(long, group = "action")]
    dump_config: bool,
    /// Print the schema cache as JSON and exit
    #[arg(long, group = "action")]
    dump_schema: bool,
    /// Ask the admin server whether it is ready; exits with 1 unless it is
    #[arg(long, group = "action")]
    ready: bool,
    /// Print a configuration file with every setting and its default and exit
    #[arg(short, long, group = "action")]
    example: bool,
    /// Print the version and exit
    #[arg(short = 'v', long, group = "action")]
    version: bool,
}

impl Arguments {
    /// Reports whether the command runs a server.
    pub(super) fn is_server(&self) -> bool {
        self.action().is_none() && !self.example && !self.version
    }

    fn action(&self) -> Option<Action> {
        let actions = [
            (self.dump_config, Action::DumpConfig),
            (self.dump_schema, Action::DumpSchema),
            (self.ready, Action::Ready),
        ];
        actions.into_iter().find_map(|(is_chosen, action)| is_chosen.then_some(action))
    }
}

/// Runs the command in a process that has `variables`, with a log in `format`.
pub(super) fn run(arguments: Arguments, variables: Variables, format: logging::Format) -> Result<(), Error> {
    if arguments.version {
        console::print(concat!("basalt ", env!("CARGO_PKG_VERSION")));
        return Ok(());
    }
    if arguments.example {
        console::print(rest::StandaloneSettings::example().trim_end());
        return Ok(());
    }
    let action = arguments.action();
    let source = SettingsSource { file: arguments.file, variables };
    let settings = source.read().inspect_err(|_| logging::start(format, None, &source.variables))?;
    logging::start(format, Some(&settings.standalone.server.log_level), &source.variables);
    match action {
        Some(action) => block_on(action::run(settings, action)),
        None => block_on(serve(settings, source)),
    }
}

/// Serves until SIGINT or SIGTERM or, without automatic recovery, until the database cannot be reached. On SIGUSR1 and
/// SIGUSR2 settings and schema cache are read again.
async fn serve(settings: PostgrestSettings, source: SettingsSource) -> Result<(), Error> {
    logging::log_warnings(&settings.standalone.warnings);
    let stop = server::begin()?;
    let reloads = reload::Signals::listen()?;
    let database = Database::connect(settings.database.clone()).await?;
    let reader = source.reader(settings.standalone.service.clone());
    let rest = rest::service_from(reader, database.clone(), None);
    let (tasks, keeper, ending) = (TaskTracker::new(), rest.clone(), stop.clone());
    tasks.spawn(async move { keeper.keep_fresh(ending).await });
    tasks.spawn(reloads.obey(rest.clone(), stop.clone()));

    let served = tokio::select! {
        served = serve_ports(&settings, &rest, &stop) => served,
        error = unusable(&database, settings.standalone.server.automatic_recovery) => Err(error),
    };

    stop.cancel();
    tasks.close();
    tasks.wait().await;
    database.close().await;
    served
}

/// Serves the admin server at once, and the API as soon as there is a schema cache or loading it has failed.
async fn serve_ports(
    settings: &PostgrestSettings,
    rest: &Rest,
    stop: &CancellationToken,
) -> Result<(), Error> {
    let admin = match &settings.admin {
        Some(address) => Some(server::listen("Admin server", address, false).await?),
        None => None,
    };
    let api: Arc<OnceLock<BoundEndpoint>> = Arc::default();
    let administration = async {
        if let Some(BoundListener { acceptor, endpoint: _endpoint }) = admin {
            server::serve(acceptor, rest.admin(probe(&api)), accept::may_write, stop).await;
        }
    };
    let service = async {
        wait_until_tried(rest).await;
        let reuse_port = settings.standalone.server.reuseport;
        let listening = server::listen("API server", &settings.address, reuse_port).await;
        let BoundListener { acceptor, endpoint } = listening.inspect_err(|_| stop.cancel())?;
        let _ = api.set(endpoint);
        server::serve(acceptor, rest.standalone(), accept::may_write, stop).await;
        Ok(())
    };
    let ((), served) = tokio::join!(administration, service);
    served
}

/// Waits until the schema cache has been loaded or a load has failed, so that the first client gets a definite
/// response.
async fn wait_until_tried(rest: &Rest) {
    if !server::is_ready_in_time(rest.tried()).await || !rest.is_ready() {
        tracing::warn!("the schema cache is not loaded yet; every request gets 503 until it is");
    }
}

/// Waits until the database is permanently unusable, and returns the reason: it refuses the password at the start, or,
/// if `recovers` is false, it cannot be reached at any time.
async fn unusable(database: &Database, recovers: bool) -> Error {
    loop {
        match database.ping().await {
            Err(postgres::Error::Postgres(error)) if error.code == WRONG_PASSWORD => {
                return Error::Advice(format!("the database refuses the login: {}", error.message));
            }
            Err(error) if error.is_unavailable() && !recovers => {
                return Error::Advice(format!(
                    "the database is not available ({error}) and db-pool-automatic-recovery is off: start again once it is"
                ));
            }
            Ok(()) if recovers => return std::future::pending().await,
            _ => {}
        }
        tokio::time::sleep(PING_INTERVAL).await;
    }
}

/// Returns a function that reports whether `api` accepts connections.
fn probe(api: &Arc<OnceLock<BoundEndpoint>>) -> rest::Probe {
    let api = Arc::clone(api);
    Arc::new(move || {
        let api = Arc::clone(&api);
        Box::pin(async move {
            match api.get() {
                Some(endpoint) => {
                    tokio::time::timeout(PROBE_LIMIT, endpoint.is_open()).await.unwrap_or(false)
                }
                None => false,
            }
        })
    })
}

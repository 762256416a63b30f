//! Edge functions' interface: `/functions/v1/<name>` calls the function of that name.
//!
//! A call goes through `verify` (checks the caller's token), `worker` (the function's Deno process, started on demand
//! and watched) and `relay` (sends the call to the process and returns its response). Functions written for the hosted
//! platform run unchanged: what its runtime adds to Deno is in `worker/worker.js`.
//!
//! Limits of a call: `worker::slot` says how long it waits for its turn, `worker::connections` when its response must
//! begin, `relay::response_body` when it must end, and `worker` how much memory and processor time its process may
//! take.

mod deno;
mod deployments;
mod doubles;
mod error;
mod metrics;
mod registration;
mod relay;
mod schedule;
mod session;
mod settings;
mod socket;
mod state;
mod trace;
mod verify;
mod watch;
mod worker;

use std::collections::HashMap;
use std::os::unix::fs::DirBuilderExt as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use gateway::Caller;
use http::{Method, StatusCode};
use parking_lot::RwLock;
use poem::{Endpoint, Request, Response, endpoint};
use tokens::Verifier;

pub use deno::NoDeno;
pub use deployments::Booted;
pub use doubles::Double;
pub use schedule::TakeCall;
pub use session::{Overrides, Session};
pub use settings::{
    DeployedFunction, Deployment, Function, KNOWN_KEYS, Limits, Secrets, Settings, is_name,
    settings_that_need_a_restart,
};
pub use state::FunctionState;

use error::Error;
use relay::{IncomingCall, Origin};
use watch::Concerned;
use worker::{Host, Processes};

/// The script that starts a function inside Deno.
const SCRIPT: &str = include_str!("worker/worker.js");
/// The methods that functions can be called with. Source: Supabase's guides "Routing" and "Status codes" of edge
/// functions; `HEAD` is allowed wherever `GET` is.
const METHODS: [Method; 7] =
    [Method::GET, Method::HEAD, Method::POST, Method::PUT, Method::PATCH, Method::DELETE, Method::OPTIONS];

/// How long processes may take to end.
const STOP_LIMIT: Duration = Duration::from_secs(5);

/// The functions of a project; cheap to clone.
#[derive(Clone)]
pub struct Functions(Arc<Inner>);

pub(crate) struct Inner {
    host: Arc<Host>,
    verifier: Verifier,
    /// The functions that have been called.
    processes: RwLock<HashMap<String, Arc<Processes>>>,
}

impl Functions {
    /// Prepares to run functions, and starts those that are configured to start before their first call. `platform` has
    /// the platform's variables for every function: `SUPABASE_URL`, keys and so on. `take_call` decides which of
    /// several servers makes a scheduled call; without it this server makes all. Must be called inside a Tokio runtime.
    ///
    /// Errors: when the folder for sockets cannot be created.
    pub fn start(
        settings: Settings,
        platform: Secrets,
        verifier: Verifier,
        take_call: Option<&TakeCall>,
    ) -> std::io::Result<Self> {
        let sockets = std::env::temp_dir().join(format!("basalt-{}", uuid::Uuid::new_v4().simple()));
        std::fs::DirBuilder::new().mode(0o700).create(&sockets)?;
        let script = sockets.join("worker.js");
        std::fs::write(&script, SCRIPT)?;
        std::fs::create_dir_all(&settings.cache)?;
        let host = Arc::new(Host::new(settings, platform, script, sockets));
        let inner = Arc::new(Inner { verifier, processes: RwLock::default(), host });
        let configuration = inner.host.configuration();
        let settings = &configuration.settings;
        if settings.watch {
            inner.host.watcher.start(&settings.folder, Arc::downgrade(&inner));
        }
        for name in &settings.ahead {
            match inner.processes(name) {
                // A failure is logged, and the first call tries it again.
                Ok(processes) => drop(tokio::spawn(async move { processes.for_body(Some(0)).start().await })),
                Err(_) => tracing::warn!(function = name, "there is no such function to start ahead"),
            }
        }
        schedule::run(&inner, take_call);
        Ok(Self(inner))
    }

    /// Changes the settings. Calls that run end as they began, and the next call of each function starts a new process.
    /// What [`settings_that_need_a_restart`] names stays as it is.
    pub fn configure(&self, settings: Settings) {
        let host = &self.0.host;
        let current = host.configuration();
        let settings = settings.with_fixed_of(&current.settings);
        if settings == current.settings {
            return;
        }
        host.configure(settings);
        self.0.renew_all();
    }

    /// Returns the service, with paths relative to its mount point (`/functions/v1`): the first segment names the
    /// function. Expects a [`gateway::Caller`] in every request's extensions, and a [`gateway::Layered`] that leaves
    /// CORS to the service.
    pub fn endpoint(&self) -> impl Endpoint<Output = Response> + use<> {
        let inner = Arc::clone(&self.0);
        endpoint::make(move |request| {
            // Boxed because it is moved through many futures, each of which would have room for it.
            let (inner, request) = (Arc::clone(&inner), Box::new(request));
            async move { Ok::<_, poem::Error>(inner.respond(request).await) }
        })
    }

    /// Adds the service's metrics to `registry`.
    pub fn register(&self, registry: &mut prometheus_client::registry::Registry) {
        registration::register(&self.0, registry);
    }

    /// Returns how the functions are that have been called since they were changed last.
    pub fn states(&self) -> Vec<FunctionState> {
        state::states(&self.0)
    }

    /// Ends all processes. Those with background work get a short time to finish it.
    pub async fn stop(&self) {
        let host = &self.0.host;
        host.stop.cancel();
        host.tasks.close();
        if tokio::time::timeout(STOP_LIMIT, host.tasks.wait()).await.is_err() {
            tracing::warn!("functions did not end in time");
        }
        if let Err(error) = tokio::fs::remove_dir_all(&host.sockets).await {
            tracing::warn!(%error, "the folder of the functions' sockets cannot be removed");
        }
    }
}

impl Inner {
    async fn respond(&self, request: Box<Request>) -> Response {
        // If no function can respond to the preflight, the server does, so that scripts can read the refusal that
        // follows.
        let preflight = gateway::preflight(&request);
        match self.call(request).await {
            Ok(response) => response,
            Err(error) => preflight.unwrap_or_else(|| error.into_response()),
        }
    }

    async fn call(&self, mut request: Box<Request>) -> Result<Response, Error> {
        // The path below the function's name is the function's own.
        telemetry::name_route("/{function}");
        let processes = self.processes(name(request.uri().path()))?;
        if !METHODS.contains(request.method()) {
            return Err(Error::Method);
        }
        let Some(caller) = request.extensions().get::<Caller>().cloned() else {
            return Ok(StatusCode::INTERNAL_SERVER_ERROR.into());
        };
        let deployed = processes.deployed();
        self.verify(deployed, &request)?;
        let span = trace::begin(&mut request, &deployed.name);
        let origin = Origin { address: caller.address, request_id: caller.request_id.header() };
        let outcome = self.relay(request, origin, processes).await;
        if let Some(span) = span {
            trace::end(span, &outcome);
        }
        outcome
    }

    pub(crate) async fn relay(
        &self,
        request: Box<Request>,
        origin: Origin<'_>,
        mut processes: Arc<Processes>,
    ) -> Result<Response, Error> {
        let incoming = IncomingCall::receive(request).await;
        let size = incoming.size();
        loop {
            // A socket has no body, whatever its handshake announces.
            let slot = processes.for_body(if incoming.is_socket() { Some(0) } else { size });
            match slot.admit(incoming.is_socket(), size).await {
                // As happens to a call whose body begins late.
                Err(Error::Replaced) => {
                    processes = self.processes(name(incoming.request().uri().path()))?;
                    self.verify(processes.deployed(), incoming.request())?;
                }
                admitted => return relay::relay(incoming, origin, admitted?, slot).await,
            }
        }
    }

    /// Checks the token of `request`, if the function wants one.
    fn verify(&self, deployed: &DeployedFunction, request: &Request) -> Result<(), Error> {
        // Preflights carry no token; the function responds to them itself.
        match deployed.function.verify_jwt && request.method() != Method::OPTIONS {
            true => verify::verify(request.headers(), &self.verifier),
            false => Ok(()),
        }
    }

    /// Returns the processes of function `name`.
    ///
    /// Errors: [`Error::NotFound`] if there is no such function, or it is disabled.
    fn processes(&self, name: &str) -> Result<Arc<Processes>, Error> {
        let known = self.processes.read().get(name).cloned();
        if let Some(known) = known
            && known.is_running()
        {
            return Ok(known);
        }
        // While a function does not run, its settings may have been changed, or it may have been removed.
        let deployed = self.host.find(name);
        let mut all = self.processes.write();
        let Some(deployed) = deployed else {
            all.remove(name);
            return Err(Error::NotFound);
        };
        match all.get(name) {
            Some(known) if *known.deployed() == deployed => Ok(Arc::clone(known)),
            _ => {
                let processes = Arc::new(Processes::new(&self.host, &deployed));
                all.insert(name.to_owned(), Arc::clone(&processes));
                Ok(processes)
            }
        }
    }

    /// Makes the next call of each function start a new process with the current configuration.
    pub(crate) fn renew_all(&self) {
        for (_, processes) in self.processes.write().drain() {
            processes.replace();
        }
    }

    /// Makes the next call of each function that is `concerned`, or that imports `path`, start a new process, because
    /// that file has changed.
    pub(crate) fn renew(&self, concerned: &Concerned<'_>, path: &Path) {
        for (name, processes) in self.processes.read().iter() {
            let is_concerned = match concerned {
                Concerned::All => true,
                Concerned::One(one) => one == name,
                Concerned::None => false,
            };
            if is_concerned || processes.imports(path) {
                processes.renew();
            }
        }
    }
}

/// Returns the first segment of `path`.
fn name(path: &str) -> &str {
    path.trim_start_matches('/').split('/').next().unwrap_or_default()
}

/// Returns the path of the Deno that functions run on. Errors: [`NoDeno`].
pub fn find_deno(settings: &Settings) -> Result<PathBuf, NoDeno> {
    let path = std::env::var("PATH").unwrap_or_default();
    deno::find(settings.deno.as_deref(), &settings.projects, &path)
}

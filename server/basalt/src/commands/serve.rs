//! `basalt serve`: starts everything in order, serves it, and stops it in the opposite order.

pub(super) mod auth_drop_in;
mod banner;
pub(super) mod drop_in;
mod edge;
mod mounts;
mod routes;
mod services;
mod signals;

use std::net::{IpAddr, Ipv4Addr};
use std::path::PathBuf;
use std::time::{Duration, Instant};

use database::{Database, Renewal};
use tokio_util::sync::CancellationToken;

use crate::accept::{self, Limits};
use crate::backend::{self, Backend, Logins};
use crate::console;
use crate::error::Error;
use crate::instance::Announced;
use crate::ports::{self, Connections};
use crate::settings::{Service, Settings};
use services::Running;
use signals::Signals;

const LIMITS: Limits = Limits {
    // Enough for the largest head on a poor line.
    head: Duration::from_secs(15),
    // Longer than load balancers keep their connections (60 s by default on AWS and in nginx), or they would send into
    // closed ones.
    idle: Duration::from_secs(90),
    // Longer than the slowest answer may take to begin (an edge function, 400 s on hosted Supabase).
    silence: Duration::from_secs(420),
    drain: Duration::from_secs(10),
};

/// Serves until SIGINT or SIGTERM. A second signal ends the process at once; its Postgres then ends by itself.
pub(super) async fn run(settings: Settings) -> Result<(), Error> {
    site::check(&settings.site)?;
    accept::open_more_files();
    let signals = Signals::listen()?;
    let (settings, start) = Start::listen(settings).await?;
    console::note(format_args!(
        "Starting Basalt in {}",
        crate::settings::display_path(&settings.project.root)
    ));
    let backend = tokio::select! {
        backend = Backend::start(&settings) => backend?,
        () = signals.stop() => return Ok(()),
    };
    let result = with_backend(&settings, &backend, &signals, start).await;
    backend.stop().await;
    // Whoever waits for the end of this server waits for its database, too.
    result.map(drop)
}

/// As [`run`], but where this project is being served already, functions alone are, beside that server and with its
/// database.
pub(super) async fn run_functions(settings: Settings) -> Result<(), Error> {
    let running = match backend::Running::find(&settings.data_dir) {
        Some(running) if settings.database.url.is_none() => running.answers().await,
        _ => false,
    };
    if !running {
        return run(settings).await;
    }
    let api = format!("http://127.0.0.1:{}", settings.server.port);
    let (mut settings, start) = Start::listen(settings).await?;
    settings.functions_api = Some(api);
    settings.services.restrict(&[Service::Functions, Service::Auth]);
    settings.site.enabled = false;
    accept::open_more_files();
    let signals = Signals::listen()?;
    let backend = Backend::attach_or_start(&settings).await?;
    let result = with_backend(&settings, &backend, &signals, start).await;
    backend.stop().await;
    // Whoever waits for the end of this server waits for its database, too.
    result.map(drop)
}

/// What stands before anything else is started.
struct Start {
    at: Instant,
    wanted_port: u16,
    public: Connections,
}

impl Start {
    /// Listens, so that the port is known before the services make URLs of it, such as those in mails.
    ///
    /// Returns the settings with the port that it is.
    async fn listen(mut settings: Settings) -> Result<(Settings, Start), Error> {
        let (at, wanted_port) = (Instant::now(), settings.server.port);
        let public = Connections::new(ports::listen(settings.server.host, wanted_port).await?)?;
        let port = public.address().port();
        settings.set_port(port);
        Ok((settings, Start { at, wanted_port, public }))
    }
}

async fn with_backend(
    settings: &Settings,
    backend: &Backend,
    signals: &Signals,
    start: Start,
) -> Result<Option<Announced>, Error> {
    let keys = backend::keys(settings)?;
    let prepared = async {
        let logins = migrate(settings, backend, &keys).await?;
        Running::start(settings, &Access { backend, logins, keys: &keys, renewal: Renewal::default() }).await
    };
    let running = tokio::select! {
        running = prepared => running?,
        () = signals.stop() => return Ok(None),
    };
    let result = listen(settings, backend, &keys, &running, signals, start).await;
    running.stop().await;
    result
}

/// Puts the files of the project's buckets in place, as a start does, beside a server that may be running.
pub(super) async fn fill_buckets(
    settings: &Settings,
    backend: &Backend,
    logins: Logins,
    keys: &tokens::Keys,
) -> Result<(), Error> {
    let Some(storage) = &settings.services.storage else { return Ok(()) };
    let access = Access { backend, logins, keys, renewal: Renewal::default() };
    let database = access.database(backend::STORAGE_ADMIN, |base| base).await?;
    let filled = services::open_storage(storage, &database, keys, &keys.verifier(), &settings.buckets).await;
    database.close().await;
    filled.map(drop)
}

async fn migrate(settings: &Settings, backend: &Backend, keys: &tokens::Keys) -> Result<Logins, Error> {
    let admin = backend.admin().await?;
    let migrated = backend::migrate(settings, keys, &admin).await;
    admin.close().await;
    migrated
}

async fn listen(
    settings: &Settings,
    backend: &Backend,
    keys: &tokens::Keys,
    running: &Running,
    signals: &Signals,
    start: Start,
) -> Result<Option<Announced>, Error> {
    let Start { at, wanted_port, public } = start;
    let admin =
        Connections::new(ports::listen(IpAddr::V4(Ipv4Addr::LOCALHOST), settings.server.admin_port).await?)?;
    let (address, admin_address) = (public.address(), admin.address());
    let inbox = Inbox::listen(settings).await?;
    let stop = CancellationToken::new();
    let functions = edge::start(settings, backend, keys, &running.verifier, address, admin_address)?;
    let routes = routes::public(settings, keys, running, functions.as_ref())?;
    let public = accept::serve(public, routes, routes::finishes, stop.clone(), LIMITS);
    let administration = routes::admin(settings, keys, running)?;
    let admin = accept::serve(admin, administration, accept::may_write, stop.clone(), LIMITS);
    let inbox_address = inbox.as_ref().map(|inbox| inbox.connections.address());
    let inbox = async {
        if let Some(Inbox { connections, folder }) = inbox {
            accept::serve(connections, auth::inbox(folder), accept::may_write, stop.clone(), LIMITS).await;
        }
    };
    let banner =
        banner::Banner { settings, backend, keys, wanted_port, address, admin_address, inbox_address };
    // Functions that are served beside a server leave it to that one to be known.
    let is_alone = settings.functions_api.is_none();
    let announced = is_alone.then(|| banner.instance()).and_then(|own| own.announce(&settings.data_dir));
    banner.print(at.elapsed());
    let stopping = async {
        signals.stop().await;
        console::note("Stopping …");
        stop.cancel();
    };
    tokio::join!(public, admin, inbox, stopping);
    if let Some(functions) = functions {
        functions.stop().await;
    }
    Ok(announced)
}

/// The page with mails that are kept instead of being sent.
struct Inbox {
    connections: Connections,
    folder: PathBuf,
}

impl Inbox {
    /// On the loopback interface whatever else is set: the mails hold everybody's sign-in links.
    async fn listen(settings: &Settings) -> Result<Option<Inbox>, Error> {
        let Some((folder, port)) = settings.inbox() else { return Ok(None) };
        let listener = ports::listen(IpAddr::V4(Ipv4Addr::LOCALHOST), port).await?;
        Ok(Some(Inbox { connections: Connections::new(listener)?, folder: folder.to_owned() }))
    }
}

/// What it takes to log in to the database.
struct Access<'a> {
    backend: &'a Backend,
    logins: Logins,
    keys: &'a tokens::Keys,
    /// What REST learns of changes of the catalog renews the connections of all services.
    renewal: Renewal,
}

impl Access<'_> {
    /// Opens a pool for one of the services' login roles.
    async fn database(
        &self,
        role: &str,
        adjust: impl FnOnce(database::Settings) -> database::Settings,
    ) -> Result<Database, Error> {
        let server = self.backend.login(self.logins, role, self.keys);
        let settings = database::Settings {
            application_name: format!("basalt-{role}"),
            renewal: self.renewal.clone(),
            ..database::Settings::new(server)
        };
        Ok(Database::connect(adjust(settings)).await?)
    }
}

//! `basalt serve`: starts everything in order, serves it, and stops it in the opposite order.

mod banner;
mod calls;
mod edge;
mod hand_over;
mod metrics;
mod nodes;
mod other_programs;
mod prefix_router;
mod reload;
mod routes;
mod scheduled_calls;
mod services;

use std::net::{IpAddr, Ipv4Addr};
use std::path::PathBuf;
use std::time::Instant;

use clap::Args;
use postgres::{Database, Renewal};
use telemetry::SlowStatements;
use tokio_util::sync::CancellationToken;

use super::{block_on, load};
use crate::accept::{self, Limits};
use crate::backend::{self, Backend, Logins, RunningPostgres};
use crate::console;
use crate::error::Error;
use crate::instance::{Announcement, Instance};
use crate::ports::{self, Connections};
use crate::server;
use crate::settings::{Invocation, Service, Settings};
use calls::CallWorker;
use reload::Reloads;
use services::RunningServices;

/// Arguments of `serve`.
#[derive(Debug, Clone, Args)]
pub(super) struct Arguments {
    /// Serve only these parts, separated by commas
    #[arg(long, value_delimiter = ',', value_name = "PARTS")]
    only: Option<Vec<Service>>,
    /// Set up the database of DATABASE_URL without asking, if Basalt has not done so before
    /// [env: BASALT_ADOPT_DATABASE=1]
    #[arg(long, short)]
    yes: bool,
    /// The port to listen on; the next free one if it is taken, any free one for 0
    /// [default: api.port of config.toml, which must be free, else 54321] [env: BASALT_PORT]
    #[arg(long)]
    port: Option<u16>,
    /// Take the next free port if one of config.toml is taken [env: BASALT_ANY_PORT]
    #[arg(long)]
    any_port: bool,
    /// Use the keys of the Supabase CLI's local stacks, which projects and tools know; only on a loopback address
    /// [env: BASALT_CLI_KEYS]
    #[arg(long)]
    cli_keys: bool,
    /// The address to listen on; 0.0.0.0 for all interfaces [default: 127.0.0.1] [env: BASALT_HOST]
    #[arg(long, value_name = "ADDRESS")]
    host: Option<IpAddr>,
    /// Get the site's pages from Vite's dev server, for hot reload
    #[arg(long, value_name = "URL", num_args = 0..=1, default_missing_value = "http://127.0.0.1:5173")]
    dev: Option<String>,
    /// A file with variables for edge functions, instead of `functions/.env`
    #[arg(long, value_name = "FILE")]
    env_file: Option<PathBuf>,
}

/// Runs the command.
pub(super) fn run(arguments: Arguments, invocation: Invocation) -> Result<(), Error> {
    let Arguments { only, yes, port, any_port, cli_keys, host, dev, env_file } = arguments;
    let invocation = Invocation { only, yes, port, any_port, cli_keys, host, dev, env_file, ..invocation };
    other_programs::refuse(&invocation)?;
    block_on(serve(load(&invocation)?))
}

/// Serves until SIGINT or SIGTERM. A later signal ends the process at once; the watchdog then ends Postgres.
async fn serve(settings: Settings) -> Result<(), Error> {
    site::check(&settings.site)?;
    let signals = server::begin()?;
    ports::check_fixed(&settings).await?;
    let (settings, start) = Start::listen(settings).await?;
    let (wanted, port) = (settings.server.port, start.public.address().port());
    // 0 means any.
    if wanted != 0 && wanted != port {
        console::note(format_args!("Port {wanted} is taken; using {port} instead."));
    }
    console::note(format_args!(
        "Starting Basalt in {}",
        crate::settings::display_path(&settings.project.root)
    ));
    let backend = tokio::select! {
        backend = Backend::start(&settings) => backend?,
        () = signals.cancelled() => return Ok(()),
    };
    let result = with_backend(&settings, &backend, &signals, start).await;
    backend.stop().await;
    // The announcement is dropped last, so that `basalt stop` also waits for the end of the database.
    result.map(drop)
}

/// Does what [`serve`] does; but if a server of this project is running already, that one serves the functions as these
/// settings say, until this command ends. `is_open` accepts calls without a token. With a port of its own
/// (`is_apart`), this serves only functions there, in addition to that server and with its database.
pub(super) async fn serve_functions(settings: Settings, is_open: bool, is_apart: bool) -> Result<(), Error> {
    if !is_apart
        && let Some(instance) = Instance::find(&settings.data_dir).await
        && hand_over::hand_over(&settings, &instance, is_open).await?
    {
        return Ok(());
    }
    if settings.database.url.is_some() || RunningPostgres::find_answering(&settings.data_dir).await.is_none()
    {
        return serve(settings).await;
    }
    let api = format!("http://127.0.0.1:{}", settings.server.port);
    let (mut settings, start) = Start::listen(settings).await?;
    settings.functions_api = Some(api);
    settings.services.restrict(&[Service::Functions, Service::Auth]);
    settings.site.enabled = false;
    let signals = server::begin()?;
    let backend = Backend::attach_or_start(&settings).await?;
    let result = with_backend(&settings, &backend, &signals, start).await;
    backend.stop().await;
    // The announcement is dropped last, so that `basalt stop` also waits for the end of the database.
    result.map(drop)
}

/// A start: its time, the public port, which is opened before anything else, and the signals that reload.
struct Start {
    at: Instant,
    public: Connections,
    reloads: Reloads,
}

impl Start {
    /// Listens on the public port, so that its number is known before services form URLs with it, such as those in
    /// mails.
    ///
    /// Returns the settings with these URLs.
    async fn listen(mut settings: Settings) -> Result<(Settings, Self), Error> {
        let (at, reloads) = (Instant::now(), Reloads::listen()?);
        let public = Connections::new(ports::listen(settings.server.host, settings.server.port).await?)?;
        let api_url = settings.server.api_url(public.address().port());
        settings.services.set_api_url(&api_url);
        Ok((settings, Self { at, public, reloads }))
    }
}

async fn with_backend(
    settings: &Settings,
    backend: &Backend,
    signals: &CancellationToken,
    start: Start,
) -> Result<Option<Announcement>, Error> {
    let keys = backend::keys(settings)?;
    let calls = CallWorker::start(backend, start.public.address()).await?;
    let prepared = async {
        let logins = backend::migrate(settings, &keys, backend).await?;
        let (renewal, slow) = (Renewal::default(), SlowStatements::new(settings.server.slow_statement));
        let access = DatabaseAccess { backend, logins, keys: &keys, renewal, slow };
        RunningServices::start(settings, &access, start.public.address()).await
    };
    let running = tokio::select! {
        running = prepared => running?,
        () = signals.cancelled() => return Ok(None),
    };
    let result = listen(settings, backend, &keys, &running, signals, start).await;
    running.stop().await;
    if let Some(calls) = calls {
        calls.stop().await;
    }
    result
}

/// Uploads the files of the project's buckets, as a start does. A server may be running at the same time.
pub(super) async fn fill_buckets(
    settings: &Settings,
    backend: &Backend,
    logins: Logins,
    keys: &tokens::Keys,
) -> Result<(), Error> {
    let Some(storage) = &settings.services.storage else { return Ok(()) };
    let (renewal, slow) = (Renewal::default(), SlowStatements::default());
    let access = DatabaseAccess { backend, logins, keys, renewal, slow };
    let database = access.database(backend::STORAGE_ADMIN, |base| base).await?;
    let filled = services::open_storage(storage, &database, keys, &keys.verifier(), &settings.buckets).await;
    database.close().await;
    filled.map(drop)
}

async fn listen(
    settings: &Settings,
    backend: &Backend,
    keys: &tokens::Keys,
    running: &RunningServices,
    signals: &CancellationToken,
    start: Start,
) -> Result<Option<Announcement>, Error> {
    let Start { at, public, reloads } = start;
    let admin =
        Connections::new(ports::listen(IpAddr::V4(Ipv4Addr::LOCALHOST), settings.server.admin_port).await?)?;
    let (address, admin_address) = (public.address(), admin.address());
    let inbox = Inbox::listen(settings).await?;
    let stop = CancellationToken::new();
    let take_call = running.take_call.as_ref();
    let functions =
        edge::start(settings, backend, keys, &running.verifier, address, admin_address, take_call)?;
    if let Some(functions) = &functions {
        running.gateway.register(|registry| functions.register(registry));
    }
    let routes = routes::public(settings, keys, running, functions.as_ref())?;
    let network_shares = settings.gateway.network_shares && settings.gateway.trusted_proxies == 0;
    let limits = Limits { network_shares, ..server::LIMITS };
    let public = accept::serve(public, routes, routes::must_finish, stop.clone(), limits);
    let administration = routes::admin(settings, keys, running, functions.as_ref())?;
    let admin = server::serve(admin, administration, accept::may_write, &stop);
    let inbox_address = inbox.as_ref().map(|inbox| inbox.connections.address());
    let inbox = async {
        if let Some(Inbox { connections, folder }) = inbox {
            server::serve(connections, auth::inbox(folder), accept::may_write, &stop).await;
        }
    };
    let banner = banner::Banner { settings, backend, keys, address, admin_address, inbox_address };
    // If only functions are served, in addition to a running server, the announcement of that server stays valid.
    let is_alone = settings.functions_api.is_none();
    let announced = is_alone.then(|| banner.instance()).and_then(|own| own.announce(&settings.data_dir));
    banner.print(at.elapsed());
    let stopping = async {
        signals.cancelled().await;
        console::note("Stopping …");
        // Requests are answered until load balancers have noticed that they should send no more.
        running.draining.cancel();
        tokio::time::sleep(settings.server.drain_delay).await;
        stop.cancel();
    };
    let reloading = reloads.answer(running.rest.as_ref(), &settings.project, signals);
    tokio::join!(public, admin, inbox, stopping, reloading);
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
    /// Listens on the loopback interface, even if the host setting is another one: the mails contain users' sign-in
    /// links.
    async fn listen(settings: &Settings) -> Result<Option<Self>, Error> {
        let Some((folder, port)) = settings.inbox() else { return Ok(None) };
        let listener = ports::listen(IpAddr::V4(Ipv4Addr::LOCALHOST), port).await?;
        Ok(Some(Self { connections: Connections::new(listener)?, folder: folder.to_owned() }))
    }
}

/// Everything that services need to log in to the database.
struct DatabaseAccess<'a> {
    backend: &'a Backend,
    logins: Logins,
    keys: &'a tokens::Keys,
    /// Shared by all services, so that REST renews the connections of all when the catalog changes.
    renewal: Renewal,
    /// Records the slow statements of all services.
    slow: SlowStatements,
}

impl DatabaseAccess<'_> {
    /// Opens a pool for one of the services' login roles. If a replica's connection string names no user, the login of
    /// the primary is used: standbys have the same roles and passwords.
    async fn database(
        &self,
        role: &str,
        adjust: impl FnOnce(postgres::Settings) -> postgres::Settings,
    ) -> Result<Database, Error> {
        let server = self.backend.login(self.logins, role, self.keys);
        let settings = postgres::Settings {
            application_name: format!("basalt-{role}"),
            renewal: self.renewal.clone(),
            slow: self.slow.clone(),
            ..postgres::Settings::new(server)
        };
        let mut settings = adjust(settings);
        for replica in &mut settings.replicas {
            replica.log_in_as(&settings.server);
        }
        Ok(Database::connect(settings).await?)
    }
}

#[cfg(test)]
mod tests {
    use crate::commands::{Command, parse};
    use crate::settings::Service;

    #[test]
    fn serve_takes_parts_and_a_dev_server() {
        let words = "basalt serve --only rest,storage --dev --port 0".split(' ').map(Into::into);
        let arguments = parse(words).unwrap();
        let Command::Serve(serve) = arguments.command else { panic!("{arguments:?}") };
        assert_eq!(serve.only, Some(vec![Service::Rest, Service::Storage]));
        assert_eq!(serve.dev.as_deref(), Some("http://127.0.0.1:5173"));
        assert_eq!(serve.port, Some(0));
    }
}

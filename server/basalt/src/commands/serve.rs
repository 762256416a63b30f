//! `basalt serve`: starts a project's server in order, serves it, and stops it in the opposite order.

mod banner;
mod calls;
mod configuration;
mod current_routes;
mod database_access;
mod edge;
mod hand_over;
mod listening;
mod managed;
mod metrics;
mod nodes;
mod other_programs;
mod platform;
mod prefix_router;
mod problems;
mod reload;
mod restoring;
mod routes;
mod scheduled_calls;
mod services;
mod succession;

use std::net::IpAddr;
use std::path::PathBuf;
use std::sync::Arc;

use clap::Args;
use settings::Managed;
use telemetry::SlowStatements;
use tokio_util::sync::CancellationToken;

use super::{block_on, load};
use crate::accept::{self, Limits};
use crate::backend::{self, Backend, RunningPostgres};
use crate::console;
use crate::database_port::DatabasePort;
use crate::error::Error;
use crate::https::Https;
use crate::instance::{Announcement, Instance};
use crate::ports;
use crate::program;
use crate::server;
use crate::service_manager::{self, Event};
use crate::settings::{Invocation, Service, Settings};
use banner::Banner;
use calls::CallWorker;
use configuration::Configuration;
use database_access::DatabaseAccess;
use listening::{Inbox, Start, listen_for_admin};
use problems::Problems;
use restoring::ServedBackups;
use services::{Parts, RunningServices};
use succession::Succession;

pub(super) use services::fill_buckets;
pub(super) use succession::wish as wish_for_switch;

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
    /// A name under which clients reach the server: HTTPS is on, with a certificate from Let's Encrypt; may be repeated
    /// [default: basalt.tls.domains of config.toml] [env: BASALT_TLS_DOMAINS]
    #[arg(long = "domain", value_name = "NAME")]
    domains: Vec<String>,
    /// Get the site's pages from Vite's dev server, for hot reload
    #[arg(long, value_name = "URL", num_args = 0..=1, default_missing_value = "http://127.0.0.1:5173")]
    dev: Option<String>,
    /// A file with variables for edge functions, instead of `functions/.env`
    #[arg(long, value_name = "FILE")]
    env_file: Option<PathBuf>,
}

/// Runs the command.
pub(super) fn run(arguments: Arguments, invocation: Invocation) -> Result<(), Error> {
    let Arguments { only, yes, port, any_port, cli_keys, host, domains, dev, env_file } = arguments;
    let invocation =
        Invocation { only, yes, port, any_port, cli_keys, host, domains, dev, env_file, ..invocation };
    other_programs::refuse(&invocation)?;
    block_on(serve(load(&invocation)?, Some(&invocation)))
}

/// Serves until SIGINT or SIGTERM. A later signal ends the process at once; the watchdog then ends Postgres. The
/// settings can be read again if they are those of an `invocation`.
async fn serve(settings: Settings, invocation: Option<&Invocation>) -> Result<(), Error> {
    site::check(&settings.site)?;
    let signals = server::begin()?;
    service_manager::keep_alive();
    ports::check_fixed(&settings).await?;
    let (settings, start) = Start::listen(settings, invocation).await?;
    start.announce(&settings);
    restoring::fulfil(&settings).await?;
    let backend = tokio::select! {
        backend = Backend::start(&settings) => backend?,
        () = signals.cancelled() => return Ok(()),
    };
    let succession = Arc::clone(&start.succession);
    serve_on_backend(&settings, backend, &signals, start).await?;
    if succession.is_prepared() {
        return Err(succession.fulfil());
    }
    match restoring::is_wished(&settings) {
        true => Err(program::begin_anew(|_| {})),
        false => Ok(()),
    }
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
    if settings.database.url.is_some() || RunningPostgres::find_responsive(&settings.data_dir).await.is_none()
    {
        return serve(settings, None).await;
    }
    let api = format!("http://127.0.0.1:{}", settings.server.port);
    let (mut settings, start) = Start::listen(settings, None).await?;
    settings.functions_api = Some(api);
    settings.services.restrict(&[Service::Functions, Service::Auth]);
    settings.site.enabled = false;
    let signals = server::begin()?;
    let backend = Backend::attach_or_start(&settings).await?;
    serve_on_backend(&settings, backend, &signals, start).await
}

/// Serves on `backend`, which it stops at the end.
async fn serve_on_backend(
    settings: &Settings,
    backend: Backend,
    signals: &CancellationToken,
    start: Start<'_>,
) -> Result<(), Error> {
    let announced = serve_services(settings, &backend, signals, start).await;
    backend.stop().await;
    // The announcement is dropped last, so that `basalt stop` also waits for the end of the database.
    announced.map(drop)
}

/// Migrates the database, starts the services, serves them and stops them.
async fn serve_services(
    settings: &Settings,
    backend: &Backend,
    signals: &CancellationToken,
    start: Start<'_>,
) -> Result<Option<Announcement>, Error> {
    let keys = backend::keys(settings)?;
    let calls = CallWorker::start(backend, start.public.address()).await?;
    let prepared = async {
        let logins = backend::migrate(settings, &keys, backend).await?;
        let slow = SlowStatements::new(settings.server.slow_statement);
        let access = DatabaseAccess::new(backend, logins, &keys, slow, settings.database.pool_size);
        let address = start.public.address();
        let (settings, managed) =
            managed::laid_over(settings, start.invocation, backend, &keys, address.port()).await?;
        let running = RunningServices::start(&settings, &access, address).await?;
        Ok::<_, Error>((settings, managed, running))
    };
    let (settings, managed, running) = tokio::select! {
        prepared = prepared => prepared?,
        () = signals.cancelled() => return Ok(None),
    };
    let announced = serve_ports((&settings, managed), backend, &keys, &running, signals, start).await;
    running.stop().await;
    if let Some(calls) = calls {
        calls.stop().await;
    }
    announced
}

/// Opens the other ports, starts functions, and serves all ports until a signal.
async fn serve_ports(
    (settings, managed): (&Settings, Managed),
    backend: &Backend,
    keys: &tokens::Keys,
    running: &RunningServices,
    signals: &CancellationToken,
    start: Start<'_>,
) -> Result<Option<Announcement>, Error> {
    let Start { at, invocation, public, reloads, succession } = start;
    let (admin, inbox) = (listen_for_admin(settings).await?, Inbox::listen(settings).await?);
    let (address, admin_address) = (public.address(), admin.address());
    let inbox_address = inbox.as_ref().map(|inbox| inbox.connections.address());
    let functions = edge::start(settings, backend, keys, running, address, admin_address)?;
    let tcp_port = backend.cluster.as_ref().and_then(embedded::Cluster::tcp_port);
    let https = Https::listen(settings, backend, keys).await?;
    let of_https = https.as_ref().map(Https::certificates);
    let database_port = DatabasePort::listen(settings, tcp_port, of_https.clone()).await?;
    if let Some(https) = &https {
        let seconds_left = metrics::certificate(https.certificates());
        running.gateway.register(|registry| registry.register_collector(seconds_left));
        succession.also_keep(https.listeners());
    }
    let gate = database_port.as_ref().map(DatabasePort::gate);
    let (server, orders) = managed::orders();
    let server = invocation.map(|_| (Arc::new(server), managed.clone()));
    let backups = backups_of(settings, backend, signals);
    let postgres = backend.cluster.as_ref().map(embedded::Cluster::overrides);
    let surroundings = platform::Surroundings { gate, postgres, backups, server };
    let platform = platform::start(settings, keys, running, functions.as_ref(), surroundings).await?;
    let project_ref = platform.as_ref().map(::platform::Handles::project_ref);
    let of_database = database_port.as_ref().and_then(DatabasePort::certificate);
    let about = (address, project_ref.clone());
    let problems = Problems::start(settings, running, functions.as_ref(), (of_https, of_database), about);
    if let (Some(platform), Some(problems)) = (&platform, &problems) {
        platform.set_problems(problems.for_operators());
    }
    let (functions_of, platform, problems) = (functions.as_ref(), platform.as_ref(), problems.as_ref());
    let parts = Parts { keys, running, functions: functions_of, platform, problems, address, admin_address };
    let mut configuration = Configuration::new(invocation, (settings, managed), parts)?;
    let (public_routes, admin_routes) = (configuration.public(), configuration.admin());
    let secure_routes = configuration.public();

    let banner = Banner { settings, backend, keys, address, admin_address, inbox_address, project_ref };
    // If only functions are served, in addition to a running server, the announcement of that server stays valid.
    let is_alone = settings.functions_api.is_none();
    let announced = is_alone.then(|| banner.instance()).and_then(|own| own.announce(&settings.data_dir));
    banner.print(at.elapsed());
    service_manager::tell(Event::Ready);

    let stop = CancellationToken::new();
    let network_shares = settings.gateway.network_shares && settings.gateway.trusted_proxies == 0;
    let connections = settings.gateway.max_connections;
    let limits = Limits { connections, network_shares, ..server::LIMITS };
    tokio::join!(
        async {
            if let Some(https) = https {
                https.serve(secure_routes, routes::must_finish, limits, &stop).await;
            }
        },
        accept::serve(public, public_routes, routes::must_finish, stop.clone(), limits),
        server::serve(admin, admin_routes, accept::may_write, &stop),
        async {
            if let Some(database_port) = database_port {
                database_port.serve(&stop).await;
            }
        },
        async {
            if let Some(inbox) = inbox {
                inbox.serve(&stop).await;
            }
        },
        reloads.obey(&mut configuration, orders, signals),
        drain(settings, running, signals, &stop, &succession),
    );
    if let Some(functions) = functions {
        functions.stop().await;
    }
    Ok(announced)
}

/// Returns the backups of the embedded Postgres, if it has any.
fn backups_of(
    settings: &Settings,
    backend: &Backend,
    signals: &CancellationToken,
) -> Option<Arc<dyn ::platform::Backups>> {
    let repository = backend.repository.clone().filter(|_| backend.cluster.is_some())?;
    let (data_dir, signals) = (settings.data_dir.clone(), signals.clone());
    Some(Arc::new(ServedBackups { repository, data_dir, signals }))
}

/// Waits for a signal, and cancels `stop` once load balancers have noticed that they should send no more requests.
async fn drain(
    settings: &Settings,
    running: &RunningServices,
    signals: &CancellationToken,
    stop: &CancellationToken,
    succession: &Succession,
) {
    signals.cancelled().await;
    let begins_anew = succession.prepare(&settings.data_dir) || restoring::is_wished(settings);
    service_manager::tell(if begins_anew { Event::Reloading } else { Event::Stopping });
    console::note("Stopping …");
    running.draining.cancel();
    tokio::time::sleep(settings.server.drain_delay).await;
    stop.cancel();
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

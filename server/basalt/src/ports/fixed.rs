//! Ports that a project's `config.toml` names.
//!
//! A server does not leave them for others by itself: tools such as the Supabase CLI read them from the same file, and
//! would then write to whatever listens there, such as the database of another project.

use std::io::ErrorKind;
use std::net::{IpAddr, Ipv4Addr, SocketAddr, TcpListener};

use super::inherited;
use super::owner::Owner;
use crate::error::Error;
use crate::instance::Instance;
use crate::settings::{Settings, display_path};

/// Checks that the ports that `settings` fix are free, or this process was started with their sockets. The Postgres of a
/// server of this project that was killed is ended by the start.
///
/// Errors: [`Error::Advice`] with the process that has one of them.
pub(crate) async fn check(settings: &Settings) -> Result<(), Error> {
    let fixed = settings.fixed_ports;
    let api = fixed.api.then_some(("api.port", settings.server.host, settings.server.port));
    let database = fixed.database && settings.database.url.is_none();
    let database = database.then_some(("db.port", IpAddr::V4(Ipv4Addr::LOCALHOST), settings.database.port));
    for (key, host, port) in [api, database].into_iter().flatten() {
        let address = SocketAddr::new(host, port);
        if port != 0 && !inherited::has(address) && is_taken(address) {
            let own = Instance::find(&settings.data_dir).await;
            if own.is_none()
                && Owner::of(port).is_some_and(|owner| owner.is_in(&embedded::cluster_in(&settings.data_dir)))
            {
                continue;
            }
            return Err(Error::Advice(advice(settings, key, port, own)));
        }
    }
    Ok(())
}

fn is_taken(address: SocketAddr) -> bool {
    let bound = TcpListener::bind(address);
    bound.is_err_and(|error| error.kind() == ErrorKind::AddrInUse)
}

fn advice(settings: &Settings, key: &str, port: u16, own: Option<Instance>) -> String {
    if let Some(own) = own {
        return format!(
            "the data folder {} is in use by process {}: a server of this project runs at {}; `basalt stop` stops it",
            display_path(&settings.data_dir),
            own.pid,
            own.api_url
        );
    }
    let file = settings.project.config_path.as_deref().map_or_else(|| "config.toml".to_owned(), display_path);
    let owner = Owner::of(port).map_or_else(|| "another program".to_owned(), |owner| owner.to_string());
    let another = match key {
        "api.port" => "choose another one with --port",
        _ => "choose another one with BASALT_DATABASE_PORT",
    };
    format!(
        "port {port} ({key} in {file}) is taken by {owner}. Stop that, {another}, or let Basalt take the next free \
         one with --any-port"
    )
}

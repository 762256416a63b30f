//! The start of edge functions, and the variables that they get from the platform.

use std::net::{IpAddr, SocketAddr};

use functions::{Functions, Secrets};
use poem::{Endpoint, Response};
use serde_json::json;

use super::services::RunningServices;
use crate::backend::Backend;
use crate::error::Error;
use crate::settings::Settings;

/// The path on the admin port at which functions send mails.
pub(super) const OUTBOX: &str = "/mails";

/// Starts the service of functions beside the `running` ones, if it is enabled, for a server that listens on `address`.
pub(super) fn start(
    settings: &Settings,
    backend: &Backend,
    keys: &tokens::Keys,
    running: &RunningServices,
    address: SocketAddr,
    admin_address: SocketAddr,
) -> Result<Option<Functions>, Error> {
    let Some(service) = self::settings(settings, keys, admin_address) else { return Ok(None) };
    let url = settings.functions_api.clone().unwrap_or_else(|| local_url(address));
    let platform = platform_variables(backend.client_uri()?, keys, url);
    let started = Functions::start(service, platform, running.verifier.clone(), running.take_call.as_ref());
    let functions = started.map_err(Error::io("start edge functions"))?;
    running.gateway.register(|registry| functions.register(registry));
    Ok(Some(functions))
}

/// Returns the settings of the service of functions, if it is enabled, with the variables by which functions send
/// mails.
pub(super) fn settings(
    settings: &Settings,
    keys: &tokens::Keys,
    admin_address: SocketAddr,
) -> Option<functions::Settings> {
    let mut service = settings.services.functions.clone()?;
    if settings.services.auth.is_some() && !service.secrets.0.contains_key("MAIL_URL") {
        let mail =
            [("MAIL_URL", format!("{}{OUTBOX}", local_url(admin_address))), ("MAIL_KEY", mail_key(keys))];
        service.secrets.0.extend(mail.map(|(name, value)| (name.to_owned(), value)));
    }
    Some(service)
}

/// Returns the endpoint that sends mails of functions, if the auth service is enabled, which sends them.
pub(super) fn outbox(
    settings: &Settings,
    keys: &tokens::Keys,
) -> Result<Option<impl Endpoint<Output = Response> + use<>>, Error> {
    let Some(auth) = &settings.services.auth else { return Ok(None) };
    let outbox = auth::outbox(auth, mail_key(keys));
    outbox.map(Some).map_err(Error::service("auth"))
}

fn mail_key(keys: &tokens::Keys) -> String {
    keys.derive("mails of functions")
}

/// Returns the URL of this server for programs on this machine. It needs neither name resolution nor a proxy.
pub(super) fn local_url(address: SocketAddr) -> String {
    let ip = match address.ip() {
        ip if !ip.is_unspecified() => ip,
        IpAddr::V4(_) => IpAddr::from([127, 0, 0, 1]),
        IpAddr::V6(_) => IpAddr::from([0, 0, 0, 0, 0, 0, 0, 1]),
    };
    format!("http://{}", SocketAddr::new(ip, address.port()))
}

/// Returns the variables that hosted Supabase gives to every function.
///
/// Source: Supabase's guide "Environment variables" of edge functions.
fn platform_variables(database: String, keys: &tokens::Keys, url: String) -> Secrets {
    let api_keys = keys.api_keys();
    let variables = [
        ("SUPABASE_URL", url),
        ("SUPABASE_ANON_KEY", api_keys.anon().to_owned()),
        ("SUPABASE_SERVICE_ROLE_KEY", api_keys.service_role().to_owned()),
        ("SUPABASE_PUBLISHABLE_KEYS", json!({ "default": api_keys.publishable() }).to_string()),
        ("SUPABASE_SECRET_KEYS", json!({ "default": api_keys.secret() }).to_string()),
        ("SUPABASE_JWKS", keys.jwks().to_string()),
        ("SUPABASE_DB_URL", database),
        ("SB_REGION", "local".to_owned()),
    ];
    Secrets(variables.map(|(name, value)| (name.to_owned(), value)).into())
}

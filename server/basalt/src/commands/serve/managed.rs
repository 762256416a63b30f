//! Settings that are changed over the platform interface: how a start reads them, and how a running server gets new
//! ones.

use ::platform::{Configurable, ServiceConfig, managed_settings};
use futures_util::FutureExt as _;
use futures_util::future::BoxFuture;
use settings::Managed;
use tokio::sync::{mpsc, oneshot};

use super::configuration::with_fixed;
use crate::backend::Backend;
use crate::console;
use crate::error::Error;
use crate::logging;
use crate::settings::{Invocation, Settings};

/// How many orders may wait: nodes and operators give them one after the other.
const WAITING: usize = 4;

/// What the platform interface wants of the server's configuration.
pub(super) struct Order {
    pub(super) managed: Managed,
    /// Whether the settings are used, and not only looked at.
    pub(super) is_applied: bool,
    pub(super) reply: oneshot::Sender<Result<ServiceConfig, String>>,
}

/// Gives orders to the task that has the configuration.
pub(super) struct Orders(mpsc::Sender<Order>);

/// Returns what gives orders, and what receives them.
pub(super) fn orders() -> (Orders, mpsc::Receiver<Order>) {
    let (sender, receiver) = mpsc::channel(WAITING);
    (Orders(sender), receiver)
}

impl Orders {
    async fn give(&self, managed: Managed, is_applied: bool) -> Result<ServiceConfig, String> {
        let stopping = || "the server is being stopped".to_owned();
        let (reply, answer) = oneshot::channel();
        let order = Order { managed, is_applied, reply };
        self.0.send(order).await.map_err(|_| stopping())?;
        answer.await.map_err(|_| stopping())?
    }
}

impl Configurable for Orders {
    fn preview(&self, managed: Managed) -> BoxFuture<'_, Result<ServiceConfig, String>> {
        self.give(managed, false).boxed()
    }

    fn apply(&self, managed: Managed) -> BoxFuture<'_, Result<ServiceConfig, String>> {
        self.give(managed, true).boxed()
    }
}

/// Returns `settings`, which were read without a database, with those that were changed over the platform interface,
/// and these. The server listens on `port`.
///
/// Errors: if one of them is not valid beside the others. Without it, the server might allow what it should refuse.
pub(super) async fn laid_over(
    settings: &Settings,
    invocation: Option<&Invocation>,
    backend: &Backend,
    keys: &tokens::Keys,
    port: u16,
) -> Result<(Settings, Managed), Error> {
    let Some(invocation) = invocation else { return Ok((settings.clone(), Managed::new())) };
    let found = backend.with_admin(async |database| Ok(managed_settings(database, keys).await)).await?;
    let managed = found.map_err(Error::Advice)?;
    if managed.is_empty() {
        return Ok((settings.clone(), managed));
    }
    let read = Settings::load_with(invocation, &managed).map_err(|problem| {
        Error::Advice(format!(
            "{problem}. Settings were changed over the platform interface: `basalt settings list` shows them, and \
             `basalt settings reset` takes them back"
        ))
    })?;
    let new: Vec<String> =
        read.warnings.iter().filter(|warning| !settings.warnings.contains(warning)).cloned().collect();
    logging::log_warnings(&new);
    report(&managed, &read);
    Ok((with_fixed(read, settings, port), managed))
}

/// Says which settings take precedence over `config.toml`, and which of them do not because of the environment.
pub(super) fn report(managed: &Managed, settings: &Settings) {
    let overruled = &settings.platform.config.overruled;
    let names: Vec<&str> =
        managed.keys().filter(|name| !overruled.contains_key(*name)).map(String::as_str).collect();
    if !names.is_empty() {
        console::note(format_args!(
            "Changed over the platform interface, in place of config.toml: {}.",
            names.join(", ")
        ));
    }
    for (name, variable) in overruled {
        console::note(format_args!(
            "{name} was changed over the platform interface, which has no effect: {variable} is set."
        ));
    }
}

//! The ports of a project's server, and the time and the order in which they are opened.

use std::net::{IpAddr, Ipv4Addr};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Instant;

use tokio_util::sync::CancellationToken;

use super::reload::Reloads;
use super::succession::Succession;
use crate::accept;
use crate::console;
use crate::error::Error;
use crate::ports::{self, Connections};
use crate::server;
use crate::settings::{Invocation, Settings, display_path};

/// A start: its time, the public port, which is opened before anything else, and the signals that reload.
pub(super) struct Start<'i> {
    pub(super) at: Instant,
    /// How the program was started, if its settings can be read again.
    pub(super) invocation: Option<&'i Invocation>,
    pub(super) public: Connections,
    pub(super) reloads: Reloads,
    /// What becomes of the public port when another version follows.
    pub(super) succession: Arc<Succession>,
}

impl<'i> Start<'i> {
    /// Listens on the public port, so that its number is known before services form URLs with it, such as those in
    /// mails.
    ///
    /// Returns the settings with these URLs.
    pub(super) async fn listen(
        mut settings: Settings,
        invocation: Option<&'i Invocation>,
    ) -> Result<(Settings, Self), Error> {
        let (at, reloads) = (Instant::now(), Reloads::listen()?);
        let (host, wanted) = (settings.server.host, settings.server.port);
        // The version before this one has passed its port on, whichever that was.
        let inherited = ports::first_inherited(host)
            .filter(|address| wanted == 0 || ports::is_tried(wanted, address.port()));
        let port = inherited.map_or(wanted, |address| address.port());
        let public = Connections::new(ports::listen(host, port).await?)?;
        let api_url = settings.server.api_url(public.address().port());
        settings.services.set_api_url(&api_url);
        settings.platform.api_url = api_url;
        let succession = Arc::new(Succession::new(public.listener()));
        Ok((settings, Self { at, invocation, public, reloads, succession }))
    }

    /// Says which port is used, if it is not the wanted one, and which project is served.
    pub(super) fn announce(&self, settings: &Settings) {
        let (wanted, port) = (settings.server.port, self.public.address().port());
        // 0 means any.
        if wanted != 0 && wanted != port {
            console::note(format_args!("Port {wanted} is taken; using {port} instead."));
        }
        console::note(format_args!("Starting Basalt in {}", display_path(&settings.project.root)));
    }
}

/// Listens on the port of metrics and health, which only programs on this machine can reach.
pub(super) async fn listen_for_admin(settings: &Settings) -> Result<Connections, Error> {
    Connections::new(ports::listen(IpAddr::V4(Ipv4Addr::LOCALHOST), settings.server.admin_port).await?)
}

/// The page with mails that are kept instead of being sent.
pub(super) struct Inbox {
    pub(super) connections: Connections,
    folder: PathBuf,
}

impl Inbox {
    /// Listens on the loopback interface, even if the host setting is another one: the mails contain users' sign-in
    /// links.
    pub(super) async fn listen(settings: &Settings) -> Result<Option<Self>, Error> {
        let Some((folder, port)) = settings.inbox() else { return Ok(None) };
        let listener = ports::listen(IpAddr::V4(Ipv4Addr::LOCALHOST), port).await?;
        Ok(Some(Self { connections: Connections::new(listener)?, folder: folder.to_owned() }))
    }

    /// Serves the page until `stop`.
    pub(super) async fn serve(self, stop: &CancellationToken) {
        server::serve(self.connections, auth::inbox(self.folder), accept::may_write, stop).await;
    }
}

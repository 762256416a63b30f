//! The settings of a running server, and what is made anew of them when they have changed.
//!
//! New settings make new endpoints of auth, storage, realtime and the site, with the handles that the running ones
//! have: pools, sockets, counters, workers, caches. REST and functions, which keep what they know of the database and
//! of their processes, get the new settings. Then all routes are exchanged at once, so that no request is lost.

mod changes;

use poem::Route;

use super::current_routes::CurrentRoutes;
use super::edge;
use super::routes::{self, ByOrigin};
use super::services::Parts;
use crate::commands::load;
use crate::console;
use crate::error::Error;
use crate::settings::{Invocation, Project, Settings};

/// The current settings, and the routes that were made of them.
pub(super) struct Configuration<'s> {
    /// How the program was started; `None` if its settings are those of another command, which cannot be read again.
    invocation: Option<&'s Invocation>,
    parts: Parts<'s>,
    settings: Settings,
    public: CurrentRoutes<ByOrigin>,
    admin: CurrentRoutes<Route>,
}

impl<'s> Configuration<'s> {
    /// Makes the services of `settings`.
    pub(super) fn new(
        invocation: Option<&'s Invocation>,
        settings: &Settings,
        parts: Parts<'s>,
    ) -> Result<Self, Error> {
        let public = CurrentRoutes::new(routes::public(settings, &parts)?);
        let admin = CurrentRoutes::new(routes::admin(settings, &parts)?);
        Ok(Self { invocation, parts, settings: settings.clone(), public, admin })
    }

    /// Returns the routes of the public port.
    pub(super) fn public(&self) -> CurrentRoutes<ByOrigin> {
        self.public.clone()
    }

    /// Returns the routes of the admin port.
    pub(super) fn admin(&self) -> CurrentRoutes<Route> {
        self.admin.clone()
    }

    /// Returns the project, with its `config.toml` as it was read last.
    pub(super) fn project(&self) -> &Project {
        &self.settings.project
    }

    /// Has REST read the catalog again.
    pub(super) fn reload_schema_cache(&self) {
        self.parts.running.rest.as_ref().inspect(|rest| rest.reload());
    }

    /// Reads all settings again, uses those that can be changed while the server runs, and says which ones. If they
    /// cannot be used, that is said and nothing changes.
    pub(super) async fn read_again(&mut self) {
        let Some(invocation) = self.invocation else { return };
        let settings = match load(invocation) {
            Ok(settings) => settings,
            Err(problem) => {
                return console::note(format_args!("The settings stay as they are: {problem}"));
            }
        };
        let restart = changes::needing_restart(&self.settings, &settings);
        let settings = self.with_fixed(settings);
        if let Err(problem) = self.apply(&settings).await {
            return console::note(format_args!("The settings stay as they are: {problem}"));
        }
        let changed = changes::keys(&self.settings.project.config, &settings.project.config);
        self.settings = settings;
        changes::report(&changed, &restart);
    }

    /// Returns `settings` with those of the current ones that cannot be changed while the server runs: which services
    /// it has, and where it listens.
    fn with_fixed(&self, mut settings: Settings) -> Settings {
        let (old, new) = (&self.settings.services, &mut settings.services);
        keep_presence(&old.rest, &mut new.rest);
        keep_presence(&old.auth, &mut new.auth);
        keep_presence(&old.storage, &mut new.storage);
        keep_presence(&old.realtime, &mut new.realtime);
        keep_presence(&old.functions, &mut new.functions);
        settings.server = self.settings.server.clone();
        settings.gateway.external_url.clone_from(&self.settings.gateway.external_url);
        settings.site.enabled = self.settings.site.enabled;
        let api_url = settings.server.api_url(self.parts.address.port());
        settings.services.set_api_url(&api_url);
        settings.platform.api_url = api_url;
        settings
    }

    /// Makes the services of `settings`, and lets all new requests use them.
    async fn apply(&self, settings: &Settings) -> Result<(), Error> {
        let parts = &self.parts;
        let (public, admin) = (routes::public(settings, parts)?, routes::admin(settings, parts)?);
        if let (Some(rest), Some(settings)) = (&parts.running.rest, &settings.services.rest) {
            // Without a database, they are used as soon as there is one.
            let _ = rest.configure(settings.clone()).await;
        }
        if let (Some(functions), Some(service)) =
            (parts.functions, edge::settings(settings, parts.keys, parts.admin_address))
        {
            functions.configure(service);
        }
        self.public.replace(public);
        self.admin.replace(admin);
        Ok(())
    }
}

/// Makes `new` present exactly if `old` is.
fn keep_presence<T: Clone>(old: &Option<T>, new: &mut Option<T>) {
    match (old, &new) {
        (Some(_), Some(_)) => {}
        (old, _) => new.clone_from(old),
    }
}

//! The settings of a running server, and what is made anew of them when they have changed.
//!
//! New settings make new endpoints of auth, storage, realtime and the site, with the handles that the running ones
//! have: pools, sockets, counters, workers, caches. REST and functions, which keep what they know of the database and
//! of their processes, get the new settings. Then all routes are exchanged at once, so that no request is lost.

mod changes;

use std::collections::BTreeSet;

use ::platform::ServiceConfig;
use poem::Route;
use settings::Managed;

use super::current_routes::CurrentRoutes;
use super::edge;
use super::managed::{self, Order};
use super::routes::{self, ByOrigin};
use super::services::Parts;
use crate::commands::load_with;
use crate::console;
use crate::error::Error;
use crate::server;
use crate::settings::{Invocation, Project, Settings};

/// The current settings, and the routes that were made of them.
pub(super) struct Configuration<'s> {
    /// How the program was started; `None` if its settings are those of another command, which cannot be read again.
    invocation: Option<&'s Invocation>,
    parts: Parts<'s>,
    settings: Settings,
    /// Those that were changed over the platform interface, which `settings` were made with.
    managed: Managed,
    public: CurrentRoutes<ByOrigin>,
    admin: CurrentRoutes<Route>,
}

impl<'s> Configuration<'s> {
    /// Makes the services of `settings`.
    pub(super) fn new(
        invocation: Option<&'s Invocation>,
        (settings, managed): (&Settings, Managed),
        parts: Parts<'s>,
    ) -> Result<Self, Error> {
        let public = CurrentRoutes::new(routes::public(settings, &parts)?);
        let admin = CurrentRoutes::new(routes::admin(settings, &parts)?);
        Ok(Self { invocation, parts, settings: settings.clone(), managed, public, admin })
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
        let read = load_with(invocation, &self.managed);
        match self.replace(read).await {
            Ok((changed, restart)) => {
                changes::report("The settings were read again.", &changed, &restart);
                managed::report(&self.managed, &self.settings);
            }
            Err(problem) => console::note(format_args!("The settings stay as they are: {problem}")),
        }
    }

    /// Carries out an order of the platform interface: reads all settings again with other managed ones, uses them if
    /// that is wanted, and says which have changed.
    pub(super) async fn obey(&mut self, order: Order) {
        let Order { managed, is_applied, reply } = order;
        let outcome = match (self.invocation, is_applied) {
            (None, _) => Err("the settings of this server cannot be read again".to_owned()),
            (Some(invocation), false) => {
                self.preview(invocation, &managed).map_err(|error| error.to_string())
            }
            (Some(invocation), true) => self.manage(invocation, managed).await,
        };
        // Nobody waits for the outcome if the request has ended.
        let _ = reply.send(outcome);
    }

    /// Returns what the platform interface would show with `managed` settings. What can be wrong with settings only once
    /// services are made of them is something about auth.
    fn preview(&self, invocation: &Invocation, managed: &Managed) -> Result<ServiceConfig, Error> {
        let settings = Settings::load_with(invocation, managed)?;
        let settings = with_fixed(settings, &self.settings, self.parts.address.port());
        if let (Some(auth), Some(handles)) = (&settings.services.auth, &self.parts.running.auth) {
            auth::service(auth.clone(), handles).map_err(Error::service("auth"))?;
        }
        Ok(settings.platform.config)
    }

    async fn manage(&mut self, invocation: &Invocation, managed: Managed) -> Result<ServiceConfig, String> {
        let changed = changes::managed(&self.managed, &managed);
        let schemas =
            |settings: &Settings| settings.services.rest.as_ref().map(|rest| rest.db_schemas.clone());
        let schemas_before = schemas(&self.settings);
        match self.replace(load_with(invocation, &managed)).await {
            Ok((_, restart)) => {
                self.managed = managed;
                if let Some(rest) =
                    self.parts.running.rest.as_ref().filter(|_| schemas(&self.settings) != schemas_before)
                {
                    // Whoever changes the schemas expects them to be served when that is answered.
                    let _ = server::is_ready_in_time(rest.reloaded()).await;
                }
                changes::report("Settings were changed over the platform interface.", &changed, &restart);
                Ok(self.settings.platform.config.clone())
            }
            Err(problem) => {
                console::note(format_args!(
                    "Settings were changed over the platform interface, but stay as they are here: {problem}"
                ));
                Err(problem.to_string())
            }
        }
    }

    /// Uses the settings that were `read`. Returns the keys of `config.toml` that have changed, and the settings that
    /// need a restart.
    ///
    /// Errors: if they cannot be used; nothing has changed then.
    async fn replace(
        &mut self,
        read: Result<Settings, Error>,
    ) -> Result<(BTreeSet<String>, Vec<&'static str>), Error> {
        let settings = read?;
        let restart = changes::needing_restart(&self.settings, &settings);
        let settings = with_fixed(settings, &self.settings, self.parts.address.port());
        self.apply(&settings).await?;
        let changed = changes::keys(&self.settings.project.config, &settings.project.config);
        self.settings = settings;
        Ok((changed, restart))
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
        if let Some(problems) = parts.problems {
            problems.configure(settings);
        }
        self.public.replace(public);
        self.admin.replace(admin);
        Ok(())
    }
}

/// Returns `settings` with those of the `current` ones that cannot be changed while the server runs: which services it
/// has, and where it listens, which is on `port`.
pub(super) fn with_fixed(mut settings: Settings, current: &Settings, port: u16) -> Settings {
    let (old, new) = (&current.services, &mut settings.services);
    keep_presence(&old.rest, &mut new.rest);
    keep_presence(&old.auth, &mut new.auth);
    keep_presence(&old.storage, &mut new.storage);
    keep_presence(&old.realtime, &mut new.realtime);
    keep_presence(&old.functions, &mut new.functions);
    settings.server = current.server.clone();
    settings.gateway.external_url.clone_from(&current.gateway.external_url);
    settings.site.enabled = current.site.enabled;
    let api_url = settings.server.api_url(port);
    settings.services.set_api_url(&api_url);
    settings.platform.api_url = api_url;
    settings
}

/// Makes `new` present exactly if `old` is.
fn keep_presence<T: Clone>(old: &Option<T>, new: &mut Option<T>) {
    match (old, &new) {
        (Some(_), Some(_)) => {}
        (old, _) => new.clone_from(old),
    }
}

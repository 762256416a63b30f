//! All settings of a start: from flags, the environment, what was changed over the platform interface, the project's
//! `config.toml` and defaults, in this order of precedence.
//!
//! Names are upstream's: `config.toml` has the Supabase CLI's keys, variables have the names of the upstream services.
//! Settings that only Basalt has are in the table `[basalt]` and in variables that begin with `BASALT_`.

mod backup;
mod database;
mod earlier_names;
mod fixed_ports;
mod gotrue;
mod https;
mod known;
mod listen_address;
mod memory;
mod platform;
mod postgrest;
mod project;
#[cfg(test)]
mod reference;
mod services;

use std::net::{IpAddr, Ipv4Addr};
use std::path::{Path, PathBuf};
use std::time::Duration;

pub(crate) use database::{DatabaseSettings, Migrations, Seed};
use embedded::{Cluster, Password};
pub(crate) use fixed_ports::FixedPorts;
use gateway::ExternalUrl;
pub(crate) use gotrue::{GotrueFiles, GotrueSettings};
pub(crate) use listen_address::ListenAddress;
use migrations::vault::Secrets;
pub(crate) use postgrest::PostgrestSettings;
pub(crate) use project::Project;
pub(crate) use services::{Service, Services};
use settings::{Environment, Invalid, Managed, Reader, Value, Variables};
use storage::BucketDefinition;

use crate::instance::Instance;
use crate::uri;

/// The data folder's name in the project's folder.
pub(crate) const DATA_FOLDER: &str = ".basalt";

/// How the program was started: with which variables, and with which flags, which override everything else.
#[derive(Clone, Default)]
pub(crate) struct Invocation {
    /// The variables of the process.
    pub(crate) variables: Variables,
    /// `--project`.
    pub(crate) project: Option<PathBuf>,
    /// `--data-dir`.
    pub(crate) data_dir: Option<PathBuf>,
    /// `--host`.
    pub(crate) host: Option<IpAddr>,
    /// `--port`.
    pub(crate) port: Option<u16>,
    /// `--domain`.
    pub(crate) domains: Vec<String>,
    /// `--any-port`.
    pub(crate) any_port: bool,
    /// `--cli-keys`.
    pub(crate) cli_keys: bool,
    /// Whether this process is the project's server.
    pub(crate) serves: bool,
    /// Whether it listens on a port of the project.
    pub(crate) listens: bool,
    /// `--only`.
    pub(crate) only: Option<Vec<Service>>,
    /// `--dev`: the URL of Vite's dev server.
    pub(crate) dev: Option<String>,
    /// Whether functions are restarted when their files change, as with `--dev`.
    pub(crate) watch_functions: bool,
    /// `--no-verify-jwt`: functions accept calls without a token.
    pub(crate) open_functions: bool,
    /// `--env-file`: variables for functions.
    pub(crate) env_file: Option<PathBuf>,
    /// `--yes`: the operator agrees to everything beforehand.
    pub(crate) yes: bool,
}

settings::settings! {
    /// Settings of the server as a whole.
    #[derive(Debug, Clone)]
    pub(crate) struct Server {
        /// The folder of all data that must outlive a restart: the embedded Postgres, objects, keys. The default is
        /// `.basalt` in the project's folder.
        #[setting(variables = ["BASALT_DATA_DIR"], key = "basalt.data_dir")]
        pub(crate) data_dir: Option<PathBuf> = None,
        /// The address to listen on.
        #[setting(variables = ["BASALT_HOST"], key = "basalt.host")]
        pub(crate) host: IpAddr = IpAddr::V4(Ipv4Addr::LOCALHOST),
        /// The port of the API and the site.
        #[setting(variables = ["BASALT_PORT"], key = "api.port")]
        pub(crate) port: u16 = 54321,
        /// Whether the server uses the next free port if a port that `config.toml` names is taken. Tools that read the
        /// port from that file then reach another program.
        #[setting(variables = ["BASALT_ANY_PORT"], key = "basalt.any_port")]
        pub(crate) any_port: bool = false,
        /// Whether the server uses the keys that all local stacks of the Supabase CLI have. Many projects and tools
        /// have these keys in their files. Because everybody knows them, the server must then listen on a loopback
        /// address, without a proxy or an external URL, and its database must be on this machine.
        #[setting(variables = ["BASALT_CLI_KEYS"], key = "basalt.cli_keys")]
        pub(crate) cli_keys: bool = false,
        /// The port of metrics and health on the loopback interface.
        #[setting(variables = ["BASALT_ADMIN_PORT"], key = "basalt.admin_port")]
        pub(crate) admin_port: u16 = 54330,
        /// How long the server still handles requests after it was told to stop, in seconds. Meanwhile it reports that
        /// it is not ready, so that a load balancer has time to notice.
        #[setting(variables = ["BASALT_DRAIN_DELAY"], key = "basalt.drain_delay")]
        pub(crate) drain_delay: Duration = Duration::ZERO,
        /// A statement that takes longer than this is logged as slow, and listed at `/slow` of the admin port. 0: no
        /// statement is slow.
        #[setting(variables = ["BASALT_SLOW_STATEMENT"], key = "basalt.slow_statement")]
        pub(crate) slow_statement: Duration = Duration::from_secs(1),
        /// The URL at which clients reach the API, without a slash at its end, if it is not the origin that a request
        /// names. It may have a path, which the proxy in front of the server removes.
        #[setting(variables = ["API_EXTERNAL_URL", "SUPABASE_PUBLIC_URL"], key = "api.external_url", check = external_url)]
        pub(crate) external_url: Option<String> = None,
        /// What everything is sized for: `small` for a machine with 1 GiB of memory and one processor, else `normal`.
        /// `small` gives the embedded Postgres less memory and fewer processes, and other settings other defaults:
        /// [operating.md](operating.md#a-small-machine) lists them. What is set explicitly stays.
        #[setting(variables = ["BASALT_MEMORY"], key = "basalt.memory")]
        pub(crate) memory: embedded::Memory = embedded::Memory::Normal,
        /// The folder of the project. The default is the current folder. `--project`.
        #[setting(variables = ["BASALT_PROJECT"])]
        pub(crate) project: Option<PathBuf> = None,
    }
}

/// All settings of a start.
#[derive(Debug, Clone)]
pub(crate) struct Settings {
    /// The project and its files.
    pub(crate) project: Project,
    /// Folder of everything that must outlive a restart: cluster, objects, keys.
    pub(crate) data_dir: PathBuf,
    /// The addresses to listen on, and the URL of the API.
    pub(crate) server: Server,
    /// The ports that it does not leave for others.
    pub(crate) fixed_ports: FixedPorts,
    /// Port of the inbox on the loopback interface, where mails are kept instead of being sent. `None` with
    /// `local_smtp.enabled = false`. `local_smtp.port`, `BASALT_INBOX_PORT`. Default: 54324.
    pub(crate) inbox_port: Option<u16>,
    /// The database to use.
    pub(crate) database: DatabaseSettings,
    /// The project's migrations.
    pub(crate) migrations: Migrations,
    /// The project's seed.
    pub(crate) seed: Seed,
    /// Secrets for the database's vault. `db.vault`.
    pub(crate) vault: Secrets,
    /// Buckets that the project defines.
    pub(crate) buckets: Vec<BucketDefinition>,
    /// The site to serve.
    pub(crate) site: site::Settings,
    /// Keys that settings name in place of generated ones.
    pub(crate) keys: tokens::KeyOverrides,
    /// The platform interface.
    pub(crate) platform: ::platform::Settings,
    /// HTTPS without a proxy.
    pub(crate) tls: acme::Settings,
    /// Where backups go.
    pub(crate) backup: ::backup::Settings,
    /// What is told of problems.
    pub(crate) health: ::health::Settings,
    /// Where traces and metrics are sent.
    pub(crate) telemetry: otlp::Settings,
    /// Settings that all services share: trusted proxies, body limits.
    pub(crate) gateway: gateway::Settings,
    /// Settings of the services and which of them to run.
    pub(crate) services: Services,
    /// The URL of the API for functions, if another server serves it. It is not a setting: `basalt functions serve`
    /// sets it.
    pub(crate) functions_api: Option<String>,
    /// What the operator should know about the settings; each is one sentence.
    pub(crate) warnings: Vec<String>,
}

impl Settings {
    /// Finds the project and reads its settings.
    ///
    /// Errors: [`Invalid`] with the name of the first invalid setting.
    pub(crate) fn load(invocation: &Invocation) -> Result<Self, Invalid> {
        Self::load_with(invocation, &Managed::new())
    }

    /// Does what [`Self::load`] does, with `managed` settings, which take precedence over those of `config.toml`.
    pub(crate) fn load_with(invocation: &Invocation, managed: &Managed) -> Result<Self, Invalid> {
        let variable = invocation.variables.get("BASALT_PROJECT").map(PathBuf::from);
        let folder = invocation.project.clone().or(variable);
        let project = Project::locate(folder.as_deref().unwrap_or(Path::new(".")), folder.is_some())?;
        let folders = [project.root.as_path(), project.base.as_path()];
        let environment = Environment::load(invocation.variables.clone(), folders)?;
        Self::read(invocation, project, &environment, managed)
    }

    /// Reads the settings of `project` in `environment`; see [`Self::load_with`].
    pub(crate) fn read(
        invocation: &Invocation,
        project: Project,
        environment: &Environment,
        managed: &Managed,
    ) -> Result<Self, Invalid> {
        let config = earlier_names::replaced(project.config.clone());
        let mut reader = Reader::new(environment, &config, known::KNOWN).with_managed(managed);
        let mut server: Server = reader.read()?;
        reader.imply(memory::implied(server.memory));
        server.host = invocation.host.unwrap_or(server.host);
        server.port = invocation.port.unwrap_or(server.port);
        server.cli_keys |= invocation.cli_keys;
        let data_dir = match (&invocation.data_dir, &server.data_dir) {
            (Some(path), _) => path.clone(),
            (None, Some(path)) => project.resolve(path),
            (None, None) => project.root.join(DATA_FOLDER),
        };
        // The programs that are started run in other folders.
        let data_dir = std::path::absolute(&data_dir).unwrap_or(data_dir);
        let services = Services::read(&mut reader, &project, &data_dir)?;
        let tls = https::read(&mut reader, &project, invocation)?;
        server.external_url = server.external_url.or_else(|| tls.url());
        let mut settings = Self {
            fixed_ports: FixedPorts::of(invocation, &project, environment, &server),
            inbox_port: auth::read_inbox_port(&mut reader)?,
            database: database::database(&mut reader, &project)?,
            migrations: database::migrations(&mut reader, &project)?,
            seed: database::seed(&mut reader, &project)?,
            vault: Secrets::read(&mut reader)?,
            buckets: BucketDefinition::read_all(&mut reader, |path| project.resolve(path))?,
            site: site(&mut reader, &project)?,
            keys: tokens::KeyOverrides::read(&mut reader, |path| project.resolve(path))?,
            platform: platform::read(&mut reader, &project, &server, &services)?,
            backup: backup::read(&mut reader, &project, &data_dir)?,
            tls,
            health: reader.read()?,
            telemetry: otlp::Settings::read(&mut reader)?,
            gateway: reader.read()?,
            services,
            functions_api: None,
            warnings: Vec::new(),
            data_dir,
            server,
            project: project.clone(),
        };
        if let Some(service) = &mut settings.services.functions {
            let folders = [project.root.as_path(), project.base.as_path()];
            service.read_secrets(&mut reader, folders, invocation.env_file.as_deref())?;
            service.watch = invocation.dev.is_some() || invocation.watch_functions;
            if invocation.open_functions {
                for found in service.list() {
                    service.functions.entry(found.name).or_default().verify_jwt = false;
                }
            }
        }
        // The text is that of a valid URL, since the reader has checked it.
        let external_url = settings.server.external_url.as_deref().map(ExternalUrl::parse);
        settings.gateway.external_url = external_url.and_then(Result::ok);
        // Strangers reach the port of HTTPS.
        settings.platform.is_local &= !settings.tls.is_on();
        https::check(&settings)?;
        settings.check_storage_origin()?;
        settings.apply_cli_keys(invocation)?;
        settings.warnings = reader.finish();
        if let Some(auth) = &mut settings.services.auth {
            settings.warnings.extend(forget_untrusted_header(auth, &settings.gateway));
        }
        settings.apply(invocation);
        Ok(settings)
    }

    /// Checks that browsers name the host of the objects' origin as the setting does, and that it is not the API's own:
    /// nothing else would be served on it.
    fn check_storage_origin(&self) -> Result<(), Invalid> {
        let Some(own) = self.services.storage.as_ref().and_then(|storage| storage.origin.as_deref()) else {
            return Ok(());
        };
        let refused = |expected| Err(Invalid::new("basalt.storage_origin", expected, &own));
        let named = own.split_once("://").map_or(own, |(_, host)| host);
        let host = ExternalUrl::parse(own).map(|url| url.host().to_owned());
        let name = named.split(':').next().unwrap_or_default();
        if host.as_deref() != Ok(&*named.to_ascii_lowercase()) || name.ends_with('.') {
            return refused("a host without a dot at its end and without the port of its scheme");
        }
        match &self.gateway.external_url {
            Some(api) if Ok(api.host()) == host.as_deref() => {
                refused("another host than that of api.external_url")
            }
            _ => Ok(()),
        }
    }

    /// Replaces the keys by those of the Supabase CLI, if that is wanted. Commands beside a server that has these keys
    /// use them, too; the project's server itself has them only if a setting or a flag says so.
    ///
    /// Errors: [`Invalid`] if others could reach the server.
    fn apply_cli_keys(&mut self, invocation: &Invocation) -> Result<(), Invalid> {
        // The passwords of the services' logins are derived from the keys.
        let has_own_database = self.database.url.as_ref().is_none_or(uri::is_of_this_machine);
        let is_beside = has_own_database
            && !invocation.serves
            && Instance::has_key(&self.data_dir, tokens::CLI_PUBLISHABLE_KEY);
        if !self.server.cli_keys && !is_beside {
            return Ok(());
        }
        if self.server.cli_keys || invocation.listens {
            let refused = |found: &dyn std::fmt::Display| {
                let expected = "a server that only this machine can reach: everybody knows these keys";
                Err(Invalid::new("basalt.cli_keys", expected, &found.to_string()))
            };
            if !self.server.host.is_loopback() {
                return refused(&format_args!("basalt.host = {}", self.server.host));
            }
            if self.tls.is_on() {
                return refused(&"basalt.tls");
            }
            if !has_own_database {
                return refused(&"a DATABASE_URL of another machine");
            }
            if self.gateway.trusted_proxies > 0 {
                return refused(&"basalt.trusted_proxies");
            }
            if let Some(url) =
                self.gateway.external_url.as_ref().filter(|url| !uri::is_local_host(url.host()))
            {
                return refused(&format_args!("api.external_url = {}", url.as_str()));
            }
        }
        let keys = std::mem::take(&mut self.keys);
        self.keys = keys.with_cli_keys();
        Ok(())
    }

    fn apply(&mut self, invocation: &Invocation) {
        if let Some(url) = &invocation.dev {
            self.site.dev = Some(url.trim_end_matches('/').to_owned());
            self.site.enabled = true;
        }
        self.database.adopt |= invocation.yes;
        if let Some(only) = &invocation.only {
            self.services.restrict(only);
            self.site.enabled &= only.contains(&Service::Site);
            if !only.contains(&Service::Platform) {
                self.platform.access = ::platform::Access::Off;
            }
        }
    }

    /// Returns which password the role `postgres` of the embedded Postgres has.
    pub(crate) fn database_password(&self) -> Password {
        match self.database.default_password {
            Some(true) => Password::Default,
            Some(false) => Password::Random,
            // Strangers reach such a server.
            None if self.tls.is_on() => Password::KeptOrRandom,
            None => Password::KeptOrDefault,
        }
    }

    /// Reports whether everybody knows the password of the role `postgres` of the embedded Postgres.
    pub(crate) fn has_default_password(&self) -> bool {
        match self.database_password() {
            Password::Default => true,
            Password::Random => false,
            kept => Cluster::has_default_password(&self.data_dir).unwrap_or(kept == Password::KeptOrDefault),
        }
    }

    /// Returns the folder of mails that are kept instead of being sent, and the port of the page that shows them;
    /// `None` if mails are sent or the page is disabled.
    pub(crate) fn inbox(&self) -> Option<(&Path, u16)> {
        let mail = &self.services.auth.as_ref()?.mail;
        let folder = mail.folder.as_deref().filter(|_| mail.smtp.is_none())?;
        Some((folder, self.inbox_port?))
    }

    /// Returns the file of the generated keys.
    pub(crate) fn key_file(&self) -> PathBuf {
        self.data_dir.join("keys.json")
    }
}

/// Stops telling clients apart by a header that only proxies may send if no proxy is trusted: it is removed from
/// requests, and requests without it are not limited. Returns the warning.
fn forget_untrusted_header(auth: &mut auth::Settings, gateway: &gateway::Settings) -> Option<String> {
    let untrusted = |name: &mut String| {
        gateway.trusted_proxies == 0 && gateway::is_forwarding_header(&name.to_ascii_lowercase())
    };
    let name = auth.limits.header.take_if(untrusted)?;
    Some(format!(
        "GOTRUE_RATE_LIMIT_HEADER is ignored: only a proxy may send {name}, and basalt.trusted_proxies is 0"
    ))
}

fn external_url(url: Option<String>) -> Result<Option<String>, &'static str> {
    url.map(|url| ExternalUrl::parse(&url).map(|url| url.as_str().to_owned())).transpose()
}

impl Server {
    /// Returns the URL of the API for clients, if it listens on `port`.
    pub(crate) fn api_url(&self, port: u16) -> String {
        self.external_url.clone().unwrap_or_else(|| format!("http://127.0.0.1:{port}"))
    }
}

fn site(reader: &mut Reader<'_>, project: &Project) -> Result<site::Settings, Invalid> {
    let mut site: site::Settings = reader.read()?;
    site.path = site.path.map(|path| project.resolve(path));
    Ok(site)
}

/// Parses a duration on the command line.
pub(crate) fn duration(text: &str) -> Result<Duration, String> {
    <Duration as Value>::from_text(text).ok_or_else(|| format!("expected {}", <Duration as Value>::EXPECTED))
}

/// Returns `path` for messages: relative to the current folder if it is inside it, unless that is `/`, where services run.
pub(crate) fn display_path(path: &Path) -> String {
    let current = std::env::current_dir().unwrap_or_default();
    let is_root = current.parent().is_none();
    let relative = path.strip_prefix(&current).ok().filter(|rest| !is_root && !rest.as_os_str().is_empty());
    relative.map_or_else(|| path.display().to_string(), |rest| format!("./{}", rest.display()))
}

#[cfg(test)]
mod tests;
#[cfg(test)]
mod upstream;

//! The summary that is printed once everything runs.

use std::net::SocketAddr;
use std::time::Duration;

use embedded::{DEFAULT_PASSWORD, POSTGRES};

use time::OffsetDateTime;

use crate::backend::Backend;
use crate::console;
use crate::edge_functions::EdgeFunctions;
use crate::instance::Instance;
use crate::logging;
use crate::settings::{Settings, display_path};
use crate::uri;

/// Everything that the summary needs.
pub(super) struct Banner<'a> {
    pub(super) settings: &'a Settings,
    pub(super) backend: &'a Backend,
    pub(super) keys: &'a tokens::Keys,
    pub(super) address: SocketAddr,
    pub(super) admin_address: SocketAddr,
    pub(super) inbox_address: Option<SocketAddr>,
    /// The reference of the project, if the platform interface is on.
    pub(super) project_ref: Option<String>,
}

impl Banner<'_> {
    /// Prints the summary, or logs it if the log's format is JSON. It says where secrets are, but does not contain
    /// them, except for the publicly known default password.
    pub(super) fn print(&self, took: Duration) {
        let functions = EdgeFunctions::new(self.settings);
        self.notices(functions.as_ref());
        let (origin, keys) = (self.origin(), self.keys.api_keys());
        let api = self.api_url(&origin);
        let functions = functions.filter(|functions| functions.count > 0);
        let functions = functions.map(|functions| functions.describe(api));
        let site = self.settings.site.enabled.then_some(origin.as_str());
        let (publishable_key, anon_key) = (keys.publishable(), keys.anon());
        let secret_keys = display_path(&self.settings.key_file());
        let (database, data) = (self.psql(), display_path(&self.settings.data_dir));
        let inbox = self.inbox_address.map(|address| format!("http://{address}"));
        let admin = format!("http://{}", self.admin_address);
        let seconds = took.as_secs_f64();
        if logging::is_json() {
            tracing::info!(
                seconds,
                site,
                api,
                functions,
                publishable_key,
                anon_key,
                secret_keys,
                database,
                data,
                inbox,
                admin,
                "Basalt is ready"
            );
            return;
        }
        console::print(format_args!("\nBasalt is ready after {seconds:.1} s.\n"));
        let line = |name: &str, value: &str| console::print(format_args!("  {name:<16} {value}"));
        if let Some(site) = site {
            line("Site", site);
        }
        line("API", api);
        if let Some(functions) = functions {
            line("Functions", &functions);
        }
        line("Publishable key", publishable_key);
        line("Anon key", anon_key);
        let place = match self.settings.server.cli_keys {
            true => "those of every local stack of the Supabase CLI".to_owned(),
            false => format!("in {secret_keys}"),
        };
        line("Secret keys", &format!("{place}; `basalt keys --show` prints them"));
        line("Database", &database);
        line("Data", &data);
        if let Some(inbox) = inbox {
            line("Mails", &format!("{inbox} (kept here: no mail server is set)"));
        }
        line("Metrics, health", &format!("{admin}/metrics, /health"));
        console::print("\nCtrl-C stops everything.");
    }

    /// Returns the description of this server for other commands.
    pub(super) fn instance(&self) -> Instance {
        Instance {
            pid: std::process::id().cast_signed(),
            api_url: self.api_url(&self.origin()).to_owned(),
            admin_url: format!("http://{}", self.admin_address),
            inbox_url: self.inbox_address.map(|address| format!("http://{address}")),
            publishable_key: self.keys.api_keys().publishable().to_owned(),
            project_ref: self.project_ref.clone(),
            version: env!("CARGO_PKG_VERSION").to_owned(),
            program: crate::program::path().ok().map(ToOwned::to_owned),
            begun: OffsetDateTime::now_utc().unix_timestamp_nanos() / 1000,
        }
    }

    /// Returns the URL of the API for clients.
    fn api_url<'a>(&'a self, origin: &'a str) -> &'a str {
        self.settings.server.external_url.as_deref().unwrap_or(origin)
    }

    fn notices(&self, functions: Option<&EdgeFunctions>) {
        if let Some(problem) = functions.and_then(EdgeFunctions::problem) {
            console::note(problem);
        }
        let wanted = self.settings.database.port;
        if let Some(port) = self.backend.cluster.as_ref().and_then(|cluster| cluster.tcp_port())
            // 0 means any.
            && wanted != 0
            && wanted != port
        {
            console::note(format_args!("Port {wanted} is taken; Postgres uses {port} instead."));
        }
    }

    /// Returns a URL that works in a browser on this machine.
    fn origin(&self) -> String {
        let ip = self.address.ip();
        let host =
            if ip.is_unspecified() || ip.is_loopback() { "127.0.0.1".to_owned() } else { ip.to_string() };
        let host = if host.contains(':') { format!("[{host}]") } else { host };
        format!("http://{host}:{}", self.address.port())
    }

    /// Returns a URL, or a command line without a password, with which the administrator connects to the database.
    fn psql(&self) -> String {
        match &self.backend.cluster {
            Some(cluster) if self.settings.has_default_password() => {
                let port = cluster.tcp_port().unwrap_or_default();
                format!("postgresql://{POSTGRES}:{DEFAULT_PASSWORD}@127.0.0.1:{port}/postgres")
            }
            Some(cluster) => {
                let file = display_path(&cluster.password_file());
                let port = cluster.tcp_port().unwrap_or_default();
                let file = console::shell_word(&file);
                format!("PGPASSFILE={file} psql -h 127.0.0.1 -p {port} -U {POSTGRES} postgres")
            }
            None => match &self.settings.database.url {
                Some(url) => format!("psql {}", console::shell_word(&uri::without_password(url).0.to_uri())),
                None => "that of the running server; `basalt psql` opens it".to_owned(),
            },
        }
    }
}

//! The summary that is printed once everything runs.

use std::net::SocketAddr;
use std::time::Duration;

use database::cluster::DEFAULT_PASSWORD;

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
}

impl Banner<'_> {
    /// Prints the summary, or logs it if the log's format is JSON. It says where secrets are, but does not contain them,
    /// except for the publicly known default password.
    pub(super) fn print(&self, took: Duration) {
        let summary = Summary::of(self);
        if logging::is_json() {
            summary.log(took);
        } else {
            summary.print(took);
        }
    }

    /// Returns the description of this server for other commands.
    pub(super) fn instance(&self) -> Instance {
        Instance {
            pid: std::process::id().cast_signed(),
            api_url: self.api_url(&self.origin()).to_owned(),
            admin_url: format!("http://{}", self.admin_address),
            inbox_url: self.inbox_address.map(|address| format!("http://{address}")),
            publishable_key: self.keys.api_keys().publishable().to_owned(),
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
        // 0 means any.
        let wanted = self.settings.server.port;
        if wanted != 0 && wanted != self.address.port() {
            console::note(format_args!("Port {wanted} is taken; using {} instead.", self.address.port()));
        }
        let wanted = self.settings.database.port;
        if let Some(port) = self.backend.cluster.as_ref().and_then(|cluster| cluster.tcp_port())
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
            Some(cluster) if self.settings.database.default_password => {
                let port = cluster.tcp_port().unwrap_or_default();
                format!("postgresql://{DEFAULT_PASSWORD}:{DEFAULT_PASSWORD}@127.0.0.1:{port}/postgres")
            }
            Some(cluster) => {
                let file = display_path(&cluster.password_file());
                let port = cluster.tcp_port().unwrap_or_default();
                let file = uri::shell_word(&file);
                format!("PGPASSFILE={file} psql -h 127.0.0.1 -p {port} -U {} postgres", cluster.superuser())
            }
            None => match &self.settings.database.url {
                Some(url) => format!("psql {}", uri::shell_word(&uri::without_password(url).0.to_uri())),
                None => "that of the running server; `basalt psql` opens it".to_owned(),
            },
        }
    }
}

/// What the summary says.
struct Summary {
    site: Option<String>,
    api: String,
    functions: Option<String>,
    publishable_key: String,
    anon_key: String,
    secret_keys: String,
    database: String,
    data: String,
    inbox: Option<String>,
    admin: String,
}

impl Summary {
    fn of(banner: &Banner<'_>) -> Self {
        let (origin, keys) = (banner.origin(), banner.keys.api_keys());
        let functions = EdgeFunctions::new(banner.settings);
        banner.notices(functions.as_ref());
        let api = banner.api_url(&origin).to_owned();
        Self {
            functions: functions
                .filter(|functions| functions.count > 0)
                .map(|functions| functions.describe(&api)),
            site: banner.settings.site.enabled.then_some(origin),
            publishable_key: keys.publishable().to_owned(),
            anon_key: keys.anon().to_owned(),
            secret_keys: display_path(&banner.settings.key_file()),
            database: banner.psql(),
            data: display_path(&banner.settings.data_dir),
            inbox: banner.inbox_address.map(|address| format!("http://{address}")),
            admin: format!("http://{}", banner.admin_address),
            api,
        }
    }

    fn print(&self, took: Duration) {
        console::print(format_args!("\nBasalt is ready after {:.1} s.\n", took.as_secs_f64()));
        let line = |name: &str, value: &str| console::print(format_args!("  {name:<16} {value}"));
        if let Some(site) = &self.site {
            line("Site", site);
        }
        line("API", &self.api);
        if let Some(functions) = &self.functions {
            line("Functions", functions);
        }
        line("Publishable key", &self.publishable_key);
        line("Anon key", &self.anon_key);
        line("Secret keys", &format!("in {}; `basalt keys --show` prints them", self.secret_keys));
        line("Database", &self.database);
        line("Data", &self.data);
        if let Some(inbox) = &self.inbox {
            line("Mails", &format!("{inbox} (kept here: no mail server is set)"));
        }
        line("Metrics, health", &format!("{}/metrics, /health", self.admin));
        console::print("\nCtrl-C stops everything.");
    }

    fn log(&self, took: Duration) {
        tracing::info!(
            seconds = took.as_secs_f64(),
            site = self.site,
            api = self.api,
            functions = self.functions,
            publishable_key = self.publishable_key,
            anon_key = self.anon_key,
            secret_keys = self.secret_keys,
            database = self.database,
            data = self.data,
            inbox = self.inbox,
            admin = self.admin,
            "Basalt is ready"
        );
    }
}

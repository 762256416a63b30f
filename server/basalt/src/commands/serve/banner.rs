//! What a person needs to know once everything runs.

use std::net::SocketAddr;
use std::time::Duration;

use database::cluster::DEFAULT_PASSWORD;

use crate::backend::Backend;
use crate::commands::functions::Functions;
use crate::console;
use crate::instance::Instance;
use crate::settings::{Settings, display_path};
use crate::uri;

/// The addresses of what runs.
pub(super) struct Banner<'a> {
    pub(super) settings: &'a Settings,
    pub(super) backend: &'a Backend,
    pub(super) keys: &'a tokens::Keys,
    /// The port that was to be listened on; 0 for any.
    pub(super) wanted_port: u16,
    pub(super) address: SocketAddr,
    pub(super) admin_address: SocketAddr,
    pub(super) inbox_address: Option<SocketAddr>,
}

impl Banner<'_> {
    /// Prints it. Secrets are named by where they are, never shown; a password that everybody knows is none.
    pub(super) fn print(&self, took: Duration) {
        let origin = self.origin();
        let functions = Functions::of(self.settings);
        self.notices(functions.as_ref());
        console::print(format_args!("\nBasalt is ready after {:.1} s.\n", took.as_secs_f64()));
        if self.settings.site.enabled {
            line("Site", &origin);
        }
        line("API", self.api_url(&origin));
        if let Some(functions) = functions.filter(|functions| functions.count > 0) {
            line("Functions", &functions.described(self.api_url(&origin)));
        }
        line("Publishable key", self.keys.api_keys().publishable());
        line("Anon key", self.keys.api_keys().anon());
        let file = display_path(&self.settings.key_file());
        line("Secret keys", &format!("in {file}; `basalt keys --show` prints them"));
        line("Database", &self.psql());
        line("Data", &display_path(&self.settings.data_dir));
        if let Some(address) = self.inbox_address {
            line("Mails", &format!("http://{address} (kept here: no mail server is set)"));
        }
        line("Metrics, health", &format!("http://{}/metrics, /health", self.admin_address));
        console::print("\nCtrl-C stops everything.");
    }

    /// What other commands are told of this server.
    pub(super) fn instance(&self) -> Instance {
        Instance {
            pid: std::process::id().cast_signed(),
            api_url: self.api_url(&self.origin()).to_owned(),
            admin_url: format!("http://{}", self.admin_address),
            inbox_url: self.inbox_address.map(|address| format!("http://{address}")),
            publishable_key: self.keys.api_keys().publishable().to_owned(),
        }
    }

    /// Where clients reach the API.
    fn api_url<'a>(&'a self, origin: &'a str) -> &'a str {
        self.settings.server.external_url.as_deref().unwrap_or(origin)
    }

    fn notices(&self, functions: Option<&Functions>) {
        if let Some(problem) = functions.and_then(Functions::problem) {
            console::note(problem);
        }
        let wanted = self.wanted_port;
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

    /// A URL that works in a browser on this machine.
    fn origin(&self) -> String {
        let ip = self.address.ip();
        let host =
            if ip.is_unspecified() || ip.is_loopback() { "127.0.0.1".to_owned() } else { ip.to_string() };
        let host = if host.contains(':') { format!("[{host}]") } else { host };
        format!("http://{host}:{}", self.address.port())
    }

    /// How the database's administrator gets in: a URL, or a command line that names no password.
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

fn line(name: &str, value: &str) {
    console::print(format_args!("  {name:<16} {value}"));
}

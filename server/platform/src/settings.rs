//! Settings of the platform interface, and what it tells about the settings of the other services.

use std::path::PathBuf;

use settings::Bytes;

use crate::managed::ServiceConfig;

settings::words! {
    /// Where the platform interface can be reached.
    pub enum Access: "auto, api, admin or off" {
        /// On the port of the API: always on a loopback address, elsewhere once there is an access token.
        Auto = "auto",
        /// On the port of the API.
        Api = "api",
        /// On the admin port, which only programs on this machine reach.
        Admin = "admin",
        /// Nowhere.
        Off = "off",
    }
}

settings::settings! {
    /// Settings of the platform interface.
    #[derive(Debug, Clone, PartialEq)]
    pub struct Settings {
        /// Where tools reach the platform interface (`/v1`): `api`, `admin`, `off`, or `auto`, which is `api` on a
        /// loopback address, and elsewhere as soon as there is an access token.
        #[setting(variables = ["BASALT_PLATFORM"], key = "basalt.platform.access")]
        pub access: Access = Access::Auto,
        /// The reference of the project: 20 lowercase letters. The default is made at the first start and kept in the
        /// database.
        #[setting(variables = ["BASALT_PROJECT_REF"], key = "basalt.platform.ref")]
        pub project_ref: Option<String> = None,
        /// The name of the project. The default is that of its folder.
        #[setting(variables = ["BASALT_PROJECT_NAME"], key = "basalt.platform.name")]
        pub name: Option<String> = None,
        /// The name of the organization that the project belongs to.
        #[setting(variables = [], key = "basalt.platform.organization")]
        pub organization: String = "Local".to_owned(),
        /// The domain below which tools look for the project (`<ref>.<domain>`) and its database
        /// (`db.<ref>.<domain>`). The default is the host of the API's URL.
        #[setting(variables = ["BASALT_PROJECT_HOST"], key = "basalt.platform.project_host")]
        pub project_host: Option<String> = None,
        /// How many requests of an address may have an access token that is not valid, each minute.
        #[setting(variables = [], key = "basalt.platform.failures_per_minute")]
        pub failures_per_minute: u32 = 30,
        /// How long the statements of a query may run, in seconds.
        #[setting(variables = [], key = "basalt.platform.query_timeout")]
        pub query_timeout: std::time::Duration = std::time::Duration::from_secs(60),
        /// How much memory recent events may take, which queries of logs see. With 0, there are no logs.
        #[setting(variables = ["BASALT_LOG_MEMORY"], key = "basalt.platform.log_memory")]
        pub log_memory: Bytes = Bytes(16 << 20),
        /// Whether the port of the API is on a loopback address.
        pub is_local: bool = true,
        /// The URL under which clients reach the API.
        pub api_url: String = String::new(),
        /// The folder with the project's snippets of SQL.
        pub snippets: PathBuf = PathBuf::new(),
        /// What the other services' settings are, by the section of the interface.
        pub config: ServiceConfig = ServiceConfig::default(),
    }
}

impl Settings {
    /// Returns the domain below which tools look for the project.
    pub fn project_host(&self) -> String {
        if let Some(host) = &self.project_host {
            return host.clone();
        }
        let url = url::Url::parse(&self.api_url).ok();
        url.and_then(|url| url.host_str().map(str::to_owned)).unwrap_or_else(|| "localhost".to_owned())
    }
}

//! Settings of the site.

use std::path::PathBuf;

::settings::settings! {
    /// The site to serve. The default is none.
    #[derive(Debug, Clone)]
    pub struct Settings {
        /// Whether a site is served.
        #[setting(variables = ["BASALT_SITE_ENABLED"], key = "basalt.site.enabled")]
        pub enabled: bool = false,
        /// The folder of a built client that is served instead of the one in the binary.
        #[setting(variables = ["BASALT_SITE_PATH"], key = "basalt.site.path")]
        pub path: Option<PathBuf> = None,
        /// The paths for which the client has pages, if it does not name them itself (docs/page-heads.md). All other
        /// paths get status 404. Empty: all paths are pages.
        #[setting(variables = [], key = "basalt.site.routes")]
        pub routes: Vec<String> = Vec::new(),
        /// Further origins that the site's scripts may call, in addition to its own.
        #[setting(variables = ["BASALT_SITE_CONNECT_SRC"], key = "basalt.site.connect_src", check = origins)]
        pub connect_src: Vec<String> = Vec::new(),
        /// URL of Vite's dev server to take the pages from. `--dev`.
        pub dev: Option<String> = None,
    }
}

fn origins(urls: Vec<String>) -> Result<Vec<String>, &'static str> {
    urls.iter().map(|url| gateway::origin(url)).collect()
}

//! Settings of the site.

use std::path::PathBuf;

::settings::settings! {
    /// The site to serve. The default is none.
    #[derive(Debug, Clone)]
    pub struct Settings {
        /// Whether there is one.
        #[setting(variables = ["BASALT_SITE_ENABLED"], key = "basalt.site.enabled")]
        pub enabled: bool = false,
        /// Folder of a built client to serve instead of the one in the binary.
        #[setting(variables = ["BASALT_SITE_PATH"], key = "basalt.site.path")]
        pub path: Option<PathBuf> = None,
        /// Paths that the client has pages for, if it does not tell them itself (docs/page-heads.md); every other one
        /// is answered with status 404. Empty: all are pages.
        #[setting(variables = [], key = "basalt.site.routes")]
        pub routes: Vec<String> = Vec::new(),
        /// Origins besides the site's own that its scripts may call.
        #[setting(variables = ["BASALT_SITE_CONNECT_SRC"], key = "basalt.site.connect_src", check = origins)]
        pub connect_src: Vec<String> = Vec::new(),
        /// URL of Vite's dev server to take the pages from. `--dev`.
        pub dev: Option<String> = None,
    }
}

fn origins(urls: Vec<String>) -> Result<Vec<String>, &'static str> {
    urls.iter().map(|url| gateway::origin(url)).collect()
}

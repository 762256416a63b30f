//! What a deployment may say about its site.

use std::path::PathBuf;

/// The site to serve. The default is none.
#[derive(Debug, Clone, Default)]
pub struct Settings {
    /// Whether there is one. `basalt.site.enabled`. Default: false.
    pub enabled: bool,
    /// Folder of a built client to serve instead of the one in the binary. `basalt.site.path`.
    pub path: Option<PathBuf>,
    /// Paths that the client has pages for, if it does not tell them itself (docs/page-heads.md); every other one is
    /// answered with status 404. Empty: all are pages. `basalt.site.routes`.
    pub routes: Vec<String>,
    /// Origins besides the site's own that its scripts may call. `basalt.site.connect_src`.
    pub connect_src: Vec<String>,
    /// URL of Vite's dev server to take the pages from. `--dev`.
    pub dev: Option<String>,
}

//! What runs deployed functions, as the platform interface sees it.

use std::collections::BTreeMap;
use std::path::PathBuf;

use futures_util::future::BoxFuture;

/// A version of a function, whose files lie in a folder of this node.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Version {
    /// The function's name in URLs.
    pub slug: String,
    /// The number of the version.
    pub version: i32,
    /// Whether a caller needs a valid token.
    pub verify_jwt: bool,
    /// The folder of its files.
    pub folder: PathBuf,
    /// Its main file.
    pub entry_point: PathBuf,
    /// Its import map or `deno.json`.
    pub import_map: Option<PathBuf>,
    /// The file with the versions and checksums of what it imports.
    pub lock: PathBuf,
}

/// Gives a version that is ready the calls of its function.
pub type TakeCalls = Box<dyn FnOnce() + Send>;

/// What runs deployed functions. Errors are what to tell the person who deploys, in Deno's words.
pub trait FunctionRuntime: Send + Sync + 'static {
    /// Downloads what a version imports, and writes the versions and checksums of it into its lock.
    fn download_imports<'a>(&'a self, version: &'a Version) -> BoxFuture<'a, Result<(), String>>;

    /// Starts a version beside the one that serves, and waits until it is ready.
    fn boot<'a>(&'a self, version: &'a Version) -> BoxFuture<'a, Result<TakeCalls, String>>;

    /// Makes `versions` the functions that are deployed, without starting them.
    fn set_deployments(&self, versions: Vec<Version>);

    /// Sets the variables that were set as secrets.
    fn set_secrets(&self, secrets: BTreeMap<String, String>);
}

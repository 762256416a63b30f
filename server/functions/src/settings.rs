//! What an operator may decide about edge functions.

use std::collections::BTreeMap;
use std::fmt;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// Files that a function may begin in, the first that is there.
pub const ENTRY_POINTS: [&str; 4] = ["index.ts", "index.tsx", "index.js", "index.mjs"];

/// Settings of the functions service.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Settings {
    /// The functions folder: each folder in it that has an entry point is a function of that name; names that begin
    /// with `_` or `.` are code that functions share.
    pub folder: PathBuf,
    /// What is set for single functions, by name; all others have the defaults of [`Function`].
    pub functions: BTreeMap<String, Function>,
    /// Variables that every function sees.
    pub secrets: Secrets,
    /// The Deno to run them with. Default: the first that is found.
    pub deno: Option<PathBuf>,
    /// Folders whose `node_modules`, or whose parents' `node_modules`, may hold the npm package `deno`.
    pub projects: Vec<PathBuf>,
    /// Where Deno keeps the modules that functions import.
    pub cache: PathBuf,
    /// Functions that are started with the server, ahead of their first call.
    pub ahead: Vec<String>,
    /// Functions that are called every so often by the server itself, with its service key and the body
    /// `{"type": "scheduled"}`. Each server does so on its own. Default: none.
    pub schedules: BTreeMap<String, Duration>,
    /// Whether a changed file ends its function's process, so that the next call sees the change. Default: false.
    pub watch: bool,
    /// What a function may use.
    pub limits: Limits,
}

/// One function.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Function {
    /// Whether it can be called; `enabled` in `config.toml`. Default: true.
    pub enabled: bool,
    /// Whether a caller needs a valid token; `verify_jwt` in `config.toml`. Default: true.
    pub verify_jwt: bool,
    /// The file it begins in; `entrypoint`. Default: the first of [`ENTRY_POINTS`] in its folder.
    pub entry_point: Option<PathBuf>,
    /// An import map or a `deno.json`; `import_map`. Default: `deno.json` or `deno.jsonc` in its folder.
    pub import_map: Option<PathBuf>,
    /// Files outside its folder that it may read; `static_files`. Default: none.
    pub static_files: Vec<PathBuf>,
}

impl Default for Function {
    fn default() -> Self {
        Self {
            enabled: true,
            verify_jwt: true,
            entry_point: None,
            import_map: None,
            static_files: Vec::new(),
        }
    }
}

/// What a function may use. The defaults are the hosted platform's where it names one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Limits {
    /// Bytes of its JavaScript heap. Its process may use [`Limits::NATIVE`] more. Default: 256 MiB.
    pub memory: u64,
    /// Processor time that it may take without letting its other calls run. Default: 2 s.
    pub cpu: Duration,
    /// Until the answer to a call must begin. Default: 150 s.
    pub request: Duration,
    /// Until the answer to a call or its WebSocket must end, and work given to `EdgeRuntime.waitUntil`. Default: 400 s.
    pub wall_clock: Duration,
    /// Until it must be ready for calls; the download of its modules counts. Default: 60 s.
    pub boot: Duration,
    /// Until a WebSocket is closed on which nothing comes from either end; Deno's own end asks for a sign of life every
    /// 30 s. A socket that talks is closed when [`Limits::wall_clock`] has passed. Default: 150 s.
    pub socket_silence: Duration,
    /// Without a call, until its process ends. Default: 5 minutes.
    pub idle: Duration,
    /// Calls at the same time. Default: 256.
    pub concurrency: usize,
    /// Calls that wait beyond those. Default: 1024.
    pub queue: usize,
}

impl Limits {
    /// Bytes that Deno itself uses beside the heap: code, buffers, stacks.
    pub const NATIVE: u64 = 128 * 1024 * 1024;
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            memory: 256 * 1024 * 1024,
            cpu: Duration::from_secs(2),
            request: Duration::from_secs(150),
            wall_clock: Duration::from_secs(400),
            boot: Duration::from_secs(60),
            socket_silence: Duration::from_secs(150),
            idle: Duration::from_secs(300),
            concurrency: 256,
            queue: 1024,
        }
    }
}

/// Environment variables by name, not for logs.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct Secrets(pub BTreeMap<String, String>);

impl fmt::Debug for Secrets {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_set().entries(self.0.keys()).finish()
    }
}

/// A function that is there, with all that is known of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Found {
    /// Its name, which is that of its folder.
    pub name: String,
    /// The file it begins in.
    pub entry_point: PathBuf,
    /// What is set for it.
    pub function: Function,
}

impl Settings {
    /// The function `name`, if it has an entry point; whether it is enabled does not matter here.
    pub fn find(&self, name: &str) -> Option<Found> {
        // Names are what the CLI allows, and so never lead out of the folder.
        let is_valid = name.starts_with(|first: char| first.is_ascii_alphanumeric())
            && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-' || byte == b'_');
        if !is_valid {
            return None;
        }
        let function = self.functions.get(name).cloned().unwrap_or_default();
        let entry_point = match &function.entry_point {
            Some(path) => path.is_file().then(|| path.clone())?,
            None => entry_point(&self.folder.join(name))?,
        };
        Some(Found { name: name.to_owned(), entry_point, function })
    }

    /// All functions, by name.
    pub fn list(&self) -> Vec<Found> {
        let entries = std::fs::read_dir(&self.folder).into_iter().flatten().flatten();
        let mut names: Vec<String> =
            entries.filter_map(|entry| entry.file_name().into_string().ok()).collect();
        names.extend(self.functions.keys().cloned());
        names.sort();
        names.dedup();
        names.iter().filter_map(|name| self.find(name)).collect()
    }
}

fn entry_point(folder: &Path) -> Option<PathBuf> {
    ENTRY_POINTS.iter().map(|file| folder.join(file)).find(|path| path.is_file())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn functions_are_the_folders_that_begin_somewhere() {
        let folder = tempfile::tempdir().unwrap();
        for file in ["hello/index.ts", "_shared/index.ts", "empty/notes.md", "plain/index.js"] {
            let path = folder.path().join(file);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, "").unwrap();
        }
        let elsewhere =
            Function { entry_point: Some(folder.path().join("empty/notes.md")), ..Function::default() };
        let functions = [("moved".to_owned(), elsewhere)].into();
        let settings = Settings { folder: folder.path().to_owned(), functions, ..Settings::default() };
        let names: Vec<String> = settings.list().into_iter().map(|found| found.name).collect();
        assert_eq!(names, ["hello", "moved", "plain"]);
        assert!(settings.find("../hello").is_none());
        assert!(settings.find("_shared").is_none());
    }

    #[test]
    fn secrets_are_not_shown() {
        let secrets = Secrets([("NAME".to_owned(), "hunter2".to_owned())].into());
        assert_eq!(format!("{secrets:?}"), r#"{"NAME"}"#);
    }
}

//! Settings of edge functions.

use std::collections::BTreeMap;
use std::fmt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use ::settings::{Bytes, Environment, Invalid, KnownKeys, Reader};

/// The names that the service knows although no setting has them.
pub const KNOWN_KEYS: KnownKeys = KnownKeys {
    silent: &["edge_runtime.inspector_port", "edge_runtime.policy"],
    without_effect: &[(
        "edge_runtime.deno_version",
        "2",
        "functions run on the Deno that is installed, which is a 2",
    )],
    ..KnownKeys::NONE
};

/// The possible names of a function's main file; the first one that exists is used.
const ENTRY_POINTS: [&str; 4] = ["index.ts", "index.tsx", "index.js", "index.mjs"];

/// Reports whether the variable `name` is the platform's; secrets cannot have such names, as with the CLI.
fn is_of_platform(name: &str) -> bool {
    name.starts_with("SUPABASE_")
}

::settings::settings! {
    /// Settings of the functions service.
    #[derive(Debug, Clone, PartialEq, Eq)]
    pub struct Settings {
        /// The folder of the functions. Each folder in it that has an entry point is a function of that name. Folders
        /// whose names begin with `_` or `.` contain code that functions share.
        #[setting(variables = ["BASALT_FUNCTIONS_PATH"], key = "basalt.functions_path")]
        pub folder: PathBuf = PathBuf::from("functions"),
        /// What is set for single functions, by name; all others have the defaults of [`Function`].
        pub functions: BTreeMap<String, Function> = BTreeMap::new(),
        /// Variables that every function sees.
        pub secrets: Secrets = Secrets::default(),
        /// The program Deno. By default Basalt looks for it.
        #[setting(variables = ["DENO"])]
        pub deno: Option<PathBuf> = None,
        /// Folders whose `node_modules`, or whose parents' `node_modules`, may hold the npm package `deno`.
        pub projects: Vec<PathBuf> = Vec::new(),
        /// Where Deno keeps the modules that functions import.
        pub cache: PathBuf = PathBuf::new(),
        /// The project's folder: functions may import files in it, except hidden ones.
        pub root: PathBuf = PathBuf::new(),
        /// The data folder, from which functions may import nothing.
        pub data_dir: PathBuf = PathBuf::new(),
        /// The variables of `--env-file`, which precede those of single functions; `None` without that flag.
        pub env_file: Option<Secrets> = None,
        /// Functions that are started together with the server, before their first call.
        #[setting(variables = [], key = "basalt.functions.ahead")]
        pub ahead: Vec<String> = Vec::new(),
        /// Functions that are called every so often by the server itself, with its service key and the body
        /// `{"type": "scheduled"}`. Each server does so on its own.
        pub schedules: BTreeMap<String, Duration> = BTreeMap::new(),
        /// Whether a changed file ends its function's process, so that the next call sees the change.
        pub watch: bool = false,
        /// What a function may use.
        pub limits: Limits = Limits::default(),
    }
}

::settings::settings! {
    /// One function.
    #[derive(Debug, Clone, PartialEq, Eq)]
    pub struct Function {
        /// Whether the function can be called.
        #[setting(variables = [], key = "enabled")]
        pub enabled: bool = true,
        /// Whether a caller needs a valid token.
        #[setting(variables = [], key = "verify_jwt")]
        pub verify_jwt: bool = true,
        /// The function's main file. The default is `index.ts` (or `.tsx`, `.js`, `.mjs`) in its folder.
        #[setting(variables = [], key = "entrypoint")]
        pub entry_point: Option<PathBuf> = None,
        /// An import map or a `deno.json`. The default is `deno.json` or `deno.jsonc` in the function's folder.
        #[setting(variables = [], key = "import_map")]
        pub import_map: Option<PathBuf> = None,
        /// Files outside of its folder that the function may read; patterns may have `*` and `?`.
        #[setting(variables = [], key = "static_files")]
        pub static_patterns: Vec<String> = Vec::new(),
        /// The files that those patterns name.
        pub static_files: Vec<PathBuf> = Vec::new(),
        /// Variables that it alone sees, beside those of `.env` in its folder.
        pub env: Secrets = Secrets::default(),
    }
}

::settings::settings! {
    /// What a function may use. The defaults are the hosted platform's where it names one.
    #[derive(Debug, Clone, PartialEq, Eq)]
    pub struct Limits {
        /// The maximum size of a function's JavaScript heap in bytes. Its process may use 128 MiB more.
        #[setting(variables = [], key = "memory_limit")]
        pub memory: Bytes = Bytes(256 << 20),
        /// How much processor time a call may take without a pause in which other calls of the function can run.
        #[setting(variables = [], key = "cpu_limit")]
        pub cpu: Duration = Duration::from_secs(2),
        /// How long after a call its response must begin.
        #[setting(variables = [], key = "request_timeout")]
        pub request: Duration = Duration::from_secs(150),
        /// How long after a call its response or its WebSocket must end, and work that was given to
        /// `EdgeRuntime.waitUntil`.
        #[setting(variables = [], key = "wall_clock_limit")]
        pub wall_clock: Duration = Duration::from_secs(400),
        /// How long a function's start may take, including the download of its modules.
        #[setting(variables = [], key = "boot_timeout")]
        pub boot: Duration = Duration::from_secs(60),
        /// After how much time a WebSocket is closed on which nothing arrives from either side. Deno itself sends a
        /// ping every 30 s. A socket that is in use is closed when `wall_clock_limit` has passed.
        #[setting(variables = [], key = "socket_silence")]
        pub socket_silence: Duration = Duration::from_secs(150),
        /// How many processes all functions may have at the same time. If there are as many, the one ends that has been
        /// without a call for the longest time; if all have calls, a call that needs another one is refused after
        /// seconds. 0: no limit.
        #[setting(variables = [], key = "processes")]
        pub processes: usize = 0,
        /// After how much time without a call a function's process ends.
        #[setting(variables = [], key = "idle_timeout")]
        pub idle: Duration = Duration::from_secs(300),
        /// How many calls may run at the same time. One network gets at most three quarters of them, and of the calls
        /// that wait (`basalt.network_shares`).
        #[setting(variables = [], key = "concurrency", check = at_least_one)]
        pub concurrency: usize = 256,
        /// How many WebSockets may be open at the same time. They do not count as calls.
        #[setting(variables = [], key = "sockets")]
        pub sockets: usize = 256,
        /// How many further calls may wait.
        #[setting(variables = [], key = "queue")]
        pub queue: usize = 1024,
    }
}

fn at_least_one(number: usize) -> Result<usize, &'static str> {
    Ok(number.max(1))
}

impl Limits {
    /// Bytes that Deno itself uses in addition to the heap: code, buffers, stacks.
    pub(crate) const NATIVE: u64 = 128 * 1024 * 1024;
}

/// Environment variables by name. Must not be logged.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct Secrets(pub BTreeMap<String, String>);

impl fmt::Debug for Secrets {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_set().entries(self.0.keys()).finish()
    }
}

/// A function whose files exist, with its settings.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DeployedFunction {
    /// Its name, which is that of its folder.
    pub name: String,
    /// Its main file.
    pub entry_point: PathBuf,
    /// Its settings.
    pub function: Function,
    /// Where its files are if it was deployed to the server; `None` for a function of the project's folder.
    pub deployment: Option<Deployment>,
}

/// The files of a version of a function that was deployed to the server.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Deployment {
    /// The number of the version.
    pub version: i32,
    /// The folder of its files. The function may read all of them.
    pub folder: PathBuf,
    /// The versions and checksums of the modules that it imports, as Deno writes them (`deno.lock`).
    pub lock: PathBuf,
}

impl Settings {
    /// Reads everything except the paths that are relative to a project, and the secrets.
    ///
    /// Errors: [`Invalid`] for the first invalid setting.
    pub fn read(reader: &mut Reader<'_>) -> Result<Self, Invalid> {
        let mut settings: Self = reader.read()?;
        reader.apply_at(&["basalt", "functions"], &mut settings.limits)?;
        for name in reader.tables(&["functions"]) {
            let mut function = Function::default();
            reader.apply_at(&["functions", &name], &mut function)?;
            for variable in reader.names(&["functions", &name, "env"]) {
                let value = reader.optional_at(&["functions", &name, "env", &variable])?;
                if let Some(value) = value.filter(|_| !is_of_platform(&variable)) {
                    function.env.0.insert(variable, value);
                }
            }
            settings.functions.insert(name, function);
        }
        settings.schedules = reader.map_at(&["basalt", "functions", "schedules"])?;
        Ok(settings)
    }

    /// Reads the variables for functions. The sources, from the highest precedence to the lowest: `env_file`, which
    /// replaces `.env` in the functions folder; `[edge_runtime.secrets]`; the `.env` files of `folders`. Variables of
    /// the project's files that are for the server itself are left out. So this must be called last, when all names
    /// that the server reads are known.
    ///
    /// Source: `supabase functions serve` of the Supabase CLI (`internal/functions/serve`, `internal/secrets/set`), to
    /// which the project's own `.env` is added.
    ///
    /// Errors: [`Invalid`] for a file that cannot be read or parsed.
    pub fn read_secrets(
        &mut self,
        reader: &mut Reader<'_>,
        folders: [&Path; 2],
        env_file: Option<&Path>,
    ) -> Result<(), Invalid> {
        let mut secrets = BTreeMap::new();
        let mut add = |(name, value): (&str, &str)| {
            if !is_of_platform(name) {
                secrets.entry(name.to_owned()).or_insert_with(|| value.to_owned());
            }
        };
        let own = match env_file {
            Some(path) if !path.is_file() => {
                return Err(Invalid::new("--env-file", "a file that exists", &path.display()));
            }
            Some(path) => path.to_owned(),
            None => self.folder.join(".env"),
        };
        let own = Environment::of_files([own.as_path()])?;
        own.pairs().for_each(&mut add);
        self.env_file = env_file.map(|_| {
            let pairs = own.pairs().map(|(name, value)| (name.to_owned(), value.to_owned()));
            Secrets(pairs.collect())
        });
        let table = ["edge_runtime", "secrets"];
        for name in reader.names(&table) {
            if let Some(value) = reader.optional_at(&[table[0], table[1], &name])? {
                add((&name, &value));
            }
        }
        let files = folders.map(|folder| [folder.join(".env.local"), folder.join(".env")]);
        let common = Environment::of_files(files.iter().flatten().map(PathBuf::as_path))?;
        common.pairs().filter(|(name, _)| !reader.is_ours(name)).for_each(&mut add);
        self.secrets = Secrets(secrets);
        Ok(())
    }

    /// Reads the variables that `deployed` alone sees, beside those of `--env-file`: those of its table `env`, then
    /// those of `.env` in its folder, which is not read with `--env-file`. The variables of that flag precede both.
    ///
    /// Source: `supabase functions serve` of the Supabase CLI (`apps/cli/src/shared/functions/serve.ts`).
    ///
    /// Errors: [`Invalid`] for a file that cannot be read or parsed.
    pub(crate) fn own_variables(
        &self,
        deployed: &DeployedFunction,
        env_file: Option<&BTreeMap<String, String>>,
    ) -> Result<BTreeMap<String, String>, Invalid> {
        let mut own = deployed.function.env.0.clone();
        if deployed.deployment.is_some() {
            return Ok(own);
        }
        if let Some(flag) = env_file {
            own.retain(|name, _| !flag.contains_key(name));
            return Ok(own);
        }
        let file = self.folder.join(&deployed.name).join(".env");
        let of_file = Environment::of_files([file.as_path()])?;
        for (name, value) in of_file.pairs().filter(|(name, _)| !is_of_platform(name)) {
            own.entry(name.to_owned()).or_insert_with(|| value.to_owned());
        }
        Ok(own)
    }

    /// Returns these settings with those of `current` that cannot be changed while the server runs.
    pub(crate) fn with_fixed_of(self, current: &Self) -> Self {
        let Self { folder, ahead, schedules, deno, watch, .. } = current.clone();
        Self { folder, ahead, schedules, deno, watch, ..self }
    }

    /// Returns the function `name`, if it has an entry point, even if it is disabled.
    pub fn find(&self, name: &str) -> Option<DeployedFunction> {
        // A name cannot lead out of the folder.
        if !is_name(name) {
            return None;
        }
        let function = self.functions.get(name).cloned().unwrap_or_default();
        let entry_point = match &function.entry_point {
            Some(path) => path.is_file().then(|| path.clone())?,
            None => entry_point(&self.folder.join(name))?,
        };
        Some(DeployedFunction { name: name.to_owned(), entry_point, function, deployment: None })
    }

    /// Returns all functions, sorted by name.
    pub fn list(&self) -> Vec<DeployedFunction> {
        let entries = std::fs::read_dir(&self.folder).into_iter().flatten().flatten();
        let mut names: Vec<String> =
            entries.filter_map(|entry| entry.file_name().into_string().ok()).collect();
        names.extend(self.functions.keys().cloned());
        names.sort();
        names.dedup();
        names.iter().filter_map(|name| self.find(name)).collect()
    }
}

/// Returns the names of the settings in which `old` and `new` differ and that [`Functions::configure`] leaves as they
/// were: they need a restart.
///
/// [`Functions::configure`]: crate::Functions::configure
pub fn settings_that_need_a_restart(old: &Settings, new: &Settings) -> Vec<&'static str> {
    ::settings::changed_names([
        ("basalt.functions_path", old.folder != new.folder),
        ("basalt.functions.ahead", old.ahead != new.ahead),
        ("basalt.functions.schedules", old.schedules != new.schedules),
        ("DENO", old.deno != new.deno),
        ("basalt.functions.processes", old.limits.processes != new.limits.processes),
    ])
}

/// Reports whether `name` is one that the CLI allows for a function: letters, digits, `-` and `_`.
pub fn is_name(name: &str) -> bool {
    name.starts_with(|first: char| first.is_ascii_alphanumeric())
        && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-' || byte == b'_')
}

fn entry_point(folder: &Path) -> Option<PathBuf> {
    ENTRY_POINTS.iter().map(|file| folder.join(file)).find(|path| path.is_file())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn functions_are_the_folders_with_an_entry_point() {
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
    fn what_cannot_change_while_the_server_runs_stays() {
        let old = Settings::default();
        let limits = Limits { concurrency: 7, ..Limits::default() };
        let new = Settings { folder: PathBuf::from("elsewhere"), limits, ..Settings::default() };
        assert_eq!(settings_that_need_a_restart(&old, &new), ["basalt.functions_path"]);
        let kept = new.with_fixed_of(&old);
        assert_eq!((kept.folder, kept.limits.concurrency), (old.folder, 7));
    }

    #[test]
    fn secrets_are_not_shown() {
        let secrets = Secrets([("NAME".to_owned(), "hunter2".to_owned())].into());
        assert_eq!(format!("{secrets:?}"), r#"{"NAME"}"#);
    }
}

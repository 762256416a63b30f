//! A function's process: Deno with only the permissions that a function needs.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};
use std::process::Stdio;

use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, percent_encode};
use serde_json::json;
use tokio::process::Command;
use tokio::sync::broadcast;

use super::connections::sockets;
use super::import_map;
use super::imports::Imports;
use crate::settings::{DeployedFunction, Settings};

/// Variables of the server that Deno needs to reach module registries, and whether a function keeps them: it keeps
/// those that Deno reads for each connection of the function. A name that ends in `*` stands for all names with that
/// prefix.
const DENO_VARIABLES: [(&str, bool); 17] = [
    ("ALL_PROXY", true),
    ("DENO_AUTH_TOKENS", false),
    ("DENO_CERT", false),
    ("DENO_TLS_CA_STORE", false),
    ("HOME", false),
    ("HTTPS_PROXY", true),
    ("HTTP_PROXY", true),
    ("JSR_NPM_URL", false),
    ("JSR_URL", false),
    ("NODE_EXTRA_CA_CERTS", true),
    ("NO_PROXY", true),
    ("NPM_CONFIG_*", false),
    ("SSL_CERT_DIR", true),
    ("SSL_CERT_FILE", true),
    ("http_proxy", true),
    ("https_proxy", true),
    ("npm_config_*", false),
];

/// Those of the function's own variables that Deno reads when it loads modules. The others are no part of what its process is
/// started with: the loader of programs and Deno itself would obey some of them.
const OF_REGISTRIES: [&str; 5] =
    ["DENO_AUTH_TOKENS", "JSR_NPM_URL", "JSR_URL", "NPM_CONFIG_REGISTRY", "npm_config_registry"];

/// Bytes of a path that have a meaning in URLs.
const ESCAPED: &AsciiSet = &NON_ALPHANUMERIC.remove(b'/').remove(b'-').remove(b'.').remove(b'_').remove(b'~');

/// Everything that is needed to start a function.
pub(super) struct Launch<'a> {
    /// The program.
    pub(super) deno: &'a Path,
    /// Our script, which starts the function.
    pub(super) script: &'a Path,
    /// The function.
    pub(super) deployed: &'a DeployedFunction,
    /// The folder for its sockets.
    pub(super) folder: &'a Path,
    /// The environment that the function gets.
    pub(super) environment: &'a BTreeMap<String, String>,
    /// The settings of all functions.
    pub(super) settings: &'a Settings,
    /// Where the lines of its log are sent.
    pub(super) lines: &'a broadcast::Sender<String>,
    /// What the function imports.
    pub(super) imports: Imports,
    /// An import map in place of the project's.
    pub(super) own_map: Option<PathBuf>,
}

impl Launch<'_> {
    /// Returns the command that starts the process. The process is in a process group of its own, so that Ctrl-C in a
    /// terminal reaches only the server. Its standard input gets [`variables`](Self::variables) first; when it closes, the
    /// process ends, so that it cannot outlive the server.
    pub(super) fn command(&self) -> Command {
        let machine = self.machine();
        let mut command = Command::new(self.deno);
        command.args(["run", "--quiet", "--no-prompt", "--no-check", "--node-modules-dir=none"]);
        command.args(self.lock());
        command.arg(format!("--v8-flags=--max-old-space-size={}", self.settings.limits.memory.0 >> 20));
        command.args(["--allow-net", "--allow-env", "--allow-import"]);
        let mut readable = self.readable();
        readable.extend(self.imports.readable.iter().cloned());
        command.arg(permission("--allow-read=", &readable));
        command.arg(permission("--allow-write=", &[self.folder.to_owned()]));
        command.args(self.configuration()).arg(self.script).arg(self.arguments(&machine));
        self.set_up(&mut command, &machine);
        command.stdin(Stdio::piped());
        command
    }

    /// Returns the command that describes the import graph as JSON. It runs nothing of the function, and needs no
    /// network.
    pub(super) fn graph_command(&self) -> Command {
        let mut command = Command::new(self.deno);
        command.args(["info", "--json", "--quiet", "--node-modules-dir=none"]).args(self.lock());
        command.args(["--no-remote", "--no-npm"]).args(self.configuration()).arg(&self.deployed.entry_point);
        self.set_up(&mut command, &self.machine());
        command.stdin(Stdio::null());
        command
    }

    fn set_up(&self, command: &mut Command, machine: &BTreeMap<String, OsString>) {
        let of_registries =
            self.environment.iter().filter(|(name, _)| OF_REGISTRIES.contains(&name.as_str()));
        command.env_clear().envs(machine).envs(of_registries);
        command.env("DENO_DIR", &self.settings.cache).env("DENO_NO_UPDATE_CHECK", "1").env("NO_COLOR", "1");
        command.stdout(Stdio::piped()).stderr(Stdio::piped());
        command.current_dir(self.function_folder()).process_group(0).kill_on_drop(true);
    }

    /// Returns the command that downloads what the function imports, and writes its versions and checksums into the
    /// lock of the deployment. It runs nothing of the function.
    pub(super) fn cache_command(&self) -> Command {
        let mut command = Command::new(self.deno);
        command.args(["cache", "--quiet", "--node-modules-dir=none"]).args(self.lock());
        command.args(self.configuration()).arg(&self.deployed.entry_point);
        self.set_up(&mut command, &self.machine());
        command.stdin(Stdio::null());
        command
    }

    /// Returns the arguments that name the lock of a deployment. Functions of the project's folder have none.
    fn lock(&self) -> Vec<OsString> {
        match &self.deployed.deployment {
            Some(deployment) => {
                let mut argument = OsString::from("--lock=");
                argument.push(&deployment.lock);
                vec![argument]
            }
            None => vec!["--no-lock".into()],
        }
    }

    /// Returns the line with the variables that the function gets.
    pub(super) fn variables(&self) -> String {
        format!("{}\n", json!(self.environment))
    }

    /// Returns the variables of the server that Deno needs.
    fn machine(&self) -> BTreeMap<String, OsString> {
        std::env::vars_os()
            .filter_map(|(name, value)| Some((name.into_string().ok()?, value)))
            .filter(|(name, _)| is_kept(name).is_some() && !self.environment.contains_key(name))
            .collect()
    }

    fn function_folder(&self) -> &Path {
        self.deployed.entry_point.parent().unwrap_or(&self.settings.folder)
    }

    /// Returns the paths that the function may read whatever it imports: its own folder in the functions folder, the
    /// code that functions share, the files in its settings, and packages of npm.
    pub(super) fn readable(&self) -> Vec<PathBuf> {
        if let Some(deployment) = &self.deployed.deployment {
            let npm = self.settings.cache.join("npm");
            return vec![deployment.folder.clone(), npm, self.folder.to_owned()];
        }
        let shared = std::fs::read_dir(&self.settings.folder).into_iter().flatten().flatten();
        let shared = shared.filter(|entry| entry.file_name().as_bytes().starts_with(b"_"));
        let mut paths: Vec<PathBuf> = shared.map(|entry| entry.path()).collect();
        let own = self.function_folder();
        // An entry point may be elsewhere, where other things are, such as the server's secrets.
        let is_own = own.starts_with(&self.settings.folder) && own != self.settings.folder;
        paths.push(if is_own { own.to_owned() } else { self.deployed.entry_point.clone() });
        paths.push(self.settings.cache.join("npm"));
        paths.push(self.folder.to_owned());
        paths.extend(self.deployed.function.static_files.iter().cloned());
        paths.extend(self.import_map());
        paths
    }

    /// Returns the import map: the one in the settings, else the function's own `deno.json`, else a file for all
    /// functions, as older versions of the CLI created it.
    pub(super) fn import_map(&self) -> Option<PathBuf> {
        let own = ["deno.json", "deno.jsonc"].map(|file| self.function_folder().join(file));
        let common =
            ["deno.json", "deno.jsonc", "import_map.json"].map(|file| self.settings.folder.join(file));
        let set = self.deployed.function.import_map.clone();
        if self.deployed.deployment.is_some() {
            return set.or_else(|| own.into_iter().find(|path| path.is_file()));
        }
        set.or_else(|| own.into_iter().chain(common).find(|path| path.is_file()))
    }

    /// Has the types of the hosted runtime, if the function imports them, be an empty module: an import map in the folder of
    /// its sockets takes the place of the project's.
    pub(super) fn map_runtime_types(&mut self) {
        if self.imports.runtime_types.is_empty() {
            return;
        }
        let map = import_map::with_empty(self.import_map().as_deref(), &self.imports.runtime_types);
        let path = self.folder.join("import_map.json");
        let is_written = map.is_some_and(|map| std::fs::write(&path, map.to_string()).is_ok());
        self.own_map = is_written.then_some(path);
    }

    /// Returns the arguments that name the import map or the `deno.json`.
    fn configuration(&self) -> Vec<OsString> {
        let path = self.import_map();
        let (configuration, map) = match path {
            Some(path) if is_configuration(&path) => (Some(path), self.own_map.clone()),
            path => (None, self.own_map.clone().or(path)),
        };
        let mut arguments = match configuration {
            Some(path) => vec!["--config".into(), path.into()],
            None => vec!["--no-config".into()],
        };
        arguments.extend(map.into_iter().flat_map(|map| ["--import-map".into(), map.into()]));
        arguments
    }

    /// Returns the argument of our script.
    fn arguments(&self, machine: &BTreeMap<String, OsString>) -> String {
        let ours = ["DENO_DIR", "DENO_NO_UPDATE_CHECK", "NO_COLOR"];
        let hidden = machine.keys().map(String::as_str).filter(|name| is_kept(name) != Some(true));
        let hidden: Vec<&str> = ours.into_iter().chain(hidden).collect();
        let (calls, orders) = sockets(self.folder);
        json!({
            "name": self.deployed.name,
            "entrypoint": file_url(&self.deployed.entry_point),
            "calls": calls.to_string_lossy(),
            "orders": orders.to_string_lossy(),
            "folder": self.folder.to_string_lossy(),
            "hidden": hidden,
        })
        .to_string()
    }
}

/// Reports whether the file at `path` is a configuration of Deno, else an import map.
pub(super) fn is_configuration(path: &Path) -> bool {
    path.file_stem().is_some_and(|stem| stem == "deno")
}

/// Returns whether a function keeps the variable `name`; `None` if Deno does not need it.
fn is_kept(name: &str) -> Option<bool> {
    let variable = DENO_VARIABLES.iter().find(|(pattern, _)| match pattern.strip_suffix('*') {
        Some(prefix) => name.starts_with(prefix),
        None => name == *pattern,
    });
    variable.map(|&(_, is_kept)| is_kept)
}

/// Returns the flag `flag` for `paths`. Deno separates paths with commas, and reads two commas as one inside a path.
fn permission(flag: &str, paths: &[PathBuf]) -> OsString {
    let mut text = OsString::from(flag);
    for (position, path) in paths.iter().enumerate() {
        if position > 0 {
            text.push(",");
        }
        text.push(path.to_string_lossy().replace(',', ",,"));
    }
    text
}

/// Returns `path` as a URL (RFC 8089).
pub(super) fn file_url(path: &Path) -> String {
    format!("file://{}", percent_encode(path.as_os_str().as_bytes(), ESCAPED))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_are_escaped_for_their_readers() {
        let paths = [PathBuf::from("/a,b"), PathBuf::from("/c")];
        assert_eq!(permission("--allow-read=", &paths), "--allow-read=/a,,b,/c");
        assert_eq!(file_url(Path::new("/my site/50%/é.ts")), "file:///my%20site/50%25/%C3%A9.ts");
    }

    #[test]
    fn only_variables_that_deno_needs_are_passed_on() {
        assert_eq!((is_kept("NPM_CONFIG_REGISTRY"), is_kept("SSL_CERT_FILE")), (Some(false), Some(true)));
        assert_eq!((is_kept("DATABASE_URL"), is_kept("SSL_CERT_FILES")), (None, None));
    }
}

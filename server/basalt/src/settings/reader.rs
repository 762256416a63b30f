//! Reads settings: the environment first, then `config.toml`, and remembers which keys anybody asked for.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use super::value::Value;
use super::{Environment, Invalid, known};

/// Names as far apart as this are not taken for misspellings of each other (0 = nothing in common, 1 = the same).
const SIMILAR: f64 = 0.8;

/// Environment variables with these prefixes are ours to understand; all others belong to somebody else.
const OUR_PREFIXES: [&str; 3] = ["BASALT_", "PGRST_", "GOTRUE_"];

/// Variables of ours that are read before the settings are, or by the programs around the server: what to log, and
/// what the tests and the client's dev server run against.
const READ_ELSEWHERE: [&str; 6] =
    ["BASALT_LOG", "BASALT_LOG_FORMAT", "BASALT_BINARY", "BASALT_TEST_", "BASALT_URL", "PGRST_LOG_LEVEL"];

/// Reads the settings of one project.
pub(crate) struct Reader<'a> {
    environment: &'a Environment,
    config: &'a toml::Table,
    asked: BTreeSet<String>,
    asked_names: BTreeSet<String>,
    warnings: Vec<String>,
}

impl<'a> Reader<'a> {
    pub(crate) fn new(environment: &'a Environment, config: &'a toml::Table) -> Self {
        Self {
            environment,
            config,
            asked: BTreeSet::new(),
            asked_names: BTreeSet::new(),
            warnings: Vec::new(),
        }
    }

    /// The value of the first of the environment variables `names` that is set, else that of `key` (dotted) in
    /// `config.toml`; `None` where neither is.
    ///
    /// Errors: [`Invalid`] for a value that is not a `T`.
    pub(crate) fn get<T: Value>(&mut self, key: &str, names: &[&str]) -> Result<Option<T>, Invalid> {
        let path: Vec<&str> = key.split('.').filter(|part| !part.is_empty()).collect();
        self.get_at(&path, names)
    }

    /// As [`Self::get`] with a path whose parts may hold dots, as names of buckets and functions may.
    pub(crate) fn get_at<T: Value>(&mut self, path: &[&str], names: &[&str]) -> Result<Option<T>, Invalid> {
        self.asked_names.extend(names.iter().map(|name| (*name).to_owned()));
        let key = path.join(".");
        self.asked.insert(key.clone());
        for name in names {
            if let Some(text) = self.environment.get(name) {
                let value = T::from_text(text).ok_or_else(|| refused::<T>(name, &quoted(text)))?;
                return Ok(Some(value));
            }
        }
        let Some(value) = find(self.config, path) else { return Ok(None) };
        let Some(value) = self.substituted(path, value) else { return Ok(None) };
        T::from_toml(&value).map(Some).ok_or_else(|| refused::<T>(&key, &shown(&value)))
    }

    /// Replaces `env(NAME)`, the Supabase CLI's way to keep secrets out of the file. A variable that is not set is said,
    /// except where nobody misses it.
    fn substituted(&mut self, path: &[&str], value: &toml::Value) -> Option<toml::Value> {
        let Some(name) = variable(value) else { return Some(value.clone()) };
        if let Some(text) = self.environment.get(name) {
            return Some(toml::Value::String(text.to_owned()));
        }
        if !self.is_off(path) {
            let key = path.join(".");
            self.warnings.push(format!(
                "{key} refers to the environment variable {name}, which is not set: {key} is ignored"
            ));
        }
        None
    }

    /// Whether `path` leads into a section of `config.toml` that is switched off.
    fn is_off(&self, path: &[&str]) -> bool {
        let is_off = |section: &[&str]| {
            let switch = find(self.config, section).and_then(|section| section.get("enabled"));
            let text = switch.and_then(variable).and_then(|name| self.environment.get(name));
            let set = text.map_or_else(|| switch.and_then(bool::from_toml), bool::from_text);
            set.map_or_else(|| known::is_off_by_default(section), |is_on| !is_on)
        };
        (1..path.len()).any(|depth| is_off(&path[..depth]))
    }

    /// The text at `path` in `config.toml`, where `env(NAME)` of a variable that is not set counts as absent.
    ///
    /// Errors: [`Invalid`] for a value that is no text.
    pub(crate) fn optional_at(&mut self, path: &[&str]) -> Result<Option<String>, Invalid> {
        self.asked.insert(path.join("."));
        match find(self.config, path).and_then(variable) {
            Some(name) => Ok(self.environment.get(name).map(str::to_owned)),
            None => self.get_at(path, &[]),
        }
    }

    /// Whether the environment variable `name` sets something of the server itself: one that it asks for, or that
    /// `config.toml` refers to for anything but the secrets of functions.
    pub(crate) fn is_ours(&self, name: &str) -> bool {
        let mut paths = Vec::new();
        leaves(self.config, &mut Vec::new(), &mut paths);
        let refers = |path: &Vec<&str>| {
            let text = find(self.config, path).and_then(toml::Value::as_str);
            !path.starts_with(&["edge_runtime", "secrets"]) && text == Some(&format!("env({name})"))
        };
        self.asked_names.contains(name)
            || OUR_PREFIXES.iter().any(|prefix| name.starts_with(prefix))
            || paths.iter().any(refers)
    }

    /// Whether a setting is read from the environment variable `name`.
    #[cfg(test)]
    pub(crate) fn knows(&self, name: &str) -> bool {
        self.asked_names.contains(name)
    }

    /// The names of everything in the table at `path` of `config.toml`.
    pub(crate) fn names(&self, path: &[&str]) -> Vec<String> {
        match find(self.config, path) {
            Some(toml::Value::Table(table)) => table.keys().cloned().collect(),
            _ => Vec::new(),
        }
    }

    /// Whether `config.toml` has a value at `path`.
    pub(crate) fn is_in_config(&self, path: &[&str]) -> bool {
        find(self.config, path).is_some()
    }

    /// What follows `prefix` in the names of environment variables, and their values.
    pub(crate) fn prefixed(&mut self, prefix: &str) -> Vec<(&'a str, &'a str)> {
        let own = |(name, value): (&'a str, &'a str)| Some((name.strip_prefix(prefix)?, value));
        let found: Vec<_> = self.environment.pairs().filter_map(own).collect();
        self.asked_names.extend(found.iter().map(|(rest, _)| format!("{prefix}{rest}")));
        found
    }

    /// Whether the environment variable `name` is set.
    pub(crate) fn is_in_environment(&self, name: &str) -> bool {
        self.environment.get(name).is_some()
    }

    /// The file that the environment variable `name` was read from; `None` for one of the process's own.
    pub(crate) fn file_of(&self, name: &str) -> Option<PathBuf> {
        self.environment.file(name).map(Path::to_owned)
    }

    /// Tells the operator one sentence about the settings.
    pub(crate) fn warn(&mut self, warning: String) {
        self.warnings.push(warning);
    }

    /// Whether there is a `config.toml` with anything in it.
    pub(crate) fn has_config(&self) -> bool {
        !self.config.is_empty()
    }

    /// The names of the tables under `path`, for example the buckets under `storage.buckets`.
    pub(crate) fn tables(&self, path: &[&str]) -> Vec<String> {
        match find(self.config, path) {
            Some(toml::Value::Table(table)) => {
                table.iter().filter(|(_, value)| value.is_table()).map(|(name, _)| name.clone()).collect()
            }
            _ => Vec::new(),
        }
    }

    /// All warnings: variables that are not set, and names that nobody knows, each with the nearest known one.
    pub(crate) fn finish(mut self) -> Vec<String> {
        let mut warnings = std::mem::take(&mut self.warnings);
        let mut keys = Vec::new();
        leaves(self.config, &mut Vec::new(), &mut keys);
        for path in keys {
            let key = path.join(".");
            let value = find(self.config, &path);
            if let Some(reason) = value.and_then(|value| known::without_effect(&path, value)) {
                warnings.push(format!("{key} has no effect here: {reason}"));
            }
            // A table may have been asked for as a whole.
            let is_asked = (1..=path.len()).any(|depth| self.asked.contains(&path[..depth].join(".")));
            if is_asked || known::is_known(&path) {
                continue;
            }
            let candidates = self.asked.iter().map(String::as_str).chain(known::exact());
            warnings.push(unknown("key", &key, nearest(&key, candidates)));
        }
        let ours = |name: &&str| {
            OUR_PREFIXES.iter().any(|prefix| name.starts_with(prefix))
                && !READ_ELSEWHERE.iter().any(|known| name.starts_with(known))
        };
        for name in self.environment.names().filter(ours) {
            if !self.asked_names.contains(name) {
                let candidates = self.asked_names.iter().map(String::as_str);
                warnings.push(unknown("environment variable", name, nearest(name, candidates)));
            }
        }
        warnings
    }
}

/// The name in `env(NAME)`.
fn variable(value: &toml::Value) -> Option<&str> {
    value.as_str()?.strip_prefix("env(")?.strip_suffix(')')
}

/// The refusal of a value that is not a `T`. What was found is not repeated where it may be a secret.
fn refused<T: Value>(name: &str, found: &str) -> Invalid {
    let lower = name.to_ascii_lowercase();
    let secret = ["secret", "key", "password", "url"].iter().any(|word| lower.contains(word));
    Invalid::new(name, T::EXPECTED, &if secret { "something else" } else { found })
}

fn find<'t>(table: &'t toml::Table, path: &[&str]) -> Option<&'t toml::Value> {
    let (first, rest) = path.split_first()?;
    let value = table.get(*first)?;
    if rest.is_empty() { Some(value) } else { find(value.as_table()?, rest) }
}

/// Collects the paths of all values that are not tables.
fn leaves<'t>(table: &'t toml::Table, path: &mut Vec<&'t str>, into: &mut Vec<Vec<&'t str>>) {
    for (name, value) in table {
        path.push(name);
        match value {
            toml::Value::Table(inner) => leaves(inner, path, into),
            _ => into.push(path.clone()),
        }
        path.pop();
    }
}

fn nearest<'c>(name: &str, candidates: impl Iterator<Item = &'c str>) -> Option<&'c str> {
    candidates
        .map(|candidate| (strsim::jaro_winkler(name, candidate), candidate))
        .filter(|(similarity, _)| *similarity >= SIMILAR)
        .max_by(|a, b| a.0.total_cmp(&b.0))
        .map(|(_, candidate)| candidate)
}

fn unknown(what: &str, name: &str, nearest: Option<&str>) -> String {
    match nearest {
        Some(nearest) => format!("unknown {what} {name} is ignored; did you mean {nearest}?"),
        None => format!("unknown {what} {name} is ignored"),
    }
}

fn quoted(text: &str) -> String {
    format!("{text:?}")
}

fn shown(value: &toml::Value) -> String {
    match value {
        toml::Value::String(text) => quoted(text),
        toml::Value::Table(_) => "a table".to_owned(),
        other => other.to_string(),
    }
}

//! Reads settings: the environment first, then `config.toml`, and remembers which keys were read.

use std::borrow::Cow;
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use crate::environment::file_variable;
use crate::{Environment, Invalid, KnownKeys, RawValue, Setting, Table, Value};

/// Names as far apart as this are not taken for misspellings of each other (0 = nothing in common, 1 = the same).
const SIMILAR: f64 = 0.8;

/// Reads the settings of one project.
pub struct Reader<'a> {
    environment: &'a Environment,
    config: &'a toml::Table,
    known: KnownKeys,
    read_keys: BTreeSet<String>,
    read_names: BTreeSet<String>,
    warnings: Vec<String>,
}

impl<'a> Reader<'a> {
    /// Returns a reader of `environment` and `config`, in which nobody needs to read the keys that are `known`.
    pub fn new(environment: &'a Environment, config: &'a toml::Table, known: KnownKeys) -> Self {
        Self {
            environment,
            config,
            known,
            read_keys: BTreeSet::new(),
            read_names: BTreeSet::new(),
            warnings: Vec::new(),
        }
    }

    /// Returns the value of the first of the environment variables `names` that is set, else that of `key` (dotted) in
    /// `config.toml`; `None` where neither is.
    ///
    /// Errors: [`Invalid`] for a value that is not a `T`.
    pub fn get<T: Value>(&mut self, key: &str, names: &[&str]) -> Result<Option<T>, Invalid> {
        let path: Vec<&str> = key.split('.').filter(|part| !part.is_empty()).collect();
        self.get_at(&path, names)
    }

    /// Returns what [`Self::get`] returns, for a path whose parts may hold dots, as names of buckets and functions may.
    pub fn get_at<T: Value>(&mut self, path: &[&str], names: &[&str]) -> Result<Option<T>, Invalid> {
        let mut value = None;
        self.find(path, names, |found| {
            value = Some(crate::read(found)?);
            Ok(())
        })?;
        Ok(value)
    }

    /// Sets everything of `settings` that the sources have a value for.
    ///
    /// Errors: [`Invalid`] for the first value that cannot be used.
    pub fn apply<T: Table>(&mut self, settings: &mut T) -> Result<(), Invalid> {
        self.apply_at(&[], settings)
    }

    /// Does what [`Self::apply`] does, where the keys of `settings` are below `path`.
    ///
    /// Errors: as there.
    pub fn apply_at<T: Table>(&mut self, path: &[&str], settings: &mut T) -> Result<(), Invalid> {
        self.apply_where(path, settings, |_| true)
    }

    /// Does what [`Self::apply_at`] does, for the settings that are `wanted`.
    ///
    /// Errors: as there.
    pub fn apply_where<T: Table>(
        &mut self,
        path: &[&str],
        settings: &mut T,
        wanted: impl Fn(&Setting<T>) -> bool,
    ) -> Result<(), Invalid> {
        for setting in T::settings().filter(|setting| wanted(setting)) {
            let path: Vec<&str> = match setting.key {
                "" => Vec::new(),
                key => path.iter().copied().chain(key.split('.')).collect(),
            };
            self.find(&path, setting.variables, |found| (setting.read)(settings, found))?;
        }
        Ok(())
    }

    /// Has `read` take what the first of the variables `names` or the key at `path` has.
    ///
    /// Errors: [`Invalid`] with what `read` expected.
    fn find(
        &mut self,
        path: &[&str],
        names: &[&str],
        mut read: impl FnMut(RawValue<'_>) -> Result<(), &'static str>,
    ) -> Result<(), Invalid> {
        self.read_names.extend(names.iter().map(|name| (*name).to_owned()));
        let key = path.join(".");
        self.read_keys.insert(key.clone());
        for name in names {
            if let Some(text) = self.text(name)? {
                let read = read(RawValue::Text(&text));
                return read.map_err(|expected| Invalid::of_value(name, expected, &quoted(&text)));
            }
        }
        let Some(value) = find(self.config, path) else { return Ok(()) };
        let Some(value) = self.substituted(path, value)? else { return Ok(()) };
        read(RawValue::Toml(&value)).map_err(|expected| Invalid::of_value(&key, expected, &displayed(&value)))
    }

    /// Replaces `env(NAME)`, the Supabase CLI's way to keep secrets out of the file. A variable that is not set is
    /// reported, except where nobody misses it.
    ///
    /// Errors: those of [`Environment::text`].
    fn substituted(&mut self, path: &[&str], value: &toml::Value) -> Result<Option<toml::Value>, Invalid> {
        let Some(name) = variable(value) else { return Ok(Some(value.clone())) };
        if let Some(text) = self.text(name)? {
            return Ok(Some(toml::Value::String(text.into_owned())));
        }
        if !self.is_off(path) {
            let key = path.join(".");
            self.warnings.push(format!(
                "{key} refers to the environment variable {name}, which is not set: {key} is ignored"
            ));
        }
        Ok(None)
    }

    /// Returns what [`Environment::text`] returns, and remembers that a file for it was asked for.
    fn text(&mut self, name: &str) -> Result<Option<Cow<'a, str>>, Invalid> {
        let of_file = file_variable(name);
        if self.environment.get(&of_file).is_some() {
            self.read_names.insert(of_file);
        }
        self.environment.text(name)
    }

    /// Reports whether `path` leads into a section of `config.toml` that is switched off.
    fn is_off(&self, path: &[&str]) -> bool {
        let is_off = |section: &[&str]| {
            let switch = find(self.config, section).and_then(|section| section.get("enabled"));
            let text = switch.and_then(variable).and_then(|name| self.environment.get(name));
            let set = text.map_or_else(|| switch.and_then(bool::from_toml), bool::from_text);
            set.map_or_else(|| self.known.is_off_by_default(section), |is_on| !is_on)
        };
        (1..path.len()).any(|depth| is_off(&path[..depth]))
    }

    /// Returns the text at `path` in `config.toml`, where `env(NAME)` of a variable that is not set counts as absent.
    ///
    /// Errors: [`Invalid`] for a value that is no text; those of [`Environment::text`].
    pub fn optional_at(&mut self, path: &[&str]) -> Result<Option<String>, Invalid> {
        self.read_keys.insert(path.join("."));
        match find(self.config, path).and_then(variable) {
            Some(name) => Ok(self.text(name)?.map(Cow::into_owned)),
            None => self.get_at(path, &[]),
        }
    }

    /// Reports whether the environment variable `name` sets something of the server itself: one that it asks for, or
    /// that `config.toml` refers to for anything but the secrets of functions.
    pub fn is_ours(&self, name: &str) -> bool {
        let mut paths = Vec::new();
        leaves(self.config, &mut Vec::new(), &mut paths);
        let refers = |path: &Vec<&str>| {
            let text = find(self.config, path).and_then(toml::Value::as_str);
            !path.starts_with(&["edge_runtime", "secrets"]) && text == Some(&format!("env({name})"))
        };
        self.read_names.contains(name) || self.known.is_ours(name) || paths.iter().any(refers)
    }

    /// Reports whether a setting is read from the environment variable `name`.
    pub fn knows(&self, name: &str) -> bool {
        self.read_names.contains(name)
    }

    /// Returns the names of everything in the table at `path` of `config.toml`.
    pub fn names(&self, path: &[&str]) -> Vec<String> {
        match find(self.config, path) {
            Some(toml::Value::Table(table)) => table.keys().cloned().collect(),
            _ => Vec::new(),
        }
    }

    /// Reports whether `config.toml` has a value at `path`.
    pub fn is_in_config(&self, path: &[&str]) -> bool {
        find(self.config, path).is_some()
    }

    /// Returns what follows `prefix` in the names of environment variables, and their values.
    pub fn prefixed(&mut self, prefix: &str) -> Vec<(&'a str, &'a str)> {
        let own = |(name, value): (&'a str, &'a str)| Some((name.strip_prefix(prefix)?, value));
        let found: Vec<_> = self.environment.pairs().filter_map(own).collect();
        self.read_names.extend(found.iter().map(|(rest, _)| format!("{prefix}{rest}")));
        found
    }

    /// Reports whether the environment variable `name` is set, or the one that names a file with its value.
    pub fn is_in_environment(&self, name: &str) -> bool {
        self.environment.is_set(name)
    }

    /// Returns the file that the environment variable `name` was read from; `None` for one of the process's own.
    pub fn file_of(&self, name: &str) -> Option<PathBuf> {
        self.environment.file(name).map(Path::to_owned)
    }

    /// Adds a sentence about the settings that the operator gets to see.
    pub fn warn(&mut self, warning: String) {
        self.warnings.push(warning);
    }

    /// Reports whether there is a `config.toml` with anything in it.
    pub fn has_config(&self) -> bool {
        !self.config.is_empty()
    }

    /// Returns the names of the tables under `path`, for example the buckets under `storage.buckets`.
    pub fn tables(&self, path: &[&str]) -> Vec<String> {
        match find(self.config, path) {
            Some(toml::Value::Table(table)) => {
                table.iter().filter(|(_, value)| value.is_table()).map(|(name, _)| name.clone()).collect()
            }
            _ => Vec::new(),
        }
    }

    /// Returns all warnings: variables that are not set, and names that nobody knows, each with the nearest known one.
    pub fn finish(mut self) -> Vec<String> {
        let mut warnings = std::mem::take(&mut self.warnings);
        let mut keys = Vec::new();
        leaves(self.config, &mut Vec::new(), &mut keys);
        for path in keys {
            let key = path.join(".");
            let value = find(self.config, &path);
            if let Some(reason) = value.and_then(|value| self.known.without_effect(&path, value)) {
                warnings.push(format!("{key} has no effect here: {reason}"));
            }
            // A table may have been read as a whole.
            let is_read = (1..=path.len()).any(|depth| self.read_keys.contains(&path[..depth].join(".")));
            if is_read || self.known.is_known(&path) {
                continue;
            }
            let candidates = self.read_keys.iter().map(String::as_str).chain(self.known.exact());
            warnings.push(unknown("key", &key, nearest(&key, candidates)));
        }
        for name in self.environment.names().filter(|name| self.known.is_to_be_read(name)) {
            if !self.read_names.contains(name) {
                let candidates = self.read_names.iter().map(String::as_str);
                warnings.push(unknown("environment variable", name, nearest(name, candidates)));
            }
        }
        warnings
    }
}

/// Returns the name in `env(NAME)`.
fn variable(value: &toml::Value) -> Option<&str> {
    value.as_str()?.strip_prefix("env(")?.strip_suffix(')')
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

fn displayed(value: &toml::Value) -> String {
    match value {
        toml::Value::String(text) => quoted(text),
        toml::Value::Table(_) => "a table".to_owned(),
        other => other.to_string(),
    }
}

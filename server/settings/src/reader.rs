//! Reads settings: the environment first, then what is managed, then `config.toml`, and remembers which keys were read.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use crate::environment::file_variable;
use crate::{Environment, Invalid, KnownKeys, Managed, RawValue, Setting, Table, Value};

/// How many letters of an unknown name may be wrong, missing or swapped in comparison with the known one that is
/// suggested: one for every four letters of its last part, up to this number.
const MAX_MISTAKES: usize = 3;

/// A setting that another one implies: its key in `config.toml` or, if it has none, one of its variables, and its value
/// as the text of a variable.
pub type Implied = (&'static str, &'static str);

/// Reads the settings of one project.
pub struct Reader<'a> {
    environment: &'a Environment,
    /// What was changed while the server ran; `None` if there can be nothing of the kind.
    pub(crate) managed: Option<&'a Managed>,
    /// The managed settings that a variable has overruled, each with that variable.
    pub(crate) overruled: BTreeMap<String, String>,
    /// What another setting implies for those that no source sets, in place of their defaults.
    implied: &'a [Implied],
    config: &'a toml::Table,
    known: &'a [KnownKeys],
    read_keys: BTreeSet<String>,
    read_names: BTreeSet<String>,
    /// The variables that `config.toml` refers to and that are not set, by key.
    unset: BTreeMap<String, MissingVariable>,
    warnings: Vec<String>,
}

/// A variable that is not set.
struct MissingVariable {
    variable: String,
    /// The consequence, for the warning.
    effect: String,
    /// Whether the operator has to be warned.
    is_missed: bool,
}

impl<'a> Reader<'a> {
    /// Returns a reader of `environment` and `config`. The keys that are `known` need not be read.
    pub fn new(environment: &'a Environment, config: &'a toml::Table, known: &'a [KnownKeys]) -> Self {
        Self {
            environment,
            managed: None,
            overruled: BTreeMap::new(),
            implied: &[],
            config,
            known,
            read_keys: BTreeSet::new(),
            read_names: BTreeSet::new(),
            unset: BTreeMap::new(),
            warnings: Vec::new(),
        }
    }

    /// Lets settings that no source sets have the `implied` values in place of their defaults from now on.
    pub fn imply(&mut self, implied: &'a [Implied]) {
        self.implied = implied;
    }

    /// Returns the value of the first of the environment variables `names` that is set, else that of `key` (dotted) in
    /// `config.toml`, else the implied one; `None` if there is none.
    ///
    /// Errors: [`Invalid`] for a value that is not a `T`.
    pub fn get<T: Value>(&mut self, key: &str, names: &[&str]) -> Result<Option<T>, Invalid> {
        let path: Vec<&str> = key.split('.').filter(|part| !part.is_empty()).collect();
        self.get_at(&path, names)
    }

    /// Returns what [`Self::get`] returns, for a path whose parts may contain dots, as names of buckets and functions
    /// may.
    fn get_at<T: Value>(&mut self, path: &[&str], names: &[&str]) -> Result<Option<T>, Invalid> {
        let mut value = None;
        self.find(path, names, |found| {
            value = Some(crate::read(found)?);
            Ok(())
        })?;
        Ok(value)
    }

    /// Returns the settings of `T`. Those without a value in the sources have their defaults.
    ///
    /// Errors: [`Invalid`] for the first invalid value.
    pub fn read<T: Table>(&mut self) -> Result<T, Invalid> {
        let mut settings = T::default();
        self.apply(&mut settings)?;
        Ok(settings)
    }

    /// Returns the values in the table at `path` of `config.toml` by name, without those that refer to a variable that
    /// is not set.
    ///
    /// Errors: [`Invalid`] for the first value that is not a `T`.
    pub fn map_at<T: Value>(&mut self, path: &[&str]) -> Result<BTreeMap<String, T>, Invalid> {
        let mut map = BTreeMap::new();
        for name in self.names(path) {
            if let Some(value) = self.get_at(&[path, &[name.as_str()]].concat(), &[])? {
                map.insert(name, value);
            }
        }
        Ok(map)
    }

    /// Sets the fields of `settings` that have a value in the sources.
    ///
    /// Errors: [`Invalid`] for the first invalid value.
    pub fn apply<T: Table>(&mut self, settings: &mut T) -> Result<(), Invalid> {
        self.apply_at(&[], settings)
    }

    /// Does what [`Self::apply`] does for settings whose keys are below `path`.
    ///
    /// Errors: those of [`Self::apply`].
    pub fn apply_at<T: Table>(&mut self, path: &[&str], settings: &mut T) -> Result<(), Invalid> {
        self.apply_where(path, settings, |_| true)
    }

    /// Does what [`Self::apply_at`] does for the settings for which `wanted` returns true.
    ///
    /// Errors: those of [`Self::apply`].
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

    /// Calls `read` with the value of the first of the variables `names` that is set, or of the key at `path`.
    ///
    /// Errors: [`Invalid`] with the error of `read`.
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
                self.note_overruled(&key, names, name);
                let read = read(RawValue::Text(&text));
                return read.map_err(|expected| Invalid::of_value(name, expected, &quoted(&text)));
            }
        }
        if let Some((name, text)) = self.managed(&key, names) {
            let text = text.expose();
            let read = read(RawValue::Text(text));
            return read.map_err(|expected| Invalid::of_value(name, expected, &quoted(text)));
        }
        let config = self.config;
        if let Some(value) = find(config, path)
            && let Some(value) = self.substituted(path, &key, value)?
        {
            let read = read(RawValue::Toml(&value));
            return read.map_err(|expected| Invalid::of_value(&key, expected, &displayed(&value)));
        }
        let implied = self.implied.iter().find(|(name, _)| *name == key || names.contains(name));
        let Some((name, text)) = implied else { return Ok(()) };
        read(RawValue::Text(text)).map_err(|expected| Invalid::of_value(name, expected, &quoted(text)))
    }

    /// Replaces `env(NAME)`, the Supabase CLI's way to keep secrets out of the file, in the `value` of `key`, also in
    /// lists and tables. If the variable is not set, the value counts as absent or, for [kept references], stays the
    /// text. The operator is warned about it, unless the section is disabled.
    ///
    /// [kept references]: KnownKeys::kept_references
    ///
    /// Errors: those of [`Environment::text`].
    fn substituted(
        &mut self,
        path: &[&str],
        key: &str,
        value: &toml::Value,
    ) -> Result<Option<toml::Value>, Invalid> {
        match value {
            toml::Value::Array(items) => {
                let mut found = Vec::new();
                for (index, item) in items.iter().enumerate() {
                    found.extend(self.substituted(path, &format!("{key}[{index}]"), item)?);
                }
                return Ok(Some(toml::Value::Array(found)));
            }
            toml::Value::Table(table) => {
                let mut found = toml::Table::new();
                for (name, item) in table {
                    let item = self.substituted(path, &format!("{key}.{name}"), item)?;
                    found.extend(item.map(|item| (name.clone(), item)));
                }
                return Ok(Some(toml::Value::Table(found)));
            }
            _ => {}
        }
        let Some(name) = variable(value) else { return Ok(Some(value.clone())) };
        if let Some(text) = self.text(name)? {
            return Ok(Some(toml::Value::String(text.into_owned())));
        }
        let own_section = path.len().saturating_sub(1);
        let is_kept = self.known.iter().any(|known| known.keeps_reference(path))
            && !self.is_section_off(&path[..own_section]);
        let effect = match is_kept {
            true => format!("the text env({name}) itself is used, which no provider accepts"),
            false => format!("{key} is ignored"),
        };
        let unset = MissingVariable { variable: name.to_owned(), effect, is_missed: !self.is_off(path) };
        // If it was read before, its consequence is known.
        self.unset.entry(key.to_owned()).or_insert(unset);
        Ok(is_kept.then(|| value.clone()))
    }

    /// Returns the variable that the value of `key` refers to, if it is not set, and sets the consequence in the
    /// warning to `effect`.
    pub fn unset(&mut self, key: &str, effect: &str) -> Option<&str> {
        let unset = self.unset.get_mut(key)?;
        effect.clone_into(&mut unset.effect);
        unset.is_missed = true;
        Some(&unset.variable)
    }

    /// Returns what [`Environment::text`] returns, and records that these variables were read.
    fn text(&mut self, name: &str) -> Result<Option<Cow<'a, str>>, Invalid> {
        let of_file = file_variable(name);
        if self.environment.get(&of_file).is_some() {
            self.read_names.insert(of_file);
        }
        self.environment.text(name)
    }

    /// Reports whether `path` is in a section of `config.toml` that is disabled, and is not the key that disables it.
    fn is_off(&self, path: &[&str]) -> bool {
        let sections = path.len() - usize::from(path.last() == Some(&"enabled"));
        (1..sections).any(|depth| self.is_section_off(&path[..depth]))
    }

    /// Reports whether the section at `path` itself is disabled.
    fn is_section_off(&self, path: &[&str]) -> bool {
        let switch = find(self.config, path).and_then(|section| section.get("enabled"));
        let text = switch.and_then(variable).and_then(|name| self.environment.get(name));
        let set = text.map_or_else(|| switch.and_then(bool::from_toml), bool::from_text);
        set.map_or_else(|| self.known.iter().any(|known| known.is_off_by_default(path)), |is_on| !is_on)
    }

    /// Returns the text at `path` in `config.toml`, where `env(NAME)` of a variable that is not set counts as absent.
    ///
    /// Errors: [`Invalid`] for a value that is not a text; those of [`Environment::text`].
    pub fn optional_at(&mut self, path: &[&str]) -> Result<Option<String>, Invalid> {
        self.read_keys.insert(path.join("."));
        match find(self.config, path).and_then(variable) {
            Some(name) => Ok(self.text(name)?.map(Cow::into_owned)),
            None => self.get_at(path, &[]),
        }
    }

    /// Reports whether the environment variable `name` is for the server itself: one that it reads, or that
    /// `config.toml` refers to, except for the secrets of functions.
    pub fn is_ours(&self, name: &str) -> bool {
        let mut paths = Vec::new();
        leaves(self.config, &mut Vec::new(), &mut paths);
        let is_referred_to = |path: &Vec<&str>| {
            !path.starts_with(&["edge_runtime", "secrets"])
                && find(self.config, path).is_some_and(|value| refers(value, name))
        };
        self.read_names.contains(name)
            || self.known.iter().any(|known| known.is_ours(name))
            || paths.iter().any(is_referred_to)
    }

    /// Reports whether a setting is read from the environment variable `name`.
    pub fn knows(&self, name: &str) -> bool {
        self.read_names.contains(name)
    }

    /// Returns all names in the table at `path` of `config.toml`.
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

    /// Returns the environment variables whose names begin with `prefix`: the rest of the name, and the value.
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

    /// Returns the file that the environment variable `name` was read from; `None` for a variable of the process.
    pub fn file_of(&self, name: &str) -> Option<PathBuf> {
        self.environment.file(name).map(Path::to_owned)
    }

    /// Adds a warning to those that [`Self::finish`] returns.
    pub fn warn(&mut self, warning: String) {
        self.warnings.push(warning);
    }

    /// Reports whether there is a `config.toml` that is not empty.
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

    /// Returns all warnings, including those about variables that are not set, and about unknown names.
    pub fn finish(mut self) -> Vec<String> {
        let missed = self.unset.iter().filter(|(_, unset)| unset.is_missed);
        let missed = missed.map(|(key, MissingVariable { variable, effect, .. })| {
            format!(
                "{key} refers to the environment variable {variable}, which is not set; until it is, {effect}"
            )
        });
        let mut warnings: Vec<String> = missed.chain(std::mem::take(&mut self.warnings)).collect();
        let mut keys = Vec::new();
        leaves(self.config, &mut Vec::new(), &mut keys);
        for path in keys {
            let key = path.join(".");
            let value = find(self.config, &path);
            if let Some(reason) =
                value.and_then(|value| self.known.iter().find_map(|known| known.without_effect(&path, value)))
            {
                warnings.push(format!("{key} has no effect here: {reason}"));
            }
            // A table may have been read as a whole.
            let is_read = (1..=path.len()).any(|depth| self.read_keys.contains(&path[..depth].join(".")));
            if is_read || self.known.iter().any(|known| known.is_known(&path)) {
                continue;
            }
            let candidates =
                self.read_keys.iter().map(String::as_str).chain(self.known.iter().flat_map(KnownKeys::exact));
            warnings.push(unknown("key", &key, candidates));
        }
        for (name, _) in self.environment.pairs() {
            let is_to_be_read = self.known.iter().any(|known| known.is_to_be_read(name));
            if is_to_be_read && !self.read_names.contains(name) {
                let candidates = self.read_names.iter().map(String::as_str);
                warnings.push(unknown("environment variable", name, candidates));
            }
        }
        warnings
    }
}

/// Returns the name in `env(NAME)`.
fn variable(value: &toml::Value) -> Option<&str> {
    value.as_str()?.strip_prefix("env(")?.strip_suffix(')')
}

/// Reports whether `value` is `env(<name>)` or a list that contains it.
fn refers(value: &toml::Value, name: &str) -> bool {
    match value {
        toml::Value::Array(items) => items.iter().any(|item| refers(item, name)),
        _ => variable(value) == Some(name),
    }
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

/// Returns the warning about an unknown `name`, which suggests the most similar of the `known` ones.
pub fn unknown<'k>(what: &str, name: &str, known: impl Iterator<Item = &'k str>) -> String {
    let own = name.rsplit('.').next().unwrap_or(name);
    let tolerated = (own.len() / 4).clamp(1, MAX_MISTAKES);
    let nearest = known
        .map(|known| (strsim::damerau_levenshtein(name, known), known))
        .filter(|(mistakes, _)| *mistakes <= tolerated)
        .min_by_key(|(mistakes, _)| *mistakes);
    match nearest {
        Some((_, nearest)) => format!("unknown {what} {name} is ignored; did you mean {nearest}?"),
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

#[cfg(test)]
mod tests {
    use super::*;

    const KNOWN: &[KnownKeys] =
        &[KnownKeys { off_by_default: &["a.*"], kept_references: &["a.*.secret"], ..KnownKeys::NONE }];

    /// Returns the value of `key` in `config`, where the variable `SET` is set, and the warnings.
    fn get<T: Value>(config: &str, key: &str) -> (Option<T>, Vec<String>) {
        let environment = Environment::from_pairs([("SET".to_owned(), "value".to_owned())]);
        let config = config.parse().unwrap();
        let mut reader = Reader::new(&environment, &config, KNOWN);
        // A missing variable that is read twice causes one warning.
        reader.get::<T>(key, &[]).unwrap();
        let value = reader.get(key, &[]).unwrap();
        reader.read_keys.extend(["a.b.enabled".to_owned()]);
        (value, reader.finish())
    }

    #[test]
    fn references_are_replaced_in_lists_and_tables_too() {
        let text = |config| get::<String>(config, "x");
        assert_eq!(text("x = 'env(SET)'"), (Some("value".to_owned()), vec![]));
        assert_eq!(text("x = 'an env(SET)'"), (Some("an env(SET)".to_owned()), vec![]));
        let (list, warnings) = get::<Vec<String>>("x = ['env(SET)', 'y', 'env(NONE)', 'env(NO)']", "x");
        assert_eq!(list.unwrap(), ["value", "y"]);
        assert_eq!(
            warnings,
            [
                "x[2] refers to the environment variable NONE, which is not set; until it is, x[2] is ignored",
                "x[3] refers to the environment variable NO, which is not set; until it is, x[3] is ignored"
            ]
        );
        let (table, warnings) =
            get::<BTreeMap<String, String>>("x = { a = 'env(SET)', b = 'env(NONE)' }", "x");
        assert_eq!(table.unwrap(), [("a".to_owned(), "value".to_owned())].into());
        assert!(warnings[0].starts_with("x.b refers to the environment variable NONE"), "{warnings:?}");
    }

    #[test]
    fn what_is_implied_ranks_below_every_source() {
        let environment = Environment::from_pairs([("A".to_owned(), "variable".to_owned())]);
        let config = "b = 'file'\nc = 'env(NONE)'".parse().unwrap();
        let mut reader = Reader::new(&environment, &config, KNOWN);
        assert_eq!(reader.get::<String>("a", &[]), Ok(None));
        reader.imply(&[("a", "implied"), ("b", "implied"), ("c", "implied"), ("D", "implied")]);
        let mut get = |key: &str, names: &[&str]| reader.get::<String>(key, names).unwrap();
        assert_eq!(get("a", &["A"]).as_deref(), Some("variable"));
        assert_eq!(get("b", &["B"]).as_deref(), Some("file"));
        assert_eq!(get("c", &[]).as_deref(), Some("implied"));
        assert_eq!(get("", &["C", "D"]).as_deref(), Some("implied"));
        assert_eq!(get("e", &["E"]), None);
    }

    #[test]
    fn required_values_keep_their_reference() {
        let secret = |config| get::<String>(config, "a.b.secret");
        let (value, warnings) = secret("[a.b]\nenabled = true\nsecret = 'env(NONE)'");
        assert_eq!(value.as_deref(), Some("env(NONE)"));
        assert_eq!(
            warnings,
            ["a.b.secret refers to the environment variable NONE, which is not set; until it is, \
              the text env(NONE) itself is used, which no provider accepts"]
        );
        assert_eq!(secret("[a.b]\nsecret = 'env(NONE)'"), (None, vec![]));
        let (switch, warnings) = get::<bool>("[a.b]\nenabled = 'env(NONE)'", "a.b.enabled");
        assert_eq!((switch, warnings.len()), (None, 1));
    }

    #[test]
    fn a_variable_that_a_list_refers_to_is_the_servers() {
        let environment = Environment::default();
        let config = "x = ['env(LISTED)']\ny = 'env(ALONE)'".parse().unwrap();
        let reader = Reader::new(&environment, &config, KNOWN);
        assert!(reader.is_ours("LISTED") && reader.is_ours("ALONE") && !reader.is_ours("OTHER"));
    }
}

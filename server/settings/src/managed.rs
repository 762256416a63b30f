//! Settings that were changed while the server ran. They rank between the environment and `config.toml`.

use std::collections::BTreeMap;

use crate::{Reader, Secret};

/// The texts of changed settings by their names: the key in `config.toml` or, for a setting that has none, one of its
/// variables. A text has the form of a variable's; `env(NAME)` in it stands for nothing but itself.
pub type Managed = BTreeMap<String, Secret>;

impl<'a> Reader<'a> {
    /// Lets `managed` settings take precedence over those of `config.toml`.
    #[must_use]
    pub fn with_managed(mut self, managed: &'a Managed) -> Self {
        self.managed = Some(managed);
        self
    }

    /// Reports whether the value of the setting that is called `name` among the managed ones comes from there.
    pub fn is_managed(&self, name: &str) -> bool {
        self.managed.is_some_and(|managed| managed.contains_key(name)) && !self.overruled.contains_key(name)
    }

    /// Returns the managed settings that have no effect because a variable of the environment sets the same, each with
    /// that variable.
    pub fn overruled(&self) -> &BTreeMap<String, String> {
        &self.overruled
    }

    /// Returns the managed setting that is called `key` or one of `names`.
    pub(crate) fn managed(&self, key: &str, names: &[&str]) -> Option<(&'a str, &'a Secret)> {
        let managed = self.managed?;
        let mut all = std::iter::once(key).chain(names.iter().copied());
        all.find_map(|name| managed.get_key_value(name)).map(|(name, text)| (name.as_str(), text))
    }

    /// Remembers that `variable` has overruled the managed setting that is called `key` or one of `names`, if there is
    /// one.
    pub(crate) fn note_overruled(&mut self, key: &str, names: &[&str], variable: &str) {
        if let Some((name, _)) = self.managed(key, names) {
            self.overruled.insert(name.to_owned(), variable.to_owned());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Environment;

    #[test]
    fn what_is_managed_ranks_between_the_environment_and_the_file() {
        let environment = Environment::from_pairs([("A".to_owned(), "variable".to_owned())]);
        let config = "a = 'file'\nb = 'file'\nc = 'file'".parse().unwrap();
        let managed: Managed =
            ["a", "b", "D"].map(|name| (name.to_owned(), Secret::from("env(A)".to_owned()))).into();
        let mut reader = Reader::new(&environment, &config, &[]).with_managed(&managed);
        let mut get = |key: &str, names: &[&str]| reader.get::<String>(key, names).unwrap();
        assert_eq!(get("a", &["A"]).as_deref(), Some("variable"));
        assert_eq!(get("b", &["B"]).as_deref(), Some("env(A)"), "a reference would read the environment");
        assert_eq!(get("c", &[]).as_deref(), Some("file"));
        assert_eq!(get("", &["C", "D"]).as_deref(), Some("env(A)"));
        assert_eq!(reader.overruled(), &[("a".to_owned(), "A".to_owned())].into());
        assert!(reader.is_managed("b") && !reader.is_managed("a") && !reader.is_managed("c"));
    }

    #[test]
    fn an_empty_text_takes_the_place_of_the_files_value() {
        let environment = Environment::default();
        let config = "a = 'file'".parse().unwrap();
        let managed: Managed = [("a".to_owned(), Secret::default())].into();
        let mut reader = Reader::new(&environment, &config, &[]).with_managed(&managed);
        assert_eq!(reader.get::<String>("a", &[]).unwrap().as_deref(), Some(""));
    }
}

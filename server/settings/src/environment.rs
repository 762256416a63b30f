//! The process's environment together with the project's `.env` files.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use crate::{Invalid, dotenv};

/// Files read from a project's folder; earlier ones take precedence.
const FILES: [&str; 2] = [".env.local", ".env"];

/// The suffix of a variable that names a file: the file contains the value of the variable without the suffix.
const FILE_SUFFIX: &str = "_FILE";

/// The values of variables by name.
pub type Variables = BTreeMap<String, String>;

/// Returns the variables of this process, except those that are not UTF-8.
pub fn process_variables() -> Variables {
    std::env::vars_os()
        .filter_map(|(name, value)| Some((name.into_string().ok()?, value.into_string().ok()?)))
        .collect()
}

/// Variables of a process and of files. Those of the process take precedence over those of files.
///
/// The variables of files are not written into the process's environment: it is not safe to change that while other
/// threads run, and child processes should not get the project's secrets.
#[derive(Debug, Clone, Default)]
pub struct Environment {
    values: Variables,
    /// The files that values were read from. Values of the process have none.
    files: BTreeMap<String, PathBuf>,
}

impl Environment {
    /// Returns the variables of `process`, and those of `.env.local` and `.env` in each of `folders`. Earlier sources
    /// take precedence.
    ///
    /// Errors: [`Invalid`] for a file that exists but cannot be read or parsed.
    pub fn load<'a>(
        process: Variables,
        folders: impl IntoIterator<Item = &'a Path>,
    ) -> Result<Self, Invalid> {
        let mut environment = Self::from_pairs(process);
        for folder in folders {
            for file in FILES {
                environment.add_file(&folder.join(file))?;
            }
        }
        Ok(environment)
    }

    /// Returns the variables of `files`; earlier files take precedence, and files that do not exist have none.
    ///
    /// Errors: [`Invalid`] for a file that exists but cannot be read or parsed.
    pub fn of_files<'a>(files: impl IntoIterator<Item = &'a Path>) -> Result<Self, Invalid> {
        let mut environment = Self::default();
        for file in files {
            environment.add_file(file)?;
        }
        Ok(environment)
    }

    /// Returns an environment of exactly these variables. An empty value counts as not set: compose files pass on
    /// variables that may not be set on the host.
    pub fn from_pairs(pairs: impl IntoIterator<Item = (String, String)>) -> Self {
        let values = pairs.into_iter().filter(|(_, value)| !value.is_empty()).collect();
        Self { values, files: BTreeMap::new() }
    }

    fn add_file(&mut self, path: &Path) -> Result<(), Invalid> {
        let unusable = |reason: &dyn std::fmt::Display| {
            Invalid::new(&path.display().to_string(), "lines of the form NAME=value", reason)
        };
        let bytes = match std::fs::read(path) {
            Ok(bytes) => bytes,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(()),
            Err(error) => return Err(unusable(&error)),
        };
        let pairs = dotenv::parse(&String::from_utf8_lossy(&bytes)).map_err(|error| unusable(&error))?;
        for (name, value) in pairs {
            if !value.is_empty() && !self.values.contains_key(&name) {
                self.files.insert(name.clone(), path.to_owned());
                self.values.insert(name, value);
            }
        }
        Ok(())
    }

    /// Returns the value of `name`, or the contents of the file that `<name>_FILE` names, without the last line end:
    /// containers and service managers pass secrets in files. Returns `None` if there is no value or it is empty.
    ///
    /// Errors: [`Invalid`] for a file that cannot be read, and if both variables are set.
    pub fn text(&self, name: &str) -> Result<Option<Cow<'_, str>>, Invalid> {
        let of_file = file_variable(name);
        let Some(path) = self.get(&of_file) else { return Ok(self.get(name).map(Cow::Borrowed)) };
        if self.get(name).is_some() {
            return Err(Invalid::new(&of_file, &format!("{name} or {of_file}"), &"both"));
        }
        let text = std::fs::read_to_string(path).map_err(|error| {
            Invalid::new(&of_file, "a text file that can be read", &format!("{path}: {error}"))
        })?;
        let text = text.trim_end_matches(['\r', '\n']);
        Ok((!text.is_empty()).then(|| Cow::Owned(text.to_owned())))
    }

    /// Reports whether `name` or `<name>_FILE` is set and not empty.
    pub fn is_set(&self, name: &str) -> bool {
        self.get(name).is_some() || self.get(&file_variable(name)).is_some()
    }

    /// Returns the value of `name`, if it is set and not empty.
    pub fn get(&self, name: &str) -> Option<&str> {
        self.values.get(name).map(String::as_str)
    }

    /// Returns the file that the value of `name` is from; `None` for a variable of the process, or without a value.
    pub fn file(&self, name: &str) -> Option<&Path> {
        self.files.get(name).map(PathBuf::as_path)
    }

    /// Returns all names with their values.
    pub fn pairs(&self) -> impl Iterator<Item = (&str, &str)> {
        self.values.iter().map(|(name, value)| (name.as_str(), value.as_str()))
    }
}

/// Returns the name of the variable that names a file with the value of `name`.
pub(crate) fn file_variable(name: &str) -> String {
    format!("{name}{FILE_SUFFIX}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_come_from_files_that_variables_name() {
        let folder = tempfile::tempdir().unwrap();
        let path = |name: &str, content: &str| {
            let path = folder.path().join(name);
            std::fs::write(&path, content).unwrap();
            path.to_str().unwrap().to_owned()
        };
        let missing = folder.path().join("missing").to_str().unwrap().to_owned();
        let environment = Environment::from_pairs([
            ("A_FILE".to_owned(), path("a", " two\nlines \r\n")),
            ("B".to_owned(), "own".to_owned()),
            ("C_FILE".to_owned(), path("c", "\n")),
            ("D".to_owned(), "hunter2".to_owned()),
            ("D_FILE".to_owned(), path("d", "hunter3")),
            ("E_FILE".to_owned(), missing.clone()),
        ]);
        assert_eq!(environment.text("A").unwrap().as_deref(), Some(" two\nlines "));
        assert_eq!(environment.text("B").unwrap().as_deref(), Some("own"));
        assert_eq!(environment.text("C"), Ok(None));
        assert_eq!(environment.text("F"), Ok(None));
        assert!(environment.is_set("A") && environment.is_set("B") && !environment.is_set("F"));
        let both = environment.text("D").unwrap_err().to_string();
        assert!(both.starts_with("D_FILE: ") && !both.contains("hunter"), "{both}");
        let unreadable = environment.text("E").unwrap_err().to_string();
        assert!(unreadable.starts_with("E_FILE: ") && unreadable.contains(&missing), "{unreadable}");
    }

    #[test]
    fn files_set_only_missing_variables() {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join(".env"), "A=file\nB=\"b c\"\nEMPTY=\n").unwrap();
        std::fs::write(folder.path().join(".env.local"), "B=local\n").unwrap();
        let mut environment = Environment::from_pairs([("A".to_owned(), "process".to_owned())]);
        for file in FILES {
            environment.add_file(&folder.path().join(file)).unwrap();
        }
        assert_eq!(environment.get("A"), Some("process"));
        assert_eq!(environment.get("B"), Some("local"));
        assert_eq!(environment.get("EMPTY"), None);
        assert_eq!(environment.file("B"), Some(folder.path().join(".env.local").as_path()));
        assert_eq!(environment.file("A"), None);
    }

    #[test]
    fn a_broken_file_is_named_without_its_content() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join(".env");
        std::fs::write(&path, "SECRET='hunter2\n").unwrap();
        let error = Environment::default().add_file(&path).unwrap_err().to_string();
        assert!(error.contains(".env") && error.ends_with("in line 1"), "{error}");
        assert!(!error.contains("hunter2"), "{error}");
    }
}

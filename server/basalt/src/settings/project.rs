//! A project: the folder with settings, migrations, seed, functions and bucket files.

use std::path::{Path, PathBuf};

use settings::Invalid;

/// A project and its files.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Project {
    /// The configured folder, or the current one.
    pub(crate) root: PathBuf,
    /// The folder that relative paths of `config.toml` start from: `config.toml`'s own, as in the Supabase CLI.
    pub(crate) base: PathBuf,
    /// The parsed `config.toml`; empty without one.
    pub(crate) config: toml::Table,
    /// The path of that file.
    pub(crate) config_path: Option<PathBuf>,
}

impl Project {
    /// Finds the project in `root`: `supabase/config.toml` as the Supabase CLI creates it, else a `config.toml` in the
    /// folder itself. If no folder was configured (`explicit` is false), such a `config.toml` counts only if it has a
    /// `project_id`, since many tools have a file of that name.
    ///
    /// Errors: [`Invalid`] if the folder does not exist or its file cannot be read or parsed.
    pub(crate) fn locate(root: &Path, explicit: bool) -> Result<Self, Invalid> {
        let root = std::fs::canonicalize(root)
            .map_err(|error| Invalid::new("--project", "a folder that exists", &describe(root, &error)))?;
        let nested = root.join("supabase");
        if let Some(config) = read(&nested.join("config.toml"))? {
            return Ok(Self { config_path: Some(nested.join("config.toml")), root, base: nested, config });
        }
        let own = root.join("config.toml");
        match read(&own)? {
            Some(config) if explicit || config.contains_key("project_id") => {
                Ok(Self { config_path: Some(own), base: root.clone(), root, config })
            }
            _ => {
                let base = if nested.is_dir() { nested } else { root.clone() };
                Ok(Self { root, base, config: toml::Table::new(), config_path: None })
            }
        }
    }

    /// Resolves `path` relative to the folder of `config.toml`.
    pub(crate) fn resolve(&self, path: impl AsRef<Path>) -> PathBuf {
        let joined = self.base.join(path);
        // So that messages show `./storage/app` as `storage/app`.
        joined.components().filter(|part| !matches!(part, std::path::Component::CurDir)).collect()
    }

    /// Returns `supabase/roles.sql`, if it exists: SQL that creates the project's roles before its first migration.
    pub(crate) fn roles(&self) -> Option<PathBuf> {
        let file = self.base.join("roles.sql");
        (self.base != self.root && file.is_file()).then_some(file)
    }

    /// Returns the files that match `patterns`, in the order of the patterns and sorted by name within each. A pattern
    /// may have `*` and `?` in any part. A pattern without a match is not an error, as in the CLI.
    pub(crate) fn glob(&self, patterns: &[String]) -> Vec<PathBuf> {
        let mut files: Vec<PathBuf> = Vec::new();
        for pattern in patterns {
            let path = self.resolve(pattern);
            let mut matching = matching(&path);
            matching.sort();
            matching.retain(|file| !files.contains(file));
            files.extend(matching);
        }
        files
    }
}

/// Returns the files that match `pattern`, whose parts may contain wildcards.
fn matching(pattern: &Path) -> Vec<PathBuf> {
    let mut found = vec![PathBuf::new()];
    for part in pattern.components() {
        let name = part.as_os_str().to_str().filter(|name| name.contains(['*', '?']));
        found = match name {
            None => found.into_iter().map(|path| path.join(part)).collect(),
            Some(name) => found.iter().flat_map(|folder| entries(folder, name)).collect(),
        };
    }
    found.retain(|path| path.is_file());
    found
}

/// Returns the entries of `folder` whose names match `pattern`.
fn entries(folder: &Path, pattern: &str) -> Vec<PathBuf> {
    let is_like = |entry: &std::fs::DirEntry| {
        entry.file_name().to_str().is_some_and(|name| wildcard(pattern.as_bytes(), name.as_bytes()))
    };
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    entries.filter(is_like).map(|entry| entry.path()).collect()
}

/// Reports whether `text` matches `pattern` with `*` (any characters) and `?` (one).
fn wildcard(pattern: &[u8], text: &[u8]) -> bool {
    match (pattern, text) {
        ([], []) => true,
        ([b'*', rest @ ..], _) => {
            wildcard(rest, text) || matches!(text, [_, tail @ ..] if wildcard(pattern, tail))
        }
        ([b'?', rest @ ..], [_, tail @ ..]) => wildcard(rest, tail),
        ([first, rest @ ..], [byte, tail @ ..]) => first == byte && wildcard(rest, tail),
        _ => false,
    }
}

fn read(path: &Path) -> Result<Option<toml::Table>, Invalid> {
    let text = match std::fs::read_to_string(path) {
        Ok(text) => text,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(None),
        Err(error) => {
            return Err(Invalid::new(&path.display().to_string(), "a file that can be read", &error));
        }
    };
    let parsed = text.parse::<toml::Table>();
    parsed.map(Some).map_err(|error| Invalid::new(&path.display().to_string(), "a TOML document", &error))
}

fn describe(path: &Path, error: &std::io::Error) -> String {
    format!("{}: {error}", path.display())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn folder(files: &[(&str, &str)]) -> tempfile::TempDir {
        let folder = tempfile::tempdir().unwrap();
        for (name, text) in files {
            let path = folder.path().join(name);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, text).unwrap();
        }
        folder
    }

    #[test]
    fn the_clis_layout_takes_precedence() {
        let folder = folder(&[("supabase/config.toml", "project_id = \"a\""), ("config.toml", "x = 1")]);
        let project = Project::locate(folder.path(), true).unwrap();
        assert!(project.base.ends_with("supabase"));
        assert_eq!(project.config["project_id"].as_str(), Some("a"));
    }

    #[test]
    fn a_config_of_another_tool_is_ignored_unless_the_folder_is_explicit() {
        let folder = folder(&[("config.toml", "title = \"my blog\"")]);
        assert_eq!(Project::locate(folder.path(), false).unwrap().config_path, None);
        assert!(Project::locate(folder.path(), true).unwrap().config_path.is_some());
    }

    #[test]
    fn broken_files_and_missing_folders_are_named() {
        let folder = folder(&[("config.toml", "project_id = ")]);
        let error = Project::locate(folder.path(), true).unwrap_err().to_string();
        assert!(error.contains("config.toml") && error.contains("TOML"), "{error}");
        let error = Project::locate(Path::new("/nonexistent/folder"), true).unwrap_err().to_string();
        assert!(error.contains("--project") && error.contains("/nonexistent/folder"), "{error}");
    }

    #[test]
    fn globs_keep_the_order_of_patterns() {
        let folder =
            folder(&[("seeds/b.sql", ""), ("seeds/a.sql", ""), ("seeds/a.txt", ""), ("seed.sql", "")]);
        let project = Project::locate(folder.path(), true).unwrap();
        let patterns = ["./seed.sql", "seeds/*.sql", "missing.sql", "seeds/a.sql"].map(str::to_owned);
        let names: Vec<_> =
            project.glob(&patterns).iter().map(|f| f.file_name().unwrap().to_owned()).collect();
        assert_eq!(names, ["seed.sql", "a.sql", "b.sql"]);
        let nested = ["./se*s/?.sql", "*/none/*.sql"].map(str::to_owned);
        assert_eq!(project.glob(&nested).len(), 2);
    }
}

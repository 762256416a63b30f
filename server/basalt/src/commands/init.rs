//! `basalt init`: writes the files of a new project.
//!
//! The layout is the Supabase CLI's, so that the project also runs on hosted Supabase; only the page, `site/`, is not
//! known there.

use std::fs::{self, OpenOptions};
use std::io::Write as _;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};

use clap::Args;
use time::OffsetDateTime;

use super::{functions, migration};
use crate::console::{self, shell_word};
use crate::error::Error;
use crate::settings::{Project, display_path};

/// Files of every new project. `{project}` stands for its name.
const FILES: [(&str, &str); 5] = [
    ("supabase/config.toml", include_str!("init/supabase/config.toml")),
    ("supabase/seed.sql", include_str!("init/supabase/seed.sql")),
    ("site/index.html", include_str!("init/site/index.html")),
    ("site/page.js", include_str!("init/site/page.js")),
    ("site/style.css", include_str!("init/site/style.css")),
];

/// The first migration.
const MIGRATION: &str = include_str!("init/supabase/notes.sql");

/// The first function.
const FUNCTION: &str = "hello";

/// The page's supabase-js: a link to the package that npm installs, so that the page uses each new version of the
/// package.
const LIBRARY: (&str, &str) =
    ("site/supabase.js", "../node_modules/@supabase/supabase-js/dist/umd/supabase.js");

const IGNORED: &str = include_str!("init/gitignore");
const README: &str = include_str!("init/README.md");

/// Arguments of `init`.
#[derive(Debug, Args)]
pub(super) struct Arguments {
    /// The project's folder, which is created if it is missing [default: the current one]
    #[arg(value_name = "DIR")]
    folder: Option<PathBuf>,
}

/// Writes a new project into the folder of `arguments`, else `project`, else the current folder, and prints what to do
/// next.
///
/// Errors: if the folder has a project or a page already, or cannot be written.
pub(super) fn run(arguments: Arguments, project: Option<PathBuf>) -> Result<(), Error> {
    let folder = arguments.folder.or(project).unwrap_or_else(|| PathBuf::from("."));
    let writing = || format!("write {}", display_path(&folder));
    fs::create_dir_all(&folder).map_err(Error::io(writing()))?;
    let folder = fs::canonicalize(&folder).map_err(Error::io(writing()))?;
    let own = ["supabase", "site"].map(|name| folder.join(name)).into_iter().find(|path| path.exists());
    if let Some(existing) = Project::locate(&folder, false)?.config_path.or(own) {
        return Err(Error::Advice(format!(
            "{} exists already, and nothing was changed: name another folder for a new project, or serve this one with \
             `basalt serve`",
            display_path(&existing)
        )));
    }
    let new = NewProject { launch: Launch::of_this_process(), name: name_of(&folder), folder };
    let kept = new.write().map_err(Error::io(writing()))?;
    new.print(&kept);
    Ok(())
}

/// A project to be written.
struct NewProject {
    folder: PathBuf,
    name: String,
    launch: Launch,
}

impl NewProject {
    /// Writes the files, and returns the names of those that existed before, which are not changed.
    fn write(&self) -> std::io::Result<Vec<&'static str>> {
        for (path, text) in FILES {
            self.create(path, &text.replace("{project}", &self.name))?;
        }
        let migration =
            migration::file_name("notes", OffsetDateTime::now_utc()).map_err(std::io::Error::other)?;
        self.create(&format!("supabase/migrations/{migration}"), MIGRATION)?;
        for (file, text) in functions::files_of_new(FUNCTION) {
            self.create(&format!("supabase/functions/{FUNCTION}/{file}"), &text)?;
        }
        symlink(LIBRARY.1, self.folder.join(LIBRARY.0))?;

        let readme = README.replace("{project}", &self.name).replace("{basalt}", self.launch.program());
        let common =
            [(".gitignore", IGNORED.to_owned()), ("README.md", readme), ("package.json", self.package())];
        let mut kept = Vec::new();
        for (path, text) in common {
            match self.create(path, &text) {
                Err(error) if error.kind() == std::io::ErrorKind::AlreadyExists => kept.push(path),
                written => written?,
            }
        }
        Ok(kept)
    }

    /// Writes a file that does not exist yet.
    fn create(&self, path: &str, text: &str) -> std::io::Result<()> {
        let path = self.folder.join(path);
        path.parent().map_or(Ok(()), fs::create_dir_all)?;
        OpenOptions::new().write(true).create_new(true).open(path)?.write_all(text.as_bytes())
    }

    /// Returns a package.json with the project's npm packages.
    fn package(&self) -> String {
        let mut dependencies = serde_json::Map::new();
        if self.launch == Launch::Npm {
            dependencies.insert("@basalt/cli".to_owned(), env!("CARGO_PKG_VERSION").into());
        }
        dependencies.insert("@supabase/supabase-js".to_owned(), "^2".into());
        format!("{:#}\n", serde_json::json!({ "private": true, "dependencies": dependencies }))
    }

    fn print(&self, kept: &[&str]) {
        console::print(format_args!("Created the project {} in {}.", self.name, self.folder.display()));
        if !kept.is_empty() {
            console::print(format_args!("Kept as they were: {}.", kept.join(", ")));
        }
        console::print("\nNext:\n");
        for step in self.steps(kept) {
            console::print(format_args!("  {step}"));
        }
        console::print(
            "\nThe page and the API are then at http://127.0.0.1:54321. Edit supabase/migrations, supabase/functions and site.",
        );
    }

    /// Returns the commands to enter next, until a server runs.
    fn steps(&self, kept: &[&str]) -> Vec<String> {
        let mut steps = Vec::new();
        if std::env::current_dir().is_ok_and(|current| current != self.folder) {
            steps.push(format!("cd {}", shell_word(&display_path(&self.folder))));
        }
        if !self.folder.join("site").join(LIBRARY.1).is_file() {
            let packages = if kept.contains(&"package.json") { " @supabase/supabase-js" } else { "" };
            steps.push(format!("npm install{packages}"));
        }
        steps.push(format!("{} serve", self.launch.program()));
        steps
    }
}

/// The way in which the program was started.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Launch {
    /// From the npm package.
    Npm,
    /// From anywhere else.
    Path,
}

impl Launch {
    fn of_this_process() -> Self {
        let program = std::env::current_exe().unwrap_or_default();
        if program.iter().any(|part| part == "node_modules") { Self::Npm } else { Self::Path }
    }

    /// Returns the command that starts the program in a shell.
    const fn program(self) -> &'static str {
        match self {
            // Not `npx basalt`: if this package is not installed, npx would run an unrelated package of that name.
            Self::Npm => "npx @basalt/cli",
            Self::Path => "basalt",
        }
    }
}

/// Returns the name of the project in `folder`: the folder's, in characters that need no quotes anywhere.
fn name_of(folder: &Path) -> String {
    let name = folder.file_name().unwrap_or_default().to_string_lossy();
    let plain = |c: char| if c.is_ascii_alphanumeric() || "-_".contains(c) { c } else { '-' };
    let name: String = name.chars().map(plain).collect();
    match name.trim_matches('-') {
        "" => "project".to_owned(),
        name => name.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_those_of_folders_in_plain_characters() {
        for (folder, name) in
            [("/a/shop", "shop"), ("/a/my \"shop\"", "my--shop"), ("/", "project"), ("/é", "project")]
        {
            assert_eq!(name_of(Path::new(folder)), name);
        }
    }

    #[test]
    fn a_project_made_by_the_npm_package_depends_on_it() {
        let package = |launch| NewProject { folder: PathBuf::new(), name: String::new(), launch }.package();
        let read = |text: String| serde_json::from_str::<serde_json::Value>(&text).unwrap();
        assert_eq!(read(package(Launch::Npm))["dependencies"]["@basalt/cli"], env!("CARGO_PKG_VERSION"));
        assert!(read(package(Launch::Path))["dependencies"].get("@basalt/cli").is_none());
    }
}

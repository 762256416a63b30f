//! All settings of a start: from flags, the environment, the project's `config.toml` and defaults, in this order of
//! precedence.
//!
//! Names are upstream's: `config.toml` has the Supabase CLI's keys, variables are called as the services call them.
//! What only Basalt has is in the table `[basalt]` and in variables that begin with `BASALT_`.

mod auth;
mod auth_drop_in;
mod drop_in;
mod environment;
mod functions;
mod known;
mod project;
mod reader;
mod services;
mod value;

use std::collections::BTreeMap;
use std::fmt;
use std::net::{IpAddr, Ipv4Addr};
use std::path::{Path, PathBuf};
use std::time::Duration;

pub(crate) use auth_drop_in::AuthDropIn;
use database::conninfo::Conninfo;
use database::vault::Secrets;
pub(crate) use drop_in::{DropIn, Place};
pub(crate) use environment::Environment;
pub(crate) use project::Project;
use reader::Reader;
pub(crate) use services::{Service, Services};
use storage::BucketDefinition;
use value::Bytes;

use crate::uri;

/// The data folder's name in the project's folder.
pub(crate) const DATA_FOLDER: &str = ".basalt";
/// Port of the API and the site; the Supabase CLI's `api.port`.
const DEFAULT_PORT: u16 = 54321;
/// Port of the embedded Postgres; the Supabase CLI's `db.port`.
const DEFAULT_DATABASE_PORT: u16 = 54322;
/// Port of metrics and health on the loopback interface; the one after those that the Supabase CLI uses.
const DEFAULT_ADMIN_PORT: u16 = 54330;

/// Port of the page that shows mails which are kept instead of being sent; the Supabase CLI's `inbucket.port`.
const DEFAULT_INBOX_PORT: u16 = 54324;

/// A setting that cannot be used.
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
#[error("{key}: expected {expected}, found {found}")]
pub(crate) struct Invalid {
    key: String,
    expected: String,
    found: String,
}

impl Invalid {
    pub(crate) fn new(key: &str, expected: &str, found: &dyn fmt::Display) -> Self {
        Self { key: key.to_owned(), expected: expected.to_owned(), found: found.to_string() }
    }
}

/// What the command line says; it wins over everything else.
#[derive(Debug, Clone, Default)]
pub(crate) struct Flags {
    /// `--project`.
    pub(crate) project: Option<PathBuf>,
    /// `--data-dir`.
    pub(crate) data_dir: Option<PathBuf>,
    /// `--host`.
    pub(crate) host: Option<IpAddr>,
    /// `--port`.
    pub(crate) port: Option<u16>,
    /// `--only`.
    pub(crate) only: Option<Vec<Service>>,
    /// `--dev`: the URL of Vite's dev server.
    pub(crate) dev: Option<String>,
    /// Whether changed files of functions are noticed, as with `--dev`.
    pub(crate) watch_functions: bool,
    /// `--no-verify-jwt`: functions take calls without a token.
    pub(crate) open_functions: bool,
    /// `--env-file`: variables for functions.
    pub(crate) env_file: Option<PathBuf>,
    /// `--yes`: what would be asked is agreed to.
    pub(crate) yes: bool,
    /// PostgREST's configuration file, for a server that stands in for it.
    pub(crate) file: Option<PathBuf>,
    /// `--config`: a file with variables for a server that stands in for Supabase Auth.
    pub(crate) auth_file: Option<PathBuf>,
    /// `--config-dir`: a folder of such files.
    pub(crate) auth_folder: Option<PathBuf>,
}

/// Everything that a start needs to know.
#[derive(Debug, Clone)]
pub(crate) struct Settings {
    /// Where the project's files are.
    pub(crate) project: Project,
    /// Folder of everything that must outlive a restart: cluster, objects, keys.
    pub(crate) data_dir: PathBuf,
    /// Address to listen on. `basalt.host`, `BASALT_HOST`. Default: 127.0.0.1.
    pub(crate) host: IpAddr,
    /// Port to listen on. `api.port`, `BASALT_PORT`. Default: 54321.
    pub(crate) port: u16,
    /// Port of metrics and health on the loopback interface. `basalt.admin_port`, `BASALT_ADMIN_PORT`.
    /// Default: 54330.
    pub(crate) admin_port: u16,
    /// Port of the inbox on the loopback interface, where mails are kept instead of being sent. `None` with
    /// `inbucket.enabled = false`. `inbucket.port`, `BASALT_INBOX_PORT`. Default: 54324.
    pub(crate) inbox_port: Option<u16>,
    /// The URL under which clients reach the API, without a slash at its end. `api.external_url`,
    /// `API_EXTERNAL_URL`. Default: the origin that a request names.
    pub(crate) external_url: Option<String>,
    /// Which database to use.
    pub(crate) database: DatabaseSettings,
    /// The project's migrations.
    pub(crate) migrations: Migrations,
    /// The project's seed.
    pub(crate) seed: Seed,
    /// Secrets for the database's vault. `db.vault`.
    pub(crate) vault: Secrets,
    /// Buckets that the project defines.
    pub(crate) buckets: Vec<Bucket>,
    /// The site to serve.
    pub(crate) site: site::Settings,
    /// Keys that settings name in place of generated ones.
    pub(crate) keys: tokens::KeyOverrides,
    /// What all services share: trusted proxies, body limits.
    pub(crate) gateway: gateway::Settings,
    /// Settings of the services and which of them to run.
    pub(crate) services: Services,
    /// Where functions reach the API, if that is not this server. No setting: `basalt functions serve` finds it.
    pub(crate) functions_api: Option<String>,
    /// What the operator should know about the settings; each is one sentence.
    pub(crate) warnings: Vec<String>,
}

/// Which database to use.
#[derive(Debug, Clone)]
pub(crate) struct DatabaseSettings {
    /// Another Postgres than the embedded one, as a user that may create roles. `DATABASE_URL`, unless it is the URL of
    /// the embedded one, which is that of the Supabase CLI's.
    pub(crate) url: Option<Conninfo>,
    /// The file that the URL is from; `None` for the process's environment.
    pub(crate) url_file: Option<PathBuf>,
    /// Whether a database that Basalt has not set up may be set up without asking. `--yes`, `BASALT_ADOPT_DATABASE`.
    /// Default: false.
    pub(crate) adopt: bool,
    /// Whether programs of this machine may log in to the embedded one as `postgres` with the password `postgres`, as
    /// with the Supabase CLI. `basalt.default_database_password`, `BASALT_DEFAULT_DATABASE_PASSWORD`. Default: true.
    pub(crate) default_password: bool,
    /// Port of the embedded one on 127.0.0.1. `db.port`, `BASALT_DATABASE_PORT`. Default: 54322.
    pub(crate) port: u16,
    /// Major version that the project expects. `db.major_version`.
    pub(crate) major_version: Option<u32>,
    /// Folder of the server binaries. `POSTGRES_BIN`.
    pub(crate) binaries: Option<PathBuf>,
}

/// The project's migrations.
#[derive(Debug, Clone)]
pub(crate) struct Migrations {
    /// `db.migrations.enabled`. Default: true.
    pub(crate) enabled: bool,
    /// Their folder. `basalt.migrations_path`. Default: `migrations` beside `config.toml`.
    pub(crate) path: PathBuf,
}

/// The project's seed.
#[derive(Debug, Clone)]
pub(crate) struct Seed {
    /// `db.seed.enabled`. Default: true.
    pub(crate) enabled: bool,
    /// Its files in order. `db.seed.sql_paths`. Default: `seed.sql` beside `config.toml`.
    pub(crate) files: Vec<PathBuf>,
}

/// A bucket and the files that it is filled with.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Bucket {
    /// Its row.
    pub(crate) definition: BucketDefinition,
    /// Folder of its files. `storage.buckets.<name>.objects_path`.
    pub(crate) objects_path: Option<PathBuf>,
}

impl Settings {
    /// Finds the project and reads everything that is set for it.
    ///
    /// Errors: [`Invalid`] with the name of the first setting that cannot be used.
    pub(crate) fn load(flags: &Flags) -> Result<Self, Invalid> {
        let current = PathBuf::from(".");
        let folder = match &flags.project {
            Some(folder) => folder.clone(),
            None => std::env::var_os("BASALT_PROJECT").map_or(current, PathBuf::from),
        };
        let explicit = flags.project.is_some() || std::env::var_os("BASALT_PROJECT").is_some();
        let project = Project::locate(&folder, explicit)?;
        let environment = Environment::load([project.root.as_path(), project.base.as_path()])?;
        Self::read(flags, project, &environment)
    }

    /// As [`Self::load`], of a project and an environment that are given.
    pub(crate) fn read(flags: &Flags, project: Project, environment: &Environment) -> Result<Self, Invalid> {
        let mut reader = Reader::new(environment, &project.config);
        let _: Option<PathBuf> = reader.get("", &["BASALT_PROJECT"])?;
        let data_dir = match (&flags.data_dir, reader.get("basalt.data_dir", &["BASALT_DATA_DIR"])?) {
            (Some(path), _) => path.clone(),
            (None, set) => data_dir(&project, set),
        };
        let host = reader.get("basalt.host", &["BASALT_HOST"])?;
        let port = reader.get("api.port", &["BASALT_PORT"])?;
        let port = flags.port.or(port).unwrap_or(DEFAULT_PORT);
        let external_url = external_url(&mut reader)?;
        let api_url = external_url.clone().unwrap_or_else(|| format!("http://127.0.0.1:{port}"));
        let mut settings = Self {
            host: flags.host.or(host).unwrap_or(IpAddr::V4(Ipv4Addr::LOCALHOST)),
            port,
            admin_port: reader
                .get("basalt.admin_port", &["BASALT_ADMIN_PORT"])?
                .unwrap_or(DEFAULT_ADMIN_PORT),
            inbox_port: inbox_port(&mut reader)?,
            external_url,
            database: database(&mut reader)?,
            migrations: migrations(&mut reader, &project)?,
            seed: seed(&mut reader, &project)?,
            vault: vault(&mut reader)?,
            buckets: buckets(&mut reader, &project)?,
            site: site(&mut reader, &project)?,
            keys: services::keys(&mut reader, &project)?,
            gateway: services::gateway(&mut reader)?,
            services: Services::read(&mut reader, &project, &data_dir, &api_url)?,
            functions_api: None,
            warnings: Vec::new(),
            data_dir,
            project: project.clone(),
        };
        if let Some(service) = &mut settings.services.functions {
            let env_file = flags.env_file.as_deref();
            service.secrets = functions::secrets(&mut reader, &project, &service.folder, env_file)?;
            service.watch = flags.dev.is_some() || flags.watch_functions;
            if flags.open_functions {
                for found in service.list() {
                    service.functions.entry(found.name).or_default().verify_jwt = false;
                }
            }
        }
        settings.warnings = reader.finish();
        settings.apply(flags);
        Ok(settings)
    }

    fn apply(&mut self, flags: &Flags) {
        if let Some(url) = &flags.dev {
            self.site.dev = Some(url.trim_end_matches('/').to_owned());
            self.site.enabled = true;
        }
        self.database.adopt |= flags.yes;
        if let Some(only) = &flags.only {
            self.services.restrict(only);
            self.site.enabled &= only.contains(&Service::Site);
        }
    }

    /// Where mails are kept instead of being sent, and the port of the page that shows them; `None` if mails are sent,
    /// or nobody shall see them.
    pub(crate) fn inbox(&self) -> Option<(&Path, u16)> {
        let mail = &self.services.auth.as_ref()?.mail;
        let folder = mail.folder.as_deref().filter(|_| mail.smtp.is_none())?;
        Some((folder, self.inbox_port?))
    }

    /// Where the generated keys are kept.
    pub(crate) fn key_file(&self) -> PathBuf {
        self.data_dir.join("keys.json")
    }
}

fn data_dir(project: &Project, set: Option<PathBuf>) -> PathBuf {
    match set {
        Some(path) => project.resolve(path),
        None => project.root.join(DATA_FOLDER),
    }
}

/// The CLI has called the table `inbucket` and, of late, `local_smtp`.
fn inbox_port(reader: &mut Reader<'_>) -> Result<Option<u16>, Invalid> {
    let (mut enabled, mut port) = (true, None);
    for table in ["inbucket", "local_smtp"] {
        enabled &= reader.get(&format!("{table}.enabled"), &[])?.unwrap_or(true);
        port = port.or(reader.get(&format!("{table}.port"), &["BASALT_INBOX_PORT"])?);
    }
    Ok(enabled.then(|| port.unwrap_or(DEFAULT_INBOX_PORT)))
}

fn external_url(reader: &mut Reader<'_>) -> Result<Option<String>, Invalid> {
    let key = "api.external_url";
    let url: Option<String> = reader.get(key, &["API_EXTERNAL_URL", "SUPABASE_PUBLIC_URL"])?;
    url.map(|url| origin(key, &url)).transpose()
}

/// Checks that `url` is `http(s)://host[:port]` and takes the slash off its end.
fn origin(key: &str, url: &str) -> Result<String, Invalid> {
    let trimmed = url.trim_end_matches('/');
    let host = trimmed.strip_prefix("https://").or_else(|| trimmed.strip_prefix("http://"));
    match host {
        Some(host) if site::is_host(host) => Ok(trimmed.to_owned()),
        _ => Err(Invalid::new(key, "an origin such as https://example.org", &format!("{url:?}"))),
    }
}

fn database(reader: &mut Reader<'_>) -> Result<DatabaseSettings, Invalid> {
    let configured = reader.get("db.port", &[])?.unwrap_or(DEFAULT_DATABASE_PORT);
    let port = reader.get("db.port", &["BASALT_DATABASE_PORT"])?.unwrap_or(DEFAULT_DATABASE_PORT);
    let default_password = reader
        .get("basalt.default_database_password", &["BASALT_DEFAULT_DATABASE_PASSWORD"])?
        .unwrap_or(true);
    let url: Option<Conninfo> = reader.get("", &["DATABASE_URL"])?;
    let is_embedded = |url: &Conninfo| uri::is_local_default(url, &[configured, port]);
    if url.as_ref().is_some_and(is_embedded) && !default_password {
        reader.warn(
            "DATABASE_URL is that of the embedded Postgres, which does not take the password in it, since \
             basalt.default_database_password is false"
                .to_owned(),
        );
    }
    Ok(DatabaseSettings {
        url: url.filter(|url| !is_embedded(url)).map(|url| uri::without_orm_parameters(&url)),
        url_file: reader.file_of("DATABASE_URL"),
        adopt: reader.get("", &["BASALT_ADOPT_DATABASE"])?.unwrap_or(false),
        default_password,
        port,
        major_version: reader.get("db.major_version", &[])?,
        binaries: reader.get("", &["POSTGRES_BIN"])?,
    })
}

fn migrations(reader: &mut Reader<'_>, project: &Project) -> Result<Migrations, Invalid> {
    let path: Option<PathBuf> = reader.get("basalt.migrations_path", &[])?;
    Ok(Migrations {
        enabled: reader.get("db.migrations.enabled", &[])?.unwrap_or(true),
        path: project.resolve(path.unwrap_or_else(|| PathBuf::from("migrations"))),
    })
}

fn seed(reader: &mut Reader<'_>, project: &Project) -> Result<Seed, Invalid> {
    let patterns: Option<Vec<String>> = reader.get("db.seed.sql_paths", &[])?;
    let enabled = reader.get("db.seed.enabled", &[])?.unwrap_or(true);
    for pattern in patterns.iter().flatten().filter(|_| enabled) {
        // The Supabase CLI writes this one into every new project, with or without the file.
        if pattern != "./seed.sql" && project.glob(std::slice::from_ref(pattern)).is_empty() {
            reader.warn(format!("db.seed.sql_paths: no file matches {pattern:?}"));
        }
    }
    Ok(Seed { enabled, files: project.glob(&patterns.unwrap_or_else(|| vec!["seed.sql".to_owned()])) })
}

/// A secret whose variable is not set is left out.
fn vault(reader: &mut Reader<'_>) -> Result<Secrets, Invalid> {
    let mut secrets = BTreeMap::new();
    for name in reader.names(&["db", "vault"]) {
        if let Some(value) = reader.get_at(&["db", "vault", &name], &[])? {
            secrets.insert(name, value);
        }
    }
    Ok(Secrets(secrets))
}

fn buckets(reader: &mut Reader<'_>, project: &Project) -> Result<Vec<Bucket>, Invalid> {
    let table = ["storage", "buckets"];
    let mut buckets = Vec::new();
    for name in reader.tables(&table) {
        let key = |part| [table[0], table[1], name.as_str(), part];
        let objects_path: Option<PathBuf> = reader.get_at(&key("objects_path"), &[])?;
        let limit: Option<Bytes> = reader.get_at(&key("file_size_limit"), &[])?;
        buckets.push(Bucket {
            definition: BucketDefinition {
                public: reader.get_at(&key("public"), &[])?,
                file_size_limit: limit.map(|Bytes(bytes)| bytes),
                allowed_mime_types: reader.get_at(&key("allowed_mime_types"), &[])?.unwrap_or_default(),
                name,
            },
            objects_path: objects_path.map(|path| project.resolve(path)),
        });
    }
    Ok(buckets)
}

fn site(reader: &mut Reader<'_>, project: &Project) -> Result<site::Settings, Invalid> {
    let path: Option<PathBuf> = reader.get("basalt.site.path", &["BASALT_SITE_PATH"])?;
    let connect_src: Vec<String> =
        reader.get("basalt.site.connect_src", &["BASALT_SITE_CONNECT_SRC"])?.unwrap_or_default();
    let connect_src =
        connect_src.iter().map(|url| origin("basalt.site.connect_src", url)).collect::<Result<_, _>>()?;
    Ok(site::Settings {
        enabled: reader.get("basalt.site.enabled", &["BASALT_SITE_ENABLED"])?.unwrap_or(false),
        path: path.map(|path| project.resolve(path)),
        routes: reader.get("basalt.site.routes", &[])?.unwrap_or_default(),
        connect_src,
        dev: None,
    })
}

/// Reads a span of time of the command line.
pub(crate) fn duration(text: &str) -> Result<Duration, String> {
    <Duration as value::Value>::from_text(text)
        .ok_or_else(|| format!("expected {}", <Duration as value::Value>::EXPECTED))
}

/// `path` as an operator would type it: relative to the current folder where it lies within.
pub(crate) fn display_path(path: &Path) -> String {
    let current = std::env::current_dir().unwrap_or_default();
    let shown = path.strip_prefix(&current).ok().filter(|rest| !rest.as_os_str().is_empty());
    shown.map_or_else(|| path.display().to_string(), |rest| format!("./{}", rest.display()))
}

#[cfg(test)]
mod tests;
#[cfg(test)]
mod upstream;

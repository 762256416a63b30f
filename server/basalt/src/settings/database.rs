//! Settings of the database: which one, its migrations and its seed.

use std::net::SocketAddr;
use std::path::PathBuf;

use postgres::conninfo::Conninfo;
use settings::{Invalid, Reader};

use super::Project;
use crate::uri;

settings::settings! {
    /// Which database to use.
    #[derive(Debug, Clone)]
    pub(crate) struct DatabaseSettings {
        /// The database to use instead of the embedded Postgres, with a user that may create roles. If it is the URL of
        /// the Supabase CLI's database, the embedded Postgres is used, which has the same URL.
        #[setting(variables = ["DATABASE_URL"])]
        pub(crate) url: Option<Conninfo> = None,
        /// The file that the URL is from; `None` for the process's environment.
        pub(crate) url_file: Option<PathBuf> = None,
        /// Whether Basalt may set up a database that it has not set up before without asking. `--yes`.
        #[setting(variables = ["BASALT_ADOPT_DATABASE"])]
        pub(crate) adopt: bool = false,
        /// Whether programs on this machine may log in to the embedded Postgres as `postgres` with the password
        /// `postgres`, as with the Supabase CLI. If the setting is not set, they may in a new data folder of a server
        /// without HTTPS of its own, and a data folder that exists keeps what it has.
        #[setting(variables = ["BASALT_DEFAULT_DATABASE_PASSWORD"], key = "basalt.default_database_password")]
        pub(crate) default_password: Option<bool> = None,
        /// Whether the role `postgres` of the embedded Postgres is a superuser. On hosted Supabase it is not.
        #[setting(variables = ["BASALT_POSTGRES_SUPERUSER"], key = "basalt.postgres_superuser")]
        pub(crate) postgres_superuser: bool = false,
        /// Whether the API's roles may use new tables of the schema `public` without a grant. If the setting is not
        /// set, they may in new databases; on hosted Supabase they may not since October 2026. Basalt changes the
        /// default privileges of the role that runs migrations, before the first migration and after each change of the
        /// setting. Existing tables keep their privileges.
        #[setting(variables = [], key = "api.auto_expose_new_tables")]
        pub(crate) expose_new_tables: Option<bool> = None,
        /// The port of the embedded Postgres on 127.0.0.1.
        #[setting(variables = ["BASALT_DATABASE_PORT"], key = "db.port")]
        pub(crate) port: u16 = 54322,
        /// The address and port on which other machines reach the embedded Postgres, such as `0.0.0.0:5432`. Connections
        /// are encrypted, and beyond a loopback address they have to be. The default is none: only this machine reaches
        /// it.
        #[setting(variables = ["BASALT_DATABASE_LISTEN"], key = "basalt.database.listen")]
        pub(crate) listen: Option<SocketAddr> = None,
        /// The certificate for that port, with its chain, in PEM. It is read again when it changes. The default is that of
        /// HTTPS, or one that the server makes.
        #[setting(variables = [], key = "basalt.database.certificate")]
        pub(crate) certificate: Option<PathBuf> = None,
        /// The private key of that certificate, in PEM.
        #[setting(variables = [], key = "basalt.database.private_key")]
        pub(crate) private_key: Option<PathBuf> = None,
        /// The major version of Postgres that the project expects.
        #[setting(variables = [], key = "db.major_version")]
        pub(crate) major_version: Option<u32> = None,
        /// How many connections auth and storage each use at the same time for requests, and as many for the rest of
        /// their work. REST has `PGRST_DB_POOL`, realtime `basalt.realtime.pool_size`.
        #[setting(variables = ["BASALT_DATABASE_POOL_SIZE"], key = "basalt.database.pool_size")]
        pub(crate) pool_size: usize = 10,
        /// The folder of Postgres' programs. By default Basalt looks for them.
        #[setting(variables = ["POSTGRES_BIN"])]
        pub(crate) binaries: Option<PathBuf> = None,
    }
}

settings::settings! {
    /// The project's migrations.
    #[derive(Debug, Clone)]
    pub(crate) struct Migrations {
        /// Whether migrations are applied.
        #[setting(variables = [], key = "db.migrations.enabled")]
        pub(crate) enabled: bool = true,
        /// The folder of migrations, relative to the folder of `config.toml`.
        #[setting(variables = [], key = "basalt.migrations_path")]
        pub(crate) path: PathBuf = PathBuf::from("migrations"),
        /// The files of declared schemas, in order, relative to the folder of `config.toml`; patterns may have `*` and
        /// `?`. The default is all files in `schemas`. `basalt db diff` makes migrations of them.
        #[setting(variables = [], key = "db.migrations.schema_paths")]
        pub(crate) schema_paths: Vec<String> = Vec::new(),
        /// The program of the Supabase CLI, version 3 or newer. Its engine compares databases for `basalt db diff` and
        /// `basalt db pull`. The default is the one in the project's `node_modules` or on `PATH`.
        #[setting(variables = ["BASALT_SUPABASE_CLI"], key = "basalt.supabase_cli")]
        pub(crate) supabase_cli: Option<PathBuf> = None,
    }
}

settings::settings! {
    /// The project's seed.
    #[derive(Debug, Clone)]
    pub(crate) struct Seed {
        /// Whether the seed is applied.
        #[setting(variables = [], key = "db.seed.enabled")]
        pub(crate) enabled: bool = true,
        /// The files of the seed, in order, relative to the folder of `config.toml`; patterns may have `*` and `?`.
        #[setting(variables = [], key = "db.seed.sql_paths")]
        pub(crate) patterns: Vec<String> = vec![SEED.to_owned()],
        /// The files that the patterns name.
        pub(crate) files: Vec<PathBuf> = Vec::new(),
    }
}

/// The pattern that the Supabase CLI writes into every new project, with or without the file.
const SEED: &str = "./seed.sql";

/// Reads which database to use. Paths are relative to the folder of `config.toml`.
pub(super) fn database(reader: &mut Reader<'_>, project: &Project) -> Result<DatabaseSettings, Invalid> {
    let mut settings: DatabaseSettings = reader.read()?;
    settings.certificate = settings.certificate.map(|path| project.resolve(path));
    settings.private_key = settings.private_key.map(|path| project.resolve(path));
    let configured = reader.get("db.port", &[])?.unwrap_or(DatabaseSettings::default().port);
    settings.url_file = reader.file_of("DATABASE_URL");
    if let Some(url) = settings.url.take() {
        if !uri::is_local_default(&url, &[configured, settings.port]) {
            settings.url = Some(uri::without_orm_parameters(&url));
        } else if settings.default_password == Some(false) {
            reader.warn(
                "DATABASE_URL is that of the embedded Postgres, which does not accept the password in it, since \
                 basalt.default_database_password is false"
                    .to_owned(),
            );
        }
    }
    Ok(settings)
}

/// Reads the settings of migrations.
pub(super) fn migrations(reader: &mut Reader<'_>, project: &Project) -> Result<Migrations, Invalid> {
    let mut migrations: Migrations = reader.read()?;
    migrations.path = project.resolve(&migrations.path);
    migrations.supabase_cli = migrations.supabase_cli.map(|path| project.resolve(path));
    for pattern in &migrations.schema_paths {
        if project.glob(std::slice::from_ref(pattern)).is_empty() {
            reader.warn(format!("db.migrations.schema_paths: no file matches {pattern:?}"));
        }
    }
    Ok(migrations)
}

/// Reads the settings of the seed, and finds its files.
pub(super) fn seed(reader: &mut Reader<'_>, project: &Project) -> Result<Seed, Invalid> {
    let mut seed: Seed = reader.read()?;
    for pattern in seed.patterns.iter().filter(|pattern| seed.enabled && *pattern != SEED) {
        if project.glob(std::slice::from_ref(pattern)).is_empty() {
            reader.warn(format!("db.seed.sql_paths: no file matches {pattern:?}"));
        }
    }
    seed.files = project.glob(&seed.patterns);
    Ok(seed)
}

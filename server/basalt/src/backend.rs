//! The database and the keys, as every command needs them.

mod consent;
pub(crate) mod reset;

use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use database::cluster::{Cluster, DEFAULT_PASSWORD, Options, Search};
use database::conninfo::Conninfo;
use database::migrate::{self, Migrator, Report, State};
use database::{Client, Database};
use tokens::{KeyOverrides, Keys};

use crate::console;
use crate::error::Error;
use crate::logging;
use crate::settings::{DATA_FOLDER, Settings, display_path};
use crate::uri;

/// Login roles of the services, whose passwords follow from the keys: the same on every node.
pub(crate) const AUTHENTICATOR: &str = "authenticator";
/// The role that the auth service logs in as.
pub(crate) const AUTH_ADMIN: &str = "supabase_auth_admin";
/// The role that the storage service logs in as.
pub(crate) const STORAGE_ADMIN: &str = "supabase_storage_admin";

/// How long the database of `DATABASE_URL` may take to come up, and how often it is tried.
const EXTERNAL_LIMIT: Duration = Duration::from_secs(30);
const EXTERNAL_PAUSE: Duration = Duration::from_millis(500);
/// How long another process's Postgres may take to answer before it counts as gone.
const ATTACH_LIMIT: Duration = Duration::from_secs(3);

/// Where the database of this start is.
pub(crate) struct Backend {
    /// The Postgres that this process started.
    pub(crate) cluster: Option<Cluster>,
    /// How the administrator logs in.
    admin: Conninfo,
}

impl Backend {
    /// Starts the embedded Postgres, or takes the one of `DATABASE_URL`.
    pub(crate) async fn start(settings: &Settings) -> Result<Self, Error> {
        if let Some(url) = &settings.database.url {
            let backend = Self { cluster: None, admin: url.clone() };
            backend.wait().await?;
            return Ok(backend);
        }
        data_folder(settings)?;
        let cluster = Cluster::start(options(settings)).await?;
        Ok(Self { admin: cluster.login(), cluster: Some(cluster) })
    }

    /// As [`Self::start`], but uses the Postgres of a Basalt that is running on the same data folder already.
    pub(crate) async fn attach_or_start(settings: &Settings) -> Result<Self, Error> {
        match Running::find(&settings.data_dir) {
            Some(running) if settings.database.url.is_none() && running.answers().await => {
                Ok(Self { cluster: None, admin: running.login() })
            }
            _ => Self::start(settings).await,
        }
    }

    /// The database of `DATABASE_URL`, else of the Basalt that is `running`, else `None`: starts nothing, waits for
    /// nothing.
    pub(crate) fn present(settings: &Settings, running: Option<&Running>) -> Option<Self> {
        let url = settings.database.url.clone();
        Some(Self { cluster: None, admin: url.or_else(|| running.map(Running::login))? })
    }

    /// Waits for a database that may be starting at the same time as this process.
    ///
    /// Errors: when it refuses the administrator, or is still not there after [`EXTERNAL_LIMIT`].
    async fn wait(&self) -> Result<(), Error> {
        let admin = self.admin().await.map_err(unusable)?;
        let started = Instant::now();
        let mut said = false;
        let answer = loop {
            match admin.ping().await {
                Err(error) if error.is_unavailable() && started.elapsed() < EXTERNAL_LIMIT => {
                    if !said {
                        console::step(format_args!("waiting for the database of DATABASE_URL ({error})"));
                        said = true;
                    }
                    tokio::time::sleep(EXTERNAL_PAUSE).await;
                }
                answer => break answer,
            }
        };
        admin.close().await;
        answer.map_err(|error| unusable(error.into()))
    }

    /// Returns how a service logs in that should be `role`.
    pub(crate) fn login(&self, logins: Logins, role: &str, keys: &Keys) -> Conninfo {
        match (logins, &self.cluster) {
            (Logins::Administrator, _) => self.admin.clone(),
            (Logins::OwnRoles, Some(cluster)) => cluster.login_as(role, &password(keys, role)),
            (Logins::OwnRoles, None) => uri::for_role(&self.admin, role, &password(keys, role)),
        }
    }

    /// The administrator's URI as programs take it that know less than libpq: over TCP, with few parameters. Holds a
    /// password: not for logs.
    pub(crate) fn client_uri(&self) -> Result<String, Error> {
        let embedded = self
            .cluster
            .as_ref()
            .and_then(|cluster| cluster.tcp_login(cluster.superuser(), cluster.password()));
        Ok(database::client_uri(embedded.as_ref().unwrap_or(&self.admin))?)
    }

    /// A pool of administrator's connections, of which one at a time is needed.
    pub(crate) async fn admin(&self) -> Result<Database, Error> {
        admin_of(self.admin.clone()).await
    }

    /// Stops the Postgres that was started, if one was.
    pub(crate) async fn stop(&self) {
        if let Some(cluster) = &self.cluster
            && !cluster.stop().await
        {
            tracing::warn!("Postgres did not shut down cleanly; it will recover at the next start");
        }
    }
}

/// The embedded Postgres as `settings` want it.
pub(crate) fn options(settings: &Settings) -> Options {
    Options {
        port: Some(settings.database.port),
        password: settings.database.default_password.then_some(DEFAULT_PASSWORD),
        search: search(settings),
        progress: Some(Arc::new(|progress| console::step(progress))),
        ..Options::new(&settings.data_dir)
    }
}

/// Where this project's Postgres is looked for.
pub(crate) fn search(settings: &Settings) -> Search {
    let mut search = Search::new(Some(&settings.project.root));
    if let Some(folder) = &settings.database.binaries {
        search.folder = Some(folder.clone());
    }
    search
}

/// As [`Backend::admin`], for another `server`.
async fn admin_of(server: Conninfo) -> Result<Database, Error> {
    let settings = database::Settings {
        client_pool_size: 1,
        pool_size: 1,
        application_name: "basalt-admin".to_owned(),
        ..database::Settings::new(server)
    };
    Ok(Database::connect(settings).await?)
}

/// Why the database of `DATABASE_URL` cannot be used. The value is not repeated: it may hold a password.
pub(crate) fn unusable(error: Error) -> Error {
    Error::Advice(match error {
        Error::Database(error @ database::Error::Configuration(_)) => {
            format!("DATABASE_URL: expected postgresql://user:password@host:5432/database: {error}")
        }
        error => format!("DATABASE_URL: {error}"),
    })
}

/// Loads the keys, making them on first start.
pub(crate) fn keys(settings: &Settings) -> Result<Keys, Error> {
    data_folder(settings)?;
    let overrides: KeyOverrides = settings.keys.clone();
    Ok(Keys::load_or_create(&settings.key_file(), overrides)?)
}

/// Makes the data folder where it is missing. It keeps itself out of Git: keys and people's data are in it.
fn data_folder(settings: &Settings) -> Result<(), Error> {
    use std::os::unix::fs::DirBuilderExt as _;
    let folder = &settings.data_dir;
    let failed = || format!("create the data folder {}", display_path(folder));
    let is_new = !folder.exists();
    std::fs::DirBuilder::new().recursive(true).mode(0o700).create(folder).map_err(Error::io(failed()))?;
    let ignored = folder.join(".gitignore");
    // A folder that was there before may be more than ours, except where it has the name that we give.
    if (is_new || folder.ends_with(DATA_FOLDER)) && !ignored.exists() {
        std::fs::write(ignored, "*\n").map_err(Error::io(failed()))?;
    }
    Ok(())
}

/// How the services log in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Logins {
    /// Each as its own role, with a password that follows from the keys.
    OwnRoles,
    /// All as the administrator.
    Administrator,
}

/// Brings the database up to date: the platform's schema, the roles' passwords, the project's migrations and seed. One
/// that Basalt has not set up before is set up only if somebody agrees.
///
/// Where the platform was there already, as on hosted Supabase, the roles and their passwords belong to the servers
/// that use them: they are left alone, and the services log in as the administrator.
pub(crate) async fn migrate(settings: &Settings, keys: &Keys, admin: &Database) -> Result<Logins, Error> {
    let mut client: Client = admin.client().await?;
    let mut migrator = Migrator::new(&mut client);
    if settings.database.url.is_some() && !migrator.is_own().await? {
        consent::to_adopt(settings).await?;
    }
    say("platform schema", &migrator.platform().await?);
    if let Some(roles) = settings.project.roles() {
        say("roles", &migrator.seed(&settings.project.root, &[roles]).await?);
    }
    store_secrets(settings, &mut client).await?;
    let mut migrator = Migrator::new(&mut client);
    if settings.migrations.enabled {
        say("migrations", &migrator.project(&settings.migrations.path).await?);
    }
    if settings.seed.enabled {
        say("seed", &migrator.seed(&settings.project.root, &settings.seed.files).await?);
    }
    let status = migrator.status(&settings.migrations.path).await?;
    if status.platform.iter().any(|entry| entry.state == State::Adopted) {
        return Ok(Logins::Administrator);
    }
    let passwords = [AUTHENTICATOR, AUTH_ADMIN, STORAGE_ADMIN].map(|role| (role, password(keys, role)));
    let passwords = passwords.each_ref().map(|(role, password)| (*role, password.as_str()));
    migrate::set_role_passwords(&mut client, &passwords).await?;
    Ok(Logins::OwnRoles)
}

/// Puts the secrets of `[db.vault]` where the project's migrations find them, as the Supabase CLI does.
async fn store_secrets(settings: &Settings, client: &mut Client) -> Result<(), Error> {
    if settings.vault.0.is_empty() {
        return Ok(());
    }
    match settings.vault.store(client).await? {
        None => tracing::warn!("db.vault has no effect: this database lacks the extension supabase_vault"),
        Some(0) => {}
        Some(changed) => console::step(format_args!("vault: {changed} secrets")),
    }
    Ok(())
}

/// The password of a login role.
fn password(keys: &Keys, role: &str) -> String {
    keys.derive(&format!("database password of {role}"))
}

fn say(what: &str, report: &Report) {
    for file in &report.changed {
        tracing::warn!(
            file,
            "edited after it had been applied, and not applied again: put the change into a new file, or make the \
             database anew with `basalt db reset`, which deletes its data"
        );
    }
    match report.applied.as_slice() {
        [] => {}
        // Each of them is a line of the log.
        _ if logging::is_json() => {}
        [file] => console::step(format_args!("{what}: {file}")),
        [first, .., last] => {
            console::step(format_args!("{what}: {} files, {first} to {last}", report.applied.len()));
        }
    }
}

/// The Postgres of a Basalt that runs on a data folder, as its files tell it.
pub(crate) struct Running {
    /// Its port on 127.0.0.1.
    pub(crate) port: u16,
    password: String,
}

impl Running {
    /// What the files of `data_dir` say; `None` when no Postgres runs there.
    ///
    /// Source: PostgreSQL documentation, section 66.1: line 4 of `postmaster.pid` is the port.
    pub(crate) fn find(data_dir: &Path) -> Option<Self> {
        let lock = std::fs::read_to_string(data_dir.join("postgres/postmaster.pid")).ok()?;
        let port = lock.lines().nth(3)?.trim().parse().ok()?;
        let passwords = std::fs::read_to_string(data_dir.join("pgpass")).ok()?;
        let password = passwords.lines().next()?.rsplit(':').next()?.to_owned();
        Some(Self { port, password })
    }

    fn login(&self) -> Conninfo {
        Conninfo::login("127.0.0.1", self.port, "postgres", &self.password, "postgres")
    }

    /// Whether it takes connections: the files may be those of a process that was killed.
    pub(crate) async fn answers(&self) -> bool {
        let settings =
            database::Settings { connect_timeout: ATTACH_LIMIT, ..database::Settings::new(self.login()) };
        let attempt = async {
            let database = Database::connect(settings).await.ok()?;
            let answer = database.ping().await.ok();
            database.close().await;
            answer
        };
        matches!(tokio::time::timeout(ATTACH_LIMIT, attempt).await, Ok(Some(())))
    }
}

//! The database and the keys of a project, which most commands need.

pub(crate) mod consent;
mod logins;
pub(crate) mod reset;
pub(crate) mod shadow;

use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use backup::Repository;
use embedded::{AdministratorLogins, Cluster, Options, POSTGRES, Search};
use migrations::{Migrator, Report, State};
use postgres::conninfo::Conninfo;
use postgres::{Client, Database};
use tokens::{KeyOverrides, Keys};

use crate::console;
use crate::declared;
use crate::error::Error;
use crate::logging;
use crate::settings::{DATA_FOLDER, Settings, display_path};
use crate::uri;
use logins::{project_session, superuser_session};

/// The role that the REST service logs in as. The passwords of these roles are derived from the keys, so that they are
/// the same on every node.
pub(crate) const AUTHENTICATOR: &str = "authenticator";
/// The role that the auth service logs in as.
pub(crate) const AUTH_ADMIN: &str = "supabase_auth_admin";
/// The role that the storage service logs in as.
pub(crate) const STORAGE_ADMIN: &str = "supabase_storage_admin";

/// How long the database of `DATABASE_URL` may take to start, and how often a connection is tried.
const EXTERNAL_LIMIT: Duration = Duration::from_secs(30);
const EXTERNAL_PAUSE: Duration = Duration::from_millis(500);
/// How long another process's Postgres may take to respond before it counts as not running.
const ATTACH_LIMIT: Duration = Duration::from_secs(3);

/// The database that a command uses.
pub(crate) struct Backend {
    /// The Postgres that this process has started.
    pub(crate) cluster: Option<Cluster>,
    /// Its backups, if there are any.
    pub(crate) repository: Option<Repository>,
    /// The parameters with which the administrator logs in: the superuser of the embedded Postgres.
    admin: Conninfo,
    /// The parameters with which the project's own administrator logs in, the role `postgres` of the embedded Postgres.
    /// Elsewhere it is the same login.
    project: Conninfo,
}

impl Backend {
    /// Starts the embedded Postgres, or uses the one of `DATABASE_URL`.
    pub(crate) async fn start(settings: &Settings) -> Result<Self, Error> {
        data_folder(settings)?;
        let repository = Repository::open(&settings.backup, &settings.data_dir).await?;
        if let Some(url) = &settings.database.url {
            let backend = Self { cluster: None, repository, admin: url.clone(), project: url.clone() };
            backend.wait().await?;
            return Ok(backend);
        }
        // Whoever starts it: what is written without being archived would be a gap in the backups.
        let archiver = repository.as_ref().map(Repository::archiver);
        let cluster = Cluster::start(Options { archiver, ..options(settings) }).await?;
        let (admin, project) = (superuser_session(cluster.login()), cluster.postgres_login());
        Ok(Self { admin, project, repository, cluster: Some(cluster) })
    }

    /// Does what [`Self::start`] does, but uses the Postgres of a Basalt that already runs on the same data folder.
    pub(crate) async fn attach_or_start(settings: &Settings) -> Result<Self, Error> {
        if settings.database.url.is_none()
            && let Some(running) = RunningPostgres::find_responsive(&settings.data_dir).await
        {
            return Ok(running.backend());
        }
        Self::start(settings).await
    }

    /// Runs `work` on the database that [`Self::attach_or_start`] returns, and then stops that database.
    pub(crate) async fn attached<T>(
        settings: &Settings,
        work: impl AsyncFnOnce(&Self) -> Result<T, Error>,
    ) -> Result<T, Error> {
        let backend = Self::attach_or_start(settings).await?;
        let result = work(&backend).await;
        backend.stop().await;
        result
    }

    /// Does what [`Self::attached`] does; a database that is started only for `work` is brought up to date first.
    pub(crate) async fn attached_up_to_date<T>(
        settings: &Settings,
        work: impl AsyncFnOnce(&Self) -> Result<T, Error>,
    ) -> Result<T, Error> {
        Self::attached(settings, async |backend| {
            migrate_if_started(settings, backend).await?;
            work(backend).await
        })
        .await
    }

    /// Returns the database of `DATABASE_URL` or, without it, of the Basalt that is `running`. Does not start or wait
    /// for anything.
    pub(crate) fn existing(settings: &Settings, running: Option<&RunningPostgres>) -> Option<Self> {
        match &settings.database.url {
            Some(url) => {
                Some(Self { cluster: None, repository: None, admin: url.clone(), project: url.clone() })
            }
            None => running.map(RunningPostgres::backend),
        }
    }

    /// Waits for a database that may be starting at the same time as this process.
    ///
    /// Errors: if it refuses the administrator, or still does not respond after [`EXTERNAL_LIMIT`].
    async fn wait(&self) -> Result<(), Error> {
        let admin = self.admin().await.map_err(unusable)?;
        let started = Instant::now();
        let mut is_reported = false;
        let reply = loop {
            match admin.ping().await {
                Err(error) if error.is_unavailable() && started.elapsed() < EXTERNAL_LIMIT => {
                    if !is_reported {
                        console::step(format_args!("waiting for the database of DATABASE_URL ({error})"));
                        is_reported = true;
                    }
                    tokio::time::sleep(EXTERNAL_PAUSE).await;
                }
                reply => break reply,
            }
        };
        admin.close().await;
        reply.map_err(|error| unusable(error.into()))
    }

    /// Returns the parameters with which the service of `role` logs in.
    pub(crate) fn login(&self, logins: Logins, role: &str, keys: &Keys) -> Conninfo {
        match (logins, &self.cluster) {
            (Logins::Administrator, _) => self.admin.clone(),
            (Logins::OwnRoles, Some(cluster)) => cluster.login_as(role, &password(keys, role)),
            (Logins::OwnRoles, None) => uri::for_role(&self.project, role, &password(keys, role)),
        }
    }

    /// Returns the URI of the project's administrator for programs that support less than libpq: over TCP, with few
    /// parameters. It contains a password and must not be logged.
    pub(crate) fn client_uri(&self) -> Result<String, Error> {
        let embedded = self.cluster.as_ref().and_then(Cluster::postgres_tcp_login);
        Ok(postgres::client_uri(embedded.as_ref().unwrap_or(&self.project))?)
    }

    /// Returns the parameters with which the project's administrator logs in. They contain a password and must not be
    /// logged.
    pub(crate) fn project_login(&self) -> &Conninfo {
        &self.project
    }

    /// Returns the role that the project's migrations run as, which owns what they create.
    fn creator(&self) -> &str {
        self.project.get("user").unwrap_or(POSTGRES)
    }

    /// Returns the administrator's password, which must not be logged.
    pub(crate) fn admin_password(&self) -> &str {
        self.admin.get("password").unwrap_or_default()
    }

    /// Returns a pool of one connection as the administrator.
    pub(crate) async fn admin(&self) -> Result<Database, Error> {
        Ok(Database::connect(self.admin_settings()).await?)
    }

    /// Returns the settings of a pool as [`Self::admin`] returns it.
    pub(crate) fn admin_settings(&self) -> postgres::Settings {
        settings_of(self.admin.clone())
    }

    /// Runs `work` on a pool that [`Self::admin`] returns, and then closes the pool.
    pub(crate) async fn with_admin<T>(
        &self,
        work: impl AsyncFnOnce(&Database) -> Result<T, Error>,
    ) -> Result<T, Error> {
        with_pool(self.admin().await?, work).await
    }

    /// Returns a pool of one connection as the project's administrator.
    pub(crate) async fn project(&self) -> Result<Database, Error> {
        Ok(Database::connect(self.repaired(settings_of(self.project_session()))).await?)
    }

    /// Runs `work` on a pool that [`Self::project`] returns, and then closes the pool.
    pub(crate) async fn with_project<T>(
        &self,
        work: impl AsyncFnOnce(&Database) -> Result<T, Error>,
    ) -> Result<T, Error> {
        with_pool(self.project().await?, work).await
    }

    /// Connects as the project's administrator, with a pool for a service; `adjust` sets its size.
    pub(crate) async fn project_with(
        &self,
        adjust: impl FnOnce(postgres::Settings) -> postgres::Settings,
    ) -> Result<Database, Error> {
        let settings = self.repaired(postgres::Settings::new(self.project_session()));
        Ok(Database::connect(adjust(settings)).await?)
    }

    /// Returns the login of the server's own sessions as the project's administrator.
    fn project_session(&self) -> Conninfo {
        match self.has_one_administrator() {
            true => self.project.clone(),
            false => project_session(self.project.clone()),
        }
    }

    /// Returns `settings` of a pool of the embedded Postgres whose logins work again after somebody has changed the
    /// password of their role.
    pub(crate) fn repaired(&self, settings: postgres::Settings) -> postgres::Settings {
        // Other servers may use a database of `DATABASE_URL`, with passwords of their own.
        let repair = match self.has_one_administrator() {
            true => None,
            false => logins::repair(&self.admin, &settings.server),
        };
        postgres::Settings { repair, ..settings }
    }

    /// Reports whether the project's administrator is the one that owns the platform.
    pub(crate) fn has_one_administrator(&self) -> bool {
        self.project == self.admin
    }

    /// Stops the Postgres that this process has started, if any.
    pub(crate) async fn stop(&self) {
        if let Some(cluster) = &self.cluster
            && !cluster.stop().await
        {
            tracing::warn!("Postgres did not shut down cleanly; it will recover at the next start");
        }
        if let Some(repository) = self.repository.as_ref().filter(|_| self.cluster.is_some()) {
            repository.warn_of_waiting();
        }
    }
}

/// Returns the options of the embedded Postgres.
pub(crate) fn options(settings: &Settings) -> Options {
    Options {
        port: Some(settings.database.port),
        password: settings.database_password(),
        postgres_superuser: settings.database.postgres_superuser,
        memory: settings.server.memory,
        search: search(settings),
        progress: Some(Arc::new(|progress| console::step(progress))),
        ..Options::new(&settings.data_dir)
    }
}

/// Returns where to look for this project's Postgres.
pub(crate) fn search(settings: &Settings) -> Search {
    Search { folder: settings.database.binaries.clone(), ..Search::new(Some(&settings.project.root)) }
}

/// Returns the settings of a pool of one connection to `server`.
fn settings_of(server: Conninfo) -> postgres::Settings {
    postgres::Settings {
        client_pool_size: 1,
        pool_size: 1,
        application_name: "basalt-admin".to_owned(),
        ..postgres::Settings::new(server)
    }
}

/// Runs `work` on `pool`, and then closes it.
async fn with_pool<T>(
    pool: Database,
    work: impl AsyncFnOnce(&Database) -> Result<T, Error>,
) -> Result<T, Error> {
    let result = work(&pool).await;
    pool.close().await;
    result
}

/// Returns the error for a database of `DATABASE_URL` that cannot be used. It does not contain the value, which may
/// contain a password.
pub(crate) fn unusable(error: Error) -> Error {
    Error::Advice(match error {
        Error::Database(error @ postgres::Error::Configuration(_)) => {
            format!("DATABASE_URL: expected postgresql://user:password@host:5432/database: {error}")
        }
        error => format!("DATABASE_URL: {error}"),
    })
}

/// Loads the keys; creates them at the first start.
pub(crate) fn keys(settings: &Settings) -> Result<Keys, Error> {
    data_folder(settings)?;
    let overrides: KeyOverrides = settings.keys.clone();
    Ok(Keys::load_or_create(&settings.key_file(), overrides)?)
}

/// Creates the data folder if it is missing, with a `.gitignore` for all of it: keys and users' data are in it.
fn data_folder(settings: &Settings) -> Result<(), Error> {
    use std::os::unix::fs::DirBuilderExt as _;
    let folder = &settings.data_dir;
    let failed = || format!("create the data folder {}", display_path(folder));
    let is_new = !folder.exists();
    std::fs::DirBuilder::new().recursive(true).mode(0o700).create(folder).map_err(Error::io(failed()))?;
    let ignored = folder.join(".gitignore");
    // An existing folder may contain other files, unless it has the default name.
    if (is_new || folder.ends_with(DATA_FOLDER)) && !ignored.exists() {
        std::fs::write(ignored, "*\n").map_err(Error::io(failed()))?;
    }
    Ok(())
}

/// The roles as which the services log in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Logins {
    /// Each service as its own role, with a password that is derived from the keys.
    OwnRoles,
    /// All services as the administrator.
    Administrator,
}

/// Brings the database up to date: the platform's schema, the roles' passwords, the project's migrations and seed. A
/// database that Basalt has not set up before is set up only if the operator agrees.
///
/// If the platform existed already, as on hosted Supabase, the roles and their passwords belong to the servers that use
/// them: they are not changed, and the services log in as the administrator.
pub(crate) async fn migrate(settings: &Settings, keys: &Keys, backend: &Backend) -> Result<Logins, Error> {
    backend
        .with_admin(async |admin| {
            let mut client: Client = admin.client().await?;
            let mut migrator = Migrator::new(&mut client);
            if settings.database.url.is_some() && !migrator.is_own().await? {
                consent::confirm_adoption(settings).await?;
            }
            report_applied("platform schema", &migrator.platform().await?);
            if let Some(exposed) = settings.database.expose_new_tables {
                migrations::expose_new_tables(&mut client, backend.creator(), exposed).await?;
            }
            store_secrets(settings, &mut client).await
        })
        .await?;
    let creator = backend.creator();
    let status =
        backend.with_project(async |project| migrate_project(settings, project, creator).await).await?;
    if status.platform.iter().any(|entry| entry.state == State::Adopted) {
        return Ok(Logins::Administrator);
    }
    let own = |role: &'static str| (role, password(keys, role));
    let passwords = [AUTHENTICATOR, AUTH_ADMIN, STORAGE_ADMIN].map(own);
    let passwords = passwords.each_ref().map(|(role, password)| (*role, password.as_str()));
    let readers = [platform::READER, platform::LOGS_READER].map(own);
    backend
        .with_admin(async |admin| {
            let mut client: Client = admin.client().await?;
            migrations::set_role_passwords(&mut client, &passwords).await?;
            for (reader, password) in &readers {
                // Not every administrator can create these roles.
                match migrations::set_role_passwords(&mut client, &[(*reader, password)]).await {
                    Ok(_) | Err(migrations::Error::NoSuchRole(_)) => {}
                    Err(error) => return Err(error.into()),
                }
            }
            Ok(())
        })
        .await?;
    Ok(Logins::OwnRoles)
}

/// Brings the database of a cluster that was started only for a command up to date, as at each start: it may not have
/// the newest migrations yet. Other databases stay as they are.
pub(crate) async fn migrate_if_started(settings: &Settings, backend: &Backend) -> Result<(), Error> {
    if backend.cluster.is_some() {
        migrate(settings, &keys(settings)?, backend).await?;
    }
    Ok(())
}

/// Applies the project's roles, migrations and seed, and returns the state of all migrations after that.
async fn migrate_project(
    settings: &Settings,
    project: &Database,
    creator: &str,
) -> Result<migrations::Status, Error> {
    let mut client: Client = project.client().await?;
    let mut migrator = Migrator::new(&mut client);
    if let Some(roles) = settings.project.roles() {
        report_applied("roles", &migrator.seed(&settings.project.root, &[roles]).await?);
    }
    if settings.migrations.enabled {
        report_applied("migrations", &migrator.project(&settings.migrations.path).await?);
    }
    if settings.seed.enabled {
        report_applied("seed", &migrator.seed(&settings.project.root, &settings.seed.files).await?);
    }
    let status = migrator.status(&settings.migrations.path).await?;
    declared::note_changes(settings);
    console::step(match migrations::exposes_new_tables(&client, creator).await? {
        true => "new tables of public: open to the API at once",
        false => "new tables of public: closed to the API until a migration grants something",
    });
    Ok(status)
}

/// Stores the secrets of `[db.vault]` in the vault before the project's migrations run, as the Supabase CLI does.
async fn store_secrets(settings: &Settings, client: &mut Client) -> Result<(), Error> {
    if settings.vault.0.is_empty() {
        return Ok(());
    }
    match settings.vault.store(client).await? {
        None => {
            tracing::warn!("db.vault has no effect: this database does not have the extension supabase_vault")
        }
        Some(0) => {}
        Some(changed) => console::step(format_args!("vault: {changed} secrets")),
    }
    Ok(())
}

/// Returns the password of a login role.
pub(crate) fn password(keys: &Keys, role: &str) -> String {
    keys.derive(&format!("database password of {role}"))
}

fn report_applied(what: &str, report: &Report) {
    for file in &report.changed {
        tracing::warn!(
            file,
            "changed after it had been applied, and not applied again: put the change into a new file, or create the \
             database again with `basalt db reset`, which deletes its data"
        );
    }
    match report.applied.as_slice() {
        [] => {}
        // The migrator has logged each of them.
        _ if logging::is_json() => {}
        [file] => console::step(format_args!("{what}: {file}")),
        [first, .., last] => {
            console::step(format_args!("{what}: {} files, {first} to {last}", report.applied.len()));
        }
    }
}

/// The Postgres of a Basalt that runs on a data folder, according to its files.
pub(crate) struct RunningPostgres {
    /// Its port on 127.0.0.1.
    pub(crate) port: u16,
    /// The logins of its superuser and of the role `postgres`.
    pub(crate) logins: AdministratorLogins,
}

impl RunningPostgres {
    /// Reads the files of `data_dir`; `None` if no Postgres runs there.
    ///
    /// Source: PostgreSQL documentation, section 66.1: line 4 of `postmaster.pid` is the port.
    pub(crate) fn find(data_dir: &Path) -> Option<Self> {
        let lock = std::fs::read_to_string(data_dir.join("postgres/postmaster.pid")).ok()?;
        let port = lock.lines().nth(3)?.trim().parse().ok()?;
        let logins = AdministratorLogins::read(data_dir, port)?;
        Some(Self { port, logins })
    }

    /// Does what [`Self::find`] does; but returns `None` as well if it does not accept connections: the files may have
    /// been left by a process that was killed.
    pub(crate) async fn find_responsive(data_dir: &Path) -> Option<Self> {
        let found = Self::find(data_dir)?;
        found.responds().await.then_some(found)
    }

    fn backend(&self) -> Backend {
        let AdministratorLogins { superuser, postgres } = self.logins.clone();
        let admin = superuser_session(superuser);
        Backend { cluster: None, repository: None, admin, project: postgres }
    }

    async fn responds(&self) -> bool {
        let settings = postgres::Settings {
            connect_timeout: ATTACH_LIMIT,
            ..postgres::Settings::new(self.logins.superuser.clone())
        };
        let attempt = async {
            let database = Database::connect(settings).await.ok()?;
            let reply = database.ping().await.ok();
            database.close().await;
            reply
        };
        matches!(tokio::time::timeout(ATTACH_LIMIT, attempt).await, Ok(Some(())))
    }
}

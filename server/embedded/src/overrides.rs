//! Settings of Postgres that are changed while it runs: what `ALTER SYSTEM` writes into `postgresql.auto.conf`, which
//! precedes all other files. All changes of a request are made, or none, and Postgres runs after it in any case.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use postgres::conninfo::Conninfo;
use postgres::quote_literal;
use tokio::sync::{Mutex, mpsc, oneshot};
use tokio::time::{Instant, sleep, timeout};
use tokio_postgres::Client;

use super::account::{self, Account};
use super::error::Error;
use super::files::write_atomically;
use super::orphan::POLL;
use super::preload;
use super::superuser::{self, CONNECTIONS_OF_SERVICES, Superuser};

/// The file that `ALTER SYSTEM` writes. Source: PostgreSQL documentation, section 20.1.2.
const FILE: &str = "postgresql.auto.conf";

/// How long Postgres may take to read its files again, and a statement that changes one of them.
const RELOAD_LIMIT: Duration = Duration::from_secs(10);

/// How long a restart may take: its end, its start and another start with the former settings.
const RESTART_LIMIT: Duration = Duration::from_secs(120);

/// The shortest `statement_timeout` in milliseconds: it holds for the services of this server, too.
const SHORTEST_STATEMENT: i64 = 1000;

/// Why settings were not changed.
#[derive(Debug, thiserror::Error)]
pub enum OverrideError {
    /// A value that Postgres, or this server, cannot run with. It runs with the former ones.
    #[error("{0}")]
    Refused(String),
    /// Postgres does not respond, or its file cannot be written.
    #[error("the settings of Postgres cannot be changed: {0}")]
    Failed(String),
}

impl From<tokio_postgres::Error> for OverrideError {
    fn from(error: tokio_postgres::Error) -> Self {
        match error.as_db_error() {
            Some(server) => Self::Failed(server.message().to_owned()),
            None => Self::Failed(error.to_string()),
        }
    }
}

impl From<Error> for OverrideError {
    fn from(error: Error) -> Self {
        Self::Failed(error.to_string())
    }
}

/// The order to restart Postgres, given to what supervises it.
pub(super) struct Restart {
    /// The content of the file with which Postgres ran before: it is put back if Postgres does not start.
    pub(super) former: Vec<u8>,
    /// Is told when Postgres runs again: why not with its new settings, if it does not.
    pub(super) done: oneshot::Sender<Result<(), Error>>,
}

/// Reads and changes the settings of a running cluster that precede those in its other files; cheap to clone.
#[derive(Clone)]
pub struct Overrides {
    login: Conninfo,
    superuser: Superuser,
    cluster: PathBuf,
    account: Option<Account>,
    restarts: mpsc::Sender<Restart>,
    /// Held during a change.
    changing: Arc<Mutex<()>>,
}

impl Overrides {
    pub(super) fn new(
        login: Conninfo,
        superuser: Superuser,
        cluster: PathBuf,
        account: Option<Account>,
        restarts: mpsc::Sender<Restart>,
    ) -> Self {
        Self { login, superuser, cluster, account, restarts, changing: Arc::default() }
    }

    /// Returns which of the settings `names` are changed, with their values as they were written.
    ///
    /// Errors: if Postgres does not respond.
    pub async fn read(&self, names: &[&str]) -> Result<BTreeMap<String, String>, OverrideError> {
        let reading = async { present(&self.log_in().await?, names).await };
        timeout(RELOAD_LIMIT, reading).await.unwrap_or_else(|_| Err(slow()))
    }

    /// Makes `values` the changed settings among `names`; the others of them are again as the other files have them.
    /// Settings that are read at the start need a restart, which takes a second or two; without `may_restart` they wait
    /// for the next one.
    ///
    /// Errors: if Postgres refuses a value or does not start with them. Then it runs with the former ones.
    pub async fn replace(
        &self,
        names: &[&str],
        values: &BTreeMap<String, String>,
        may_restart: bool,
    ) -> Result<(), OverrideError> {
        let _changing = self.changing.lock().await;
        let former = std::fs::read(self.file()).map_err(Error::io("read", &self.file()))?;
        let changed = self.write(names, values);
        match timeout(RELOAD_LIMIT, changed).await.unwrap_or_else(|_| Err(slow())) {
            Ok(true) if may_restart => self.restart(former).await?,
            Ok(_) => return Ok(()),
            Err(error) => {
                put_back(&self.cluster, &former, self.account.as_ref())?;
                return Err(error);
            }
        }
        // Its share depends on a setting that is read at the start.
        match self.superuser {
            Superuser::SupabaseAdmin => Ok(superuser::limit_postgres(&self.log_in().await?).await?),
            Superuser::Postgres => Ok(()),
        }
    }

    /// Writes the settings, has Postgres read them, and reports whether some of them need a restart.
    async fn write(&self, names: &[&str], values: &BTreeMap<String, String>) -> Result<bool, OverrideError> {
        let mut client = self.log_in().await?;
        check(&mut client, values).await?;
        let present = present(&client, names).await?;
        for name in names {
            let statement = match (values.get(*name), present.get(*name)) {
                (wanted, present) if wanted == present => continue,
                (Some(wanted), _) => format!("alter system set {name} = {}", quote_literal(wanted)),
                (None, _) => format!("alter system reset {name}"),
            };
            client.batch_execute(&statement).await.map_err(refused)?;
        }
        let loaded = "select pg_catalog.pg_conf_load_time()::text";
        let before: String = client.query_one(loaded, &[]).await?.get(0);
        client.batch_execute("select pg_catalog.pg_reload_conf()").await?;
        let until = Instant::now() + RELOAD_LIMIT;
        while client.query_one(loaded, &[]).await?.get::<_, String>(0) == before && Instant::now() < until {
            sleep(POLL).await;
        }
        let pending =
            "select exists (select from pg_catalog.pg_settings where pending_restart and name = any ($1))";
        Ok(client.query_one(pending, &[&names]).await?.get(0))
    }

    async fn restart(&self, former: Vec<u8>) -> Result<(), OverrideError> {
        let (done, restarted) = oneshot::channel();
        let stopping = || OverrideError::Failed("the server is being stopped".to_owned());
        self.restarts.send(Restart { former, done }).await.map_err(|_| stopping())?;
        match timeout(RESTART_LIMIT, restarted).await {
            Ok(Ok(Ok(()))) => Ok(()),
            Ok(Ok(Err(failure))) => Err(OverrideError::Refused(format!(
                "Postgres does not start with these settings, and runs with the former ones: {failure}"
            ))),
            Ok(Err(_)) => Err(stopping()),
            Err(_) => Err(slow()),
        }
    }

    /// Logs in, whatever limit for statements was set.
    async fn log_in(&self) -> Result<Client, OverrideError> {
        let client = preload::log_in(&self.login).await?;
        client.batch_execute("set statement_timeout = 0").await?;
        Ok(client)
    }

    fn file(&self) -> PathBuf {
        self.cluster.join(FILE)
    }
}

/// Puts the file back as it was: `former` is its content.
pub(super) fn put_back(cluster: &Path, former: &[u8], account: Option<&Account>) -> Result<(), Error> {
    let file = cluster.join(FILE);
    write_atomically(&file, former, 0o600)?;
    account::give(&file, account)
}

/// Returns which of the settings `names` are in the file that `ALTER SYSTEM` writes.
async fn present(client: &Client, names: &[&str]) -> Result<BTreeMap<String, String>, OverrideError> {
    let sql = "select name, setting from pg_catalog.pg_file_settings
               where sourcefile = pg_catalog.current_setting('data_directory') || '/postgresql.auto.conf'
                 and name = any ($1)";
    let rows = client.query(sql, &[&names]).await?;
    Ok(rows.iter().map(|row| (row.get(0), row.get(1))).collect())
}

/// Refuses values with which Postgres starts, and this server could not work.
async fn check(client: &mut Client, values: &BTreeMap<String, String>) -> Result<(), OverrideError> {
    if let Some(count) = values.get("max_connections").and_then(|value| value.parse::<i32>().ok())
        && count < CONNECTIONS_OF_SERVICES
    {
        return Err(OverrideError::Refused(format!(
            "max_connections: the services of this server need at least {CONNECTIONS_OF_SERVICES}"
        )));
    }
    let Some(limit) = values.get("statement_timeout") else { return Ok(()) };
    // Postgres knows the units. What is set here ends with the transaction.
    let transaction = client.transaction().await?;
    let set = "select pg_catalog.set_config('statement_timeout', $1, true)";
    transaction.execute(set, &[limit]).await.map_err(refused)?;
    let milliseconds = "select setting::bigint from pg_catalog.pg_settings where name = 'statement_timeout'";
    let milliseconds = transaction.query_one(milliseconds, &[]).await?.get::<_, i64>(0);
    transaction.rollback().await?;
    if (1..SHORTEST_STATEMENT).contains(&milliseconds) {
        return Err(OverrideError::Refused(
            "statement_timeout: it holds for the services of this server, too, which need at least 1s"
                .to_owned(),
        ));
    }
    Ok(())
}

/// Returns Postgres' refusal of a value.
fn refused(error: tokio_postgres::Error) -> OverrideError {
    match error.as_db_error() {
        Some(server) => OverrideError::Refused(match server.hint() {
            Some(hint) => format!("{}. {hint}", server.message()),
            None => server.message().to_owned(),
        }),
        None => error.into(),
    }
}

fn slow() -> OverrideError {
    OverrideError::Failed("Postgres does not respond".to_owned())
}

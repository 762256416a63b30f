//! The logins that jobs are run with.
//!
//! A job's command is written by its user, so it must not run in a session of a superuser: such a session may become
//! any role by `reset role` or `set session authorization`, even if its role was set before. The password of the user
//! is not known either. So each user of a job gets a companion role that can log in, with a random password that only
//! this process has. It may become the user and no other role: a command that resets its role has no more rights than
//! its user. A job of the role that the server itself logs in as uses the server's own login.

use std::collections::HashMap;

use data_encoding::HEXLOWER;
use postgres::{Connection, Database, Error, quote_identifier, quote_literal};
use postgres_protocol::password::scram_sha_256;
use tokio::sync::Mutex;
use tokio_postgres::Client;
use tokio_postgres::types::Type;

use crate::jobs::{self, Job};

/// The application name in `pg_stat_activity`, as upstream's.
const APPLICATION: &str = "pg_cron";

/// The companion roles that this leader has created: their passwords, by the user's OID.
pub(crate) struct Logins {
    passwords: Mutex<HashMap<u32, String>>,
}

/// A job's user.
struct User {
    id: u32,
    may_log_in: bool,
    /// Whether the server itself logs in as that role.
    is_own: bool,
    /// The name of the companion role.
    login: String,
    database: String,
}

impl Logins {
    /// Removes the companion roles of an earlier leader, for this database and for dropped ones.
    pub(crate) async fn new(client: &Client) -> Result<Self, Error> {
        // The first condition keeps all other roles from being removed.
        let sql = "select rolname::text from pg_catalog.pg_roles
            where rolname ~ '^basalt_cron_[0-9]+_[0-9]+$'
              and not exists (
                select from pg_catalog.pg_database
                where oid::text = pg_catalog.split_part(rolname, '_', 3) and datname <> current_database())";
        for row in client.query_typed(sql, &[]).await? {
            let role: String = row.try_get(0)?;
            // It owns nothing, unless a job has made it an owner.
            if let Err(error) = client.batch_execute(&format!("drop role {}", quote_identifier(&role))).await
            {
                tracing::warn!(role, error = %Error::from(error), "an old login for jobs cannot be removed");
            }
        }
        Ok(Self { passwords: Mutex::default() })
    }

    /// Opens a session of `job`'s user, like one of the user's own login except for `session_user`.
    ///
    /// Errors: a text for the table of runs.
    pub(crate) async fn open(
        &self,
        client: &Client,
        database: &Database,
        job: &Job,
    ) -> Result<Connection, String> {
        let user = user(client, &job.username).await.map_err(jobs::error_text)?;
        let user = user.ok_or_else(|| format!("role \"{}\" does not exist", job.username))?;
        if !user.may_log_in {
            return Err(format!("role \"{}\" is not permitted to log in", job.username));
        }
        if user.database != job.database {
            return Err(format!("jobs can only be run in the database {}", user.database));
        }
        let opened = if user.is_own {
            database.open(None, APPLICATION).await
        } else {
            self.open_as_companion(client, database, &user, job).await
        };
        opened.map_err(jobs::error_text)
    }

    /// Opens a session by the companion role of `user`, with the user's role and settings.
    async fn open_as_companion(
        &self,
        client: &Client,
        database: &Database,
        user: &User,
        job: &Job,
    ) -> Result<Connection, Error> {
        let password = self.password(client, user, job).await?;
        let mut connection = database.open(Some((&user.login, &password)), APPLICATION).await?;
        connection.run(&format!("set role {}", quote_identifier(&job.username))).await?;
        let settings = "select setting from pg_catalog.pg_db_role_setting, pg_catalog.unnest(setconfig) as setting
            where setrole = $1
              and setdatabase in (0, (select oid from pg_catalog.pg_database where datname = current_database()))
            order by setdatabase";
        for row in client.query_typed(settings, &[(&user.id, Type::OID)]).await? {
            let setting: String = row.try_get(0)?;
            let (name, value) = setting.split_once('=').unwrap_or((&setting, ""));
            let set = format!(
                "select pg_catalog.set_config({}, {}, false)",
                quote_literal(name),
                quote_literal(value)
            );
            // A real login also ignores a setting that fails.
            match connection.run(&set).await {
                Ok(_) | Err(Error::Postgres(_)) => {}
                Err(error) => return Err(error),
            }
        }
        Ok(connection)
    }

    /// Returns the password of the companion role of `user`; creates the role at the first call.
    async fn password(&self, client: &Client, user: &User, job: &Job) -> Result<String, Error> {
        // The lock is held until the role exists: several jobs of a user may begin at once.
        let mut passwords = self.passwords.lock().await;
        if let Some(password) = passwords.get(&user.id) {
            return Ok(password.clone());
        }
        let password = HEXLOWER.encode(&rand::random::<[u8; 32]>());
        let login = quote_identifier(&user.login);
        // An existing role of that name is replaced: its creator could become it, and thereby the user. The role
        // inherits the user's rights only to be able to connect: the session's first statement sets the user's role.
        let sql = format!(
            "drop role if exists {login};
            create role {login} login password {};
            grant {} to {login} with inherit true, set true, admin false",
            quote_literal(&scram_sha_256(password.as_bytes())),
            quote_identifier(&job.username)
        );
        client.batch_execute(&sql).await?;
        passwords.insert(user.id, password.clone());
        Ok(password)
    }
}

/// Returns the user `name`; `None` if there is no such role.
async fn user(client: &Client, name: &str) -> Result<Option<User>, Error> {
    let sql = "select u.oid, u.rolcanlogin, u.rolname = session_user, login.name, datname::text
        from pg_catalog.pg_roles u, pg_catalog.pg_database d,
          lateral (select 'basalt_cron_' || d.oid || '_' || u.oid) as login(name)
        where d.datname = current_database() and u.rolname = $1";
    let rows = client.query_typed(sql, &[(&name, Type::TEXT)]).await?;
    let Some(row) = rows.first() else { return Ok(None) };
    let read = || -> Result<User, tokio_postgres::Error> {
        Ok(User {
            id: row.try_get(0)?,
            may_log_in: row.try_get(1)?,
            is_own: row.try_get(2)?,
            login: row.try_get(3)?,
            database: row.try_get(4)?,
        })
    };
    read().map(Some).map_err(Error::from)
}

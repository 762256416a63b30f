//! The logins that jobs are run with.
//!
//! A job's command is whatever its user has written, so it must not run in a session that a superuser logged in to:
//! such a session may become anybody by `reset role` or `set session authorization`, whatever was set before. Nor
//! is the password of a job's user known. So every such user is given a login beside him that may become him and nobody
//! else, with a password that this process makes up and keeps to itself: what the command can fall back to has no more
//! rights than its user. Only jobs of the role that the server itself logs in as use that login.

use std::collections::HashMap;

use data_encoding::HEXLOWER;
use database::{Connection, Database, Error, quote_identifier, quote_literal};
use postgres_protocol::password::scram_sha_256;
use tokio::sync::Mutex;
use tokio_postgres::Client;
use tokio_postgres::types::Type;

use crate::jobs::Job;

/// What `pg_stat_activity` shows, as upstream's does.
const APPLICATION: &str = "pg_cron";

/// The logins that have been made since this node leads, by the number of the user.
pub(crate) struct Logins {
    passwords: Mutex<HashMap<u32, String>>,
}

/// A job's user.
struct User {
    id: u32,
    may_log_in: bool,
    /// Whether the server itself logs in as that role.
    is_own: bool,
    /// The login beside him.
    login: String,
    database: String,
}

impl Logins {
    /// Removes the logins that an earlier leader made, here and for databases that are gone.
    pub(crate) async fn new(client: &Client) -> Result<Self, Error> {
        // The first condition keeps all other roles from being removed.
        let sql = "select rolname::text from pg_catalog.pg_roles
            where rolname ~ '^basalt_cron_[0-9]+_[0-9]+$'
              and not exists (
                select from pg_catalog.pg_database
                where oid::text = pg_catalog.split_part(rolname, '_', 3) and datname <> current_database())";
        for row in client.query_typed(sql, &[]).await? {
            let role: String = row.try_get(0)?;
            // It owns nothing, unless a job has given it something.
            if let Err(error) = client.batch_execute(&format!("drop role {}", quote_identifier(&role))).await
            {
                tracing::warn!(role, error = %Error::from(error), "an old login for jobs cannot be removed");
            }
        }
        Ok(Self { passwords: Mutex::default() })
    }

    /// Opens a session of `job`'s user, as his own login would begin it but for `session_user`.
    ///
    /// Errors: a text for who looks at the run.
    pub(crate) async fn open(
        &self,
        client: &Client,
        database: &Database,
        job: &Job,
    ) -> Result<Connection, String> {
        let user = user(client, &job.username).await.map_err(crate::run::described)?;
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
            self.open_beside(client, database, &user, job).await
        };
        opened.map_err(crate::run::described)
    }

    async fn open_beside(
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
            // A login goes on without a setting that cannot be made; so does this.
            match connection.run(&set).await {
                Ok(_) | Err(Error::Postgres(_)) => {}
                Err(error) => return Err(error),
            }
        }
        Ok(connection)
    }

    /// Returns the password of the login beside `user`, which is made at the first call.
    async fn password(&self, client: &Client, user: &User, job: &Job) -> Result<String, Error> {
        // Held until the login is there: several jobs of a user may begin at once.
        let mut passwords = self.passwords.lock().await;
        if let Some(password) = passwords.get(&user.id) {
            return Ok(password.clone());
        }
        let password = HEXLOWER.encode(&rand::random::<[u8; 32]>());
        let login = quote_identifier(&user.login);
        // A role of that name is never taken over: whoever made it could become it, and thereby the user. Rights are
        // inherited for the right to connect alone: the session becomes the user before all else.
        let made = format!(
            "drop role if exists {login};
            create role {login} login password {};
            grant {} to {login} with inherit true, set true, admin false",
            quote_literal(&scram_sha_256(password.as_bytes())),
            quote_identifier(&job.username)
        );
        client.batch_execute(&made).await?;
        passwords.insert(user.id, password.clone());
        Ok(password)
    }
}

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

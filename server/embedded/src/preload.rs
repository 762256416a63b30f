//! Libraries that a role or a database preloads and that this Postgres does not have, such as `safeupdate` of hosted
//! projects.
//!
//! Postgres refuses each login that would preload one of them, so a single statement of a guide stops all requests, or
//! the start. The superuser's login of a start preloads nothing, and takes them out of the settings.

use tokio_postgres::{Client, Error, NoTls};

use postgres::conninfo::Conninfo;
use postgres::{quote_identifier, quote_literal};

/// The options with which a login of the superuser preloads nothing, whatever is set.
const WITHOUT: &str = "-c session_preload_libraries= -c local_preload_libraries=";

/// The setting that names files of the folder of plugins.
const LOCAL: &str = "local_preload_libraries";

/// The settings of roles and databases that name libraries; a standby has those of its primary.
const SETTINGS: &str = "
select r.rolname, d.datname, split_part(entry, '=', 1), substr(entry, strpos(entry, '=') + 1)
from pg_catalog.pg_db_role_setting s
  left join pg_catalog.pg_roles r on r.oid = s.setrole
  left join pg_catalog.pg_database d on d.oid = s.setdatabase
  cross join unnest(s.setconfig) entry
where split_part(entry, '=', 1) in ('session_preload_libraries', 'local_preload_libraries')
  and not pg_catalog.pg_is_in_recovery()";

/// A setting that names libraries.
struct Preload {
    role: Option<String>,
    database: Option<String>,
    name: String,
    libraries: Vec<String>,
}

impl Preload {
    /// Returns the subject of an `alter` statement that sets it.
    fn subject(&self) -> String {
        match (&self.role, &self.database) {
            (None, Some(database)) => format!("database {}", quote_identifier(database)),
            (role, database) => {
                let role = role.as_deref().map_or_else(|| "all".to_owned(), quote_identifier);
                let within = database.as_deref().map(quote_identifier);
                format!(
                    "role {role}{}",
                    within.map_or_else(String::new, |database| format!(" in database {database}"))
                )
            }
        }
    }

    /// Returns the library that Postgres loads for `library`. Source: PostgreSQL documentation, section 19.11.4.
    fn file(&self, library: &str) -> String {
        if self.name == LOCAL { format!("$libdir/plugins/{library}") } else { library.to_owned() }
    }
}

/// A library that this Postgres cannot load.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MissingLibrary {
    /// Its name.
    pub library: String,
    /// The statement, without the value, that has it preloaded:
    /// `alter role "authenticator" set session_preload_libraries`.
    pub statement: String,
    /// Why it cannot be loaded.
    pub reason: String,
}

/// Returns the libraries that logins to the cluster of `superuser` would preload and cannot; they all fail.
///
/// Errors: when the cluster does not respond.
pub async fn missing_libraries(superuser: &Conninfo) -> Result<Vec<MissingLibrary>, Error> {
    let client = log_in(superuser).await?;
    let mut missing = Vec::new();
    for preload in preloads(&client).await? {
        missing.extend(preload.check(&client).await?.missing);
    }
    Ok(missing)
}

/// Logs in without preloading anything.
pub(super) async fn log_in(superuser: &Conninfo) -> Result<Client, Error> {
    let mut login: tokio_postgres::Config = superuser.to_uri().parse()?;
    let (client, connection) = login.options(WITHOUT).connect(NoTls).await?;
    // This task ends when the client is dropped.
    tokio::spawn(connection);
    Ok(client)
}

/// Takes the libraries that cannot be loaded out of the settings of roles and databases, and logs each of them.
/// `client` is the superuser's.
pub(super) async fn remove_missing(client: &Client) -> Result<(), Error> {
    for preload in preloads(client).await? {
        let Checked { present, missing } = preload.check(client).await?;
        for MissingLibrary { library, statement, reason } in &missing {
            tracing::warn!(
                library,
                "this Postgres cannot load a library that was to be preloaded: {reason}. `{statement}` is undone for it, \
                 because no login would succeed"
            );
        }
        let (name, subject) = (&preload.name, preload.subject());
        match present.as_slice() {
            _ if missing.is_empty() => {}
            [] => client.batch_execute(&format!("alter {subject} reset {name}")).await?,
            present => {
                client.batch_execute(&format!("alter {subject} set {name} = {}", present.join(", "))).await?
            }
        }
    }
    Ok(())
}

async fn preloads(client: &Client) -> Result<Vec<Preload>, Error> {
    let rows = client.query(SETTINGS, &[]).await?;
    let preloads = rows.iter().map(|row| {
        let value: String = row.get(3);
        let libraries = value.split(',').map(|part| part.trim().trim_matches('"').to_owned());
        Preload {
            role: row.get(0),
            database: row.get(1),
            name: row.get(2),
            libraries: libraries.filter(|library| !library.is_empty()).collect(),
        }
    });
    Ok(preloads.collect())
}

/// The libraries of a setting.
#[derive(Default)]
struct Checked {
    /// Those that can be loaded, as SQL literals.
    present: Vec<String>,
    missing: Vec<MissingLibrary>,
}

impl Preload {
    async fn check(&self, client: &Client) -> Result<Checked, Error> {
        let mut checked = Checked::default();
        for library in &self.libraries {
            // Anybody may set it for a database of their own, and what is loaded here runs as the superuser.
            if self.name == LOCAL && library.contains('/') {
                checked.missing.push(self.missing(library, "it is not in the folder of plugins"));
                continue;
            }
            let load = format!("load {}", quote_literal(&self.file(library)));
            match client.batch_execute(&load).await {
                Ok(()) => checked.present.push(quote_literal(library)),
                Err(error) => match error.as_db_error() {
                    Some(refusal) => checked.missing.push(self.missing(library, refusal.message())),
                    None => return Err(error),
                },
            }
        }
        Ok(checked)
    }

    fn missing(&self, library: &str, reason: &str) -> MissingLibrary {
        let statement = format!("alter {} set {}", self.subject(), self.name);
        MissingLibrary { library: library.to_owned(), statement, reason: reason.to_owned() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn settings_belong_to_roles_databases_or_both() {
        let subject = |role: Option<&str>, database: Option<&str>| {
            let (role, database) = (role.map(str::to_owned), database.map(str::to_owned));
            Preload { role, database, name: String::new(), libraries: Vec::new() }.subject()
        };
        assert_eq!(subject(Some("authenticator"), None), r#"role "authenticator""#);
        assert_eq!(subject(None, Some("postgres")), r#"database "postgres""#);
        assert_eq!(subject(Some("anon"), Some("postgres")), r#"role "anon" in database "postgres""#);
        assert_eq!(subject(None, None), "role all");
    }
}

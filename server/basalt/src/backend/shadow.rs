//! A scratch database beside the project's, to compare with: the platform's schema, and what the project's migrations
//! or its declared schemas make.

use std::path::PathBuf;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use migrations::Migrator;
use postgres::{Client, Database, quote_identifier};

use super::Backend;
use crate::error::Error;
use crate::settings::Settings;

/// The beginning of the names of these databases. After it come the second in which one was made, and the process.
const PREFIX: &str = "basalt_shadow_";

/// How old a shadow of a process that was killed is before another one drops it.
const ABANDONED: Duration = Duration::from_secs(3600);

/// What a shadow has beside the platform.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Content<'a> {
    /// The project's roles and migrations.
    Migrations,
    /// The project's roles, and what these files of its declared schemas make.
    Declared(&'a [PathBuf]),
}

impl Backend {
    /// Runs `work` on a new database with `content`, and then drops it. `compared` is the database with which it is
    /// going to be compared: new tables of the shadow have the rights that they have there.
    ///
    /// Errors: if the server's administrator may not create databases; all errors of migrations.
    pub(crate) async fn with_shadow<T>(
        &self,
        settings: &Settings,
        content: Content<'_>,
        compared: &Self,
        work: impl AsyncFnOnce(&Self) -> Result<T, Error>,
    ) -> Result<T, Error> {
        let name = self.with_admin(async |admin| create(&admin.client().await?).await).await?;
        let shadow = self.in_database(&name);
        let result = async {
            fill(settings, &shadow, content, compared).await?;
            work(&shadow).await
        };
        let result = result.await;
        let dropped = self.with_admin(async |admin| remove(&admin.client().await?, &name).await).await;
        result.and_then(|value| dropped.map(|()| value))
    }

    /// Returns the logins to another database of the same server. The project's administrator uses TCP, as other
    /// programs do.
    fn in_database(&self, name: &str) -> Self {
        let embedded = self.cluster.as_ref().and_then(embedded::Cluster::postgres_tcp_login);
        let mut admin = self.admin.clone();
        let mut project = embedded.unwrap_or_else(|| self.project.clone());
        admin.set("dbname", name);
        project.set("dbname", name);
        Self { cluster: None, repository: None, admin, project }
    }
}

/// Creates a database with the owner of the current one, and drops those that were left behind.
async fn create(client: &Client) -> Result<String, Error> {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    let others =
        "select datname::text from pg_catalog.pg_database where pg_catalog.starts_with(datname, $1::text)";
    for row in client.query(others, &[&PREFIX]).await.map_err(postgres::Error::from)? {
        let name: String = row.get(0);
        if made_at(&name).is_some_and(|then| then + ABANDONED < now) {
            remove(client, &name).await?;
        }
    }
    let owner = "select pg_catalog.pg_get_userbyid(datdba)::text from pg_catalog.pg_database \
                  where datname = pg_catalog.current_database()";
    let row = client.query_one(owner, &[]).await.map_err(postgres::Error::from)?;
    let owner = quote_identifier(row.get(0));
    let name = format!("{PREFIX}{}_{}_{:09}", now.as_secs(), std::process::id(), now.subsec_nanos());
    let sql = format!("create database {} with owner {owner}", quote_identifier(&name));
    match client.batch_execute(&sql).await {
        Ok(()) => Ok(name),
        Err(error) => Err(Error::Advice(format!(
            "a scratch database to compare with cannot be created on this server: {}",
            postgres::Error::from(error)
        ))),
    }
}

/// Returns when the database of this name was made, since 1970.
fn made_at(name: &str) -> Option<Duration> {
    let (seconds, _) = name.strip_prefix(PREFIX)?.split_once('_')?;
    seconds.parse().ok().map(Duration::from_secs)
}

async fn remove(client: &Client, name: &str) -> Result<(), Error> {
    let sql = format!("drop database if exists {} with (force)", quote_identifier(name));
    Ok(client.batch_execute(&sql).await.map_err(postgres::Error::from)?)
}

/// Sets a new database up.
async fn fill(
    settings: &Settings,
    shadow: &Backend,
    content: Content<'_>,
    compared: &Backend,
) -> Result<(), Error> {
    let creator = compared.creator();
    let exposes = async |project: &Database| {
        Ok(migrations::exposes_new_tables(&*project.client().await?, creator).await?)
    };
    let exposes = compared.with_project(exposes).await?;
    shadow
        .with_admin(async |admin| {
            let mut client = admin.client().await?;
            Migrator::new(&mut client).platform().await?;
            migrations::expose_new_tables(&mut client, shadow.creator(), exposes).await?;
            super::store_secrets(settings, &mut client).await
        })
        .await?;
    shadow.with_project(async |project| apply(settings, &mut project.client().await?, content).await).await
}

async fn apply(settings: &Settings, client: &mut Client, content: Content<'_>) -> Result<(), Error> {
    let root = &settings.project.root;
    let mut migrator = Migrator::new(client);
    if let Some(roles) = settings.project.roles() {
        migrator.seed(root, &[roles]).await?;
    }
    match content {
        Content::Migrations if settings.migrations.enabled => {
            migrator.project(&settings.migrations.path).await?;
        }
        Content::Migrations => {}
        Content::Declared(files) => declare(&mut migrator, settings, files).await?,
    }
    Ok(())
}

/// Runs the files in their order. One that fails is run again after the others, as long as that helps: files may need
/// what later ones make.
async fn declare(migrator: &mut Migrator<'_>, settings: &Settings, files: &[PathBuf]) -> Result<(), Error> {
    let mut pending: Vec<&PathBuf> = files.iter().collect();
    while !pending.is_empty() {
        let (mut failed, mut first) = (Vec::new(), None);
        for file in &pending {
            match migrator.declare(&settings.project.root, file).await {
                Ok(()) => {}
                Err(error @ migrations::Error::Statement(_)) => {
                    first.get_or_insert(error);
                    failed.push(*file);
                }
                Err(error) => return Err(error.into()),
            }
        }
        if let Some(error) = first.filter(|_| failed.len() == pending.len()) {
            return Err(error.into());
        }
        pending = failed;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_tell_when_a_database_was_made() {
        assert_eq!(
            made_at("basalt_shadow_1700000000_12_000000001"),
            Some(Duration::from_secs(1_700_000_000))
        );
        assert_eq!(made_at("basalt_shadow_mine"), None);
        assert_eq!(made_at("postgres"), None);
    }
}

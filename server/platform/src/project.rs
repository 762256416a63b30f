//! The project that this server is.

use std::sync::Arc;

use parking_lot::RwLock;
use poem_openapi::Object;
use postgres::Database;
use tokens::Keys;

use crate::store::projects::{self, ProjectRow};
use crate::{Error, Settings};

/// The slug of the only organization.
pub(crate) const ORGANIZATION: &str = "local";
/// The region of every project.
pub(crate) const REGION: &str = "local";
/// The length of a reference.
const LENGTH: usize = 20;

/// The project's identity, which a change of its name replaces.
#[derive(Clone)]
pub(crate) struct Project(Arc<RwLock<ProjectRow>>);

/// A project as the interface describes it.
#[derive(Debug, Clone, Object)]
pub(crate) struct ProjectBody {
    /// The same as `ref`.
    id: String,
    /// The reference: 20 lowercase letters.
    #[oai(rename = "ref")]
    reference: String,
    /// The same as `organization_slug`.
    organization_id: String,
    organization_slug: String,
    name: String,
    region: String,
    /// When the server was started for the first time (RFC 3339).
    created_at: String,
    status: String,
    database: DatabaseBody,
}

/// The database of a project.
#[derive(Debug, Clone, Object)]
struct DatabaseBody {
    /// Where tools look for it, on port 5432.
    host: String,
    /// The version of Postgres.
    version: String,
    /// Its major version.
    postgres_engine: String,
    release_channel: String,
}

impl ProjectBody {
    /// Returns the reference, the name, and when it was made.
    pub(crate) fn identity(&self) -> (&str, &str, &str) {
        (&self.reference, &self.name, &self.created_at)
    }

    /// Returns the version of Postgres.
    pub(crate) fn version(&self) -> &str {
        &self.database.version
    }

    /// Returns the major version of Postgres.
    pub(crate) fn engine(&self) -> &str {
        &self.database.postgres_engine
    }
}

impl Project {
    /// Returns the project of the database, which is made at the first start: with the reference and the name of the
    /// settings, else with a reference that follows from the server's secret.
    pub(crate) async fn load(database: &Database, keys: &Keys, settings: &Settings) -> Result<Self, Error> {
        let wanted = settings.project_ref.as_deref();
        let name = settings.name.as_deref().unwrap_or("project");
        let reference = wanted.map_or_else(|| derived(keys), str::to_owned);
        let mut row = projects::find_or_create(database, &reference, name).await?;
        if let Some(wanted) = wanted.filter(|wanted| *wanted != row.reference) {
            projects::set_reference(database, &row.reference, wanted).await?;
            wanted.clone_into(&mut row.reference);
        }
        Ok(Self(Arc::new(RwLock::new(row))))
    }

    /// Returns the reference.
    pub(crate) fn reference(&self) -> String {
        self.0.read().reference.clone()
    }

    /// Returns the name.
    pub(crate) fn name(&self) -> String {
        self.0.read().name.clone()
    }

    /// Renames it.
    pub(crate) async fn rename(&self, database: &Database, name: &str) -> Result<(), Error> {
        projects::rename(database, &self.reference(), name).await?;
        name.clone_into(&mut self.0.write().name);
        Ok(())
    }

    /// Checks that `reference` is this project's.
    ///
    /// Errors: 400 for text that is no reference, 404 for that of another project.
    pub(crate) fn check(&self, reference: &str) -> Result<(), Error> {
        if !is_reference(reference) {
            return Err(Error::invalid("ref must be 20 lowercase letters"));
        }
        match reference == self.0.read().reference {
            true => Ok(()),
            false => Err(Error::missing("Project not found")),
        }
    }

    /// Returns the host at which tools look for the database.
    pub(crate) fn database_host(&self, settings: &Settings) -> String {
        format!("db.{}.{}", self.reference(), settings.project_host())
    }

    /// Returns the description, with the `version` of Postgres.
    pub(crate) fn body(&self, settings: &Settings, version: &str) -> ProjectBody {
        let ProjectRow { reference, name, created_at } = self.0.read().clone();
        ProjectBody {
            id: reference.clone(),
            reference,
            organization_id: ORGANIZATION.to_owned(),
            organization_slug: ORGANIZATION.to_owned(),
            name,
            region: REGION.to_owned(),
            created_at,
            status: "ACTIVE_HEALTHY".to_owned(),
            database: DatabaseBody {
                host: self.database_host(settings),
                version: version.to_owned(),
                postgres_engine: version.split('.').next().unwrap_or_default().to_owned(),
                release_channel: "ga".to_owned(),
            },
        }
    }
}

/// Reports whether `text` has the form of a project's reference, which tools insist on.
pub(crate) fn is_reference(text: &str) -> bool {
    text.len() == LENGTH && text.bytes().all(|byte| byte.is_ascii_lowercase())
}

/// Returns the reference that follows from the server's secret, so that nodes which start at the same time agree.
fn derived(keys: &Keys) -> String {
    let digest = keys.derive("reference of the project");
    let letter = |pair: &[u8]| {
        let value = std::str::from_utf8(pair).ok().and_then(|pair| u8::from_str_radix(pair, 16).ok());
        char::from(b'a' + value.unwrap_or_default() % 26)
    };
    digest.as_bytes().chunks(2).take(LENGTH).map(letter).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_reference_has_the_form_that_tools_insist_on() {
        let settings = tokens::KeyOverrides {
            jwt_secret: Some("a secret that is longer than 32 bytes".to_owned()),
            ..Default::default()
        };
        let keys = Keys::from_settings(settings).unwrap();
        let reference = derived(&keys);
        assert!(is_reference(&reference), "{reference}");
        assert_eq!(derived(&keys), reference);
        assert!(!is_reference("abcdefghijklmnopqrsT") && !is_reference("abc"));
    }
}

//! How services log in to the project's database.

use postgres::{Database, Renewal};
use telemetry::SlowStatements;

use crate::backend::{Backend, Logins};
use crate::error::Error;

/// Everything that services need to log in to the database.
pub(super) struct DatabaseAccess<'a> {
    pub(super) backend: &'a Backend,
    pub(super) logins: Logins,
    pub(super) keys: &'a tokens::Keys,
    /// Shared by all services, so that REST renews the connections of all when the catalog changes.
    pub(super) renewal: Renewal,
    /// Records the slow statements of all services.
    pub(super) slow: SlowStatements,
    /// The connections of each pool that has no setting of its own.
    pool_size: usize,
}

impl<'a> DatabaseAccess<'a> {
    /// Returns the access to `backend`, whose roles have these `logins` and passwords of these `keys`.
    pub(super) fn new(
        backend: &'a Backend,
        logins: Logins,
        keys: &'a tokens::Keys,
        slow: SlowStatements,
        pool_size: usize,
    ) -> Self {
        Self { backend, logins, keys, renewal: Renewal::default(), slow, pool_size }
    }

    /// Opens a pool for one of the services' login roles. If a replica's connection string names no user, the login of
    /// the primary is used: standbys have the same roles and passwords.
    pub(super) async fn database(
        &self,
        role: &str,
        adjust: impl FnOnce(postgres::Settings) -> postgres::Settings,
    ) -> Result<Database, Error> {
        let server = self.backend.login(self.logins, role, self.keys);
        let settings = self.backend.repaired(postgres::Settings::new(server));
        let settings = postgres::Settings {
            application_name: format!("basalt-{role}"),
            renewal: self.renewal.clone(),
            slow: self.slow.clone(),
            pool_size: self.pool_size,
            client_pool_size: self.pool_size,
            ..settings
        };
        let mut settings = adjust(settings);
        for replica in &mut settings.replicas {
            replica.log_in_as(&settings.server);
        }
        Ok(Database::connect(settings).await?)
    }
}

//! The settings and keys in force, which are replaced together when the database changes them.

use std::sync::Arc;

use arc_swap::ArcSwap;
use parking_lot::RwLock;
use postgres::Database;
use tokens::{KeyError, Verifier};

use crate::settings::{ReadError, Settings, read_in_database};

/// Settings, and the verifier that they lead to.
#[derive(Debug)]
pub(crate) struct Configuration {
    pub(crate) settings: Settings,
    /// `None` where no key is known: tokens are refused.
    pub(crate) verifier: Option<Verifier>,
}

impl Configuration {
    fn new(settings: Settings, given: Option<&Verifier>) -> Result<Self, KeyError> {
        if settings.jwt_role_claim_key.is_deprecated() {
            tracing::warn!(
                path = settings.jwt_role_claim_key.as_str(),
                "jwt-role-claim-key is in a form that PostgREST deprecates; write it as a JSON path: $.role"
            );
        }
        let mut verifier = match &settings.jwt_secret {
            Some(secret) => Some(Verifier::from_secret(secret.expose(), settings.jwt_secret_is_base64)?),
            None => given.cloned(),
        };
        if let Some(entries) = settings.jwt_cache_entries() {
            verifier = verifier.map(|verifier| verifier.with_cache_of(entries));
        }
        if let Some(audience) = &settings.jwt_aud {
            verifier = verifier.map(|verifier| verifier.with_audience(audience.as_str()));
        }
        Ok(Self { settings, verifier })
    }
}

#[cfg(test)]
impl Configuration {
    /// Returns a configuration with these settings and no key.
    pub(crate) const fn for_tests(settings: Settings) -> Self {
        Self { settings, verifier: None }
    }
}

/// Gives the settings as they are outside of the database.
type Source = Box<dyn Fn() -> Settings + Send + Sync>;

/// The current [`Configuration`], and what it is made from.
pub(crate) struct SharedConfiguration {
    base: RwLock<Source>,
    given: Option<Verifier>,
    current: ArcSwap<Configuration>,
}

impl SharedConfiguration {
    /// Starts with `base` alone. If the secret in it is not a key, no token can be verified.
    pub(crate) fn new(base: Source, given: Option<Verifier>) -> Self {
        let settings = base();
        let configuration = Configuration::new(settings.clone(), given.as_ref()).unwrap_or_else(|error| {
            tracing::error!(%error, "no token can be verified");
            Configuration { settings, verifier: None }
        });
        Self { base: RwLock::new(base), given, current: ArcSwap::from_pointee(configuration) }
    }

    /// Changes the settings as they are outside of the database, for the next time that they are read.
    pub(crate) fn set_base(&self, settings: Settings) {
        *self.base.write() = Box::new(move || settings.clone());
    }

    /// Returns the settings and keys in force.
    pub(crate) fn current(&self) -> Arc<Configuration> {
        self.current.load_full()
    }

    /// Reads the settings again, outside of the database and in it. If they cannot be used, this is logged and the
    /// previous ones stay in force.
    ///
    /// Errors: when the database is not there.
    pub(crate) async fn reread(&self, database: &Database) -> Result<(), postgres::Error> {
        let base = (self.base.read())();
        let settings = match read_in_database(database, &base).await {
            Ok(settings) => settings,
            Err(ReadError::Database(error)) if error.is_unavailable() => return Err(error),
            Err(error) => {
                tracing::error!(%error, "the settings are not read again; the old ones still hold");
                return Ok(());
            }
        };
        // Settings that are the same keep their cache of tokens.
        if settings != self.current.load().settings {
            match Configuration::new(settings, self.given.as_ref()) {
                Ok(configuration) => {
                    self.current.store(Arc::new(configuration));
                    tracing::info!("settings read again");
                }
                Err(error) => tracing::error!(%error, "the old keys still hold"),
            }
        }
        Ok(())
    }
}

//! The project's access key for the S3 protocol.

use ::settings::Secret;
use tokens::Keys;

use crate::settings::Settings;

/// The keys that S3 clients sign with.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AccessKeys {
    /// The access key of the service role.
    pub id: String,
    /// Its secret.
    pub secret: Secret,
    /// The region that clients sign for.
    pub region: String,
    /// The project's reference: the access key of clients with a session token.
    pub project: String,
}

impl AccessKeys {
    /// Returns the keys that `settings` name; where they name none, those that follow from the project's secret, which
    /// are the same on every node.
    pub fn of(settings: &Settings, keys: &Keys) -> Self {
        let (id, secret) = match settings.s3_access_key.is_empty() || settings.s3_secret.is_empty() {
            false => (settings.s3_access_key.clone(), settings.s3_secret.clone()),
            true => {
                let mut id = keys.derive("access key of the S3 protocol");
                id.truncate(32);
                (id, Secret::from(keys.derive("secret key of the S3 protocol")))
            }
        };
        Self { id, secret, region: settings.s3_region.clone(), project: settings.project.clone() }
    }
}

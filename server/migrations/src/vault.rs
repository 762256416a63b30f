//! Secrets of a project, which its database keeps in the extension supabase_vault.

use std::collections::BTreeMap;
use std::fmt;

use settings::{Invalid, Reader};
use tokio_postgres::error::SqlState;

use postgres::{Client, Error};

const VAULT_EXISTS: &str = "select to_regclass('vault.decrypted_secrets') is not null";

const UPDATE: &str = "select vault.update_secret(id, $2) from vault.decrypted_secrets
    where name = $1 and decrypted_secret is distinct from $2";

const CREATE: &str =
    "select vault.create_secret($2, $1) where not exists (select from vault.secrets where name = $1)";

/// Secrets by name. The debug form shows only the names.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct Secrets(pub BTreeMap<String, String>);

impl fmt::Debug for Secrets {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_set().entries(self.0.keys()).finish()
    }
}

impl Secrets {
    /// Reads the secrets of `[db.vault]`. A secret whose value is a variable that is not set is left out.
    ///
    /// Errors: [`Invalid`] for a value that is not a text.
    pub fn read(reader: &mut Reader<'_>) -> Result<Self, Invalid> {
        Ok(Self(reader.map_at(&["db", "vault"])?))
    }

    /// Writes these secrets into the vault, replacing existing values; other secrets of the vault stay. Returns how
    /// many were created or changed; `None` if the database has no vault.
    ///
    /// Errors: [`Error::Configuration`] if the vault's key is not the one that a secret was encrypted with; those of
    /// its statements. Nothing has been changed then.
    pub async fn store(&self, client: &mut Client) -> Result<Option<usize>, Error> {
        let transaction = client.transaction().await?;
        if !transaction.query_typed_one(VAULT_EXISTS, &[]).await?.get::<_, bool>(0) {
            return Ok(None);
        }
        let mut changed = 0;
        for (name, secret) in &self.0 {
            for sql in [UPDATE, CREATE] {
                let written = transaction.query(sql, &[name, secret]).await;
                changed += written.map_err(|error| failure(name, error))?.len();
            }
        }
        transaction.commit().await?;
        Ok(Some(changed))
    }
}

/// Returns why secret `name` could not be written. 39000 is the error of pgsodium and supabase_vault for a wrong key.
fn failure(name: &str, error: tokio_postgres::Error) -> Error {
    match error.code() {
        Some(&SqlState::EXTERNAL_ROUTINE_INVOCATION_EXCEPTION) => Error::Configuration(format!(
            "the vault's secret \"{name}\" was encrypted with another key: postgres/vault.key in the data folder is not \
             the one that belongs to this database"
        )),
        _ => error.into(),
    }
}

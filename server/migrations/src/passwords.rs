//! Sets passwords of login roles without sending them to the server.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use hmac::{Hmac, KeyInit as _, Mac as _};
use postgres_protocol::password::scram_sha_256;
use sha2::{Digest as _, Sha256};
use tokio_postgres::error::SqlState;
use tokio_postgres::types::Type;
use tokio_postgres::{Client, Transaction};

use super::apply::{self, Limits};
use super::error::Error;
use postgres::{quote_identifier, quote_literal};

/// The maximum number of iterations of a stored verifier; a verifier with more counts as not matching.
const MAX_ITERATIONS: u32 = 100_000;

/// Sets the password of each role that does not have it already, and returns the roles that were changed.
///
/// Only SCRAM verifiers (RFC 5803) are sent, which are computed here, so that no password can get into the server's
/// logs. A role's stored verifier shows whether the role has the password already; if the administrator's role may not
/// read it, the password is set every time. Existing passwords are replaced: on a database that another server also
/// uses, `passwords` must only contain passwords that both servers share.
///
/// Errors: [`Error::NoSuchRole`]; [`Error::Busy`]; [`Error::Database`], for instance if the client's role may not alter
/// the others.
pub async fn set_role_passwords(
    client: &mut Client,
    passwords: &[(&str, &str)],
) -> Result<Vec<String>, Error> {
    let limits = Limits::default();
    let transaction = apply::begin(client, &limits).await?;
    let readable = may_read_verifiers(&transaction).await?;
    let mut changed = Vec::new();
    for (role, password) in passwords {
        let stored = if readable { verifier(&transaction, role).await? } else { None };
        match stored {
            Some(stored) if matches(&stored, password) => continue,
            Some(_) => tracing::warn!(
                role,
                "the role had another password: servers that use this database with other keys can no longer log in; \
                 give all of them the same keys"
            ),
            None => {}
        }
        let sql = format!(
            "alter role {} password {}",
            quote_identifier(role),
            quote_literal(&scram_sha_256(password.as_bytes())),
        );
        transaction.batch_execute(&sql).await.map_err(|error| match error.code() {
            Some(&SqlState::UNDEFINED_OBJECT) => Error::NoSuchRole((*role).to_owned()),
            _ => Error::Database { doing: "set the password of a role", source: error },
        })?;
        changed.push((*role).to_owned());
    }
    transaction.commit().await.map_err(Error::database("set the passwords of the roles"))?;
    Ok(changed)
}

async fn may_read_verifiers(transaction: &Transaction<'_>) -> Result<bool, Error> {
    let sql = "select pg_catalog.has_column_privilege('pg_catalog.pg_authid', 'rolpassword', 'select')";
    let rows =
        transaction.query_typed(sql, &[]).await.map_err(Error::database("read the roles' passwords"))?;
    Ok(rows.first().is_some_and(|row| row.get(0)))
}

async fn verifier(transaction: &Transaction<'_>, role: &str) -> Result<Option<String>, Error> {
    let sql = "select rolpassword from pg_catalog.pg_authid where rolname = $1::name";
    let rows = transaction
        .query_typed(sql, &[(&role, Type::NAME)])
        .await
        .map_err(Error::database("read the roles' passwords"))?;
    Ok(rows.first().and_then(|row| row.get(0)))
}

/// Reports whether `stored`, in the form `SCRAM-SHA-256$<iterations>:<salt>$<StoredKey>:<ServerKey>`, was computed from
/// `password`.
///
/// `StoredKey` is SHA-256(HMAC(SaltedPassword, "Client Key")): RFC 5802, section 3. SASLprep is not applied to the
/// password. It leaves printable ASCII unchanged; any other password counts as not matching.
fn matches(stored: &str, password: &str) -> bool {
    expected_stored_key(stored, password).is_some_and(|(recorded, expected)| recorded == expected)
}

fn expected_stored_key(stored: &str, password: &str) -> Option<(Vec<u8>, Vec<u8>)> {
    let (parameters, keys) = stored.strip_prefix("SCRAM-SHA-256$")?.split_once('$')?;
    let (iterations, salt) = parameters.split_once(':')?;
    let (stored_key, _) = keys.split_once(':')?;
    let iterations = iterations.parse().ok().filter(|rounds| (1..=MAX_ITERATIONS).contains(rounds))?;
    let salted = salted_password(password.as_bytes(), &STANDARD.decode(salt).ok()?, iterations)?;
    let client_key = hmac(&salted, &[b"Client Key"])?;
    Some((STANDARD.decode(stored_key).ok()?, Sha256::digest(client_key).to_vec()))
}

/// Computes `Hi(password, salt, iterations)` of RFC 5802, section 2.2: the first block of PBKDF2.
fn salted_password(password: &[u8], salt: &[u8], iterations: u32) -> Option<[u8; 32]> {
    let mut round = hmac(password, &[salt, &1_u32.to_be_bytes()])?;
    let mut result = round;
    for _ in 1..iterations {
        round = hmac(password, &[&round])?;
        result.iter_mut().zip(round).for_each(|(sum, byte)| *sum ^= byte);
    }
    Some(result)
}

fn hmac(key: &[u8], parts: &[&[u8]]) -> Option<[u8; 32]> {
    let mut mac = Hmac::<Sha256>::new_from_slice(key).ok()?;
    parts.iter().for_each(|part| mac.update(part));
    Some(mac.finalize().into_bytes().into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_verifier_matches_only_its_own_password() {
        let stored = scram_sha_256(b"5f4dcc3b5aa765d61d8327deb882cf99");
        assert!(matches(&stored, "5f4dcc3b5aa765d61d8327deb882cf99"));
        assert!(!matches(&stored, "5f4dcc3b5aa765d61d8327deb882cf98"));
        for odd in ["", "md5abc", "SCRAM-SHA-256$x:y$z", "SCRAM-SHA-256$999999999:AAAA$AAAA:AAAA"] {
            assert!(!matches(odd, "password"), "{odd}");
        }
    }
}

//! Passwords of login roles, which are never sent to Postgres.

use postgres_protocol::password::scram_sha_256;

/// Returns the SCRAM verifier of `password` (RFC 5803), which `create role … password` takes in its place: so no log of
/// Postgres has the password.
pub fn password_verifier(password: &str) -> String {
    scram_sha_256(password.as_bytes())
}

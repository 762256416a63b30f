//! Access tokens as the command line makes, lists and revokes them.

use postgres::Database;

use crate::access;
use crate::error::Error;
use crate::store::tokens::{self, AccessToken};

/// The longest name of a token.
const LONGEST_NAME: usize = 100;
/// What is said of a lifetime that is none.
const NO_TIME: &str = "--expires: expected a time such as \"30 days\" or \"12 hours\"";

/// Checks that `name` can be told from others where it is printed. Errors: a sentence.
fn check_name(name: &str) -> Result<(), String> {
    match name.trim().is_empty() || name.chars().count() > LONGEST_NAME || name.chars().any(char::is_control)
    {
        true => Err(format!(
            "--name: expected 1 to {LONGEST_NAME} characters that can be printed, which are not all blanks"
        )),
        false => Ok(()),
    }
}

/// Makes an access token and returns it with its description. It cannot be shown again: only its hash is kept.
/// `lifetime` is an interval such as `30 days`; without it the token does not expire. Without `scopes` it may do
/// everything.
///
/// Errors: a sentence for the operator about a name, a scope or a lifetime that is none, or about the database.
pub async fn create_token(
    database: &Database,
    name: &str,
    lifetime: Option<&str>,
    scopes: Option<&[String]>,
) -> Result<(String, AccessToken), String> {
    check_name(name)?;
    let scopes = scopes.map(access::parse_scopes).transpose();
    let scopes = scopes.map_err(|unknown| {
        let known: Vec<_> = access::Scope::ALL.iter().map(|scope| scope.name()).collect();
        format!("--scopes: {unknown} is no scope. Scopes are read-only, {}", known.join(", "))
    })?;
    if scopes.as_ref().is_some_and(Vec::is_empty) {
        return Err("--scopes: expected at least one scope".to_owned());
    }
    let scopes = scopes.map(|scopes| scopes.iter().map(|scope| scope.name().to_owned()).collect::<Vec<_>>());
    let (token, hash, hint) = access::new_token();
    let created = tokens::create(database, name, &hash, &hint, scopes.as_deref(), lifetime).await;
    match created {
        Ok(Some(described)) => Ok((token, described)),
        // A lifetime that is no longer than nothing.
        Ok(None) => Err(NO_TIME.to_owned()),
        Err(Error::Database(error))
            if error.server().is_some_and(|refusal| refusal.code.starts_with("22")) =>
        {
            Err(NO_TIME.to_owned())
        }
        Err(error) => Err(error.described()),
    }
}

/// Returns all access tokens, oldest first. Errors: those of the database, as a sentence.
pub async fn list_tokens(database: &Database) -> Result<Vec<AccessToken>, String> {
    tokens::list(database).await.map_err(Error::described)
}

/// Revokes the tokens whose id, name or beginning is `which`, and returns them. Errors: those of the database, as a
/// sentence.
pub async fn revoke_tokens(database: &Database, which: &str) -> Result<Vec<AccessToken>, String> {
    tokens::revoke(database, which).await.map_err(Error::described)
}

/// Returns what a token may do, in the words that [`create_token`] takes.
pub fn scopes_of(token: &AccessToken) -> String {
    token.scopes.as_ref().map_or_else(|| "everything".to_owned(), |names| access::scope_words(names))
}

//! Hooks that are functions of the project's database.

use std::time::Duration;

use bytes::Bytes;
use postgres::{Database, Transaction, quote_identifier};

use crate::{Code, Error};

/// What the URI of such a hook begins with.
pub(super) const SCHEME: &str = "pg-functions:";
/// How long a function may take, in milliseconds.
const STATEMENT_TIMEOUT: &str = "2000";
/// How long its result is waited for: somewhat longer, so that Postgres is the one to stop it.
const RESULT_TIMEOUT: Duration = Duration::from_secs(5);

/// Calls the function that `uri` names (`pg-functions://<any>/<schema>/<function>`) with `payload` and returns its
/// result, if there is one.
///
/// Errors: 500 for a URI of another form, and for a function that is missing, fails or takes longer than two seconds.
pub(super) async fn call(database: &Database, uri: &str, payload: &[u8]) -> Result<Option<Bytes>, Error> {
    let (schema, function) = name(uri).ok_or_else(|| Error::Internal(format!("{uri} names no function")))?;
    let sql = format!("select {}.{}($1)", quote_identifier(schema), quote_identifier(function));
    let transaction = Transaction::anonymous()
        .setting("statement_timeout", STATEMENT_TIMEOUT)
        .statement(sql, vec![Some(payload.into())])
        .timeout(RESULT_TIMEOUT);
    match database.run(&transaction).await {
        Ok(result) => {
            let value = result.row().and_then(|row| row.get(0));
            Ok(value.filter(|value| !value.is_empty()).map(Bytes::copy_from_slice))
        }
        Err(error) if error.is_unavailable() => Err(Error::from(error)),
        Err(error) => {
            tracing::warn!(%error, schema, function, "a hook's function has failed");
            Err(Code::UnexpectedFailure.because(format!("Error running hook URI: {uri}")))
        }
    }
}

/// Returns schema and function of `uri`.
pub(super) fn name(uri: &str) -> Option<(&str, &str)> {
    let path = uri.strip_prefix(SCHEME)?.strip_prefix("//")?;
    let mut parts = path.split('/').skip(1);
    let (schema, function) = (parts.next()?, parts.next()?);
    (is_name(schema) && is_name(function)).then_some((schema, function))
}

/// Returns whether `text` is a name as upstream allows them: letters, digits and underscores, not too long for
/// Postgres.
fn is_name(text: &str) -> bool {
    let first = text.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_');
    first && text.len() <= 63 && text.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn functions_are_named_by_the_path() {
        assert_eq!(name("pg-functions://postgres/public/my_hook"), Some(("public", "my_hook")));
        for uri in [
            "pg-functions://postgres/public",
            "pg-functions://postgres/pub lic/f",
            "pg-functions:x",
            "https://a/b/c",
        ] {
            assert_eq!(name(uri), None, "{uri}");
        }
    }
}

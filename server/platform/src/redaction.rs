//! SQL as the audit log keeps it: without the secrets that statements set.

/// The longest part of a query that is kept, in characters.
const LONGEST: usize = 2_000;

/// What stands in place of a secret and all that follows it, as pgAudit has it: where a literal ends can only be said by a
/// parser.
const REDACTED: &str = "<REDACTED>";

/// The word before the secret of a role, a user mapping or a connection string.
const PASSWORD: &str = "password";

/// The functions of the vault that take a secret.
const VAULT: [&str; 2] = ["create_secret", "update_secret"];

/// Returns the beginning of `sql`, up to the first secret in it.
pub(crate) fn excerpt(sql: &str) -> String {
    let sql: String = sql.chars().take(LONGEST).collect();
    // Bytes stay where they are, which they would not in other scripts than ASCII.
    let small = sql.to_ascii_lowercase();
    let mut passwords = small.match_indices(PASSWORD).map(|(at, word)| at + word.len());
    let password = passwords.find(|end| is_before_literal(&small[*end..]));
    let functions = VAULT.iter().filter_map(|name| Some(small.find(name)? + name.len()));
    match functions.chain(password).min() {
        Some(end) => format!("{}{REDACTED}", &sql[..end]),
        None => sql,
    }
}

/// Reports whether `text` begins with a literal, `'…'`, `E'…'`, `U&'…'` or `$$…$$`, or with `=`: in a connection string, a
/// password needs no quotes.
fn is_before_literal(text: &str) -> bool {
    let text = text.trim_start();
    if text.starts_with('=') {
        return true;
    }
    let text = text.strip_prefix('e').or_else(|| text.strip_prefix("u&")).unwrap_or(text);
    text.starts_with(['\'', '$'])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_follows_a_password_is_not_kept() {
        for sql in [
            "create role ada login password 'secret'; select 1",
            "ALTER USER ada\nPASSWORD E'se''cret'",
            "alter role ada password $$secret$$",
            "alter role ada password U&'secret'",
            "create user mapping for ada server elsewhere options (user 'ada', password 'secret')",
            "select vault.create_secret('secret', 'name')",
            "select password from accounts; select vault.update_secret(id, 'secret')",
            "select dblink_connect('host=elsewhere password=''secret''')",
            "select dblink_connect('host=elsewhere password=secret')",
        ] {
            let kept = excerpt(sql);
            assert!(kept.ends_with(REDACTED) && !kept.contains("cret'") && !kept.contains("cret$"), "{kept}");
        }
    }

    #[test]
    fn other_statements_are_kept_up_to_a_limit() {
        let sql = "select password, 'a' from accounts where password is null";
        assert_eq!(excerpt(sql), sql);
        assert_eq!(excerpt(&"ä".repeat(3_000)).chars().count(), LONGEST);
    }
}

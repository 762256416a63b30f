//! Quoting of identifiers and string literals in SQL. No other module quotes.

use std::borrow::Cow;

/// Quotes `name` as an SQL identifier, always in double quotes.
///
/// A NUL cannot occur in an identifier and would end the statement's text on the wire, so it is replaced by U+FFFD:
/// the name then refers to nothing. Source: PostgreSQL documentation, section 4.1.1.
pub fn quote_identifier(name: &str) -> String {
    let mut sql = String::with_capacity(name.len() + 2);
    push_identifier(&mut sql, name);
    sql
}

/// Appends [`quote_identifier`] of `name` to `sql`.
pub fn push_identifier(sql: &mut String, name: &str) {
    push_quoted(sql, name, '"');
}

/// Quotes `text` as an SQL string constant whose meaning does not depend on `standard_conforming_strings`.
///
/// A NUL is replaced by U+FFFD, as in [`quote_identifier`]. Source: PostgreSQL documentation, section 4.1.2.2.
pub fn quote_literal(text: &str) -> String {
    let mut sql = String::with_capacity(text.len() + 2);
    push_literal(&mut sql, text);
    sql
}

/// Appends [`quote_literal`] of `text` to `sql`.
pub fn push_literal(sql: &mut String, text: &str) {
    if text.contains('\\') {
        sql.push_str(" E");
        push_quoted(sql, &text.replace('\\', "\\\\"), '\'');
    } else {
        push_quoted(sql, text, '\'');
    }
}

fn push_quoted(sql: &mut String, text: &str, quote: char) {
    sql.push(quote);
    // Almost no name contains special characters, and every request quotes names.
    let is_special = |byte: u8| (byte == 0) | (char::from(byte) == quote);
    if text.bytes().fold(false, |found, byte| found | is_special(byte)) {
        for character in text.chars() {
            match character {
                '\0' => sql.push(char::REPLACEMENT_CHARACTER),
                c if c == quote => sql.extend([quote, quote]),
                c => sql.push(c),
            }
        }
    } else {
        sql.push_str(text);
    }
    sql.push(quote);
}

/// Returns `name` as the input of types such as `regprocedure` takes it: quoted only if it has other characters than
/// small letters, digits and underscores. Their errors show their input.
pub fn shown_identifier(name: &str) -> Cow<'_, str> {
    let is_plain = |byte: u8| matches!(byte, b'a'..=b'z' | b'0'..=b'9' | b'_');
    match name.bytes().all(is_plain) && name.bytes().next().is_some_and(|byte| !byte.is_ascii_digit()) {
        true => Cow::Borrowed(name),
        false => Cow::Owned(quote_identifier(name)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn identifiers_are_always_quoted() {
        assert_eq!(quote_identifier("name"), "\"name\"");
        assert_eq!(quote_identifier("a\"b"), "\"a\"\"b\"");
        assert_eq!(quote_identifier("naïve; drop table x"), "\"naïve; drop table x\"");
        assert_eq!(quote_identifier("a\0b"), "\"a\u{fffd}b\"");
    }

    #[test]
    fn literals_survive_backslashes_and_quotes() {
        assert_eq!(quote_literal("it's"), "'it''s'");
        assert_eq!(quote_literal("a\\'b"), " E'a\\\\''b'");
    }
}

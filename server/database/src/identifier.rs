//! The one place where names and texts are quoted into SQL.

/// Quotes `name` as an SQL identifier, always in double quotes.
///
/// A NUL cannot occur in an identifier and would end the statement's text on the wire, so it is replaced by U+FFFD:
/// the name then refers to nothing. Source: PostgreSQL documentation, section 4.1.1.
pub fn quote_identifier(name: &str) -> String {
    quoted(name, '"')
}

/// Quotes `text` as an SQL string constant that means the same whatever `standard_conforming_strings` says.
///
/// A NUL is replaced by U+FFFD, as in [`quote_identifier`]. Source: PostgreSQL documentation, section 4.1.2.2.
pub fn quote_literal(text: &str) -> String {
    if text.contains('\\') {
        format!(" E{}", quoted(&text.replace('\\', "\\\\"), '\''))
    } else {
        quoted(text, '\'')
    }
}

fn quoted(text: &str, quote: char) -> String {
    let mut out = String::with_capacity(text.len() + 2);
    out.push(quote);
    // Nearly every name is plain, and names are quoted for every request.
    if !text.contains(['\0', quote]) {
        out.push_str(text);
        out.push(quote);
        return out;
    }
    for character in text.chars() {
        match character {
            '\0' => out.push(char::REPLACEMENT_CHARACTER),
            c if c == quote => out.extend([quote, quote]),
            c => out.push(c),
        }
    }
    out.push(quote);
    out
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

//! SQL as Postgres takes it apart (its documentation, section 4.1), as far as our statements use it.

/// A part of an SQL text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Token<'s> {
    /// A name or key word outside of quotes.
    Word(&'s str),
    /// A name in double quotes, as it is written between them.
    Identifier(&'s str),
    /// A text in single quotes.
    Text,
    /// Digits.
    Number,
    /// `$` and a number.
    Placeholder(usize),
    /// One character of an operator or of punctuation.
    Symbol(char),
}

/// Returns the parts of `sql`, or what is left of it at something that our statements never have: a quote that is not
/// closed, a comment, the end of a statement, a character that is not ASCII outside of quotes.
pub(crate) fn tokens(sql: &str) -> impl Iterator<Item = Result<Token<'_>, &str>> {
    let mut rest = sql.trim_start();
    std::iter::from_fn(move || {
        if rest.is_empty() {
            return None;
        }
        let found = token(rest).ok_or(rest);
        rest = match found {
            Ok((_, length)) => rest[length..].trim_start(),
            Err(_) => "",
        };
        Some(found.map(|(token, _)| token))
    })
}

/// Returns the first token of `sql`, and its length in bytes.
fn token(sql: &str) -> Option<(Token<'_>, usize)> {
    let run = |from: usize, is_in: fn(&u8) -> bool| {
        from + sql.as_bytes()[from..].iter().take_while(|byte| is_in(byte)).count()
    };
    match sql.as_bytes()[0] {
        b'"' => quoted(sql, 1, b'"', false).map(|end| (Token::Identifier(&sql[1..end - 1]), end)),
        b'\'' => quoted(sql, 1, b'\'', false).map(|end| (Token::Text, end)),
        b'E' if sql[1..].starts_with('\'') => quoted(sql, 2, b'\'', true).map(|end| (Token::Text, end)),
        b'$' => {
            let end = run(1, u8::is_ascii_digit);
            sql[1..end].parse().ok().map(|number| (Token::Placeholder(number), end))
        }
        b'0'..=b'9' => Some((Token::Number, run(0, u8::is_ascii_digit))),
        b'a'..=b'z' | b'A'..=b'Z' | b'_' => {
            let end = run(0, |byte| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'$'));
            Some((Token::Word(&sql[..end]), end))
        }
        _ if sql.starts_with("--") || sql.starts_with("/*") => None,
        symbol if b"()[],.:=<>!~*&|@#+-%/".contains(&symbol) => Some((Token::Symbol(symbol.into()), 1)),
        _ => None,
    }
}

/// Returns where the text ends whose opening quote is before `start`; a doubled quote is part of it.
fn quoted(sql: &str, start: usize, quote: u8, has_escapes: bool) -> Option<usize> {
    let bytes = sql.as_bytes();
    let mut at = start;
    while let Some(byte) = bytes.get(at) {
        match *byte {
            0 => return None,
            b'\\' if has_escapes => at += 2,
            byte if byte == quote && bytes.get(at + 1) == Some(&quote) => at += 2,
            byte if byte == quote => return Some(at + 1),
            _ => at += 1,
        }
    }
    None
}

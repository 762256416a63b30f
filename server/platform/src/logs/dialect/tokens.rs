//! The tokens of ClickHouse's SQL.

/// A part of a query. Comments and blanks are none.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Token {
    /// A name or a word of the grammar.
    Word(String),
    /// A name in quotes, without them.
    Quoted(String),
    /// A string, as what it says.
    Text(String),
    Number(String),
    Symbol(&'static str),
}

/// Operators and what separates, those first that begin with others.
const SYMBOLS: [&str; 42] = [
    "->>", "#>>", "!~*", "::", "->", "#>", "@>", "<@", "||", ">=", "<=", "<>", "!=", "==", "!~", "~*", "?|",
    "?&", "(", ")", "[", "]", ",", ".", ";", ":", "+", "-", "*", "/", "<", ">", "=", "~", "!", "@", "#", "%",
    "^", "&", "|", "?",
];

/// Returns the tokens of `sql`. Errors: what is none.
pub(super) fn tokens(sql: &str) -> Result<Vec<Token>, String> {
    let mut tokens = Vec::new();
    let mut rest = sql.trim_start();
    while let Some(first) = rest.chars().next() {
        let length = match comment(rest)? {
            Some(length) => length,
            None => {
                let (token, length) = token(rest, first)?;
                tokens.push(token);
                length
            }
        };
        rest = rest[length..].trim_start();
    }
    Ok(tokens)
}

/// Returns the length of the comment with which `text` begins, if it does.
fn comment(text: &str) -> Result<Option<usize>, String> {
    if ["--", "# ", "#!"].iter().any(|mark| text.starts_with(mark)) {
        return Ok(Some(text.find('\n').unwrap_or(text.len())));
    }
    if !text.starts_with("/*") {
        return Ok(None);
    }
    let end = text.find("*/").ok_or("A comment has no end")?;
    Ok(Some(end + 2))
}

/// Returns the token with which `text` begins, and its length. `first` is the first character.
fn token(text: &str, first: char) -> Result<(Token, usize), String> {
    let run = |belongs: fn(char) -> bool| {
        let end = text.find(|symbol| !belongs(symbol)).unwrap_or(text.len());
        (text[..end].to_owned(), end)
    };
    if first.is_ascii_digit() {
        let (number, length) = run(|symbol| symbol.is_ascii_alphanumeric() || symbol == '.');
        return Ok((Token::Number(number), length));
    }
    if first.is_alphabetic() || first == '_' {
        let (word, length) = run(|symbol| symbol.is_alphanumeric() || symbol == '_');
        return Ok((Token::Word(word), length));
    }
    if matches!(first, '\'' | '"' | '`') {
        let (content, length) = quoted(text, first)?;
        let token = if first == '\'' { Token::Text(content) } else { Token::Quoted(content) };
        return Ok((token, length));
    }
    let symbol = SYMBOLS.into_iter().find(|symbol| text.starts_with(symbol));
    let symbol = symbol.ok_or_else(|| format!("A query of logs cannot have {first:?}"))?;
    Ok((Token::Symbol(symbol), symbol.len()))
}

/// Returns what the quotes enclose with which `text` begins, and the length with them. A quote in it is doubled, or
/// follows a backslash.
fn quoted(text: &str, quote: char) -> Result<(String, usize), String> {
    let mut content = String::new();
    let mut symbols = text.char_indices().skip(1).peekable();
    while let Some((at, symbol)) = symbols.next() {
        if symbol == quote {
            match symbols.next_if(|(_, next)| *next == quote) {
                Some(_) => content.push(quote),
                None => return Ok((content, at + 1)),
            }
        } else if symbol == '\\' {
            // Before anything else, a backslash is one.
            match symbols.next_if(|(_, next)| "\\ntr".contains(*next) || *next == quote) {
                Some((_, 'n')) => content.push('\n'),
                Some((_, 't')) => content.push('\t'),
                Some((_, 'r')) => content.push('\r'),
                Some((_, escaped)) => content.push(escaped),
                None => content.push('\\'),
            }
        } else {
            content.push(symbol);
        }
    }
    Err(format!("{quote} has no end"))
}

//! The tokens of a statement.

/// A token of a statement.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Token {
    /// A word without quotes, in lower case: a keyword or a name.
    Word(String),
    /// A name in quotes.
    Quoted(String),
    /// A string.
    Text(String),
    Symbol(char),
}

/// Returns the tokens of `sql` without comments; `None` if it has strings with escapes or in dollars, which none of the
/// statements here needs.
pub(super) fn tokenize(sql: &str) -> Option<Vec<Token>> {
    let mut tokens = Vec::new();
    let mut rest = sql;
    while let Some(first) = rest.chars().next() {
        if first.is_ascii_whitespace() {
            rest = rest.trim_ascii_start();
        } else if rest.starts_with("--") {
            rest = rest.split_once('\n').map_or("", |(_, after)| after);
        } else if rest.starts_with("/*") {
            rest = rest.split_once("*/")?.1;
        } else if first == '"' || first == '\'' {
            let (text, after) = quoted(rest, first)?;
            tokens.push(if first == '"' { Token::Quoted(text) } else { Token::Text(text) });
            rest = after;
        } else if first.is_alphanumeric() || first == '_' {
            let end = rest.find(|c: char| !c.is_alphanumeric() && c != '_' && c != '$');
            let (word, after) = rest.split_at(end.unwrap_or(rest.len()));
            if after.starts_with('\'') {
                return None;
            }
            tokens.push(Token::Word(word.to_lowercase()));
            rest = after;
        } else if first == '$' {
            return None;
        } else {
            tokens.push(Token::Symbol(first));
            rest = &rest[first.len_utf8()..];
        }
    }
    Some(tokens)
}

/// Returns the content of the quotes at the beginning of `text`, and what follows them.
fn quoted(text: &str, quote: char) -> Option<(String, &str)> {
    let mut content = String::new();
    let mut rest = &text[1..];
    loop {
        let (part, after) = rest.split_once(quote)?;
        content.push_str(part);
        match after.strip_prefix(quote) {
            Some(after) => {
                content.push(quote);
                rest = after;
            }
            None => return Some((content, after)),
        }
    }
}

/// The tokens of a statement that are still to be read.
pub(super) struct Tokens(pub(super) std::iter::Peekable<std::vec::IntoIter<Token>>);

impl Tokens {
    /// Skips the words of `phrase` if they come next; reports whether they did. If only the first ones do, they are
    /// skipped, too: the statement is then of another form.
    pub(super) fn skip(&mut self, phrase: &str) -> bool {
        phrase.split(' ').all(|word| self.0.next_if(|token| *token == Token::Word(word.to_owned())).is_some())
    }

    pub(super) fn symbol(&mut self, symbol: char) -> Option<()> {
        self.0.next_if_eq(&Token::Symbol(symbol)).map(drop)
    }

    pub(super) fn name(&mut self) -> Option<String> {
        match self.0.next()? {
            Token::Word(name) | Token::Quoted(name) => Some(name),
            Token::Text(_) | Token::Symbol(_) => None,
        }
    }

    /// Reads a name or a string.
    pub(super) fn value(&mut self) -> Option<String> {
        match self.0.next()? {
            Token::Word(text) | Token::Quoted(text) | Token::Text(text) => Some(text),
            Token::Symbol(_) => None,
        }
    }

    pub(super) fn text(&mut self) -> Option<String> {
        match self.0.next()? {
            Token::Text(text) => Some(text),
            _ => None,
        }
    }

    /// Reads `item` and those that follow it after commas, up to the closing parenthesis.
    pub(super) fn list(&mut self, mut item: impl FnMut(&mut Self) -> Option<String>) -> Option<Vec<String>> {
        self.symbol('(')?;
        let mut items = vec![item(self)?];
        while self.symbol(',').is_some() {
            items.push(item(self)?);
        }
        self.symbol(')').map(|()| items)
    }
}

//! Splits a template into tokens.

use super::TemplateError;

/// The smallest part of a template with a meaning.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Token {
    /// The text between actions.
    Text(String),
    /// `{{`
    Open,
    /// `}}`
    Close,
    /// White space within an action: it separates operands.
    Space,
    /// `.`
    Dot,
    /// `.name`
    Field(String),
    /// `$name`; the name of `$` alone is empty.
    Variable(String),
    /// A keyword, a function, `true`, `false` or `nil`.
    Word(String),
    /// A text in double quotes or backquotes.
    String(String),
    /// A character in single quotes or a whole number.
    Int(i64),
    /// Any other number.
    Float(f64),
    /// `|`
    Pipe,
    /// `(`
    OpenParenthesis,
    /// `)`
    CloseParenthesis,
    /// `:=`
    Declare,
    /// `=`
    Assign,
    /// `,`
    Comma,
}

/// A token and its line.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct LocatedToken {
    pub(super) token: Token,
    pub(super) line: usize,
}

/// Splits `source` into tokens, without comments and with white space trimmed at `{{-` and `-}}`.
pub(super) fn tokens(source: &str) -> Result<Vec<LocatedToken>, TemplateError> {
    let mut lexer = Lexer { source, position: 0, tokens: Vec::new() };
    let mut trim = false;
    loop {
        let rest = lexer.rest();
        let end = rest.find("{{").unwrap_or(rest.len());
        let mut text = &rest[..end];
        if trim {
            text = text.trim_start();
        }
        let action = &rest[end..];
        let trims_before = action.starts_with("{{-") && action[3..].starts_with(char::is_whitespace);
        if trims_before {
            text = text.trim_end();
        }
        if !text.is_empty() {
            lexer.push(Token::Text(text.to_owned()));
        }
        lexer.position += end;
        if action.is_empty() {
            return Ok(lexer.tokens);
        }
        lexer.position += if trims_before { 3 } else { 2 };
        trim = lexer.action()?;
    }
}

struct Lexer<'s> {
    source: &'s str,
    position: usize,
    tokens: Vec<LocatedToken>,
}

impl<'s> Lexer<'s> {
    fn rest(&self) -> &'s str {
        &self.source[self.position..]
    }

    fn line(&self) -> usize {
        1 + self.source[..self.position].matches('\n').count()
    }

    fn push(&mut self, token: Token) {
        let line = self.line();
        self.tokens.push(LocatedToken { token, line });
    }

    fn error(&self, reason: impl Into<String>) -> TemplateError {
        TemplateError::new(self.line(), reason)
    }

    /// Reads up to and including `}}`. Returns whether the text after it loses its leading white space.
    fn action(&mut self) -> Result<bool, TemplateError> {
        if self.rest().trim_start().starts_with("/*") {
            return self.comment();
        }
        self.push(Token::Open);
        loop {
            if let Some(trims) = self.closing() {
                self.push(Token::Close);
                self.position += if trims { self.rest().find("}}").unwrap_or_default() + 2 } else { 2 };
                return Ok(trims);
            }
            self.token()?;
        }
    }

    /// Returns whether an action ends here, and if so, whether it trims the text after it.
    fn closing(&self) -> Option<bool> {
        let rest = self.rest();
        let trimmed = rest.trim_start();
        if trimmed.len() < rest.len() && trimmed.starts_with("-}}") {
            return Some(true);
        }
        rest.starts_with("}}").then_some(false)
    }

    fn comment(&mut self) -> Result<bool, TemplateError> {
        let rest = self.rest();
        let end = rest.find("*/").ok_or_else(|| self.error("a comment is not closed"))?;
        let after = &rest[end + 2..];
        let (trims, length) = match (after.trim_start().strip_prefix("-}}"), after.strip_prefix("}}")) {
            (Some(tail), _) if after.starts_with(char::is_whitespace) => (true, after.len() - tail.len()),
            (_, Some(_)) => (false, 2),
            _ => return Err(self.error("a comment must be alone in its action")),
        };
        self.position += end + 2 + length;
        Ok(trims)
    }

    fn token(&mut self) -> Result<(), TemplateError> {
        let rest = self.rest();
        let Some(first) = rest.chars().next() else { return Err(self.error("an action is not closed")) };
        let (token, length) = match first {
            c if c.is_whitespace() => (Token::Space, rest.len() - rest.trim_start().len()),
            '|' => (Token::Pipe, 1),
            '(' => (Token::OpenParenthesis, 1),
            ')' => (Token::CloseParenthesis, 1),
            ',' => (Token::Comma, 1),
            ':' if rest.starts_with(":=") => (Token::Declare, 2),
            '=' => (Token::Assign, 1),
            '"' => self.quoted(rest)?,
            '\'' => self.character(rest)?,
            '`' => {
                let end =
                    rest[1..].find('`').ok_or_else(|| self.error("a text in backquotes is not closed"))?;
                (Token::String(rest[1..=end].to_owned()), end + 2)
            }
            '$' => {
                let name = word(&rest[1..]);
                (Token::Variable(name.to_owned()), 1 + name.len())
            }
            '.' if !rest[1..].starts_with(|c: char| c.is_ascii_digit()) => match word(&rest[1..]) {
                "" => (Token::Dot, 1),
                name => (Token::Field(name.to_owned()), 1 + name.len()),
            },
            c if c.is_ascii_digit() || matches!(c, '+' | '-' | '.') => self.number(rest)?,
            c if c.is_alphabetic() || c == '_' => {
                let name = word(rest);
                (Token::Word(name.to_owned()), name.len())
            }
            other => return Err(self.error(format!("unexpected {other:?} in an action"))),
        };
        self.push(token);
        self.position += length;
        Ok(())
    }

    fn number(&self, rest: &str) -> Result<(Token, usize), TemplateError> {
        let is_part = |c: char| c.is_alphanumeric() || matches!(c, '.' | '+' | '-' | '_');
        let text = &rest[..rest.find(|c| !is_part(c)).unwrap_or(rest.len())];
        let whole = match text.strip_prefix("0x") {
            Some(digits) => i64::from_str_radix(digits, 16).ok(),
            None => text.parse().ok(),
        };
        let token = whole.map(Token::Int).or_else(|| text.parse().ok().map(Token::Float));
        token.map(|token| (token, text.len())).ok_or_else(|| self.error(format!("{text:?} is not a number")))
    }

    fn quoted(&self, rest: &str) -> Result<(Token, usize), TemplateError> {
        let (text, length) = self.unescape(rest, '"')?;
        Ok((Token::String(text), length))
    }

    fn character(&self, rest: &str) -> Result<(Token, usize), TemplateError> {
        let (text, length) = self.unescape(rest, '\'')?;
        let mut characters = text.chars();
        match (characters.next(), characters.next()) {
            (Some(character), None) => Ok((Token::Int(i64::from(u32::from(character))), length)),
            _ => Err(self.error("single quotes hold one character; a text has double quotes")),
        }
    }

    /// Returns the text from a quote to the next one, with Go's escapes resolved, and its length in the source.
    fn unescape(&self, rest: &str, quote: char) -> Result<(String, usize), TemplateError> {
        let mut text = String::new();
        let mut characters = rest.char_indices().skip(1);
        while let Some((index, character)) = characters.next() {
            match character {
                '\n' => break,
                '\\' => match characters.next().map(|(_, escaped)| escaped) {
                    Some('n') => text.push('\n'),
                    Some('t') => text.push('\t'),
                    Some('r') => text.push('\r'),
                    Some(kind @ ('x' | 'u' | 'U')) => {
                        let digits = match kind {
                            'x' => 2,
                            'u' => 4,
                            _ => 8,
                        };
                        let code: String = characters.by_ref().take(digits).map(|(_, digit)| digit).collect();
                        let code = u32::from_str_radix(&code, 16).ok().and_then(char::from_u32);
                        text.push(code.ok_or_else(|| self.error("an escape names no character"))?);
                    }
                    Some(escaped @ ('\\' | '\'' | '"')) => text.push(escaped),
                    _ => return Err(self.error("unknown escape in a text")),
                },
                character if character == quote => return Ok((text, index + 1)),
                character => text.push(character),
            }
        }
        Err(self.error(format!("a text is not closed with {quote}")))
    }
}

/// Returns the letters, digits and underscores at the beginning of `text`.
fn word(text: &str) -> &str {
    let end = text.find(|c: char| !c.is_alphanumeric() && c != '_');
    &text[..end.unwrap_or(text.len())]
}

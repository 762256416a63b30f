//! Splits an SQL file into its statements, as `psql` and the Supabase CLI do.
//!
//! It implements as much of the lexical rules (PostgreSQL documentation, section 4.1) as is needed to distinguish a
//! semicolon that ends a statement from one inside a string, a quoted identifier, a comment, parentheses or a
//! `begin atomic` body. Of the syntax of `psql` it supports what `pg_dump` writes: the rows after `copy … from stdin`,
//! and `\restrict`, which is ignored. Other backslash commands are an error with the line.

use std::borrow::Cow;

/// Commands of `psql` that `pg_dump` writes around its output and that are ignored. They keep the dumped content from
/// running other `psql` commands, none of which is run here anyway.
const IGNORED_COMMANDS: [&str; 2] = ["\\restrict", "\\unrestrict"];

/// The maximum number of first words that are kept of a statement. They identify its kind.
const MAX_WORDS: usize = 24;

/// One statement of a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Statement<'a> {
    /// The text without the closing semicolon and surrounding blanks. It includes comments before the statement.
    pub text: &'a str,
    /// The byte offset of `text` in the file.
    pub offset: usize,
    /// The byte offset in the file of the first token that is not a comment.
    pub first_token: usize,
    /// The first words outside of quotes and parentheses, in upper case.
    pub words: Vec<String>,
    /// The rows that follow `copy … from stdin` in the file.
    pub data: Option<&'a str>,
}

impl Statement<'_> {
    /// Reports whether there are only comments, as after the last semicolon of a file.
    pub fn is_comment(&self) -> bool {
        self.first_token == self.offset && (self.text.starts_with("--") || self.text.starts_with("/*"))
    }

    /// Returns the statement in the form for `psql`: with its rows, if it has any.
    pub(super) fn source(&self) -> Cow<'_, str> {
        match self.data {
            Some(data) => Cow::Owned(format!("{};\n{data}\\.", self.text)),
            None => Cow::Borrowed(self.text),
        }
    }
}

/// The error that a file cannot be split into statements.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SplitError {
    /// The byte offset of the problem in the file.
    pub offset: usize,
    /// The problem, such as `a NUL byte`.
    pub problem: String,
    /// The advice.
    pub hint: &'static str,
}

/// Splits `sql` into statements, without empty ones.
///
/// Errors: [`SplitError`].
pub fn split(sql: &str) -> Result<Vec<Statement<'_>>, SplitError> {
    let mut scanner = Scanner::new(sql);
    while scanner.at < scanner.bytes.len() {
        scanner.step()?;
    }
    scanner.finish_statement(scanner.bytes.len());
    Ok(scanner.statements)
}

/// Returns the line (from 1) of the byte at `offset`.
pub(super) fn line_at(sql: &str, offset: usize) -> usize {
    let before = sql.as_bytes().get(..offset).unwrap_or(sql.as_bytes());
    1 + before.iter().filter(|byte| **byte == b'\n').count()
}

/// The scanner of a file.
struct Scanner<'a> {
    sql: &'a str,
    bytes: &'a [u8],
    at: usize,
    /// The beginning of the current statement's text: after the last semicolon.
    start: usize,
    first_token: Option<usize>,
    words: Vec<String>,
    /// Whether the previous token was the word `begin`.
    after_begin: bool,
    parentheses: usize,
    /// The number of open `begin atomic` and `case` in an SQL-standard function body.
    body: usize,
    statements: Vec<Statement<'a>>,
}

impl<'a> Scanner<'a> {
    fn new(sql: &'a str) -> Self {
        // A byte order mark is not part of the SQL.
        let at = if sql.starts_with('\u{feff}') { '\u{feff}'.len_utf8() } else { 0 };
        Self {
            sql,
            bytes: sql.as_bytes(),
            at,
            start: at,
            first_token: None,
            words: Vec::new(),
            after_begin: false,
            parentheses: 0,
            body: 0,
            statements: Vec::new(),
        }
    }

    fn peek(&self, ahead: usize) -> Option<u8> {
        self.bytes.get(self.at + ahead).copied()
    }

    /// Skips one token.
    fn step(&mut self) -> Result<(), SplitError> {
        let byte = self.bytes[self.at];
        match (byte, self.peek(1)) {
            (b'-', Some(b'-')) => self.skip_comment(),
            (b'/', Some(b'*')) => return self.block_comment(),
            _ if byte.is_ascii_whitespace() => self.at += 1,
            (b';', _) if self.parentheses == 0 && self.body == 0 => {
                let takes_rows = reads_standard_input(&self.words);
                self.finish_statement(self.at);
                self.at += 1;
                if takes_rows {
                    self.take_rows();
                }
                self.start = self.at;
            }
            (b'\\', _) if self.first_token.is_none() && IGNORED_COMMANDS.contains(&self.command()) => {
                self.skip_line();
                self.start = self.at;
            }
            _ => {
                self.first_token.get_or_insert(self.at);
                if is_word_start(byte) {
                    return self.word();
                }
                self.after_begin = false;
                return self.symbol(byte);
            }
        }
        Ok(())
    }

    fn symbol(&mut self, byte: u8) -> Result<(), SplitError> {
        match byte {
            b'\'' => return self.quoted(b'\'', false, "string"),
            b'"' => return self.quoted(b'"', false, "quoted identifier"),
            b'$' => return self.dollar(),
            b'(' => self.parentheses += 1,
            b')' => self.parentheses = self.parentheses.saturating_sub(1),
            b'\\' => return Err(self.backslash()),
            0 => {
                return Err(self.refuse(
                    self.at,
                    "a NUL byte",
                    "SQL is text in UTF-8; save the file as such.",
                ));
            }
            // The letters in 0x1F or 1e5 do not begin a word.
            b'0'..=b'9' => {
                while self.peek(1).is_some_and(|next| next.is_ascii_alphanumeric() || next == b'_') {
                    self.at += 1;
                }
            }
            _ => {}
        }
        self.at += 1;
        Ok(())
    }

    /// Skips the rest of the line.
    /// Skips a comment that ends with its line. A carriage return ends a line, too, as for Postgres (`scan.l`).
    fn skip_comment(&mut self) {
        let rest = &self.bytes[self.at..];
        self.at += rest.iter().position(|byte| matches!(byte, b'\n' | b'\r')).unwrap_or(rest.len());
    }

    fn skip_line(&mut self) {
        let rest = &self.bytes[self.at..];
        self.at += rest.iter().position(|byte| *byte == b'\n').unwrap_or(rest.len());
    }

    fn block_comment(&mut self) -> Result<(), SplitError> {
        let opened_at = self.at;
        let mut depth = 0_usize;
        loop {
            match (self.peek(0), self.peek(1)) {
                (Some(b'/'), Some(b'*')) => {
                    depth += 1;
                    self.at += 2;
                }
                (Some(b'*'), Some(b'/')) => {
                    depth -= 1;
                    self.at += 2;
                    if depth == 0 {
                        return Ok(());
                    }
                }
                (Some(_), _) => self.at += 1,
                (None, _) => {
                    return Err(self.unterminated(opened_at, "comment", "Close it with */; comments nest."));
                }
            }
        }
    }

    /// Skips `'…'` or `"…"`, in which a doubled quote stands for one.
    fn quoted(&mut self, quote: u8, backslash_escapes: bool, what: &str) -> Result<(), SplitError> {
        let opened_at = self.at;
        self.at += 1;
        loop {
            match self.peek(0) {
                Some(b'\\') if backslash_escapes => self.at += 2,
                Some(byte) if byte == quote && self.peek(1) == Some(quote) => self.at += 2,
                Some(byte) if byte == quote => {
                    self.at += 1;
                    return Ok(());
                }
                Some(_) => self.at += 1,
                None => {
                    return Err(self.unterminated(
                        opened_at,
                        what,
                        "Close the quote; inside, a quote is doubled.",
                    ));
                }
            }
        }
    }

    /// Skips `$tag$…$tag$`, or the dollar of a parameter such as `$1`.
    fn dollar(&mut self) -> Result<(), SplitError> {
        let opened_at = self.at;
        let mut end = self.at + 1;
        if self.bytes.get(end).is_some_and(u8::is_ascii_digit) {
            self.at = end;
            return Ok(());
        }
        while self.bytes.get(end).is_some_and(|byte| is_word_part(*byte) && *byte != b'$') {
            end += 1;
        }
        if self.bytes.get(end) != Some(&b'$') {
            self.at += 1;
            return Ok(());
        }
        end += 1;
        let tag = &self.sql[opened_at..end];
        match self.sql[end..].find(tag) {
            Some(length) => {
                self.at = end + length + tag.len();
                Ok(())
            }
            None => {
                self.at = self.bytes.len();
                Err(self.unterminated(
                    opened_at,
                    &format!("text quoted by {tag}"),
                    "Close it with the same tag.",
                ))
            }
        }
    }

    fn word(&mut self) -> Result<(), SplitError> {
        let start = self.at;
        while self.peek(0).is_some_and(is_word_part) {
            self.at += 1;
        }
        let word = self.sql[start..self.at].to_ascii_uppercase();
        if word == "E" && self.peek(0) == Some(b'\'') {
            self.after_begin = false;
            return self.quoted(b'\'', true, "string");
        }
        self.count_body(&word);
        self.after_begin = word == "BEGIN";
        if self.parentheses == 0 && self.words.len() < MAX_WORDS {
            self.words.push(word);
        }
        Ok(())
    }

    /// Tracks SQL-standard function bodies: within `begin atomic … end`, semicolons end the body's statements.
    fn count_body(&mut self, word: &str) {
        match word {
            "ATOMIC" if self.after_begin && self.body == 0 && self.creates_routine() => self.body = 1,
            "CASE" if self.body > 0 => self.body += 1,
            "END" => self.body = self.body.saturating_sub(1),
            _ => {}
        }
    }

    fn creates_routine(&self) -> bool {
        let words: Vec<&str> = self.words.iter().map(String::as_str).collect();
        matches!(
            words.as_slice(),
            ["CREATE", "FUNCTION" | "PROCEDURE", ..]
                | ["CREATE", "OR", "REPLACE", "FUNCTION" | "PROCEDURE", ..]
        )
    }

    fn finish_statement(&mut self, end: usize) {
        let words = std::mem::take(&mut self.words);
        let raw = &self.sql[self.start..end];
        let text = raw.trim();
        let offset = self.start + (raw.len() - raw.trim_start().len());
        let first_token = self.first_token.take().unwrap_or(offset);
        self.parentheses = 0;
        self.body = 0;
        self.after_begin = false;
        if !text.is_empty() {
            let data = reads_standard_input(&words).then_some("");
            self.statements.push(Statement { text, offset, first_token, words, data });
        }
    }

    /// Adds the rows to the `copy … from stdin` that has just ended: the lines after its own, up to `\.` or the end.
    fn take_rows(&mut self) {
        self.skip_line();
        let start = self.sql.len().min(self.at + 1);
        let mut end = start;
        for line in self.sql[start..].split_inclusive('\n') {
            self.at = end + line.len();
            if line.trim_end() == "\\." {
                break;
            }
            end = self.at;
        }
        if let Some(statement) = self.statements.last_mut() {
            statement.data = Some(&self.sql[start..end]);
        }
    }

    /// Returns the command of `psql` at the current position.
    fn command(&self) -> &'a str {
        self.sql[self.at..].split_whitespace().next().unwrap_or_default()
    }

    fn backslash(&self) -> SplitError {
        let command: String = self.command().chars().take(24).collect();
        self.refuse(
            self.at,
            &format!("{command}, a command of psql"),
            "Only SQL can be run here: remove the line, or write what it does in SQL.",
        )
    }

    fn refuse(&self, offset: usize, problem: &str, hint: &'static str) -> SplitError {
        SplitError { offset, problem: problem.to_owned(), hint }
    }

    fn unterminated(&self, offset: usize, what: &str, hint: &'static str) -> SplitError {
        SplitError { offset, problem: format!("a {what} that begins here and never ends"), hint }
    }
}

fn is_word_start(byte: u8) -> bool {
    byte.is_ascii_alphabetic() || byte == b'_' || !byte.is_ascii()
}

fn is_word_part(byte: u8) -> bool {
    is_word_start(byte) || byte.is_ascii_digit() || byte == b'$'
}

fn reads_standard_input(words: &[String]) -> bool {
    words.first().is_some_and(|word| word == "COPY")
        && words.windows(2).any(|pair| pair[0] == "FROM" && pair[1] == "STDIN")
}

#[cfg(test)]
mod tests;

//! From ClickHouse's SQL, in which tools query logs, to that of Postgres.
//!
//! Most of it is the same, and the functions that tools use are in schema `basalt_platform`. What Postgres could not
//! read is rewritten here, token by token: every token of the result is written here, so nothing of the caller's text
//! can be read in two ways.
//!
//! Source: ClickHouse's documentation, "Syntax" and "Map(K, V)".

mod tokens;

use tokens::{Token, tokens};

/// What a query of logs may not name: the catalog and its functions, settings, and functions that run SQL of their
/// own. Its role has no right to anything else; these everybody has a right to.
const FORBIDDEN: [&str; 7] =
    ["set_config", "current_setting", "information_schema", "operator", "dblink", "ts_stat", "ts_rewrite"];
const FORBIDDEN_BEGINNINGS: [&str; 2] = ["pg_", "lo_"];
const FORBIDDEN_PARTS: [&str; 2] = ["_to_xml", "xmlschema"];

/// The units of an interval that ClickHouse writes without quotes.
const UNITS: [&str; 6] = ["second", "minute", "hour", "day", "week", "month"];

/// Returns `sql` as Postgres reads it.
///
/// Errors: what cannot be in a query of logs.
pub(super) fn translated(sql: &str) -> Result<String, String> {
    let mut tokens = tokens(sql)?;
    while tokens.last().is_some_and(|token| *token == Token::Symbol(";")) {
        tokens.pop();
    }
    if tokens.is_empty() {
        return Err("The query is empty".to_owned());
    }
    Writer { tokens: &tokens, at: 0, text: String::with_capacity(sql.len() * 2), clauses: vec![false] }
        .write()
}

/// Writes tokens.
struct Writer<'t> {
    tokens: &'t [Token],
    at: usize,
    text: String,
    /// Whether what is read is a list of results, for each parenthesis that is open.
    clauses: Vec<bool>,
}

impl Writer<'_> {
    fn peek(&self, ahead: usize) -> Option<&Token> {
        self.tokens.get(self.at + ahead)
    }

    fn is_symbol(&self, ahead: usize, symbol: &'static str) -> bool {
        self.peek(ahead) == Some(&Token::Symbol(symbol))
    }

    fn write(mut self) -> Result<String, String> {
        while let Some(token) = self.peek(0).cloned() {
            match token {
                Token::Word(word) => self.word(&word)?,
                Token::Quoted(_) => self.name()?,
                Token::Text(text) => self.put(&literal(&text)),
                Token::Number(number) => self.put(&number),
                Token::Symbol(symbol) => self.symbol(symbol)?,
            }
        }
        Ok(self.text)
    }

    /// Appends the text of a token.
    fn put(&mut self, text: &str) {
        self.text.push_str(text);
        self.text.push(' ');
        self.at += 1;
    }

    fn symbol(&mut self, symbol: &str) -> Result<(), String> {
        match symbol {
            ";" => return Err("A query of logs is one statement".to_owned()),
            "(" => self.clauses.push(false),
            ")" => drop(self.clauses.pop()),
            _ => {}
        }
        self.put(if symbol == "==" { "=" } else { symbol });
        Ok(())
    }

    fn word(&mut self, word: &str) -> Result<(), String> {
        let lower = word.to_ascii_lowercase();
        let calls = self.is_symbol(1, "(");
        match (lower.as_str(), self.peek(1), self.peek(2)) {
            ("select", ..) => self.set_clause(true),
            ("from" | "where" | "group" | "having" | "order" | "limit" | "union", ..) => {
                self.set_clause(false)
            }
            ("count", _, Some(Token::Symbol(")"))) if calls => {
                self.at += 2;
                self.put("count(*)");
                return Ok(());
            }
            ("uniq" | "uniqexact", ..) if calls => {
                self.clauses.push(false);
                self.at += 1;
                self.put("count(distinct");
                return Ok(());
            }
            ("interval", Some(Token::Number(number)), Some(Token::Word(unit)))
                if UNITS.contains(&unit.to_ascii_lowercase().as_str()) =>
            {
                let interval = format!("interval '{number} {unit}'");
                self.at += 2;
                self.put(&interval);
                return Ok(());
            }
            _ => {}
        }
        match lower.as_str() {
            // What follows in brackets is an array.
            "array" | "in" => self.put(word),
            _ => self.name()?,
        }
        Ok(())
    }

    /// Writes a name with what it is qualified by, and the entry of a map that it may be followed by.
    fn name(&mut self) -> Result<(), String> {
        let begin = self.at;
        let mut name = String::new();
        loop {
            match self.peek(0) {
                Some(Token::Word(word)) => {
                    refuse(word)?;
                    name.push_str(word);
                }
                Some(Token::Quoted(quoted)) => {
                    refuse(quoted)?;
                    name.push_str(&format!("\"{}\"", quoted.replace('"', "\"\"")));
                }
                _ => return Err(format!("A name is missing after {name}")),
            }
            self.at += 1;
            match self.is_symbol(0, ".") && !self.is_symbol(1, "*") {
                true => name.push('.'),
                false => break,
            }
            self.at += 1;
        }
        if name.contains('.') && self.at > begin + 1 && self.is_symbol(0, "(") {
            return Err(format!("A query of logs cannot call {name}"));
        }
        let entry = match (self.peek(0), self.peek(1), self.peek(2)) {
            (Some(Token::Symbol("[")), Some(Token::Text(key)), Some(Token::Symbol("]"))) => Some(key.clone()),
            _ => None,
        };
        match entry {
            None => self.text.push_str(&name),
            Some(key) => {
                let is_result = self.clauses.last() == Some(&true) && self.begins_result(begin);
                self.at += 3;
                self.text.push_str(&format!("coalesce({name} ->> {}, '')", literal(&key)));
                if is_result && self.ends_result() {
                    self.text
                        .push_str(&format!(" as \"{}\"", format!("{name}['{key}']").replace('"', "\"\"")));
                }
            }
        }
        self.text.push(' ');
        Ok(())
    }

    fn set_clause(&mut self, is_list: bool) {
        if let Some(clause) = self.clauses.last_mut() {
            *clause = is_list;
        }
    }

    /// Reports whether a result of a list begins with the token at `index`.
    fn begins_result(&self, index: usize) -> bool {
        match index.checked_sub(1).and_then(|before| self.tokens.get(before)) {
            Some(Token::Symbol(symbol)) => *symbol == ",",
            Some(Token::Word(word)) => ["select", "distinct"].contains(&word.to_ascii_lowercase().as_str()),
            _ => false,
        }
    }

    /// Reports whether a result of a list ends before the current token, and has no name.
    fn ends_result(&self) -> bool {
        match self.peek(0) {
            None => true,
            Some(Token::Symbol(symbol)) => matches!(*symbol, "," | ")"),
            Some(Token::Word(word)) => word.eq_ignore_ascii_case("from"),
            _ => false,
        }
    }
}

fn refuse(name: &str) -> Result<(), String> {
    let lower = name.to_ascii_lowercase();
    let is_forbidden = FORBIDDEN.contains(&lower.as_str())
        || FORBIDDEN_BEGINNINGS.iter().any(|beginning| lower.starts_with(beginning))
        || FORBIDDEN_PARTS.iter().any(|part| lower.contains(part));
    match is_forbidden {
        true => Err(format!("A query of logs cannot use {name}")),
        false => Ok(()),
    }
}

/// Returns a literal of Postgres: in it, a backslash is one.
fn literal(text: &str) -> String {
    format!("'{}'", text.replace('\'', "''"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn written(sql: &str) -> String {
        translated(sql).unwrap().split_whitespace().collect::<Vec<_>>().join(" ")
    }

    #[test]
    fn entries_of_the_map_are_texts() {
        let cases = [
            ("select id from logs;", "select id from logs"),
            (
                "select log_attributes['a.b'] as x from logs",
                "select coalesce(log_attributes ->> 'a.b', '') as x from logs",
            ),
            (
                "select id, l.log_attributes['a'] from logs l",
                "select id , coalesce(l.log_attributes ->> 'a', '') as \"l.log_attributes['a']\" from logs l",
            ),
            (
                "select 1 from logs where upper(log_attributes['a']) = 'B' group by x, log_attributes['b']",
                "select 1 from logs where upper ( coalesce(log_attributes ->> 'a', '') ) = 'B' group by x , \
                 coalesce(log_attributes ->> 'b', '')",
            ),
            (
                "select count(), uniq(id), count(distinct log_attributes['a']) from logs",
                "select count(*) , count(distinct id ) , count ( distinct coalesce(log_attributes ->> 'a', '') ) from logs",
            ),
            ("select now() - interval 1 hour", "select now ( ) - interval '1 hour'"),
            ("select 1 == 1 and 2 >= 1, a::text", "select 1 = 1 and 2 >= 1 , a :: text"),
            ("select 2 - -1", "select 2 - - 1"),
            (r"select 'it\'s', 'c:\\', 'a''b'", r"select 'it''s' , 'c:\' , 'a''b'"),
            ("select `a b` -- why\n from /* x */ logs # more", "select \"a b\" from logs"),
        ];
        for (sql, expected) in cases {
            assert_eq!(written(sql), expected, "{sql}");
        }
    }

    #[test]
    fn what_reaches_further_is_refused() {
        let cases = [
            "",
            "select 1; drop table logs",
            "select pg_sleep(1)",
            "select \"pg_read_file\"('x')",
            "select `set_config`('role', 'postgres', false)",
            "select query_to_xml('select 1', true, true, '')",
            "select public.secret()",
            "select \"public\" . \"secret\" (1)",
            "select 1 operator(public.+) 1",
            "select $$x$$",
            "select ts_stat('select 1')",
            "select 'unfinished",
            "select /* unfinished",
            "select current_setting('app.jwt_secret')",
        ];
        for sql in cases {
            assert!(translated(sql).is_err(), "{sql}");
        }
        // Another kind of string or name would be read in another way: the blank makes a word of the letter.
        assert_eq!(written(r"select U&'\0070', e'\''"), "select U & '\\0070' , e ''''");
    }
}

//! Which of the code that a database brings along (policies, defaults, triggers, functions) may read the settings that
//! describe the request (`request.headers` and the like), or set those of the response. Most does neither: then these
//! settings are not sent, and the response's are not read (decisions 21 and 47).
//!
//! Code that is not understood here counts as code that may do anything. Reading the caller's claims does not count:
//! they are always sent.

use std::collections::HashSet;

use serde::Deserialize;

/// The code that Postgres runs when a relation is read or written.
#[derive(Debug, Clone, Deserialize)]
pub struct OwnCode {
    /// Whether reading runs anything else than the expressions.
    is_unknown_to_readers: bool,
    /// Whether writing runs anything else than the expressions.
    is_unknown_to_writers: bool,
    expressions: Vec<Expression>,
}

/// A policy, a default, a check.
#[derive(Debug, Clone, Deserialize)]
struct Expression {
    /// As Postgres prints it with an empty search path.
    text: Option<String>,
    /// Whether it is evaluated for reads, too.
    is_for_reads: bool,
    /// The functions that it calls, except Postgres' own.
    functions: Vec<u32>,
    /// Whether it uses something else that is not Postgres' own.
    is_unknown: bool,
}

/// The text of a function in SQL that has no defaults and whose types are Postgres' own.
#[derive(Debug, Clone, Deserialize)]
pub struct Source {
    oid: u32,
    text: String,
    parameters: Vec<String>,
}

/// Decides which code may see more of a request than its caller's claims, or say something about its response.
pub(super) struct RequestVisibility {
    /// The OIDs of functions that see nothing of a request except its caller's claims.
    claims_only: HashSet<u32>,
    /// Whether the database announces changes of such code.
    is_watched: bool,
}

impl RequestVisibility {
    pub(super) fn new(sources: &[Source], is_watched: bool) -> Self {
        let claims_only =
            sources.iter().filter(|source| is_claims_only_function(source)).map(|source| source.oid);
        Self { claims_only: claims_only.collect(), is_watched }
    }

    /// Reports whether code that runs when a relation is read, or written, may see more of a request than its caller's
    /// claims.
    pub(super) fn relation(&self, code: &OwnCode) -> (bool, bool) {
        let is_seen = |only_reads: bool| {
            code.expressions.iter().any(|expression| {
                (expression.is_for_reads || !only_reads) && !self.is_claims_only(expression)
            })
        };
        let reads = !self.is_watched || code.is_unknown_to_readers || is_seen(true);
        (reads, reads || code.is_unknown_to_writers || is_seen(false))
    }

    /// Reports whether the function of this OID may see more of a request than its caller's claims.
    pub(super) fn function(&self, oid: u32) -> bool {
        !self.is_watched || !self.claims_only.contains(&oid)
    }

    fn is_claims_only(&self, expression: &Expression) -> bool {
        !expression.is_unknown
            && expression.functions.iter().all(|oid| self.claims_only.contains(oid))
            && expression.text.as_deref().is_none_or(is_claims_only_expression)
    }
}

/// A part of SQL. Names are in lower case unless they are quoted.
#[derive(Debug, PartialEq, Eq)]
enum Token<'a> {
    /// A name or a keyword.
    Word(String),
    /// A name in quotes.
    Quoted,
    /// What is between the quotes of a literal.
    Literal(&'a str),
    /// Any other character but spaces.
    Sign(char),
}

/// The names of Postgres' own functions and views that read or set any setting, or run SQL that is given as text.
const SETTINGS: &[&str] =
    &["set_config", "pg_settings", "pg_show_all_settings", "pg_file_settings", "ts_stat", "ts_rewrite"];

/// Reports whether an expression, apart from the functions that it calls, sees nothing of a request except claims.
fn is_claims_only_expression(text: &str) -> bool {
    let Some(tokens) = tokens(text) else { return false };
    (0..tokens.len()).all(|index| match tokens.get(index) {
        Some(Token::Word(word)) if word == "current_setting" => reads_claims(&tokens, index),
        Some(Token::Word(word)) => !SETTINGS.contains(&word.as_str()) && !word.contains("_to_xml"),
        _ => true,
    })
}

/// Keywords of an expression without subqueries, and types that are written in casts.
const WORDS: &[&str] = &[
    "and",
    "as",
    "between",
    "bigint",
    "bool",
    "boolean",
    "case",
    "date",
    "distinct",
    "else",
    "end",
    "false",
    "in",
    "int",
    "integer",
    "interval",
    "is",
    "json",
    "jsonb",
    "like",
    "not",
    "null",
    "numeric",
    "or",
    "select",
    "text",
    "then",
    "timestamptz",
    "true",
    "uuid",
    "when",
];

/// Functions of Postgres that depend on nothing but their arguments.
const CALLS: &[&str] =
    &["abs", "coalesce", "greatest", "least", "length", "lower", "nullif", "round", "trim", "upper"];

/// Reports whether a function sees nothing of a request except claims: it is one expression of its parameters that
/// contains only known functions and keywords.
fn is_claims_only_function(source: &Source) -> bool {
    let Some(mut tokens) = tokens(&source.text) else { return false };
    tokens.pop_if(|last| *last == Token::Sign(';'));
    (0..tokens.len()).all(|index| match (tokens.get(index), tokens.get(index + 1)) {
        (Some(Token::Word(word)), Some(Token::Sign('('))) if word == "current_setting" => {
            reads_claims(&tokens, index)
        }
        (Some(Token::Word(word)), Some(Token::Sign('('))) if !WORDS.contains(&word.as_str()) => {
            CALLS.contains(&word.as_str())
        }
        (Some(Token::Word(word)), next) => {
            let is_parameter = source.parameters.iter().any(|parameter| parameter == word)
                // A name before a literal is a type, and a name after a period is not Postgres' own.
                && !matches!(next, Some(Token::Literal(_)));
            is_parameter || WORDS.contains(&word.as_str())
        }
        (Some(Token::Sign(sign)), _) => !matches!(sign, ';' | '.' | '[' | ']'),
        (Some(Token::Quoted), _) => false,
        _ => true,
    })
}

/// Reports whether the call of `current_setting` at `index` asks for the caller's claims.
fn reads_claims(tokens: &[Token<'_>], index: usize) -> bool {
    matches!(
        (tokens.get(index + 1), tokens.get(index + 2)),
        (Some(Token::Sign('(')), Some(Token::Literal(name))) if name.starts_with("request.jwt.")
    )
}

/// Returns the parts of `sql`; `None` where it has comments, or literals of another kind than `'…'`.
fn tokens(sql: &str) -> Option<Vec<Token<'_>>> {
    let mut tokens = Vec::new();
    let mut rest = sql;
    while let Some(first) = rest.chars().next() {
        if first.is_whitespace() {
            rest = rest.trim_start();
        } else if first == '\'' {
            let (literal, after) = quoted(rest, '\'')?;
            // E'…' has escapes, and U&'…' other ones.
            let is_prefixed = match tokens.last() {
                Some(Token::Word(word)) => matches!(word.as_str(), "e" | "u" | "b" | "x" | "n"),
                Some(Token::Sign(sign)) => *sign == '&',
                _ => false,
            };
            if is_prefixed {
                return None;
            }
            tokens.push(Token::Literal(literal));
            rest = after;
        } else if first == '"' {
            tokens.push(Token::Quoted);
            rest = quoted(rest, '"')?.1;
        } else if first.is_alphabetic() || first == '_' {
            let end = rest.find(|c: char| !c.is_alphanumeric() && c != '_' && c != '$').unwrap_or(rest.len());
            let (word, after) = rest.split_at(end);
            tokens.push(Token::Word(word.to_lowercase()));
            rest = after;
        } else if first.is_ascii_digit() {
            rest = rest.trim_start_matches(|c: char| c.is_ascii_digit() || c == '.' || c == '_');
        } else if rest.starts_with("--") || rest.starts_with("/*") || is_dollar_quote(rest) {
            return None;
        } else {
            tokens.push(Token::Sign(first));
            rest = &rest[first.len_utf8()..];
        }
    }
    Some(tokens)
}

/// Returns what is between the `quote` that `text` begins with and the next single one, and what follows; a doubled one
/// is left as it is.
fn quoted(text: &str, quote: char) -> Option<(&str, &str)> {
    let inner = &text[quote.len_utf8()..];
    let mut from = 0;
    loop {
        let end = from + inner[from..].find(quote)?;
        let after = &inner[end + 1..];
        if !after.starts_with(quote) {
            return Some((&inner[..end], after));
        }
        from = end + 2;
    }
}

/// Reports whether `text` begins a literal in dollars, and not with a parameter's number.
fn is_dollar_quote(text: &str) -> bool {
    text.strip_prefix('$').is_some_and(|rest| !rest.starts_with(|c: char| c.is_ascii_digit()))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn function(oid: u32, parameters: &[&str], text: &str) -> Source {
        Source {
            oid,
            text: text.to_owned(),
            parameters: parameters.iter().map(ToString::to_string).collect(),
        }
    }

    fn is_claims_only(parameters: &[&str], text: &str) -> bool {
        is_claims_only_function(&function(1, parameters, text))
    }

    #[test]
    fn functions_of_their_arguments_and_of_claims_see_no_more() {
        assert!(is_claims_only(&["a", "b"], "select a + b * 2.5;"));
        assert!(is_claims_only(&[], " SELECT $1 || upper('it''s;--') "));
        assert!(is_claims_only(&["n"], "select case when n > 0 then true else coalesce(n, 1) is null end"));
        assert!(is_claims_only(
            &[],
            "select coalesce(nullif(current_setting('request.jwt.claim.sub', true), ''), \
             nullif(current_setting('request.jwt.claims', true), '')::jsonb ->> 'sub')::uuid"
        ));
    }

    #[test]
    fn functions_that_may_look_elsewhere_are_not() {
        for text in [
            "select current_setting('request.headers', true)",
            "select current_setting(a)",
            "select set_config('response.status', '201', true)",
            "select a from b",
            "select 1; select 2",
            "select public.lower(a)",
            "select other(a)",
            "select a::mood",
            "select mood 'happy'",
            "select a 'happy'",
            "select \"Other\"(a)",
            "select $$x$$",
            "select E'\\''",
            "select a -- comment",
            "select (a).name",
            "select 'open",
            "insert into t values (a)",
        ] {
            assert!(!is_claims_only(&["a"], text), "{text}");
        }
    }

    #[test]
    fn expressions_see_claims_only_unless_they_name_settings() {
        assert!(is_claims_only_expression("(owner = auth.uid())"));
        assert!(is_claims_only_expression("((\"Position\" = 'it''s'::text) AND (length(name) > 3))"));
        assert!(is_claims_only_expression("current_setting('request.jwt.claims'::text, true) IS NULL"));
        for text in [
            "current_setting('request.headers'::text, true)",
            "set_config('response.status'::text, '201'::text, true)",
            "EXISTS ( SELECT 1 FROM pg_settings)",
            "query_to_xml('select 1'::text, true, true, ''::text)",
        ] {
            assert!(!is_claims_only_expression(text), "{text}");
        }
    }

    fn code(value: &serde_json::Value) -> OwnCode {
        let mut whole = json!({
            "is_unknown_to_readers": false, "is_unknown_to_writers": false, "expressions": [],
        });
        for (key, value) in value.as_object().unwrap() {
            whole[key] = value.clone();
        }
        serde_json::from_value(whole).unwrap()
    }

    #[test]
    fn a_relation_sees_what_any_of_its_code_sees() {
        let visibility = RequestVisibility::new(
            &[function(7, &[], "select true"), function(8, &[], "select now()")],
            true,
        );
        let expression = |functions: &[u32], is_for_reads: bool, text: &str| {
            code(&json!({ "expressions": [{
                "text": text, "is_for_reads": is_for_reads, "functions": functions, "is_unknown": false,
            }] }))
        };
        assert_eq!(visibility.relation(&code(&json!({}))), (false, false));
        assert_eq!(visibility.relation(&code(&json!({ "is_unknown_to_readers": true }))), (true, true));
        assert_eq!(visibility.relation(&code(&json!({ "is_unknown_to_writers": true }))), (false, true));
        assert_eq!(visibility.relation(&expression(&[7], true, "public.yes()")), (false, false));
        assert_eq!(visibility.relation(&expression(&[8], true, "public.other()")), (true, true));
        assert_eq!(visibility.relation(&expression(&[8], false, "public.other()")), (false, true));
        assert_eq!(visibility.relation(&expression(&[], false, "current_setting('x'::text)")), (false, true));
        assert!(visibility.function(8) && !visibility.function(7));
    }

    #[test]
    fn without_notices_of_changes_everything_may_be_seen() {
        let visibility = RequestVisibility::new(&[function(7, &[], "select true")], false);
        assert_eq!(visibility.relation(&code(&json!({}))), (true, true));
        assert!(visibility.function(7));
    }
}

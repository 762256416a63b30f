//! Where in a token's claims the role is: a JSON path.
//!
//! Source: PostgREST's documentation, "JWT Role Extraction"; RFC 9535 for the form that begins with `$`. Of the RFC
//! there are names, indexes, wildcards and comparisons of a value with a text; the older form without the `$` is
//! understood, too, with its operators `^==` (begins with), `==^` (ends with) and `*==` (contains).

use std::str::FromStr;

use serde_json::Value;
use winnow::ascii::{dec_int, multispace0};
use winnow::combinator::{alt, cut_err, delimited, eof, opt, preceded, repeat, terminated};
use winnow::prelude::*;
use winnow::token::{take_till, take_while};

/// A path to a claim.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ClaimPath {
    text: String,
    steps: Vec<Step>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Step {
    /// A member of an object.
    Name(String),
    /// An item of an array, from its end if negative.
    Index(i64),
    /// All members or items.
    All,
    /// Items that compare so with a text.
    Filter(Comparison, String),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Comparison {
    Equal,
    NotEqual,
    StartsWith,
    EndsWith,
    Contains,
}

impl Default for ClaimPath {
    fn default() -> Self {
        Self { text: "$.role".to_owned(), steps: vec![Step::Name("role".to_owned())] }
    }
}

impl ClaimPath {
    /// The first value that the path leads to from the claims.
    pub fn find<'v>(&self, claims: &'v serde_json::Map<String, Value>) -> Option<&'v Value> {
        let Some((Step::Name(name), rest)) = self.steps.split_first() else { return None };
        follow(claims.get(name)?, rest)
    }

    /// The path as it was written.
    pub fn as_str(&self) -> &str {
        &self.text
    }
}

fn follow<'v>(value: &'v Value, steps: &[Step]) -> Option<&'v Value> {
    let Some((step, rest)) = steps.split_first() else { return Some(value) };
    match (step, value) {
        (Step::Name(name), Value::Object(members)) => follow(members.get(name)?, rest),
        (Step::Index(index), Value::Array(items)) => {
            let from_end = || items.len().checked_sub(usize::try_from(index.unsigned_abs()).ok()?);
            let index = usize::try_from(*index).ok().or_else(from_end)?;
            follow(items.get(index)?, rest)
        }
        (Step::All, Value::Array(items)) => items.iter().find_map(|item| follow(item, rest)),
        (Step::All, Value::Object(members)) => members.values().find_map(|item| follow(item, rest)),
        (Step::Filter(comparison, text), Value::Array(items)) => items
            .iter()
            .filter(|item| item.as_str().is_some_and(|item| comparison.holds(item, text)))
            .find_map(|item| follow(item, rest)),
        _ => None,
    }
}

impl Comparison {
    fn holds(self, item: &str, text: &str) -> bool {
        match self {
            Self::Equal => item == text,
            Self::NotEqual => item != text,
            Self::StartsWith => item.starts_with(text),
            Self::EndsWith => item.ends_with(text),
            Self::Contains => item.contains(text),
        }
    }
}

impl FromStr for ClaimPath {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let mut path = terminated(preceded(opt('$'), repeat(1.., step)), eof);
        match path.parse(text) {
            Ok(steps) if matches!(Vec::as_slice(&steps), [Step::Name(_), ..]) => {
                Ok(Self { text: text.to_owned(), steps })
            }
            _ => Err(format!("expected a JSON path such as $.role or $.app.roles[0], found `{text}`")),
        }
    }
}

fn step(input: &mut &str) -> ModalResult<Step> {
    alt((preceded('.', cut_err(member)), delimited('[', cut_err(selector), ']'))).parse_next(input)
}

/// What follows a dot.
fn member(input: &mut &str) -> ModalResult<Step> {
    let bare = take_while(1.., |c: char| c.is_alphanumeric() || matches!(c, '_' | '$' | '@'));
    alt(('*'.value(Step::All), quoted.map(Step::Name), bare.map(|name: &str| Step::Name(name.to_owned()))))
        .parse_next(input)
}

/// What stands in brackets.
fn selector(input: &mut &str) -> ModalResult<Step> {
    alt((
        '*'.value(Step::All),
        dec_int.map(Step::Index),
        quoted.map(Step::Name),
        preceded('?', alt((delimited('(', comparison, ')'), comparison))),
    ))
    .parse_next(input)
}

fn comparison(input: &mut &str) -> ModalResult<Step> {
    let operator = alt((
        "==^".value(Comparison::EndsWith),
        "==".value(Comparison::Equal),
        "!=".value(Comparison::NotEqual),
        "^==".value(Comparison::StartsWith),
        "*==".value(Comparison::Contains),
    ));
    ('@', multispace0, operator, multispace0, quoted)
        .map(|(_, _, operator, _, text)| Step::Filter(operator, text))
        .parse_next(input)
}

fn quoted(input: &mut &str) -> ModalResult<String> {
    alt((delimited('"', take_till(0.., '"'), '"'), delimited('\'', take_till(0.., '\''), '\'')))
        .map(|text: &str| text.to_owned())
        .parse_next(input)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn find(path: &str) -> Option<String> {
        let Value::Object(claims) = json!({
            "role": "one",
            "app": { "roles": ["admin", "editor", "web_user"], "my-role": "two", "a.b": "three" },
        }) else {
            unreachable!()
        };
        let path: ClaimPath = path.parse().unwrap();
        path.find(&claims).and_then(Value::as_str).map(str::to_owned)
    }

    #[test]
    fn paths_lead_to_claims() {
        for (path, role) in [
            ("$.role", "one"),
            (".role", "one"),
            ("$.app.roles[0]", "admin"),
            ("$.app.roles[-1]", "web_user"),
            ("$.app['my-role']", "two"),
            ("$['app'][\"a.b\"]", "three"),
            (".app.\"my-role\"", "two"),
            ("$.app.roles[*]", "admin"),
            ("$.app.roles[?@ == 'editor']", "editor"),
            (".app.roles[?(@ == \"editor\")]", "editor"),
            (".app.roles[?(@ != \"admin\")]", "editor"),
            (".app.roles[?(@ ^== \"web\")]", "web_user"),
            (".app.roles[?(@ ==^ \"tor\")]", "editor"),
            (".app.roles[?(@ *== \"b_u\")]", "web_user"),
        ] {
            assert_eq!(find(path).as_deref(), Some(role), "{path}");
        }
        for path in ["$.nobody", "$.role.x", "$.app.roles[7]", "$.app.roles[-9]", "$.app.roles[?@=='x']"] {
            assert_eq!(find(path), None, "{path}");
        }
    }

    #[test]
    fn other_texts_are_refused() {
        for path in ["", "role", "$", "$.", "$.a[", "$.a[]", "$.a b", "$[0]", ".a[?(@ = \"x\")]"] {
            assert!(path.parse::<ClaimPath>().is_err(), "{path}");
        }
    }
}

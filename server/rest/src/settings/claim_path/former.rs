//! The form of paths that PostgREST had before 16 and still takes: names after dots, indexes, and comparisons of an
//! item with a text, where `^==` means that the item begins with the text, `==^` that it ends with it, and `*==` that
//! it contains it.
//!
//! Source: PostgREST's documentation of version 14, "JWT Role Extraction".

use std::str::FromStr;

use serde_json::{Map, Value};
use winnow::ascii::{dec_uint, multispace0};
use winnow::combinator::{alt, cut_err, delimited, eof, preceded, repeat, terminated};
use winnow::prelude::*;
use winnow::token::{take_till, take_while};

/// A path in that form; it begins with a name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct FormerPath(Vec<Step>);

#[derive(Debug, Clone, PartialEq, Eq)]
enum Step {
    /// A member of an object.
    Name(String),
    /// An item of an array.
    Index(usize),
    /// The items for which this comparison with a text holds.
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

impl FormerPath {
    /// Returns the first value that it leads to from the claims.
    pub(super) fn find<'v>(&self, claims: &'v Map<String, Value>) -> Option<&'v Value> {
        let Some((Step::Name(name), rest)) = self.0.split_first() else { return None };
        follow(claims.get(name)?, rest)
    }
}

fn follow<'v>(value: &'v Value, steps: &[Step]) -> Option<&'v Value> {
    let Some((step, rest)) = steps.split_first() else { return Some(value) };
    match (step, value) {
        (Step::Name(name), Value::Object(members)) => follow(members.get(name)?, rest),
        (Step::Index(index), Value::Array(items)) => follow(items.get(*index)?, rest),
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

impl FromStr for FormerPath {
    type Err = ();

    fn from_str(text: &str) -> Result<Self, ()> {
        let steps: Vec<Step> = terminated(repeat(1.., step), eof).parse(text).map_err(|_| ())?;
        if matches!(steps.first(), Some(Step::Name(_))) { Ok(Self(steps)) } else { Err(()) }
    }
}

fn step(input: &mut &str) -> ModalResult<Step> {
    alt((preceded('.', cut_err(member)), delimited('[', cut_err(selector), ']'))).parse_next(input)
}

/// Parses what follows a dot.
fn member(input: &mut &str) -> ModalResult<Step> {
    let bare = take_while(1.., |c: char| c.is_alphanumeric() || matches!(c, '_' | '$' | '@'));
    alt((quoted, bare.map(str::to_owned))).map(Step::Name).parse_next(input)
}

/// Parses what stands in brackets.
fn selector(input: &mut &str) -> ModalResult<Step> {
    alt((dec_uint.map(Step::Index), preceded('?', delimited('(', comparison, ')')))).parse_next(input)
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
    delimited('"', take_till(0.., '"'), '"').map(|text: &str| text.to_owned()).parse_next(input)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn paths_lead_to_claims() {
        let Value::Object(claims) = json!({
            "role": "one",
            "app": { "roles": ["admin", "editor", "web_user"], "my-role": "two" },
        }) else {
            unreachable!()
        };
        let find = |path: &str| path.parse::<FormerPath>().unwrap().find(&claims).and_then(Value::as_str);
        for (path, role) in [
            (".role", "one"),
            (".app.\"my-role\"", "two"),
            (".app.roles[1]", "editor"),
            (".app.roles[?(@ == \"editor\")]", "editor"),
            (".app.roles[?(@ != \"admin\")]", "editor"),
            (".app.roles[?(@ ^== \"web\")]", "web_user"),
            (".app.roles[?(@ ==^ \"tor\")]", "editor"),
            (".app.roles[?(@ *== \"b_u\")]", "web_user"),
        ] {
            assert_eq!(find(path), Some(role), "{path}");
        }
        for path in [".nobody", ".role.x", ".app.roles[7]", ".app.roles[?(@ == \"x\")]"] {
            assert_eq!(find(path), None, "{path}");
        }
        for path in ["", "role", ".", "[0]", ".a[", ".a[]", ".a b", ".a[?(@ = \"x\")]"] {
            assert!(path.parse::<FormerPath>().is_err(), "{path}");
        }
    }
}

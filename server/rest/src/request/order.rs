//! `order=`: terms with their direction and the place of nulls.

use winnow::combinator::{alt, delimited, opt};
use winnow::error::{ContextError, ErrMode};
use winnow::prelude::*;

use super::grammar::{
    comma_separated, expected, field, field_name, field_path, found, lexeme, parse_all, refused,
};
use super::syntax::{Direction, Nulls, OrderTerm, PathItem};
use crate::error::Error;

/// Parses `key=value` where `key` ends in `order`.
pub(super) fn order(key: &str, value: &str) -> Result<PathItem<Vec<OrderTerm>>, Error> {
    let (path, _) = parse_all(field_path, "tree path", key)?;
    let item = parse_all(comma_separated(lexeme(term)), "order", value)?;
    Ok(PathItem { path, item })
}

fn term(input: &mut &str) -> ModalResult<OrderTerm> {
    let related = (field_name, delimited('(', field, ')')).map(|(name, field)| (Some(name), field));
    let (relation, field) = alt((related, field.map(|field| (None, field)))).parse_next(input)?;
    let direction = opt(alt((".asc".value(Direction::Ascending), ".desc".value(Direction::Descending))))
        .parse_next(input)?;
    let nulls =
        opt(alt((".nullsfirst".value(Nulls::First), ".nullslast".value(Nulls::Last)))).parse_next(input)?;
    match input.is_empty() || input.starts_with(',') {
        true => Ok(OrderTerm { relation, field, direction, nulls }),
        false => Err(mistake(input, direction.is_some(), nulls.is_some())),
    }
}

/// Returns the error of a term that goes on behind its parts, at the place and in the words of upstream's parser.
fn mistake(input: &mut &str, has_direction: bool, has_nulls: bool) -> ErrMode<ContextError> {
    if let (Some(word), false) = (input.strip_prefix('.'), has_nulls) {
        *input = word;
        let words = ["asc", "desc", "nullsfirst", "nullslast"];
        let quoted = ["\"asc\"", "\"desc\"", "\"nullsfirst\"", "\"nullslast\""];
        let first = if has_direction { 2 } else { 0 };
        let differing = word.chars().zip(words[first].chars().map(Some).chain([None]));
        let differing = differing.into_iter().find(|(c, wanted)| Some(*c) != *wanted).map(|(c, _)| found(c));
        return refused(quoted[first..].iter().map(|word| expected(word)).chain(differing));
    }
    let after_name = ["letter", "digit", "\"-\"", "\"->>\"", "\"->\""];
    let after_name: &[&'static str] = if has_direction || has_nulls { &[] } else { &after_name };
    let delimiter = (!has_nulls).then_some("delimiter (.)");
    let end = ["\",\"", "end of input"];
    refused(after_name.iter().copied().chain(delimiter).chain(end).map(expected))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn terms(value: &str) -> Vec<OrderTerm> {
        order("order", value).unwrap().item
    }

    #[test]
    fn terms_take_direction_and_nulls() {
        let found = terms("a,b.desc,c.nullslast,d->>e.asc.nullsfirst,clients(name).desc");
        assert_eq!(found.len(), 5);
        assert_eq!(found[0].direction, None);
        assert_eq!(found[1].direction, Some(Direction::Descending));
        assert_eq!(found[2].nulls, Some(Nulls::Last));
        assert_eq!((found[3].direction, found[3].nulls), (Some(Direction::Ascending), Some(Nulls::First)));
        assert_eq!(found[4].relation.as_deref(), Some("clients"));
    }

    #[test]
    fn columns_may_be_called_like_directions() {
        assert_eq!(terms("desc.asc")[0].field.name, "desc");
    }

    #[test]
    fn mistakes_are_placed_and_worded_as_upstream_does() {
        let after_name = "letter, digit, \"-\", \"->>\", \"->\"";
        for (value, column, found, wanted) in [
            ("id.ac", 4, "\"c\"", "\"asc\", \"desc\", \"nullsfirst\" or \"nullslast\""),
            ("id.smth34", 4, "\"s\"", "\"asc\", \"desc\", \"nullsfirst\" or \"nullslast\""),
            ("id.descc", 8, "'c'", "delimiter (.), \",\" or end of input"),
            ("id.nullslasttt", 13, "'t'", "\",\" or end of input"),
            ("id.asc.nlsfst", 8, "\"l\"", "\"nullsfirst\" or \"nullslast\""),
            ("id.asc.nullslasttt", 17, "'t'", "\",\" or end of input"),
            ("clients(name,id)", 8, "'('", &format!("{after_name}, delimiter (.), \",\" or end of input")),
        ] {
            let error = order("order", value).unwrap_err();
            assert!(error.message().ends_with(&format!("(line 1, column {column})")), "{}", error.message());
            assert_eq!(error.details().unwrap(), format!("unexpected {found} expecting {wanted}"), "{value}");
        }
    }

    #[test]
    fn mistakes_are_refused() {
        for value in ["", "a.up", "a.desc.asc", "a.desc.nullsfirst.x", "a,,b", "a b.desc c"] {
            assert_eq!(order("order", value).unwrap_err().code(), "PGRST100", "{value}");
        }
    }
}

//! `order=`: terms with their direction and the place of nulls.

use winnow::combinator::{alt, delimited, eof, opt, peek};
use winnow::prelude::*;

use super::grammar::{comma_separated, expected, field, field_name, field_path, lexeme, parse_all};
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
    let wanted = match (direction, nulls) {
        (None, None) => "\"asc\", \"desc\", \"nullsfirst\" or \"nullslast\"",
        (Some(_), None) => "\"nullsfirst\" or \"nullslast\"",
        _ => "\",\" or end of input",
    };
    peek(alt((",".void(), eof.void()))).context(expected(wanted)).parse_next(input)?;
    Ok(OrderTerm { relation, field, direction, nulls })
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
    fn mistakes_are_refused() {
        for value in ["", "a.up", "a.desc.asc", "a.desc.nullsfirst.x", "a,,b", "a b.desc c"] {
            assert_eq!(order("order", value).unwrap_err().code(), "PGRST100", "{value}");
        }
    }
}

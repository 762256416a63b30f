//! `select=`: columns, casts, aggregates, embeds and spreads.

use winnow::combinator::{alt, cut_err, eof, not, opt, peek, preceded, terminated};
use winnow::prelude::*;

use super::grammar::{
    check_depth, comma_separated, expected, field, field_name, identifier, lexeme, parse_all, plain_name,
};
use super::syntax::{Aggregate, Field, Join, SelectColumn, SelectEmbed, SelectItem};
use crate::error::Error;

/// Parses the value of `select=`.
pub(super) fn select(text: &str) -> Result<Vec<SelectItem>, Error> {
    parse_all(items(0), "select parameter", text)
}

fn items<'i>(depth: usize) -> impl FnMut(&mut &'i str) -> ModalResult<Vec<SelectItem>> {
    move |input| {
        check_depth(depth)?;
        if input.is_empty() || input.starts_with(')') {
            return Ok(Vec::new());
        }
        comma_separated(lexeme(item(depth))).parse_next(input)
    }
}

fn item<'i>(depth: usize) -> impl FnMut(&mut &'i str) -> ModalResult<SelectItem> {
    move |input| {
        if let Some(column) = plain_column(input) {
            return Ok(column);
        }
        if let Some(mut head) = opt(alt((spread_head, embed_head))).parse_next(input)? {
            // With the parenthesis it is an embed for certain: any mistake from here on is inside it.
            head.select = cut_err(items(depth + 1)).parse_next(input)?;
            cut_err(')'.context(expected("\")\" or \",\""))).parse_next(input)?;
            return Ok(SelectItem::Embed(head));
        }
        alt((star, count.map(SelectItem::Column), column.map(SelectItem::Column))).parse_next(input)
    }
}

/// Parses a column without anything to it, up to the end of the item: most of what is selected.
fn plain_column(input: &mut &str) -> Option<SelectItem> {
    let name = plain_name(input)?;
    let rest = &input[name.len()..];
    let is_end = matches!(rest.bytes().next(), None | Some(b',' | b')'));
    is_end.then(|| {
        *input = rest;
        SelectItem::Column(SelectColumn {
            field: Field::column(name),
            aggregate: None,
            cast: None,
            aggregate_cast: None,
            alias: None,
        })
    })
}

fn alias(input: &mut &str) -> ModalResult<String> {
    terminated(field_name, (':', not(':'))).parse_next(input)
}

fn spread_head(input: &mut &str) -> ModalResult<SelectEmbed> {
    let (relation, (hint, join)) = preceded("...", (field_name, embed_modifiers)).parse_next(input)?;
    '('.parse_next(input)?;
    Ok(SelectEmbed { relation, alias: None, hint, join, spread: true, select: Vec::new() })
}

fn embed_head(input: &mut &str) -> ModalResult<SelectEmbed> {
    let alias = opt(alias).parse_next(input)?;
    // `count()` is the aggregate: a relation of that name has to be embedded by its foreign key's name.
    let relation = field_name.verify(|name: &str| name != "count").parse_next(input)?;
    let (hint, join) = embed_modifiers.parse_next(input)?;
    '('.parse_next(input)?;
    Ok(SelectEmbed { relation, alias, hint, join, spread: false, select: Vec::new() })
}

enum Modifier {
    Hint(String),
    Join(Join),
}

/// Parses at most two of `!inner`, `!left` and a hint; the first of each kind counts.
fn embed_modifiers(input: &mut &str) -> ModalResult<(Option<String>, Option<Join>)> {
    let mut hint = None;
    let mut join = None;
    for _ in 0..2 {
        match opt(preceded('!', field_name.map(modifier))).parse_next(input)? {
            Some(Modifier::Hint(name)) => hint = hint.or(Some(name)),
            Some(Modifier::Join(kind)) => join = join.or(Some(kind)),
            None => break,
        }
    }
    Ok((hint, join))
}

fn modifier(name: String) -> Modifier {
    match &*name {
        "inner" => Modifier::Join(Join::Inner),
        "left" => Modifier::Join(Join::Left),
        _ => Modifier::Hint(name),
    }
}

/// Parses the end of an item.
fn end(input: &mut &str) -> ModalResult<()> {
    peek(alt((")".void(), ",".void(), eof.void())))
        .context(expected(
            "letter, digit, \"-\", \"->>\", \"->\", \"::\", \".\", \")\", \",\" or end of input",
        ))
        .parse_next(input)
}

fn star(input: &mut &str) -> ModalResult<SelectItem> {
    terminated('*', end).value(SelectItem::All).parse_next(input)
}

fn count(input: &mut &str) -> ModalResult<SelectColumn> {
    let (alias, _, aggregate_cast) = terminated((opt(alias), "count()", opt(cast)), end).parse_next(input)?;
    let field = Field::column("*");
    Ok(SelectColumn { field, aggregate: Some(Aggregate::Count), cast: None, aggregate_cast, alias })
}

fn column(input: &mut &str) -> ModalResult<SelectColumn> {
    let alias = opt(alias).parse_next(input)?;
    let field = field.parse_next(input)?;
    let cast_to = opt(cast).parse_next(input)?;
    let aggregate = opt(preceded('.', terminated(aggregate, "()"))).parse_next(input)?;
    let aggregate_cast = opt(cast).parse_next(input)?;
    end.parse_next(input)?;
    Ok(SelectColumn { field, aggregate, cast: cast_to, aggregate_cast, alias })
}

fn cast(input: &mut &str) -> ModalResult<String> {
    preceded("::", identifier).map(str::to_owned).parse_next(input)
}

fn aggregate(input: &mut &str) -> ModalResult<Aggregate> {
    alt((
        "avg".value(Aggregate::Avg),
        "count".value(Aggregate::Count),
        "max".value(Aggregate::Max),
        "min".value(Aggregate::Min),
        "sum".value(Aggregate::Sum),
    ))
    .parse_next(input)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn one(text: &str) -> SelectItem {
        let mut items = select(text).unwrap();
        assert_eq!(items.len(), 1, "{items:?}");
        items.remove(0)
    }

    fn embed(text: &str) -> SelectEmbed {
        match one(text) {
            SelectItem::Embed(embed) => embed,
            other => panic!("{other:?}"),
        }
    }

    fn field(text: &str) -> SelectColumn {
        match one(text) {
            SelectItem::Column(column) => column,
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn columns_take_alias_cast_and_path() {
        let column = field("number:data->phones->-1->>no::text");
        assert_eq!(column.alias.as_deref(), Some("number"));
        assert_eq!(column.cast.as_deref(), Some("text"));
        assert_eq!(column.field.name, "data");
        assert_eq!(column.field.path.len(), 3);
        assert!(column.field.path[2].as_text);
        assert_eq!(field("a::text").cast.as_deref(), Some("text"));
        assert_eq!(field("\"with \\\"quotes\\\", and more\"").field.name, "with \"quotes\", and more");
        assert_eq!(field("naïve-Ünicode 列").field.name, "naïve-Ünicode 列");
    }

    #[test]
    fn embeds_take_alias_hint_and_join() {
        let found = embed("boss:people!manager_id!inner(id,dept:departments(*))");
        assert_eq!(found.alias.as_deref(), Some("boss"));
        assert_eq!(found.hint.as_deref(), Some("manager_id"));
        assert_eq!(found.join, Some(Join::Inner));
        assert_eq!(found.select.len(), 2);
        assert!(embed("...people!left(name)").spread);
        assert!(embed("people()").select.is_empty());
    }

    #[test]
    fn aggregates_are_distinguished_from_embeds() {
        assert_eq!(field("total:amount::int.sum()::text").aggregate, Some(Aggregate::Sum));
        assert_eq!(field("count()").aggregate, Some(Aggregate::Count));
        assert_eq!(field("count").aggregate, None);
        assert_eq!(one("*"), SelectItem::All);
        assert_eq!(field("\"*\"").field.name, "*");
    }

    #[test]
    fn an_empty_list_selects_nothing() {
        assert!(select("").unwrap().is_empty());
    }

    #[test]
    fn mistakes_are_placed() {
        for (text, column) in [("id,", 4), ("id,client(name", 15), ("a b(c[d])", 6), ("a,,b", 3)] {
            let message = select(text).unwrap_err().message().into_owned();
            assert!(message.contains(&format!("column {column})")), "{text}: {message}");
        }
    }

    #[test]
    fn depth_is_bounded() {
        let deep = format!("{}a{}", "a(".repeat(5000), ")".repeat(5000));
        let error = select(&deep).unwrap_err();
        assert_eq!(error.code(), "PGRST100");
        let fine = format!("{}a{}", "a(".repeat(60), ")".repeat(60));
        assert!(select(&fine).is_ok());
    }
}

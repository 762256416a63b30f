//! The tokens that all parts of the query string's grammar share, and the form of its errors.

use winnow::ascii::dec_int;
use winnow::combinator::{alt, cut_err, delimited, eof, not, opt, peek, preceded, repeat, separated};
use winnow::error::{ContextError, ErrMode, ParseError, StrContext, StrContextValue};
use winnow::prelude::*;
use winnow::token::{any, none_of, take_while};

use super::syntax::{Field, JsonOperand, JsonStep};
use crate::error::Error;

/// How deep embeds and logic groups may nest. Postgres itself gives up not much later (54001), and a bound here
/// keeps the parser's own stack small whatever a client sends.
pub(super) const MAX_DEPTH: usize = 64;

/// What is expected where a name must stand.
const FIELD_NAME: &str = "field name (* or [a..z0..9_$])";

/// Names what the grammar expects at this point, for the error's details.
pub(super) const fn expected(what: &'static str) -> StrContext {
    StrContext::Expected(StrContextValue::Description(what))
}

/// Runs `parser` over the whole of `text`; `what` names the parameter in the error's message.
///
/// Errors: `PGRST100` with the place and what stood there.
pub(super) fn parse_all<'i, T>(
    parser: impl Parser<&'i str, T, ErrMode<ContextError>>,
    what: &str,
    text: &'i str,
) -> Result<T, Error> {
    let mut parser = parser;
    parser.parse(text).map_err(|error| syntax_error(what, text, &error))
}

fn syntax_error(what: &str, text: &str, error: &ParseError<&str, ContextError>) -> Error {
    let before = text.get(..error.offset()).unwrap_or(text);
    let line = before.matches('\n').count() + 1;
    let column = before.chars().rev().take_while(|c| *c != '\n').count() + 1;
    let found = text.get(error.offset()..).and_then(|rest| rest.chars().next());
    let found = found.map_or_else(|| "end of input".to_owned(), |c| format!("{:?}", c.to_string()));
    let mut wanted: Vec<String> = Vec::new();
    for context in error.inner().context() {
        if let StrContext::Expected(value) = context {
            let value = match value {
                StrContextValue::CharLiteral(c) => format!("{:?}", c.to_string()),
                other => other.to_string(),
            };
            if !wanted.contains(&value) {
                wanted.push(value);
            }
        }
    }
    let details = match wanted.split_last() {
        None => format!("unexpected {found}"),
        Some((last, [])) => format!("unexpected {found} expecting {last}"),
        Some((last, rest)) => format!("unexpected {found} expecting {} or {last}", rest.join(", ")),
    };
    Error::Syntax {
        message: format!("\"failed to parse {what} ({text})\" (line {line}, column {column})"),
        details,
    }
}

/// Refuses to go deeper than [`MAX_DEPTH`].
pub(super) fn check_depth(depth: usize) -> ModalResult<()> {
    if depth <= MAX_DEPTH {
        return Ok(());
    }
    let mut error = ContextError::new();
    error.push(expected("at most 64 levels of nesting"));
    Err(ErrMode::Cut(error))
}

fn is_identifier_char(c: char) -> bool {
    c.is_alphabetic() || c.is_ascii_digit() || matches!(c, '_' | ' ' | '$')
}

/// Parses a bare identifier: letters of any script, digits, `_`, `$` and inner spaces; surrounding spaces do not count.
pub(super) fn identifier<'i>(input: &mut &'i str) -> ModalResult<&'i str> {
    take_while(1.., is_identifier_char).map(str::trim).verify(|name: &str| !name.is_empty()).parse_next(input)
}

/// Parses a hyphen that does not begin an arrow.
fn dash(input: &mut &str) -> ModalResult<()> {
    ('-', not('>')).void().parse_next(input)
}

/// Returns the name at the beginning of `input`, if it is complete and consists of ASCII letters, digits and `_` only:
/// nearly every name has this form, which is fast to check.
pub(super) fn plain_name(input: &str) -> Option<&str> {
    let end = input.bytes().position(|byte| !byte.is_ascii_alphanumeric() && byte != b'_');
    let (name, rest) = input.split_at_checked(end.unwrap_or(input.len()))?;
    let may_go_on = matches!(rest.bytes().next(), Some(b' ' | b'$' | b'-' | 0x80..));
    (!name.is_empty() && !may_go_on).then_some(name)
}

/// Parses the name of a column or relation: quoted, or identifiers joined by hyphens.
pub(super) fn field_name(input: &mut &str) -> ModalResult<String> {
    if let Some(name) = plain_name(input) {
        *input = &input[name.len()..];
        return Ok(name.to_owned());
    }
    let bare = separated(1.., identifier, dash).map(|parts: Vec<&str>| parts.join("-"));
    alt((quoted, bare)).context(expected(FIELD_NAME)).parse_next(input)
}

/// Parses a text in double quotes, in which a backslash takes the next character as it is.
pub(super) fn quoted(input: &mut &str) -> ModalResult<String> {
    let character = alt((preceded('\\', any), none_of(['\\', '"'])));
    delimited('"', repeat(0.., character), '"').parse_next(input)
}

/// Parses a field name and the JSON path that follows it.
pub(super) fn field(input: &mut &str) -> ModalResult<Field> {
    (lexeme(field_name), json_path).map(|(name, path)| Field { name, path }).parse_next(input)
}

/// Parses `->` and `->>` steps; none is fine.
pub(super) fn json_path(input: &mut &str) -> ModalResult<Vec<JsonStep>> {
    let arrow = alt(("->>".value(true), "->".value(false)));
    let step = (arrow, json_operand).map(|(as_text, operand)| JsonStep { as_text, operand });
    repeat(0.., step).parse_next(input)
}

fn json_operand(input: &mut &str) -> ModalResult<JsonOperand> {
    let end = alt(("->".void(), "::".void(), ".".void(), ",".void(), ")".void(), eof.void()));
    let index = (dec_int::<_, i32, _>, peek(end)).map(|(index, ())| JsonOperand::Index(index));
    let segment = take_while(1.., |c| !"(-:.,>)".contains(c)).map(str::trim);
    let bare = separated(1.., segment, dash).map(|parts: Vec<&str>| parts.join("-"));
    let key = alt((quoted, bare)).map(JsonOperand::Key);
    alt((index, key)).context(expected("any non reserved character different from: .,>()")).parse_next(input)
}

/// Returns `parser` with spaces and tabs allowed around it.
pub(super) fn lexeme<'i, T>(
    parser: impl Parser<&'i str, T, ErrMode<ContextError>>,
) -> impl Parser<&'i str, T, ErrMode<ContextError>> {
    delimited(spaces, parser, spaces)
}

/// Returns a parser of one `item` or more, with commas between them. After a comma there must be another item.
pub(super) fn comma_separated<'i, T>(
    mut item: impl Parser<&'i str, T, ErrMode<ContextError>>,
) -> impl FnMut(&mut &'i str) -> ModalResult<Vec<T>> {
    move |input| {
        let mut items = vec![item.parse_next(input)?];
        while opt(lexeme(',')).parse_next(input)?.is_some() {
            items.push(cut_err(item.by_ref()).parse_next(input)?);
        }
        Ok(items)
    }
}

fn spaces(input: &mut &str) -> ModalResult<()> {
    take_while(0.., [' ', '\t']).void().parse_next(input)
}

/// Parses the full stop between the parts of a filter.
pub(super) fn delimiter(input: &mut &str) -> ModalResult<()> {
    '.'.void().context(expected("delimiter (.)")).parse_next(input)
}

/// Parses `not.`, if it stands here.
pub(super) fn negation(input: &mut &str) -> ModalResult<bool> {
    opt("not.").map(|found| found.is_some()).parse_next(input)
}

/// Parses names joined by full stops: the embeds that lead to a field, and the field.
pub(super) fn field_path(input: &mut &str) -> ModalResult<(Vec<String>, Field)> {
    let (mut names, path): (Vec<String>, _) =
        (separated(1.., field_name, '.'), json_path).parse_next(input)?;
    let name = names.pop().unwrap_or_default();
    Ok((names, Field { name, path }))
}

/// Parses a list of column names: `columns=` and `on_conflict=`.
pub(super) fn columns(input: &mut &str) -> ModalResult<Vec<String>> {
    comma_separated(lexeme(field_name)).parse_next(input)
}

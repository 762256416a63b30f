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

/// Names the character that is not as expected, where it is not the one at the place of the error: of a word, it is the
/// first that differs.
pub(super) const fn found(c: char) -> StrContext {
    StrContext::Expected(StrContextValue::CharLiteral(c))
}

/// Returns the error at this point, with what was expected.
pub(super) fn refused(contexts: impl IntoIterator<Item = StrContext>) -> ErrMode<ContextError> {
    let mut error = ContextError::new();
    contexts.into_iter().for_each(|context| error.push(context));
    ErrMode::Cut(error)
}

/// Runs `parser` over the whole of `text`; `what` names the parameter in the error's message.
///
/// Errors: `PGRST100` with the place and what stood there.
pub(super) fn parse_all<'i, T>(
    parser: impl Parser<&'i str, T, ErrMode<ContextError>>,
    what: &str,
    text: &'i str,
) -> Result<T, Error> {
    parse_behind(0, parser, what, text)
}

/// Does what [`parse_all`] does for a text that upstream parses together with `width` characters before it: columns
/// count from there.
///
/// Errors: as [`parse_all`].
pub(super) fn parse_behind<'i, T>(
    width: usize,
    parser: impl Parser<&'i str, T, ErrMode<ContextError>>,
    what: &str,
    text: &'i str,
) -> Result<T, Error> {
    let mut parser = parser;
    parser.parse(text).map_err(|error| syntax_error(width, what, text, &error))
}

fn syntax_error(width: usize, what: &str, text: &str, error: &ParseError<&str, ContextError>) -> Error {
    let before = text.get(..error.offset()).unwrap_or(text);
    let line = before.matches('\n').count() + 1;
    let width = if line == 1 { width } else { 0 };
    let column = before.chars().rev().take_while(|c| *c != '\n').count() + 1 + width;
    let mut found = text.get(error.offset()..).and_then(|rest| rest.chars().next());
    let mut wanted: Vec<String> = Vec::new();
    for context in error.inner().context() {
        match context {
            StrContext::Expected(StrContextValue::CharLiteral(c)) => found = Some(*c),
            StrContext::Expected(value) if !wanted.contains(&value.to_string()) => {
                wanted.push(value.to_string());
            }
            _ => {}
        }
    }
    // Upstream's parser shows a character in the form of its language where the end would have been right, too.
    let could_end = wanted.last().is_some_and(|last| last.ends_with("end of input"));
    let found = match found {
        None => "end of input".to_owned(),
        Some(c) if could_end => format!("{c:?}"),
        Some(c) => format!("{:?}", c.to_string()),
    };
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
    Err(refused([expected("at most 64 levels of nesting")]))
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
    let step = (arrow, cut_err(json_operand)).map(|(as_text, operand)| JsonStep { as_text, operand });
    repeat(0.., step).parse_next(input)
}

fn json_operand(input: &mut &str) -> ModalResult<JsonOperand> {
    let mut end = peek(alt(("->".void(), "::".void(), ".".void(), ",".void(), ")".void(), eof.void())));
    if let Some(mut rest) = input.strip_prefix('-') {
        // Only an index begins with a hyphen.
        let digits = take_while::<_, _, ErrMode<ContextError>>(0.., |c: char| c.is_ascii_digit());
        let has_digits = digits.map(|digits: &str| !digits.is_empty()).parse_next(&mut rest)?;
        if !has_digits || end.parse_next(&mut rest).is_err() {
            *input = rest;
            let then: &[_] =
                if has_digits { &["\"->\"", "\"::\"", "\".\"", "\",\"", "end of input"] } else { &[] };
            return Err(refused(["digit"].iter().chain(then).map(|wanted| expected(wanted))));
        }
    }
    let index = (dec_int::<_, i32, _>, end).map(|(index, ())| JsonOperand::Index(index));
    let segment = take_while(1.., |c| !"(-:.,>)".contains(c)).map(str::trim);
    let bare = separated(1.., segment, dash).map(|parts: Vec<&str>| parts.join("-"));
    let key = alt((quoted, bare)).map(JsonOperand::Key);
    alt((index, key))
        .context(expected("\"-\""))
        .context(expected("digit"))
        .context(expected("any non reserved character different from: .,>()"))
        .parse_next(input)
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn mistakes_in_json_paths_are_placed_and_worded_as_upstream_does() {
        for (path, column, details) in [
            ("->(x", 3, "\"(\" expecting \"-\", digit or any non reserved character different from: .,>()"),
            ("->>-78xy", 7, "'x' expecting digit, \"->\", \"::\", \".\", \",\" or end of input"),
            ("->>--34", 5, "\"-\" expecting digit"),
            ("->>-xy-4", 5, "\"x\" expecting digit"),
        ] {
            let error = parse_all(json_path, "select parameter", path).unwrap_err();
            assert!(error.message().ends_with(&format!("(line 1, column {column})")), "{}", error.message());
            assert_eq!(error.details().unwrap(), format!("unexpected {details}"), "{path}");
        }
        let steps = parse_all(json_path, "select parameter", "->-1->>78xy->2").unwrap();
        assert_eq!(steps[0].operand, JsonOperand::Index(-1));
        assert_eq!(steps[1].operand, JsonOperand::Key("78xy".to_owned()));
    }
}

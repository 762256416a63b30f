//! Filters (`column=operator.value`) and logic trees (`or=(…)`).

use winnow::ascii::Caseless;
use winnow::combinator::{alt, cut_err, delimited, not, opt, peek, preceded, repeat, separated, terminated};
use winnow::error::{ContextError, ErrMode};
use winnow::prelude::*;
use winnow::token::{none_of, rest, take_while};

use super::grammar::{
    check_depth, comma_separated, delimiter, expected, field, field_path, identifier, lexeme, negation,
    parse_all, parse_behind, quoted, refused,
};
use super::syntax::{
    Filter, IsValue, Logic, LogicOperator, Operation, Operator, PathItem, Quantifier, TextSearchParser,
};
use crate::error::Error;

/// Parses `key=value` as a filter. What follows a closed list is passed over: stock clients quote values for `in`
/// without escaping the quotes in them, and upstream takes of such a list what it can read.
pub(super) fn filter(key: &str, value: &str) -> Result<PathItem<Filter>, Error> {
    let (path, field) = parse_all(field_path, "tree path", key)?;
    let (negated, operation) = parse_all(terminated(comparison(whole_value), rest), "filter", value)?;
    Ok(PathItem { path, item: Filter { field, negated, operation } })
}

/// Reports whether `value` begins as a comparison does that may still be wrong behind that, so that it is no argument
/// of a function even if it is no comparison.
pub(super) fn is_begun(value: &str) -> bool {
    ["not.", "in.", "is."].into_iter().any(|beginning| value.starts_with(beginning))
}

/// Parses `key=(…)` where `key` ends in `and` or `or`: `or`, `not.and`, `actors.or`, `actors.not.and`. What follows
/// the group is passed over as in a list.
pub(super) fn logic(key: &str, value: &str) -> Result<PathItem<Logic>, Error> {
    let (mut path, field) = parse_all(field_path, "logic path", key)?;
    let negated = path.iter().any(|name| name == "not");
    path.retain(|name| name != "not");
    let operator = if field.name == "and" { LogicOperator::And } else { LogicOperator::Or };
    let width = field.name.len() + if negated { "not.".len() } else { 0 };
    let members = parse_behind(width, terminated(members(1), rest), "logic tree", value)?;
    Ok(PathItem { path, item: Logic::Group { negated, operator, members } })
}

fn members<'i>(depth: usize) -> impl FnMut(&mut &'i str) -> ModalResult<Vec<Logic>> {
    move |input| {
        check_depth(depth)?;
        let open = lexeme('('.context(expected("\"(\"")));
        let close = lexeme(')'.context(expected("\",\" or \")\"")));
        delimited(open, comma_separated(lexeme(tree(depth))), close).parse_next(input)
    }
}

fn tree<'i>(depth: usize) -> impl FnMut(&mut &'i str) -> ModalResult<Logic> {
    move |input| {
        if let Some((negated, operator)) = opt(group_head).parse_next(input)? {
            // Only a group has a parenthesis here: what is wrong from here on is wrong inside it.
            let members = cut_err(members(depth + 1)).parse_next(input)?;
            return Ok(Logic::Group { negated, operator, members });
        }
        let start = *input;
        let field =
            field.context(expected("negation operator (not)")).context(expected("logic operator (and, or)"));
        let filter = (field, delimiter, cut_err(comparison(member_value))).parse_next(input);
        let (field, (), (negated, operation)) = filter.map_err(|error| mistake(input, start, error))?;
        Ok(Logic::Filter(Filter { field, negated, operation }))
    }
}

/// Returns the error of a member that begins at `start` and is no filter, because of `error`: what begins as a group is
/// wrong where the group is.
fn mistake<'i>(input: &mut &'i str, start: &'i str, error: ErrMode<ContextError>) -> ErrMode<ContextError> {
    let rest = start.strip_prefix("not.");
    let (is_negated, rest) = (rest.is_some(), rest.unwrap_or(start));
    match rest.strip_prefix("and").or_else(|| rest.strip_prefix("or")) {
        Some(rest) => {
            *input = rest.trim_start_matches([' ', '\t']);
            refused([expected("\"(\"")])
        }
        None if is_negated => {
            *input = rest;
            refused([expected("logic operator (and, or)")])
        }
        None => error,
    }
}

fn group_head(input: &mut &str) -> ModalResult<(bool, LogicOperator)> {
    let operator = alt(("and".value(LogicOperator::And), "or".value(LogicOperator::Or)));
    terminated((negation, operator), peek(lexeme('('))).parse_next(input)
}

/// Returns a parser of `not.operator.value`, in which `value` parses as far as a value reaches.
fn comparison<'i>(
    value: fn(&mut &'i str) -> ModalResult<String>,
) -> impl FnMut(&mut &'i str) -> ModalResult<(bool, Operation)> {
    move |input| {
        let negated = negation.parse_next(input)?;
        let expectation =
            if negated { "operator (eq, gt, ...)" } else { "\"not\" or operator (eq, gt, ...)" };
        let mut operation = alt((compare(value), is_in, is, is_distinct(value), text_search(value)));
        match operation.parse_next(input) {
            Ok(operation) => Ok((negated, operation)),
            Err(ErrMode::Backtrack(mut error)) => {
                error.push(expected(expectation));
                Err(ErrMode::Backtrack(error))
            }
            // What is wrong behind an operator is not that there should be another one.
            Err(error) => Err(error),
        }
    }
}

fn is_in(input: &mut &str) -> ModalResult<Operation> {
    preceded("in.", cut_err(list)).map(Operation::In).parse_next(input)
}

fn is(input: &mut &str) -> ModalResult<Operation> {
    let value = alt((
        Caseless("not_null").value(IsValue::NotNull),
        Caseless("null").value(IsValue::Null),
        Caseless("true").value(IsValue::True),
        Caseless("false").value(IsValue::False),
        Caseless("unknown").value(IsValue::Unknown),
    ))
    .context(expected("isVal: (null, not_null, true, false, unknown)"));
    preceded("is.", cut_err(value)).map(Operation::Is).parse_next(input)
}

fn is_distinct<'i>(
    value: fn(&mut &'i str) -> ModalResult<String>,
) -> impl Parser<&'i str, Operation, ErrMode<ContextError>> {
    preceded("isdistinct.", value).map(Operation::IsDistinctFrom)
}

fn text_search<'i>(
    value: fn(&mut &'i str) -> ModalResult<String>,
) -> impl Parser<&'i str, Operation, ErrMode<ContextError>> {
    let parser = alt((
        "fts".value(TextSearchParser::Raw),
        "plfts".value(TextSearchParser::Plain),
        "phfts".value(TextSearchParser::Phrase),
        "wfts".value(TextSearchParser::WebSearch),
    ));
    let language = opt(delimited('(', identifier, ')').map(str::to_owned));
    (parser, terminated(language, '.'), value).map(|(parser, language, query)| Operation::TextSearch {
        parser,
        language,
        query,
    })
}

fn compare<'i>(
    value: fn(&mut &'i str) -> ModalResult<String>,
) -> impl Parser<&'i str, Operation, ErrMode<ContextError>> {
    let quantifier = alt(("any".value(Quantifier::Any), "all".value(Quantifier::All)));
    let quantified = (quantifiable, opt(delimited('(', quantifier, ')')));
    let plain = operator.map(|operator| (operator, None));
    (terminated(alt((quantified, plain)), '.'), value)
        .map(|((operator, quantifier), value)| Operation::Compare { operator, quantifier, value })
}

/// Parses an operator that takes `(any)` and `(all)`. A name that begins another stands after it.
fn quantifiable(input: &mut &str) -> ModalResult<Operator> {
    alt((
        "eq".value(Operator::Equal),
        "gte".value(Operator::GreaterOrEqual),
        "gt".value(Operator::Greater),
        "lte".value(Operator::LessOrEqual),
        "lt".value(Operator::Less),
        "like".value(Operator::Like),
        "ilike".value(Operator::ILike),
        "match".value(Operator::Match),
        "imatch".value(Operator::IMatch),
    ))
    .parse_next(input)
}

fn operator(input: &mut &str) -> ModalResult<Operator> {
    alt((
        "neq".value(Operator::NotEqual),
        "cs".value(Operator::Contains),
        "cd".value(Operator::ContainedIn),
        "ov".value(Operator::Overlaps),
        "sl".value(Operator::StrictlyLeft),
        "sr".value(Operator::StrictlyRight),
        "nxr".value(Operator::NotExtendsRight),
        "nxl".value(Operator::NotExtendsLeft),
        "adj".value(Operator::Adjacent),
    ))
    .parse_next(input)
}

/// Parses a value that reaches to the end of the parameter.
fn whole_value(input: &mut &str) -> ModalResult<String> {
    rest.map(str::to_owned).parse_next(input)
}

/// Parses a value inside a logic tree: quoted, an array, or everything up to a comma or parenthesis.
fn member_value(input: &mut &str) -> ModalResult<String> {
    let array = ('{', take_while(0.., |c| c != '{' && c != '}'), '}').take().map(str::to_owned);
    alt((closed_quote, array, bare_value)).parse_next(input)
}

fn list(input: &mut &str) -> ModalResult<Vec<String>> {
    let open = lexeme('('.context(expected("\"(\"")));
    let close = lexeme(')'.context(expected("\",\" or \")\"")));
    delimited(open, separated(1.., alt((closed_quote, bare_value)), ','), close).parse_next(input)
}

/// Parses a quoted text that is the whole element: text after the closing quote makes the quotes part of the value.
fn closed_quote(input: &mut &str) -> ModalResult<String> {
    terminated(quoted, not(none_of([',', ')']))).parse_next(input)
}

fn bare_value(input: &mut &str) -> ModalResult<String> {
    repeat(0.., none_of([',', ')'])).parse_next(input)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn operation(value: &str) -> Operation {
        filter("a", value).unwrap().item.operation
    }

    fn compared(operator: Operator, value: &str) -> Operation {
        Operation::Compare { operator, quantifier: None, value: value.to_owned() }
    }

    #[test]
    fn every_operator_is_known() {
        for (name, operator) in [
            ("eq", Operator::Equal),
            ("neq", Operator::NotEqual),
            ("gt", Operator::Greater),
            ("gte", Operator::GreaterOrEqual),
            ("lt", Operator::Less),
            ("lte", Operator::LessOrEqual),
            ("like", Operator::Like),
            ("ilike", Operator::ILike),
            ("match", Operator::Match),
            ("imatch", Operator::IMatch),
            ("cs", Operator::Contains),
            ("cd", Operator::ContainedIn),
            ("ov", Operator::Overlaps),
            ("sl", Operator::StrictlyLeft),
            ("sr", Operator::StrictlyRight),
            ("nxr", Operator::NotExtendsRight),
            ("nxl", Operator::NotExtendsLeft),
            ("adj", Operator::Adjacent),
        ] {
            assert_eq!(operation(&format!("{name}.x.(y),z")), compared(operator, "x.(y),z"), "{name}");
        }
        assert!(filter("a", "not.eq.1").unwrap().item.negated);
    }

    #[test]
    fn any_and_all_belong_to_some_operators() {
        let found = operation("like(any).{a*,b*}");
        assert!(matches!(found, Operation::Compare { quantifier: Some(Quantifier::Any), .. }), "{found:?}");
        assert!(filter("a", "neq(any).{1}").is_err());
    }

    #[test]
    fn lists_take_quoted_elements() {
        let elements = |value| match operation(value) {
            Operation::In(elements) => elements,
            other => panic!("{other:?}"),
        };
        assert_eq!(elements(r#"in.(1,"a,b","c\"d\\",)"#), ["1", "a,b", "c\"d\\", ""]);
        assert_eq!(elements("in.()"), [""]);
        assert_eq!(elements(r#"in.("a"b)"#), ["\"a\"b"]);
        assert_eq!(elements(r#"in.(a,"b "c" (d)")"#), ["a", "\"b \"c\" (d"]);
    }

    #[test]
    fn is_takes_its_five_values_in_any_case() {
        assert_eq!(operation("is.NULL"), Operation::Is(IsValue::Null));
        assert_eq!(operation("is.Not_Null"), Operation::Is(IsValue::NotNull));
        assert_eq!(operation("is.unknown"), Operation::Is(IsValue::Unknown));
        let error = filter("a", "is.5").unwrap_err();
        assert!(error.details().unwrap().to_string().contains("isVal"), "{error:?}");
    }

    #[test]
    fn text_search_takes_a_language() {
        let found = operation("wfts(english).cat or rat");
        assert!(
            matches!(found, Operation::TextSearch { parser: TextSearchParser::WebSearch, .. }),
            "{found:?}"
        );
        assert!(matches!(operation("fts.cat"), Operation::TextSearch { language: None, .. }));
    }

    #[test]
    fn logic_trees_nest() {
        let found = logic("actors.not.or", "(a.eq.1,not.and(b.in.(1,2),c->>d.not.is.null))").unwrap();
        assert_eq!(found.path, ["actors"]);
        let Logic::Group { negated: true, operator: LogicOperator::Or, members } = found.item else {
            panic!()
        };
        assert_eq!(members.len(), 2);
        let Logic::Group { negated: true, operator: LogicOperator::And, members } = &members[1] else {
            panic!()
        };
        assert_eq!(members.len(), 2);
        let array = logic("and", "(tags.cs.{a,b},name.eq.\"x,(y)\")").unwrap();
        let Logic::Group { members, .. } = array.item else { panic!() };
        let Logic::Filter(Filter { operation, .. }) = &members[1] else { panic!() };
        assert_eq!(*operation, compared(Operator::Equal, "x,(y)"));
    }

    #[test]
    fn columns_may_be_called_like_operators() {
        let found = logic("or", "(or.eq.1,and.eq.2,not.eq.3)").unwrap();
        let Logic::Group { members, .. } = found.item else { panic!() };
        assert!(members.iter().all(|member| matches!(member, Logic::Filter(_))), "{members:?}");
    }

    #[test]
    fn mistakes_name_what_was_expected() {
        let error = filter("a", "foo.1").unwrap_err();
        assert_eq!(error.message(), "\"failed to parse filter (foo.1)\" (line 1, column 1)");
        assert_eq!(error.details().unwrap(), "unexpected \"f\" expecting \"not\" or operator (eq, gt, ...)");
        assert!(logic("or", "(a.eq.1").is_err());
        assert!(logic("or", "a.eq.1").is_err());
    }

    #[test]
    fn mistakes_in_groups_are_placed_and_worded_as_upstream_does() {
        let member = "field name (* or [a..z0..9_$]), negation operator (not) or logic operator (and, or)";
        for (key, value, column, found, wanted) in [
            ("or", "()", 4, ")", member),
            ("not.or", "()", 8, ")", member),
            ("or", "(id.in.1,2,id.eq.3)", 10, "1", "\"(\""),
            ("or", ")(", 3, ")", "\"(\""),
            ("and", "(ord(id.eq.1,id.eq.1),id.eq.2)", 7, "d", "\"(\""),
            ("or", "(id.eq.1,not.xor(id.eq.2,id.eq.3))", 16, "x", "logic operator (and, or)"),
        ] {
            let error = logic(key, value).unwrap_err();
            assert!(error.message().ends_with(&format!("(line 1, column {column})")), "{}", error.message());
            assert_eq!(
                error.details().unwrap(),
                format!("unexpected {found:?} expecting {wanted}"),
                "{value}"
            );
        }
    }

    #[test]
    fn depth_is_bounded() {
        let deep = format!("({}a.eq.1{})", "and(".repeat(1000), ")".repeat(1000));
        assert_eq!(logic("or", &deep).unwrap_err().code(), "PGRST100");
        let fine = format!("({}a.eq.1{})", "and(".repeat(60), ")".repeat(60));
        assert!(logic("or", &fine).is_ok());
    }
}

//! Columns and conditions.

use std::borrow::Cow;

use super::read::exists;
use super::sql::Sql;
use crate::array;
use crate::plan::{Column, Condition, Node};
use crate::request::syntax::{
    IsValue, JsonOperand, LogicOperator, Operation, Operator, Quantifier, TextSearchParser,
};

/// Type names of the SQL standard whose quoting would change their meaning: `"int"` is no type, `int` is.
/// Source: PostgreSQL documentation, table 8.1.
const STANDARD_TYPES: &[&str] = &[
    "bigint",
    "bit",
    "bit varying",
    "boolean",
    "char",
    "character",
    "character varying",
    "dec",
    "decimal",
    "double precision",
    "float",
    "int",
    "integer",
    "interval",
    "national character",
    "nchar",
    "numeric",
    "real",
    "smallint",
    "time",
    "time with time zone",
    "time without time zone",
    "timestamp",
    "timestamp with time zone",
    "timestamp without time zone",
    "varchar",
];

/// Writes `column` of what `alias` names, with its JSON path.
pub(super) fn column(sql: &mut Sql<'_>, alias: &str, column: &Column) {
    if let Some(format) = &column.format {
        sql.push(format).push("(").qualified(alias, &column.name).push(")");
        return;
    }
    if column.to_json {
        sql.push("to_jsonb(");
    }
    sql.identifier(alias).push(".");
    if column.is_all {
        sql.push("*");
    } else {
        sql.identifier(&column.name);
    }
    if column.to_json {
        sql.push(")");
    }
    for step in &column.path {
        sql.push(if step.as_text { " ->> " } else { " -> " });
        match &step.operand {
            JsonOperand::Key(key) => sql.literal(key),
            JsonOperand::Index(index) => sql.number(i64::from(*index)),
        };
    }
}

/// Writes a type that a client named. Upper and lower case mean the same, as without quotes.
pub(super) fn type_name(sql: &mut Sql<'_>, name: &str) {
    let name = name.to_lowercase();
    if STANDARD_TYPES.contains(&name.as_str()) {
        sql.push(&name);
    } else {
        sql.identifier(&name);
    }
}

/// Writes what rows of `node` must satisfy; its columns are qualified with `alias`.
pub(super) fn condition<'p>(sql: &mut Sql<'p>, node: &'p Node, alias: &str, condition: &'p Condition) {
    match condition {
        Condition::Filter { column, negated, operation } => {
            filter(sql, alias, column, *negated, operation);
        }
        Condition::Group { negated, operator, members } => {
            let joint = match operator {
                LogicOperator::And => " AND ",
                LogicOperator::Or => " OR ",
            };
            sql.push(if *negated { "NOT (" } else { "(" });
            sql.separated(members, joint, |sql, member| self::condition(sql, node, alias, member)).push(")");
        }
        Condition::Embedded { embed, negated } => {
            if *negated {
                sql.push("NOT ");
            }
            exists(sql, node, &node.embeds[*embed]);
        }
    }
}

fn filter<'p>(sql: &mut Sql<'p>, alias: &str, left: &Column, negated: bool, operation: &'p Operation) {
    if negated {
        sql.push("NOT ");
    }
    if let Operation::TextSearch { parser, language, query } = operation {
        text_search(sql, alias, left, (*parser, language.as_deref(), query));
        return;
    }
    column(sql, alias, left);
    match operation {
        Operation::Compare { operator, quantifier, value } => {
            let value = match operator {
                Operator::Like | Operator::ILike => Cow::Owned(value.replace('*', "%").into_bytes()),
                _ => Cow::Borrowed(value.as_bytes()),
            };
            sql.push(" ").push(operator_text(*operator)).push(" ");
            // A pattern is no value of the domain.
            let is_pattern = matches!(operator, Operator::Like | Operator::ILike);
            let parse = left.parse.as_deref().filter(|_| !is_pattern);
            match quantifier {
                None => parsed_value(sql, parse, value),
                Some(Quantifier::Any) => any_element(sql.push("ANY ("), parse, value),
                Some(Quantifier::All) => any_element(sql.push("ALL ("), parse, value),
            }
        }
        Operation::In(values) => {
            // An array is one parameter for any number of values, so the statement stays the same.
            let values = Cow::Owned(array_literal(values));
            any_element(sql.push(" = ANY ("), left.parse.as_deref(), values);
        }
        Operation::Is(value) => {
            sql.push(match value {
                IsValue::Null => " IS NULL",
                IsValue::NotNull => " IS NOT NULL",
                IsValue::True => " IS TRUE",
                IsValue::False => " IS FALSE",
                IsValue::Unknown => " IS UNKNOWN",
            });
        }
        Operation::IsDistinctFrom(value) => {
            parsed_value(
                sql.push(" IS DISTINCT FROM "),
                left.parse.as_deref(),
                Cow::Borrowed(value.as_bytes()),
            );
        }
        Operation::TextSearch { .. } => {}
    }
}

/// Writes `value`, as `parse` reads it.
fn parsed_value<'p>(sql: &mut Sql<'p>, parse: Option<&str>, value: Cow<'p, [u8]>) {
    match parse {
        None => sql.parameter(Some(value)),
        Some(parse) => sql.push(parse).push("(").parameter(Some(value)).push("::text)"),
    };
}

/// Writes the elements of the array `values`, as `parse` reads each, and the end of what they are enclosed in.
fn any_element<'p>(sql: &mut Sql<'p>, parse: Option<&str>, values: Cow<'p, [u8]>) {
    match parse {
        None => sql.parameter(Some(values)).push(")"),
        Some(parse) => sql
            .push("SELECT ")
            .push(parse)
            .push("(pgrst_value) FROM unnest(")
            .parameter(Some(values))
            .push("::text[]) AS pgrst_value)"),
    };
}

fn text_search<'p>(
    sql: &mut Sql<'p>,
    alias: &str,
    left: &Column,
    (parser, language, query): (TextSearchParser, Option<&str>, &'p str),
) {
    let configuration = |sql: &mut Sql<'p>| {
        if let Some(language) = language {
            sql.literal(language).push(", ");
        }
    };
    if left.is_searched_text {
        sql.push("to_tsvector(");
        configuration(sql);
        column(sql, alias, left);
        sql.push(")");
    } else {
        column(sql, alias, left);
    }
    sql.push(match parser {
        TextSearchParser::Raw => " @@ to_tsquery(",
        TextSearchParser::Plain => " @@ plainto_tsquery(",
        TextSearchParser::Phrase => " @@ phraseto_tsquery(",
        TextSearchParser::WebSearch => " @@ websearch_to_tsquery(",
    });
    configuration(sql);
    sql.parameter(Some(query.as_bytes())).push(")");
}

const fn operator_text(operator: Operator) -> &'static str {
    match operator {
        Operator::Equal => "=",
        Operator::NotEqual => "<>",
        Operator::Greater => ">",
        Operator::GreaterOrEqual => ">=",
        Operator::Less => "<",
        Operator::LessOrEqual => "<=",
        Operator::Like => "LIKE",
        Operator::ILike => "ILIKE",
        Operator::Match => "~",
        Operator::IMatch => "~*",
        Operator::Contains => "@>",
        Operator::ContainedIn => "<@",
        Operator::Overlaps => "&&",
        Operator::StrictlyLeft => "<<",
        Operator::StrictlyRight => ">>",
        Operator::NotExtendsRight => "&<",
        Operator::NotExtendsLeft => "&>",
        Operator::Adjacent => "-|-",
    }
}

/// Returns `values` in the text form of a Postgres array; a single empty value stands for none.
fn array_literal(values: &[String]) -> Vec<u8> {
    if values == [""] { b"{}".to_vec() } else { array::encode(values) }
}

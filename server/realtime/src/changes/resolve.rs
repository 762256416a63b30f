//! What a binding means for the tables that there are now, for one role.

use std::sync::Arc;

use database::{Database, Transaction, text};

use super::binding::{Binding, InvalidSelect, Kind};
use super::filter::{self, Comparison, Condition, Test, Truth};
use super::questions::{PATTERN_LIMIT, is_slow, is_temporary, is_temporary_code};
use super::table::{self, Table};
use crate::token::Access;

/// A binding to one table.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Target {
    pub(crate) table: u32,
    pub(crate) id: u32,
    /// `None` for every kind.
    pub(crate) kind: Option<Kind>,
    /// All have to hold.
    pub(crate) filter: Arc<[Condition]>,
    /// The columns that the client wants beside the primary key; `None` for all.
    pub(crate) select: Option<Arc<[String]>>,
}

/// Why a channel cannot be subscribed.
#[derive(Debug)]
pub(crate) enum Failure {
    /// What the client asks for is not possible. The message is for it.
    Refused(String),
    /// The database cannot tell now.
    Database(database::Error),
}

impl From<database::Error> for Failure {
    fn from(error: database::Error) -> Self {
        Self::Database(error)
    }
}

const UNABLE: &str = "Unable to subscribe to changes with given parameters.";

/// Returns what `binding` means for the holder of `access`: at least one target.
///
/// Errors: [`Failure`].
pub(crate) async fn resolve(
    database: &Database,
    access: &Access,
    binding: &Binding,
) -> Result<Vec<Target>, Failure> {
    let refused = |message: String| Err(Failure::Refused(message));
    let exception = |what: &str| {
        let described = binding.describe();
        Failure::Refused(format!(
            "{UNABLE} An exception happened so please check your connect parameters: {described}. Exception: {what}"
        ))
    };
    let table_name = binding.table.as_deref().filter(|table| *table != "*");
    let select = match &binding.select {
        None => None,
        Some(Err(InvalidSelect)) => {
            return refused("Error parsing `select` params: it must be a list of column names".to_owned());
        }
        Some(Ok(_))
            if table_name.is_none() || binding.schema.as_deref().is_none_or(|schema| schema == "*") =>
        {
            return refused(
                "Column selection is not supported for wildcard subscriptions. Please provide both a schema and a table"
                    .to_owned(),
            );
        }
        Some(Ok(columns)) => Some(columns),
    };
    if binding.schema.is_none()
        && binding.table.is_none()
        && binding.filter.is_none()
        && binding.kind.is_none()
    {
        return refused(
            "No subscription params provided. Please provide at least a `schema` or `table` to subscribe to"
                .to_owned(),
        );
    }
    let conditions = match binding.filter.as_deref().map_or(Ok(Vec::new()), filter::parse) {
        Ok(conditions) => conditions,
        Err(error @ filter::FilterError::Syntax(_)) => return refused(error.to_string()),
        Err(error) => return Err(exception(&format!("ERROR P0001 (raise_exception) {error}"))),
    };
    let schema = binding.schema.as_deref().unwrap_or("public");
    let tables = table::published(database, schema, table_name).await?;
    let mut targets = Vec::with_capacity(tables.len());
    for oid in tables {
        let Some(table) = table::load(database, oid).await? else { continue };
        let rights = match table::rights(database, access.role(), oid).await {
            Err(error) if !is_temporary(&error) => return Err(exception(&error.to_string())),
            rights => rights?,
        };
        let is_visible =
            |name: &str| table.column(name).is_some() && rights.columns.iter().any(|column| column == name);
        let raised = |what: String| exception(&format!("ERROR P0001 (raise_exception) {what}"));
        for column in select.into_iter().flatten() {
            if !is_visible(column) {
                return Err(raised(format!("invalid column for select {column}")));
            }
        }
        let mut filter = Vec::with_capacity(conditions.len());
        for condition in &conditions {
            if !is_visible(&condition.column) {
                return Err(raised(format!("invalid column for filter {}", condition.column)));
            }
            // It would never be passed.
            if table.column(&condition.column).is_some_and(|column| !column.is_streamed) {
                let reason = "it is generated, and Postgres tells of such values from version 18 on";
                return Err(raised(format!("invalid column for filter {}: {reason}", condition.column)));
            }
            let checked = check(database, &table, condition.clone()).await?;
            filter.push(checked.map_err(|what| match what.strip_prefix("ERROR") {
                Some(_) => exception(&what),
                None => raised(what),
            })?);
        }
        targets.push(Target {
            table: oid,
            id: binding.id,
            kind: binding.kind,
            filter: filter.into(),
            select: select.map(|columns| columns.as_slice().into()),
        });
    }
    if targets.is_empty() {
        return refused(format!(
            "{UNABLE} Please check Realtime is enabled for the given connect parameters: {}",
            binding.describe()
        ));
    }
    Ok(targets)
}

/// Tries `condition` on the column's type, and returns it with values as the type writes them.
///
/// Errors: those of the database; inside, what is wrong with the condition.
async fn check(
    database: &Database,
    table: &Table,
    mut condition: Condition,
) -> Result<Result<Condition, String>, database::Error> {
    let Some(column) = table.column(&condition.column) else {
        return Ok(Err(format!("invalid column for filter {}", condition.column)));
    };
    let (sql_type, shown) = (&column.sql_type, &column.display_type);
    let mut values: Vec<String> = match &condition.test {
        Test::Compare(_, value) | Test::IsDistinct(value) => vec![value.clone()],
        Test::In(values) => values.clone(),
        Test::Is(truth) => {
            let is_fine = *truth == Truth::Null || column.type_name == "bool";
            let word = truth.word();
            return Ok(if is_fine {
                Ok(condition)
            } else {
                Err(format!("is {word} filter requires a boolean column, got {shown}"))
            });
        }
    };
    let pattern = condition.pattern();
    if let Some((comparison, name)) = pattern
        && let Some(refusal) = values.iter().find_map(|value| refuse_pattern(comparison, name, value))
    {
        return Ok(Err(refusal));
    }
    let (sql, limit) = match pattern {
        Some((comparison, _)) => {
            let (null, operator) = (column.value("null"), comparison.operator());
            (format!("select $1::text, {null} {operator} $1::text, '' {operator} $1::text"), PATTERN_LIMIT)
        }
        None => {
            let operator = match &condition.test {
                Test::Compare(comparison, _) => comparison.operator(),
                _ => Comparison::Eq.operator(),
            };
            let sql =
                format!("select ($1::{sql_type})::text, {} {operator} $1::{sql_type}", column.value("null"));
            (sql, table::TIME_LIMIT)
        }
    };
    for value in &mut values {
        let statement = Transaction::anonymous().read_only().on_primary().timeout(limit);
        match database.run(&statement.statement(sql.as_str(), vec![text(value)])).await {
            Ok(answer) => {
                let canonical = answer.row().and_then(|row| row.text(0));
                if let Some(canonical) = canonical.map(str::to_owned) {
                    *value = canonical;
                }
            }
            Err(error) if pattern.is_some() && is_slow(&error) => {
                return Ok(Err("the pattern takes too long".to_owned()));
            }
            Err(database::Error::Postgres(error)) if !is_temporary_code(&error.code) => {
                return Ok(Err(match (pattern, &*error.code) {
                    (Some((_, name)), "42883") => {
                        format!("operator {name} requires a text-compatible column type, got {shown}")
                    }
                    (Some((_, name)), "2201B") => invalid_expression(name, &error.message),
                    (_, code) => format!("ERROR {code} ({}) {}", condition_name(code), error.message),
                }));
            }
            Err(error) => return Err(error),
        }
    }
    let mut values = values.into_iter();
    match &mut condition.test {
        Test::Compare(_, value) | Test::IsDistinct(value) => *value = values.next().unwrap_or_default(),
        Test::In(list) => *list = values.collect(),
        Test::Is(_) => {}
    }
    Ok(Ok(condition))
}

/// Returns why a pattern is not accepted although some rows could be compared with it: there is none, or others could not.
fn refuse_pattern(comparison: Comparison, name: &str, pattern: &str) -> Option<String> {
    match comparison {
        Comparison::Like | Comparison::Ilike => {
            let escapes = pattern.chars().rev().take_while(|character| *character == '\\').count();
            let message =
                "ERROR 22025 (invalid_escape_sequence) LIKE pattern must not end with escape character";
            (escapes % 2 == 1).then(|| message.to_owned())
        }
        // The time that these take has no bound.
        _ => {
            has_back_reference(pattern).then(|| invalid_expression(name, "back-references are not supported"))
        }
    }
}

/// Reports whether a regular expression refers to what an earlier part of it has matched.
fn has_back_reference(expression: &str) -> bool {
    let mut characters = expression.chars();
    while let Some(character) = characters.next() {
        if character == '\\' && characters.next().is_some_and(|escaped| ('1'..='9').contains(&escaped)) {
            return true;
        }
    }
    false
}

fn invalid_expression(name: &str, reason: &str) -> String {
    format!("invalid regular expression for {name} filter: {reason}")
}

/// Returns what Postgres calls the errors that values of filters cause. Source: PostgreSQL documentation, appendix A.
fn condition_name(code: &str) -> &'static str {
    match code {
        "22P02" => "invalid_text_representation",
        "22007" => "invalid_datetime_format",
        "22008" => "datetime_field_overflow",
        "22003" => "numeric_value_out_of_range",
        "22001" => "string_data_right_truncation",
        "42883" => "undefined_function",
        _ => "data_exception",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patterns_that_could_stop_the_feed_are_refused() {
        for (comparison, pattern, is_refused) in [
            (Comparison::Like, r"\", true),
            (Comparison::Ilike, r"a\\\", true),
            (Comparison::Like, r"a\\", false),
            (Comparison::Match, r"(a)\1", true),
            (Comparison::Imatch, r"\\1\d", false),
            (Comparison::Match, r"\", false),
        ] {
            assert_eq!(refuse_pattern(comparison, "x", pattern).is_some(), is_refused, "{pattern}");
        }
    }
}

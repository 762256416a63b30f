//! The resolution of a binding to the tables that exist now, for one role.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use postgres::{Database, Transaction, text};

use super::binding::{Binding, InvalidSelect};
use super::filter::{self, Comparison, Condition, FilterError, IsValue, Test};
use super::queries::{PATTERN_LIMIT, is_slow, is_temporary, is_temporary_code};
use super::table::{self, Column, RoleRights, Table};
use crate::row::Kind;
use crate::token::Access;

/// A binding to one table.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Target {
    pub(crate) table: u32,
    pub(crate) id: u32,
    /// `None` for every kind.
    pub(crate) kind: Option<Kind>,
    /// Conditions that all have to hold.
    pub(crate) filter: Arc<[Condition]>,
    /// The columns that the client wants in addition to the primary key; `None` for all.
    pub(crate) select: Option<Arc<[String]>>,
}

/// The reason why a channel cannot be subscribed.
#[derive(Debug)]
pub(crate) enum Failure {
    /// The binding is not possible. The message is for the client.
    Refused(String),
    /// The query of the database failed.
    Database(postgres::Error),
}

impl From<postgres::Error> for Failure {
    fn from(error: postgres::Error) -> Self {
        Self::Database(error)
    }
}

const UNABLE: &str = "Unable to subscribe to changes with given parameters.";

/// Returns the targets of `bindings` for the holder of `access`: at least one of each.
///
/// Errors: [`Failure`].
pub(crate) async fn resolve(
    database: &Database,
    access: &Access,
    bindings: &[Binding],
) -> Result<Vec<Target>, Failure> {
    let mut resolver = Resolver { database, access, published: HashMap::new(), tables: HashMap::new() };
    let mut targets = Vec::with_capacity(bindings.len());
    for binding in bindings {
        targets.extend(resolver.targets(binding).await?);
    }
    Ok(targets)
}

/// Resolves the bindings of one subscription. It reads each table once, however many of the bindings name it.
struct Resolver<'a> {
    database: &'a Database,
    access: &'a Access,
    /// The published tables by the schema and table of a binding.
    published: HashMap<(&'a str, Option<&'a str>), Vec<u32>>,
    /// Tables that exist, by OID, and the caller's rights to them.
    tables: HashMap<u32, Arc<(Table, RoleRights)>>,
}

impl<'a> Resolver<'a> {
    async fn targets(&mut self, binding: &'a Binding) -> Result<Vec<Target>, Failure> {
        let select = selected_columns(binding)?;
        let conditions = conditions(binding)?;
        let tables = self.published(binding).await?;
        let mut targets = Vec::with_capacity(tables.len());
        for oid in tables {
            let Some(known) = self.table(binding, oid).await? else { continue };
            let (table, rights) = &*known;
            let is_visible = |name: &str| {
                table.column(name).is_some() && rights.columns.iter().any(|column| column == name)
            };
            if let Some(column) = select.into_iter().flatten().find(|column| !is_visible(column.as_str())) {
                return Err(exception(binding, &raised(&format!("invalid column for select {column}"))));
            }
            let mut filter = Vec::with_capacity(conditions.len());
            for condition in &conditions {
                let checked = if is_visible(&condition.column) {
                    check(self.database, table, condition.clone()).await
                } else {
                    Err(Failure::Refused(raised(&format!("invalid column for filter {}", condition.column))))
                };
                filter.push(checked.map_err(|failure| match failure {
                    Failure::Refused(what) => exception(binding, &what),
                    failure @ Failure::Database(_) => failure,
                })?);
            }
            targets.push(Target {
                table: oid,
                id: binding.id,
                kind: binding.kind,
                filter: filter.into(),
                select: select.map(Into::into),
            });
        }
        if targets.is_empty() {
            return Err(Failure::Refused(format!(
                "{UNABLE} Please check Realtime is enabled for the given connect parameters: {}",
                binding.describe()
            )));
        }
        Ok(targets)
    }

    /// Returns the OIDs of the published tables that `binding` names.
    async fn published(&mut self, binding: &'a Binding) -> Result<Vec<u32>, postgres::Error> {
        let names = (binding.schema.as_deref().unwrap_or("public"), table_name(binding));
        if let Some(known) = self.published.get(&names) {
            return Ok(known.clone());
        }
        let found = table::published(self.database, names.0, names.1).await?;
        self.published.insert(names, found.clone());
        Ok(found)
    }

    /// Returns a table and the caller's rights to it, for `binding`; `None` if the table is gone.
    async fn table(
        &mut self,
        binding: &Binding,
        oid: u32,
    ) -> Result<Option<Arc<(Table, RoleRights)>>, Failure> {
        if let Some(known) = self.tables.get(&oid) {
            return Ok(Some(Arc::clone(known)));
        }
        let Some(table) = table::load(self.database, oid).await? else { return Ok(None) };
        let rights = match table::rights(self.database, self.access.role(), oid).await {
            Err(error) if !is_temporary(&error) => return Err(exception(binding, &error.to_string())),
            rights => rights?,
        };
        let known = Arc::new((table, rights));
        self.tables.insert(oid, Arc::clone(&known));
        Ok(Some(known))
    }
}

/// Returns the table that `binding` names; `None` for all tables.
fn table_name(binding: &Binding) -> Option<&str> {
    binding.table.as_deref().filter(|table| *table != "*")
}

/// Returns the columns that `binding` selects; `None` for all columns.
///
/// Errors: `select` is malformed or not allowed, or the binding is empty.
fn selected_columns(binding: &Binding) -> Result<Option<&[String]>, Failure> {
    let Binding { kind, schema, table, filter, .. } = binding;
    let is_wildcard = table_name(binding).is_none() || schema.as_deref().is_none_or(|schema| schema == "*");
    let refusal = match &binding.select {
        Some(Err(InvalidSelect)) => "Error parsing `select` params: it must be a list of column names",
        Some(Ok(_)) if is_wildcard => {
            "Column selection is not supported for wildcard subscriptions. Please provide both a schema and a table"
        }
        Some(Ok(columns)) => return Ok(Some(columns.as_slice())),
        None if schema.is_none() && table.is_none() && filter.is_none() && kind.is_none() => {
            "No subscription params provided. Please provide at least a `schema` or `table` to subscribe to"
        }
        None => return Ok(None),
    };
    Err(Failure::Refused(refusal.to_owned()))
}

/// Parses the filter of `binding`.
///
/// Errors: the filter is malformed.
fn conditions(binding: &Binding) -> Result<Vec<Condition>, Failure> {
    let conditions = binding.filter.as_deref().map_or(Ok(Vec::new()), filter::parse);
    conditions.map_err(|error| match error {
        FilterError::Syntax(_) => Failure::Refused(error.to_string()),
        error => exception(binding, &raised(&error.to_string())),
    })
}

/// Returns the refusal that upstream gives for an exception in the database.
fn exception(binding: &Binding, what: &str) -> Failure {
    let described = binding.describe();
    Failure::Refused(format!(
        "{UNABLE} An exception happened so please check your connect parameters: {described}. Exception: {what}"
    ))
}

/// Returns the text of an exception that upstream's functions raise.
fn raised(message: &str) -> String {
    format!("ERROR P0001 (raise_exception) {message}")
}

/// Tries `condition` on the column's type, and returns it with values as the type writes them.
///
/// Errors: [`Failure::Refused`] with the exception that upstream's database would raise; those of the database.
async fn check(database: &Database, table: &Table, mut condition: Condition) -> Result<Condition, Failure> {
    let refused = |message: String| Failure::Refused(raised(&message));
    let Some(column) = table.column(&condition.column) else {
        return Err(refused(format!("invalid column for filter {}", condition.column)));
    };
    // It would never be passed.
    if !column.is_told {
        let reason = "it is generated, and changes do not tell its values";
        return Err(refused(format!("invalid column for filter {}: {reason}", condition.column)));
    }
    let mut values: Vec<String> = match &condition.test {
        Test::Compare(_, value) | Test::IsDistinct(value) => vec![value.clone()],
        Test::In(values) => values.clone(),
        Test::Is(IsValue::Null) => return Ok(condition),
        Test::Is(_) if column.type_name == "bool" => return Ok(condition),
        Test::Is(value) => {
            let (word, type_name) = (value.name(), &column.display_type);
            return Err(refused(format!("is {word} filter requires a boolean column, got {type_name}")));
        }
    };
    let pattern = condition.pattern();
    if let Some((comparison, name)) = pattern
        && let Some(refusal) = values.iter().find_map(|value| refuse_pattern(comparison, name, value))
    {
        return Err(Failure::Refused(refusal));
    }
    let (sql, limit) = trial_statement(column, &condition.test);
    for value in &mut values {
        let statement = Transaction::anonymous().read_only().on_primary().timeout(limit);
        match database.run(&statement.statement(sql.as_str(), vec![text(value)])).await {
            Ok(reply) => {
                let canonical = reply.row().and_then(|row| row.text(0));
                if let Some(canonical) = canonical.map(str::to_owned) {
                    *value = canonical;
                }
            }
            Err(error) if pattern.is_some() && is_slow(&error) => {
                return Err(refused("the pattern takes too long".to_owned()));
            }
            Err(postgres::Error::Postgres(error)) if !is_temporary_code(&error.code) => {
                return Err(Failure::Refused(value_error(column, pattern.map(|(_, name)| name), &error)));
            }
            Err(error) => return Err(error.into()),
        }
    }
    let mut values = values.into_iter();
    match &mut condition.test {
        Test::Compare(_, value) | Test::IsDistinct(value) => *value = values.next().unwrap_or_default(),
        Test::In(list) => *list = values.collect(),
        Test::Is(_) => {}
    }
    Ok(condition)
}

/// Returns the SQL that evaluates `test` on values of the column's type, with the test's value as `$1`, and its time
/// limit.
fn trial_statement(column: &Column, test: &Test) -> (String, Duration) {
    let (null, sql_type) = (column.value("null"), &column.sql_type);
    let comparison = match test {
        Test::Compare(comparison, _) => *comparison,
        _ => Comparison::Eq,
    };
    let operator = comparison.operator();
    if comparison.pattern_name().is_some() {
        (format!("select $1::text, {null} {operator} $1::text, '' {operator} $1::text"), PATTERN_LIMIT)
    } else {
        (format!("select ($1::{sql_type})::text, {null} {operator} $1::{sql_type}"), table::TIME_LIMIT)
    }
}

/// Returns the text of the exception for a value that Postgres does not accept. `pattern` is the name of the comparison
/// if the value is a pattern.
fn value_error(column: &Column, pattern: Option<&str>, error: &postgres::ServerError) -> String {
    let type_name = &column.display_type;
    match (pattern, &*error.code) {
        (Some(name), "42883") => {
            raised(&format!("operator {name} requires a text-compatible column type, got {type_name}"))
        }
        (Some(name), "2201B") => invalid_expression(name, &error.message),
        (_, code) => format!("ERROR {code} ({}) {}", condition_name(code), error.message),
    }
}

/// Returns the exception for a pattern that Postgres refuses only for some rows, or whose time has no bound; `None` for
/// other patterns.
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

/// Reports whether a regular expression has back-references.
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
    raised(&format!("invalid regular expression for {name} filter: {reason}"))
}

/// Returns Postgres' name of an error that a filter's value can cause. Source: PostgreSQL documentation, appendix A.
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

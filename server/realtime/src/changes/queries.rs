//! The queries about changed rows: their values as JSON, which filters they pass, and who may see them.
//!
//! There is one statement for all rows of one table in a batch, one for all filters of one shape, and one for many
//! users of a role, each with the rows that its clients want. The number of queries does not depend on how many clients
//! want the same.

use std::collections::{HashMap, HashSet};
use std::fmt::Write as _;
use std::time::{Duration, Instant};

use postgres::{Database, Error, Parameter, Row, Transaction, text};
use replication::{OldTuple, Relation, Tuple, Value};

use super::filter::{Condition, Test};
use super::table::{Column, Table};
use crate::protocol::quote;
use crate::row::{Kind, RowChange};

/// The first and the longest pause between two looks at a commit that others cannot see yet.
const VISIBILITY_PAUSE: Duration = Duration::from_millis(1);
const LONGEST_VISIBILITY_PAUSE: Duration = Duration::from_millis(16);
/// How long Postgres may take for filters that are patterns: some regular expressions take exponential time.
pub(super) const PATTERN_LIMIT: Duration = Duration::from_millis(500);
/// How long Postgres may take for a batch.
pub(super) const TIME_LIMIT: Duration = Duration::from_secs(10);

/// Reports whether the same query may succeed later, such as after a broken connection, a lock, or a timeout.
pub(super) fn is_temporary(error: &Error) -> bool {
    match error {
        Error::Postgres(refusal) => is_temporary_code(&refusal.code),
        // Too many parameters, for example.
        Error::Protocol(_) | Error::Configuration(_) | Error::TooLarge(_) => false,
        _ => true,
    }
}

/// Reports whether an SQLSTATE stands for a temporary condition.
pub(super) fn is_temporary_code(code: &str) -> bool {
    matches!(code.get(..2), Some("08" | "40" | "53" | "57" | "58")) || code == "55P03"
}

/// Reports whether the query took too long.
pub(super) fn is_slow(error: &Error) -> bool {
    matches!(error, Error::Timeout(_) | Error::AcquireTimeout(_))
        || error.server().is_some_and(|refusal| refusal.code == "57014")
}

/// Reports whether another attempt would not help after this error, or there is none.
pub(super) fn gives_up(error: &Error, is_last_attempt: bool) -> bool {
    !is_temporary(error) || (is_last_attempt && is_slow(error))
}

/// A column of a relation that the table still has: its index in the relation and in the table.
pub(super) type SharedColumn = (usize, usize);

/// Returns the columns of a relation that the table still has, in the table's order.
pub(super) fn shared_columns(relation: &Relation, table: &Table) -> Vec<SharedColumn> {
    let of_table = |name: &str| table.columns.iter().position(|column| column.name == name);
    let columns = relation.columns.iter().enumerate();
    let shared = columns.filter_map(|(index, column)| Some((index, of_table(&column.name)?)));
    let mut shared: Vec<SharedColumn> = shared.collect();
    shared.sort_unstable_by_key(|(_, column)| *column);
    shared
}

/// Returns the number of the row after a change.
pub(super) const fn new_row(change: usize) -> usize {
    change * 2
}

/// Returns the number of the row before a change.
pub(super) const fn old_row(change: usize) -> usize {
    change * 2 + 1
}

impl RowChange {
    /// Returns the rows after and before the change, as far as they are known. `number` is that of the change in its
    /// batch.
    pub(super) fn numbered(&self, number: usize) -> impl Iterator<Item = NumberedRow<'_>> {
        let before = match &self.old {
            Some(OldTuple::Full(tuple)) => Some(tuple),
            _ => None,
        };
        let new = self.new.iter().map(move |tuple| NumberedRow { number: new_row(number), tuple, before });
        let old = self.old.iter().map(OldTuple::tuple);
        new.chain(old.map(move |tuple| NumberedRow { number: old_row(number), tuple, before: None }))
    }

    /// Reports whether only the replica identity is known of row `row` of the change with the number `number`.
    pub(super) const fn has_key_alone(&self, number: usize, row: usize) -> bool {
        row == old_row(number) && matches!(self.old, Some(OldTuple::Key(_)))
    }

    /// Returns the number of the row that filters are applied to: the new one, or the old one of a deletion.
    pub(super) const fn filtered_row(&self, number: usize) -> usize {
        match self.kind {
            Kind::Delete => old_row(number),
            Kind::Insert | Kind::Update => new_row(number),
        }
    }
}

/// A row with the number by which its results are found.
#[derive(Debug, Clone, Copy)]
pub(super) struct NumberedRow<'a> {
    pub(super) number: usize,
    pub(super) tuple: &'a Tuple,
    /// The whole row before the change, if it is known.
    pub(super) before: Option<&'a Tuple>,
}

impl<'a> NumberedRow<'a> {
    /// Returns the row's values. An unchanged one that the stream leaves out is taken from the row before.
    pub(super) fn values(&self) -> Vec<Value<'a>> {
        let before = |index: usize| self.before.and_then(|before| before.get(index));
        let values = self.tuple.values().enumerate();
        values
            .map(|(index, value)| match value {
                Value::Unchanged => before(index).unwrap_or(Value::Unchanged),
                value => value,
            })
            .collect()
    }
}

/// The values of rows as JSON, by the row's number: one for each column of the relation, `None` for one that the stream
/// left out.
pub(super) type Values = HashMap<usize, Vec<Option<Box<str>>>>;

/// Returns the values of `rows` as JSON. `rows` are in the order of their numbers. Values of the columns `unreadable`
/// (by their indexes in the table) are texts.
///
/// Errors: those of the database.
pub(super) async fn values(
    database: &Database,
    table: &Table,
    shared: &[SharedColumn],
    rows: &[NumberedRow<'_>],
    unreadable: &[usize],
) -> Result<Values, Error> {
    let mut sql = String::from("select r.n");
    for (index, (_, column)) in shared.iter().enumerate() {
        let text = format!("r.c{index}");
        let json = if unreadable.contains(column) {
            format!("to_jsonb({text})::text")
        } else {
            to_json(&table.columns[*column], &text)
        };
        let _ = write!(sql, ", {json}");
    }
    push_rows(&mut sql, shared.len());
    let json = rows_as_json(rows, shared);
    let reply = database.run(&query(sql, vec![text(&json)], TIME_LIMIT)).await?;
    let mut values = Values::new();
    for row in reply.rows() {
        let Some(number) = row.text(0).and_then(|number| number.parse::<usize>().ok()) else { continue };
        let Ok(source) = rows.binary_search_by_key(&number, |row| row.number) else { continue };
        let sent = rows[source].values();
        let mut of_row = vec![None; sent.len()];
        for ((index, _), json) in shared.iter().zip(row.values().skip(1)) {
            let json = json.and_then(|json| std::str::from_utf8(json).ok());
            let was_sent = sent.get(*index) != Some(&Value::Unchanged);
            of_row[*index] = was_sent.then(|| json.unwrap_or("null").into());
        }
        values.insert(number, of_row);
    }
    Ok(values)
}

/// Returns the SQL for a column's value as JSON text. `text` is the SQL for the value as text.
fn to_json(column: &Column, text: &str) -> String {
    match &*column.type_name {
        // As upstream: hexadecimal digits without the prefix.
        "bytea" => format!("to_jsonb(encode({text}::bytea, 'hex'))::text"),
        // It is JSON already, and may hold what `jsonb` cannot.
        "json" => text.to_owned(),
        _ => format!("to_jsonb({text}::{})::text", column.sql_type),
    }
}

/// Returns the columns of `table` whose values in `row` their types do not accept any more, such as the name of a
/// dropped table in a column of type `regclass`.
///
/// Errors: temporary ones of the database.
pub(super) async fn unreadable(
    database: &Database,
    table: &Table,
    shared: &[SharedColumn],
    row: &NumberedRow<'_>,
) -> Result<Vec<usize>, Error> {
    let (mut unreadable, values) = (Vec::new(), row.values());
    for &(source, column) in shared {
        let Some(value) = values.get(source).and_then(|value| value.text()) else { continue };
        let sql = format!("select {}", to_json(&table.columns[column], "$1::text"));
        match database.run(&query(sql, vec![text(value)], TIME_LIMIT)).await {
            Ok(_) => {}
            Err(error) if is_temporary(&error) => return Err(error),
            Err(_) => unreadable.push(column),
        }
    }
    Ok(unreadable)
}

/// Returns, by the row's number, which of `filters` each of the rows in `json` passes. All filters have the same shape.
/// `json` is the result of [`rows_as_json`] for the rows and the `shared` columns. Postgres may take `limit`.
///
/// Errors: those of the database.
pub(super) async fn passed(
    database: &Database,
    table: &Table,
    shared: &[SharedColumn],
    json: &str,
    filters: &[(usize, &[Condition])],
    limit: Duration,
) -> Result<HashMap<usize, Vec<usize>>, Error> {
    let Some((_, shape)) = filters.first() else { return Ok(HashMap::new()) };
    let numbers: Vec<String> = filters.iter().map(|(number, _)| number.to_string()).collect();
    let mut parameters = vec![text(json), owned(format!("{{{}}}", numbers.join(",")))];
    let (mut tests, mut columns) = (String::from("true"), String::from("i"));
    for (index, condition) in shape.iter().enumerate() {
        let position = shared.iter().position(|(_, column)| table.columns[*column].name == condition.column);
        let Some(position) = position else { return Ok(HashMap::new()) };
        let column = &table.columns[shared[position].1];
        tests.push_str(" and ");
        let (value, compared) = (column.value(&format!("r.c{position}")), format!("f.v{index}"));
        push_condition(&mut tests, &value, &column.sql_type, &compared, condition);
        if !matches!(condition.test, Test::Is(_)) {
            let _ = write!(columns, ", v{index}");
            let values: Vec<String> = filters.iter().map(|(_, filter)| value_of(&filter[index])).collect();
            parameters.push(owned(array(&values)));
        }
    }
    let arrays: Vec<String> = (3..=parameters.len()).map(|number| format!(", ${number}::text[]")).collect();
    let mut sql = format!(
        "select r.n, array(select f.i from unnest($2::int[]{}) as f ({columns}) where {tests})",
        arrays.concat()
    );
    push_rows(&mut sql, shared.len());
    let reply = database.run(&query(sql, parameters, limit)).await?;
    let read = |row: &Row| Some((row.text(0)?.parse().ok()?, integers(row.text(1)?)?));
    Ok(reply.rows().iter().filter_map(read).collect())
}

/// Returns a read-only transaction with one statement.
pub(super) fn query(sql: String, parameters: Vec<Parameter<'_>>, limit: Duration) -> Transaction<'_> {
    Transaction::anonymous().read_only().on_primary().timeout(limit).statement(sql, parameters)
}

/// Appends the rows as the relation `r`: their number (`n`) and the texts of their columns (`c0`, `c1`, …).
pub(super) fn push_rows(sql: &mut String, columns: usize) {
    sql.push_str(" from json_to_recordset($1::json) as r(n int");
    for index in 0..columns {
        let _ = write!(sql, ", c{index} text");
    }
    sql.push(')');
}

pub(super) fn owned(text: String) -> Parameter<'static> {
    Some(text.into_bytes().into())
}

/// Returns the value of a condition as a parameter: a list as the text of an array.
fn value_of(condition: &Condition) -> String {
    match &condition.test {
        Test::Compare(_, value) | Test::IsDistinct(value) => value.clone(),
        Test::In(values) => array(values),
        Test::Is(_) => String::new(),
    }
}

/// Returns the elements of an array of integers; `None` if there are others.
pub(super) fn integers(array: &str) -> Option<Vec<usize>> {
    let elements = array.trim_matches(['{', '}']).split(',').filter(|element| !element.is_empty());
    elements.map(|element| element.parse().ok()).collect()
}

/// Returns the text of an array of `values`.
pub(super) fn array(values: &[String]) -> String {
    let values: Vec<Option<&str>> = values.iter().map(|value| Some(value.as_str())).collect();
    nullable_array(&values)
}

/// Returns the text of an array of `values`; `None` is NULL.
pub(super) fn nullable_array(values: &[Option<&str>]) -> String {
    let quoted: Vec<String> = values
        .iter()
        .map(|value| match value {
            None => "NULL".to_owned(),
            Some(value) => format!("\"{}\"", value.replace('\\', "\\\\").replace('"', "\\\"")),
        })
        .collect();
    format!("{{{}}}", quoted.join(","))
}

/// Appends the SQL of `condition` on `value`, an expression of `sql_type`, compared with the text expression
/// `compared`.
fn push_condition(sql: &mut String, value: &str, sql_type: &str, compared: &str, condition: &Condition) {
    if condition.is_negated {
        sql.push_str("not ");
    }
    sql.push('(');
    let _ = match &condition.test {
        Test::Compare(comparison, _) => {
            let cast = if comparison.pattern_name().is_some() { "text" } else { sql_type };
            write!(sql, "{value} {} {compared}::{cast}", comparison.operator())
        }
        Test::IsDistinct(_) => write!(sql, "{value} is distinct from {compared}::{sql_type}"),
        Test::Is(is_value) => write!(sql, "{value} is {}", is_value.name()),
        Test::In(_) => write!(sql, "{value} = any({compared}::{sql_type}[])"),
    };
    sql.push(')');
}

/// Waits until other sessions can see the transactions `xids`. The stream has a commit as soon as it is in the
/// write-ahead log, which is a little earlier, and longer with synchronous standbys.
///
/// Errors: those of the database; [`Error::Timeout`].
pub(super) async fn await_visibility(database: &Database, xids: &HashSet<u32>) -> Result<(), Error> {
    let (begun, mut pause) = (Instant::now(), VISIBILITY_PAUSE);
    let transaction = Transaction::anonymous()
        .on_primary()
        .timeout(TIME_LIMIT)
        .statement("select pg_catalog.pg_current_snapshot()::text", Vec::new())
        .leaves_session_unchanged();
    loop {
        let reply = database.run(&transaction).await?;
        let snapshot = reply.row().and_then(|row| row.text(0)).and_then(Snapshot::parse);
        if snapshot.is_some_and(|snapshot| xids.iter().all(|xid| snapshot.has_ended(*xid))) {
            return Ok(());
        }
        if begun.elapsed() >= TIME_LIMIT {
            return Err(Error::Timeout(TIME_LIMIT));
        }
        tokio::time::sleep(pause).await;
        pause = (pause * 2).min(LONGEST_VISIBILITY_PAUSE);
    }
}

/// A snapshot of the transactions that have ended. Source: PostgreSQL documentation, table 9.85.
#[derive(Debug, PartialEq, Eq)]
struct Snapshot {
    /// The number after the highest one of a transaction that has ended.
    end: u64,
    running: Vec<u64>,
}

impl Snapshot {
    fn parse(text: &str) -> Option<Self> {
        let mut parts = text.split(':').skip(1);
        let end = parts.next()?.parse().ok()?;
        let running = parts.next()?.split(',').filter(|number| !number.is_empty());
        Some(Self { end, running: running.map(|number| number.parse().ok()).collect::<Option<_>>()? })
    }

    /// Reports whether a transaction has ended. Only the lower half of its number is known; the number nearest to the
    /// snapshot is meant.
    fn has_ended(&self, xid: u32) -> bool {
        let distance = (self.end as u32).wrapping_sub(xid) as i32;
        distance > 0 && !self.running.iter().any(|running| *running as u32 == xid)
    }
}

/// Returns `rows` as a JSON array of objects with their number (`n`) and the texts of `columns` (`c0`, `c1`, …).
pub(super) fn rows_as_json(rows: &[NumberedRow<'_>], columns: &[SharedColumn]) -> String {
    let mut json = String::from("[");
    for row in rows {
        if json.len() > 1 {
            json.push(',');
        }
        let _ = write!(json, "{{\"n\":{}", row.number);
        let values = row.values();
        for (index, (source, _)) in columns.iter().enumerate() {
            if let Some(text) = values.get(*source).and_then(|value| value.text()) {
                let _ = write!(json, ",\"c{index}\":{}", quote(text));
            }
        }
        json.push('}');
    }
    json.push(']');
    json
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_snapshot_says_which_transactions_have_ended() {
        let snapshot = Snapshot::parse("10:20:10,14,15").unwrap();
        for (xid, has_ended) in
            [(9, true), (10, false), (11, true), (14, false), (19, true), (20, false), (21, false)]
        {
            assert_eq!(snapshot.has_ended(xid), has_ended, "{xid}");
        }
        let later = Snapshot::parse("4294967300:4294967306:").unwrap();
        assert!(later.has_ended(9) && later.has_ended(u32::MAX) && !later.has_ended(10));
        assert_eq!(Snapshot::parse("nonsense"), None);
    }
}

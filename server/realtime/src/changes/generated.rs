//! Stored generated columns. Before Postgres 18 the stream leaves them out; their values are computed from those that
//! it has, by the same expressions.

use std::collections::HashMap;
use std::fmt::Write as _;
use std::sync::Arc;
use std::time::{Duration, Instant};

use postgres::{Database, Error, Row, Transaction, push_identifier, text};
use replication::{OldTuple, Relation, RelationColumn, ReplicaIdentity, Tuple, Value};
use serde::Deserialize;

use super::catalog::Catalog;
use super::queries::{self, NumberedRow, SharedColumn, gives_up, new_row, old_row};
use super::table::{TIME_LIMIT, Table};
use crate::row::RowChange;

/// How long the columns of one batch may take: everybody else's changes wait for it. What is left then is tried for a
/// moment, and left out if it takes longer.
const TIME_OF_BATCH: Duration = Duration::from_secs(2);
const LEAST_TIME: Duration = Duration::from_millis(20);

/// The columns of a relation that are computed.
#[derive(Debug)]
pub(crate) struct Generated {
    /// The relation of the stream with these columns after its own.
    pub(super) relation: Arc<Relation>,
    columns: Vec<Computed>,
    /// The columns that the expressions refer to, by their indexes in the relation (twice, since they are not those of
    /// a table).
    sources: Vec<SharedColumn>,
    /// The statement that computes them from rows of [`queries::rows_as_json`].
    sql: String,
}

/// A column that is computed.
#[derive(Debug)]
struct Computed {
    /// The indexes in the relation of the columns that its expression refers to.
    sources: Vec<usize>,
}

/// A generated column in the catalog.
struct Definition {
    name: String,
    /// Its expression as SQL, with the schemas of all names.
    expression: String,
    /// Its type as SQL, with the modifier.
    sql_type: String,
    type_oid: u32,
    type_modifier: i32,
    sources: Vec<Source>,
}

/// A column that an expression refers to.
#[derive(Debug, PartialEq, Eq, Deserialize)]
struct Source {
    name: String,
    /// Its type as SQL, with the modifier.
    sql_type: String,
    /// The collation as SQL, if it is not the type's own.
    collation: Option<String>,
}

/// Texts of computed values by row, one for each computed column; `None` for NULL.
type Texts = HashMap<usize, Vec<Option<Box<str>>>>;

/// Returns the stored generated columns of `table` that `relation` lacks; `None` if there are none. Those of a table
/// that is published with a list of columns stay out: the list cannot name them.
///
/// Errors: those of the database.
pub(super) async fn load(
    database: &Database,
    table: &Table,
    relation: &Arc<Relation>,
) -> Result<Option<Generated>, Error> {
    let is_sent = |name: &str| relation.columns.iter().any(|column| column.name == name);
    if table.columns.iter().all(|column| !column.is_told || is_sent(&column.name)) {
        return Ok(None);
    }
    let number = table.oid.to_string();
    // Names get their schemas, since the path of this session need not be that of the later ones.
    let transaction = Transaction::anonymous().setting("search_path", "").read_only().on_primary();
    let transaction = transaction.timeout(TIME_LIMIT).statement(
        "select a.attname, pg_catalog.pg_get_expr(d.adbin, d.adrelid), \
           pg_catalog.format_type(a.atttypid, a.atttypmod), a.atttypid, a.atttypmod, \
           (select coalesce(pg_catalog.json_agg(pg_catalog.json_build_object( \
                'name', s.attname, 'sql_type', pg_catalog.format_type(s.atttypid, s.atttypmod), \
                'collation', case when s.attcollation <> t.typcollation then \
                  l.collnamespace::pg_catalog.regnamespace || '.' || pg_catalog.quote_ident(l.collname) end)), '[]') \
            from pg_catalog.pg_attribute s \
            join pg_catalog.pg_type t on t.oid = s.atttypid \
            left join pg_catalog.pg_collation l on l.oid = s.attcollation \
            where s.attrelid = a.attrelid and s.attnum > 0 and s.attnum <> a.attnum and exists ( \
              select from pg_catalog.pg_depend p \
              where p.classid = 'pg_catalog.pg_attrdef'::pg_catalog.regclass and p.objid = d.oid \
                and p.refclassid = 'pg_catalog.pg_class'::pg_catalog.regclass and p.refobjid = s.attrelid \
                and p.refobjsubid = s.attnum)) \
         from pg_catalog.pg_attribute a \
         join pg_catalog.pg_attrdef d on d.adrelid = a.attrelid and d.adnum = a.attnum \
         where a.attrelid = $1::oid and a.attgenerated = 's' and not a.attisdropped and not exists ( \
             select from pg_catalog.pg_publication_rel r \
             join pg_catalog.pg_publication p on p.oid = r.prpubid \
             where p.pubname = 'supabase_realtime' and r.prrelid = a.attrelid and r.prattrs is not null) \
         order by a.attnum",
        vec![text(&number)],
    );
    let reply = database.run(&transaction).await?;
    let definitions = reply.rows().iter().filter_map(definition);
    let definitions: Vec<Definition> = definitions.filter(|found| !is_sent(&found.name)).collect();
    Ok(Generated::new(table, relation, &definitions))
}

fn definition(row: &Row) -> Option<Definition> {
    Some(Definition {
        name: row.text(0)?.to_owned(),
        expression: row.text(1)?.to_owned(),
        sql_type: row.text(2)?.to_owned(),
        type_oid: row.text(3)?.parse().ok()?,
        type_modifier: row.text(4)?.parse().ok()?,
        sources: serde_json::from_slice(row.get(5)?).ok()?,
    })
}

impl Generated {
    /// Returns the columns of `definitions` whose expressions refer to columns of `relation` only; `None` if there are
    /// none.
    fn new(table: &Table, relation: &Relation, definitions: &[Definition]) -> Option<Self> {
        let mut extended = relation.clone();
        let (mut columns, mut sources, mut casts) = (Vec::new(), Vec::new(), String::new());
        let (mut outputs, mut expressions) = (String::new(), String::new());
        for definition in definitions {
            let index_of =
                |source: &Source| relation.columns.iter().position(|column| column.name == source.name);
            let indexes: Option<Vec<usize>> = definition.sources.iter().map(index_of).collect();
            let Some(indexes) = indexes else { continue };
            for (source, index) in definition.sources.iter().zip(&indexes) {
                if !sources.contains(&(*index, *index)) {
                    let _ = write!(casts, "r.c{}::{}", sources.len(), source.sql_type);
                    if let Some(collation) = &source.collation {
                        let _ = write!(casts, " collate {collation}");
                    }
                    casts.push_str(" as ");
                    push_identifier(&mut casts, &source.name);
                    casts.push_str(", ");
                    sources.push((*index, *index));
                }
            }
            // As the type writes it, which a cast to text does not do for all types.
            let number = columns.len();
            let _ = write!(
                outputs,
                ", case when pg_catalog.num_nulls(g.g{number}) = 0 then pg_catalog.format('%s', g.g{number}) end"
            );
            let separator = if number == 0 { "" } else { ", " };
            let Definition { name, expression, sql_type, type_oid, type_modifier, .. } = definition;
            let _ = write!(expressions, "{separator}({expression})::{sql_type} as g{number}");
            let is_key = match relation.replica_identity {
                ReplicaIdentity::Full => true,
                ReplicaIdentity::Default => table.column(name).is_some_and(|column| column.is_key),
                ReplicaIdentity::Nothing | ReplicaIdentity::Index => false,
            };
            let (name, type_oid, type_modifier) = (name.clone(), *type_oid, *type_modifier);
            extended.columns.push(RelationColumn { name, type_oid, type_modifier, is_key });
            columns.push(Computed { sources: indexes });
        }
        if columns.is_empty() {
            return None;
        }
        let mut sql = format!("select r.n{outputs}");
        queries::push_rows(&mut sql, sources.len());
        // An expression may also name the table by its OID.
        let _ = write!(
            sql,
            " cross join lateral (select {expressions} from (select {casts}{}::pg_catalog.oid as tableoid) as t) as g",
            table.oid
        );
        Some(Self { relation: Arc::new(extended), columns, sources, sql })
    }

    /// Returns the changes `numbers` of `rows` with the values of the columns. One that depends on a value that the
    /// stream left out, or cannot be computed, is left out, too.
    ///
    /// Errors: the database is not available.
    pub(super) async fn complete(
        &self,
        database: &Database,
        catalog: &Catalog,
        rows: &[RowChange],
        numbers: &[usize],
        is_last_attempt: bool,
    ) -> Result<Vec<RowChange>, Error> {
        let known = |number: usize| {
            let change = &rows[number];
            change.numbered(number).filter(move |row| {
                let (values, has_key_alone) = (row.values(), change.has_key_alone(number, row.number));
                self.columns.iter().any(|column| self.is_known(column, &values, has_key_alone))
            })
        };
        let known: Vec<NumberedRow<'_>> = numbers.iter().flat_map(|number| known(*number)).collect();
        let (mut texts, mut left) = (Texts::new(), vec![&known[..]]);
        let begun = Instant::now();
        while let Some(part) = left.pop().filter(|part| !part.is_empty()) {
            let limit = TIME_OF_BATCH.saturating_sub(begun.elapsed()).max(LEAST_TIME);
            match self.compute(database, part, limit).await {
                Ok(found) => texts.extend(found),
                Err(error) if !gives_up(&error, is_last_attempt) => return Err(error),
                Err(_) if part.len() > 1 => {
                    let (one, other) = part.split_at(part.len() / 2);
                    left.extend([other, one]);
                }
                Err(error) => {
                    let Relation { schema, name, .. } = &*self.relation;
                    let code = "PostgresCdcChangesFailed";
                    tracing::error!(code, schema, table = name, %error, "generated columns cannot be computed");
                    // An expression may have changed.
                    catalog.forget();
                }
            }
        }
        Ok(numbers.iter().map(|number| self.extended(&rows[*number], *number, &texts)).collect())
    }

    /// Computes the columns of `rows` within `limit`.
    async fn compute(
        &self,
        database: &Database,
        rows: &[NumberedRow<'_>],
        limit: Duration,
    ) -> Result<Texts, Error> {
        let json = queries::rows_as_json(rows, &self.sources);
        let query = queries::query(self.sql.clone(), vec![text(&json)], limit);
        let reply = database.run(&query).await?;
        let read = |row: &Row| {
            let values = (1..=self.columns.len()).map(|index| row.text(index).map(Box::from)).collect();
            Some((row.text(0)?.parse().ok()?, values))
        };
        Ok(reply.rows().iter().filter_map(read).collect())
    }

    /// Reports whether all that `column` is computed from is among the `values` of a row.
    fn is_known(&self, column: &Computed, values: &[Value<'_>], has_key_alone: bool) -> bool {
        column.sources.iter().all(|source| {
            let is_there = !has_key_alone || self.relation.columns[*source].is_key;
            is_there && values.get(*source).is_some_and(|value| *value != Value::Unchanged)
        })
    }

    /// Returns the change `number` with the computed columns.
    fn extended(&self, change: &RowChange, number: usize, texts: &Texts) -> RowChange {
        let with = |tuple: &Tuple, row| tuple.extended(&self.values(change, number, row, texts));
        let old = change.old.as_ref().map(|old| match old {
            OldTuple::Key(tuple) => OldTuple::Key(with(tuple, old_row(number))),
            OldTuple::Full(tuple) => OldTuple::Full(with(tuple, old_row(number))),
        });
        let new = change.new.as_ref().map(|tuple| with(tuple, new_row(number)));
        RowChange { relation: Arc::clone(&self.relation), new, old, ..*change }
    }

    /// Returns the computed values of row `row` of the change `number`.
    fn values<'t>(&self, change: &RowChange, number: usize, row: usize, texts: &'t Texts) -> Vec<Value<'t>> {
        // An old value must not stand in for a new one that cannot be computed.
        let is_computed = change.new.is_none() || texts.contains_key(&new_row(number));
        let (Some(found), true) = (texts.get(&row), is_computed) else {
            return vec![Value::Unchanged; self.columns.len()];
        };
        let sent = change.numbered(number).find(|numbered| numbered.number == row);
        let sent = sent.map(|numbered| numbered.values()).unwrap_or_default();
        let has_key_alone = change.has_key_alone(number, row);
        let values = self.columns.iter().zip(found).map(|(column, text)| match text {
            _ if !self.is_known(column, &sent, has_key_alone) => Value::Unchanged,
            Some(text) => Value::Text(text.as_bytes()),
            None => Value::Null,
        });
        values.collect()
    }
}

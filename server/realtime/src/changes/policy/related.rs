//! Values of rows of another table that belong to a changed row, such as the members of its group.

use std::collections::HashMap;
use std::fmt::Write as _;
use std::sync::Arc;
use std::time::Duration;

use indexmap::IndexSet;
use postgres::{Database, Error, Transaction, push_identifier, text};
use replication::Value;

use super::claim::Claim;
use crate::changes::queries::{NumberedRow, SharedColumn, is_temporary, push_rows, rows_as_json};
use crate::changes::table::{self, Table};

/// How long Postgres may take for the values of one batch.
const TIME_LIMIT: Duration = Duration::from_secs(2);
/// Values that belong to the rows of one batch. Of more, it is cheaper to ask about every user.
const MAX_VALUES: usize = 1 << 16;

/// Where the values that belong to a row are.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(in crate::changes) struct Related {
    pub(super) schema: String,
    pub(super) table: String,
    /// Columns that have to be equal; without any, the values belong to every row.
    pub(super) joins: Vec<Join>,
    /// The column with the values.
    pub(super) value: String,
    /// Whether that is cast to text.
    pub(super) is_text: bool,
}

/// A column of the other table, and the column of the changed table that it equals.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(super) struct Join {
    pub(super) inner: String,
    pub(super) outer: String,
}

/// The values that belong to changed rows, by their numbers. They are not known of a row that is absent.
pub(in crate::changes) type RelatedValues = HashMap<usize, Arc<[Box<str>]>>;

impl Related {
    /// Reports whether the other table is a table (a view may run anybody's functions) whose values can be compared
    /// with `claim`, and which may be read whole.
    ///
    /// Errors: temporary ones of the database.
    pub(super) async fn can_be_read(
        &self,
        database: &Database,
        claim: &Claim,
        table: &Table,
    ) -> Result<bool, Error> {
        let transaction = table::catalog_query(
            "select t.typname from pg_catalog.pg_class c \
             join pg_catalog.pg_namespace n on n.oid = c.relnamespace \
             join pg_catalog.pg_attribute a on a.attrelid = c.oid and a.attnum > 0 and a.attgenerated <> 'v' \
             join pg_catalog.pg_type t on t.oid = a.atttypid \
             left join pg_catalog.pg_collation l on l.oid = a.attcollation \
             where n.nspname = $1 and c.relname = $2 and a.attname = $3 and c.relkind in ('r', 'p') \
               and coalesce(l.collisdeterministic, true)",
            vec![text(&self.schema), text(&self.table), text(&self.value)],
        );
        let reply = database.run(&transaction).await?;
        let found = reply.row().and_then(|row| row.text(0));
        if !found.is_some_and(|name| claim.is_comparable(name, self.is_text)) {
            return Ok(false);
        }
        let columns: Vec<SharedColumn> = (0..table.columns.len()).map(|column| (column, column)).collect();
        match self.values(database, table, &columns, &[]).await {
            Ok(_) => Ok(true),
            Err(error) if is_temporary(&error) => Err(error),
            Err(_) => Ok(false),
        }
    }

    /// Returns the values that belong to `rows`; none if there are too many.
    ///
    /// Errors: those of the database, also if row-level security hides rows of the other table.
    pub(in crate::changes) async fn values(
        &self,
        database: &Database,
        table: &Table,
        shared: &[SharedColumn],
        rows: &[NumberedRow<'_>],
    ) -> Result<RelatedValues, Error> {
        let is_joined = |name: &str| self.joins.iter().any(|join| join.outer == name);
        let columns = shared.iter().copied().filter(|(_, column)| is_joined(&table.columns[*column].name));
        let columns: Vec<SharedColumn> = columns.collect();
        let position =
            |name: &str| columns.iter().position(|(_, column)| table.columns[*column].name == name);
        // Rows of the same group have the same members.
        let (mut groups, mut group_of) = (IndexSet::new(), HashMap::new());
        for row in rows {
            let values = row.values();
            let value = |(source, _): &SharedColumn| match values.get(*source) {
                None | Some(Value::Unchanged) => None,
                Some(value) => Some(value.text()),
            };
            let Some(key) = columns.iter().map(value).collect::<Option<Vec<_>>>() else { continue };
            let (group, is_new) = groups.insert_full(key);
            group_of.insert(row.number, (group, is_new));
        }
        let firsts = rows.iter().filter_map(|row| {
            let (number, is_new) = *group_of.get(&row.number)?;
            is_new.then_some(NumberedRow { number, ..*row })
        });
        let json = rows_as_json(&firsts.collect::<Vec<_>>(), &columns);
        let mut sql = String::from("select r.n, o.");
        push_identifier(&mut sql, &self.value);
        sql.push_str("::text");
        push_rows(&mut sql, columns.len());
        sql.push_str(" join ");
        push_identifier(&mut sql, &self.schema);
        sql.push('.');
        push_identifier(&mut sql, &self.table);
        sql.push_str(" as o on true");
        for Join { inner, outer } in &self.joins {
            // A publication may leave it out.
            let Some(position) = position(outer) else { return Ok(RelatedValues::new()) };
            sql.push_str(" and o.");
            push_identifier(&mut sql, inner);
            let value = table.columns[columns[position].1].value(&format!("r.c{position}"));
            let _ = write!(sql, " = {value}");
        }
        let _ = write!(sql, " limit {}", MAX_VALUES + 1);
        // Only operators of Postgres itself, since these are not run on behalf of a user; and every row or none.
        let transaction = Transaction::anonymous()
            .setting("search_path", "")
            .setting("row_security", "off")
            .read_only()
            .on_primary()
            .timeout(TIME_LIMIT)
            .statement(sql, vec![text(&json)]);
        let reply = database.run(&transaction).await?;
        if reply.rows().len() > MAX_VALUES {
            return Ok(RelatedValues::new());
        }
        let mut of_group: Vec<Vec<Box<str>>> = vec![Vec::new(); groups.len()];
        for row in reply.rows() {
            let group = row.text(0).and_then(|number| of_group.get_mut(number.parse::<usize>().ok()?));
            if let (Some(group), Some(value)) = (group, row.text(1)) {
                group.push(value.into());
            }
        }
        let of_group: Vec<Arc<[Box<str>]>> = of_group.into_iter().map(Into::into).collect();
        let values = group_of
            .into_iter()
            .filter_map(|(row, (group, _))| Some((row, Arc::clone(of_group.get(group)?))));
        Ok(values.collect())
    }
}

//! Who may see a changed row at all, by what policies require: Postgres is asked about nobody else.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use postgres::Error;

use super::audience::{FilterIndex, Member};
use super::batch::TableBatch;
use super::evaluator::Evaluator;
use super::policy::{RelatedValues, RowValues};
use super::queries::{self, NumberedRow, is_slow, is_temporary};
use super::readers::{KnownValues, Readers, Requirements};
use super::table::RoleRights;
use crate::ids::ChannelId;
use crate::row::{Kind, RowChange};

/// What is known of the members of an audience and of the rows of one batch.
#[derive(Debug, Default)]
pub(super) struct Candidates {
    /// `None` if policies require nothing that is understood.
    readers: Option<Arc<Readers>>,
    /// In the order of [`Readers::values`]; `None` for the values of a column.
    related: Vec<Option<RelatedValues>>,
}

impl Candidates {
    /// Returns the values of the row after `change` that claims are compared with; `None` if nobody is left out.
    pub(super) fn values<'v>(
        &'v self,
        batch: &TableBatch,
        number: usize,
        change: &'v RowChange,
    ) -> Option<Vec<KnownValues<'v>>> {
        let readers = self.readers.as_ref().filter(|_| change.kind != Kind::Delete)?;
        let row = new_row(number, change)?;
        let texts = row.values();
        let of_column = |name: &str| {
            let position = batch.relation.columns.iter().position(|column| column.name == name);
            match position.and_then(|position| texts.get(position)) {
                None | Some(replication::Value::Unchanged) => KnownValues::Unknown,
                Some(replication::Value::Null) => KnownValues::One(None),
                Some(value) => value.text().map_or(KnownValues::Unknown, |text| KnownValues::One(Some(text))),
            }
        };
        let values = readers.values().zip(&self.related).map(|(values, related)| match (values, related) {
            (RowValues::Column(name), _) => of_column(name),
            (RowValues::Related(_), related) => related
                .as_ref()
                .and_then(|related| related.get(&number))
                .map_or(KnownValues::Unknown, |values| KnownValues::Many(values)),
        });
        Some(values.collect())
    }

    /// Returns the members of filter `number` who may see a row with `values`, which [`Self::values`] has returned.
    pub(super) fn members<'b>(
        &self,
        batch: &'b TableBatch,
        number: usize,
        values: Option<&[KnownValues<'_>]>,
    ) -> Vec<(ChannelId, &'b Member)> {
        match (&self.readers, values) {
            (Some(readers), Some(values)) => {
                let members = batch.audience.members(number);
                let positions = readers.candidates(number, values);
                let found = positions.into_iter().filter_map(|position| members?.get_index(position));
                found.map(|(channel, member)| (*channel, member)).collect()
            }
            _ => batch.members(&[number]).collect(),
        }
    }
}

/// Returns the row after a change, with the number of the change.
pub(super) fn new_row(number: usize, change: &RowChange) -> Option<NumberedRow<'_>> {
    let row = change.numbered(number).find(|row| row.number == queries::new_row(number))?;
    Some(NumberedRow { number, ..row })
}

impl Evaluator<'_> {
    /// Finds out who may see the rows of the batch.
    ///
    /// Errors: the database is not available.
    pub(super) async fn candidates(
        &self,
        index: &FilterIndex,
        rights: &HashMap<Box<str>, Arc<RoleRights>>,
    ) -> Result<Candidates, Error> {
        let (batch, catalog) = (self.batch, &self.changes.catalog);
        let mut requirements: Requirements = BTreeMap::new();
        for role in rights.iter().filter(|(_, rights)| rights.has_row_security).map(|(role, _)| role) {
            let required = catalog.requirement(&self.changes.database, role, &batch.table).await?;
            requirements.extend(required.map(|required| (role.clone(), required)));
        }
        if requirements.is_empty() {
            return Ok(Candidates::default());
        }
        let readers = batch.audience.readers(&requirements);
        let related = self.related(&readers, index).await?;
        Ok(Candidates { readers: Some(readers), related })
    }

    /// Returns the values of other tables that belong to the rows, in the order of [`Readers::values`].
    async fn related(
        &self,
        readers: &Readers,
        index: &FilterIndex,
    ) -> Result<Vec<Option<RelatedValues>>, Error> {
        let (batch, database) = (self.batch, &self.changes.database);
        let mut rows = Vec::new();
        if readers.values().any(|values| matches!(values, RowValues::Related(_))) {
            let none = HashMap::new();
            let is_wanted = |number: usize, change: &RowChange| {
                !index.by_shape.is_empty() || !batch.passed(number, change, index, &none).is_empty()
            };
            let changes = batch.numbers.iter().map(|number| (*number, &self.rows[*number]));
            let wanted = changes.filter(|(number, change)| is_wanted(*number, change));
            rows.extend(wanted.filter_map(|(number, change)| new_row(number, change)));
        }
        let mut found = Vec::new();
        for values in readers.values() {
            let RowValues::Related(related) = values else {
                found.push(None);
                continue;
            };
            // Everybody is asked about if it fails: who may not be left out is not known then.
            found.push(match related.values(database, &batch.table, &batch.shared, &rows).await {
                Ok(values) => Some(values),
                Err(error) if is_temporary(&error) && !is_slow(&error) => return Err(error),
                Err(error) => {
                    tracing::warn!(%error, table = batch.table.name, "all users are asked about row changes");
                    self.changes.catalog.require_nothing(batch.table.oid);
                    None
                }
            });
        }
        Ok(found)
    }
}

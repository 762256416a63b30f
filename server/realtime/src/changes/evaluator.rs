//! The evaluation of the changes of one table by Postgres, with the handling of values and policies that fail. That of
//! filters is in `slow_filters`, that of policies in `visibility`.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use postgres::Error;

use super::audience::FilterIndex;
use super::batch::TableBatch;
use super::candidates::Candidates;
use super::queries::{self, NumberedRow, Values};
use super::slow_filters::SlowBudget;
use super::subscriber::Principal;
use super::subscriptions::Changes;
use super::table::{RoleRights, Table};
use crate::row::{Kind, RowChange};

/// The results of Postgres about the changes of one table.
pub(super) struct Evaluation {
    pub(super) values: Values,
    /// By change: its number among all, and the filters that it passes.
    pub(super) passed: Vec<(usize, Vec<usize>)>,
    pub(super) rights: HashMap<Box<str>, Arc<RoleRights>>,
    /// By principal that policies apply to: the changes whose rows it sees.
    pub(super) visible: HashMap<Arc<Principal>, HashSet<usize>>,
    /// Who may see the rows at all.
    pub(super) candidates: Candidates,
}

/// The results about who gets the changes.
type Readership = (Vec<(usize, Vec<usize>)>, HashMap<Arc<Principal>, HashSet<usize>>, Candidates);

/// The evaluator of one table's changes.
pub(super) struct Evaluator<'a> {
    pub(super) changes: &'a Changes,
    pub(super) rows: &'a [RowChange],
    pub(super) batch: &'a TableBatch,
    /// Whether to give up queries that take too long.
    pub(super) is_last_attempt: bool,
    pub(super) budget: &'a SlowBudget,
}

impl Evaluator<'_> {
    /// Asks Postgres for everything that the delivery of the changes needs.
    ///
    /// Errors: the database is not available.
    pub(super) async fn evaluate(&self) -> Result<Evaluation, Error> {
        let batch = self.batch;
        let numbers = batch.numbers.iter();
        let rows: Vec<NumberedRow<'_>> =
            numbers.flat_map(|number| self.rows[*number].numbered(*number)).collect();
        let index = batch.audience.index(&batch.table);
        let mut rights = HashMap::new();
        for role in &index.roles {
            let found = self.changes.catalog.rights(&self.changes.database, role, batch.table.oid);
            rights.insert(role.clone(), found.await?);
        }
        let (values, readership) = tokio::try_join!(self.values(&rows), self.readership(&index, &rights))?;
        let (passed, visible, candidates) = readership;
        Ok(Evaluation { values, passed, rights, visible, candidates })
    }

    /// Finds out which filters the changes pass, and who sees their rows.
    async fn readership(
        &self,
        index: &FilterIndex,
        rights: &HashMap<Box<str>, Arc<RoleRights>>,
    ) -> Result<Readership, Error> {
        let batch = self.batch;
        // Policies are asked about rows that are there.
        let there = batch.numbers.iter().map(|number| &self.rows[*number]);
        let there = there.filter(|change| change.kind != Kind::Delete).map(|change| change.xid);
        let xids: HashSet<u32> = there.collect();
        if !xids.is_empty() && rights.values().any(|rights| rights.has_row_security) {
            queries::await_visibility(&self.changes.database, &xids).await?;
        }
        let candidates = self.candidates(index, rights).await?;
        let evaluated = self.passed(&index.by_shape, rights, &candidates).await?;
        let passed = batch.numbers.iter().map(|number| {
            let change = &self.rows[*number];
            (*number, batch.passed(*number, change, index, &evaluated))
        });
        let passed: Vec<(usize, Vec<usize>)> = passed.collect();
        let visible = self.visible(&passed, rights, &candidates).await?;
        Ok((passed, visible, candidates))
    }

    /// Returns the values of `rows`. Rows with values that their types do not accept are found by halving.
    async fn values(&self, rows: &[NumberedRow<'_>]) -> Result<Values, Error> {
        let (database, table, shared) = (&self.changes.database, &self.batch.table, &self.batch.shared);
        let (mut values, mut left) = (Values::new(), vec![rows]);
        while let Some(rows) = left.pop() {
            match queries::values(database, table, shared, rows, &[]).await {
                Ok(found) => values.extend(found),
                Err(error) if !self.gives_up(&error) => return Err(error),
                Err(_) if rows.len() > 1 => {
                    let (one, other) = rows.split_at(rows.len() / 2);
                    left.extend([other, one]);
                }
                Err(error) => values.extend(self.values_as_far_as_possible(rows, &error).await?),
            }
        }
        Ok(values)
    }

    /// Returns the values of the one row in `rows`, with texts in place of those that their types do not accept.
    /// `error` is Postgres' error for the row.
    async fn values_as_far_as_possible(
        &self,
        rows: &[NumberedRow<'_>],
        error: &Error,
    ) -> Result<Values, Error> {
        let (database, table, shared) = (&self.changes.database, &self.batch.table, &self.batch.shared);
        self.report("PostgresCdcChangesFailed", error, "a row change cannot be read wholly");
        // A column's type may have changed.
        self.changes.catalog.forget();
        let Some(row) = rows.first() else { return Ok(Values::new()) };
        let unreadable = queries::unreadable(database, table, shared, row).await?;
        match queries::values(database, table, shared, rows, &unreadable).await {
            Err(error) if self.gives_up(&error) => {
                self.report("PostgresCdcChangesFailed", &error, "a row change cannot be read and is lost");
                Ok(Values::new())
            }
            values => values,
        }
    }

    /// Reports whether another attempt would not help, or this was the last one.
    pub(super) fn gives_up(&self, error: &Error) -> bool {
        queries::gives_up(error, self.is_last_attempt)
    }

    /// Logs an error about the table.
    pub(super) fn report(&self, code: &str, error: &Error, what: &str) {
        let Table { schema, name, .. } = &*self.batch.table;
        tracing::error!(code, schema, table = name, %error, "{what}");
    }
}

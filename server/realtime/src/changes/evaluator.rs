//! The evaluation of the changes of one table by Postgres, with the handling of values and policies that fail. That of
//! filters is in `slow_filters`.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use futures_util::{FutureExt as _, StreamExt as _, TryStreamExt as _, stream};
use postgres::Error;

use super::batch::TableBatch;
use super::queries::{self, NumberedRow, Values};
use super::slow_filters::SlowBudget;
use super::subscriber::{Principal, Subscriber};
use super::subscriptions::Changes;
use super::table::{RoleRights, Table};
use crate::row::{Kind, RowChange};

/// Queries of one batch that run at the same time.
const MAX_CONCURRENT: usize = 3;

/// The results of Postgres about the changes of one table.
pub(super) struct Evaluation {
    pub(super) values: Values,
    /// By change: its number among all, and the filters that it passes.
    pub(super) passed: Vec<(usize, Vec<usize>)>,
    pub(super) rights: HashMap<Box<str>, Arc<RoleRights>>,
    /// By principal that policies apply to: the changes whose rows it sees.
    pub(super) visible: HashMap<Arc<Principal>, HashSet<usize>>,
}

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
        let values = self.values(&rows).await?;
        let index = batch.audience.index(&batch.table);
        let mut rights = HashMap::new();
        for role in &index.roles {
            let found = self.changes.catalog.rights(&self.changes.database, role, batch.table.oid);
            rights.insert(role.clone(), found.await?);
        }
        let evaluated = self.passed(&index.by_shape, &rights).await?;
        let passed = batch.numbers.iter().map(|number| {
            let change = &self.rows[*number];
            (*number, batch.passed(*number, change, &index, &evaluated))
        });
        let passed: Vec<(usize, Vec<usize>)> = passed.collect();
        let visible = self.visible(&passed, &rights).await?;
        Ok(Evaluation { values, passed, rights, visible })
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

    /// Returns, for each distinct role and claims that policies apply to, the changes whose rows it sees.
    pub(super) async fn visible(
        &self,
        passed: &[(usize, Vec<usize>)],
        rights: &HashMap<Box<str>, Arc<RoleRights>>,
    ) -> Result<HashMap<Arc<Principal>, HashSet<usize>>, Error> {
        let batch = self.batch;
        let mut by_principal: HashMap<Arc<Principal>, (&Subscriber, Vec<usize>)> = HashMap::new();
        for (number, filters) in passed {
            let change = &self.rows[*number];
            if change.kind == Kind::Delete || !batch.table.has_key() {
                continue;
            }
            for (_, member) in batch.members(filters) {
                let role = rights.get(member.subscriber.access.role());
                if role.is_some_and(|role| role.has_row_security && batch.may_select_key(role)) {
                    let principal = Arc::clone(&member.subscriber.principal);
                    let (_, numbers) =
                        by_principal.entry(principal).or_insert_with(|| (&member.subscriber, Vec::new()));
                    if numbers.last() != Some(number) {
                        numbers.push(*number);
                    }
                }
            }
        }
        if by_principal.is_empty() {
            return Ok(HashMap::new());
        }
        let xids =
            by_principal.values().flat_map(|(_, numbers)| numbers).map(|number| self.rows[*number].xid);
        queries::await_visibility(&self.changes.database, &xids.collect()).await?;
        // Boxed, since the compiler cannot tell otherwise that the task may move between threads.
        let seen = by_principal
            .into_iter()
            .map(|(principal, (subscriber, numbers))| self.seen_by(principal, subscriber, numbers).boxed());
        let seen: Vec<_> = seen.collect();
        stream::iter(seen).buffer_unordered(MAX_CONCURRENT).try_collect().await
    }

    /// Returns which of the changes `numbers` `subscriber` sees.
    async fn seen_by(
        &self,
        principal: Arc<Principal>,
        subscriber: &Subscriber,
        numbers: Vec<usize>,
    ) -> Result<(Arc<Principal>, HashSet<usize>), Error> {
        let row = |number: usize| {
            let tuple = self.rows[number].new.as_ref()?;
            Some(NumberedRow { number, tuple, before: None })
        };
        let rows: Vec<NumberedRow<'_>> = numbers.into_iter().filter_map(row).collect();
        let (database, batch) = (&self.changes.database, self.batch);
        match queries::visible(database, &subscriber.access, &batch.table, &batch.shared, &rows).await {
            Ok(visible) => Ok((principal, visible)),
            Err(error) if self.gives_up(&error) => {
                self.report("RlsPolicyError", &error, "the policies for row changes failed");
                Ok((principal, HashSet::new()))
            }
            Err(error) => Err(error),
        }
    }

    /// Reports whether another attempt would not help, or this was the last one.
    fn gives_up(&self, error: &Error) -> bool {
        queries::gives_up(error, self.is_last_attempt)
    }

    /// Logs an error about the table.
    pub(super) fn report(&self, code: &str, error: &Error, what: &str) {
        let Table { schema, name, .. } = &*self.batch.table;
        tracing::error!(code, schema, table = name, %error, "{what}");
    }
}

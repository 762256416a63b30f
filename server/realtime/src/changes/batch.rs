//! A batch of row changes: first evaluated, then delivered.

use std::borrow::Cow;
use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::sync::Arc;

use indexmap::IndexMap;
use postgres::Error;
use replication::{OldTuple, Relation, ReplicaIdentity, Value};

use super::audience::{Audience, FilterIndex, Member};
use super::evaluator::{Evaluation, Evaluator};
use super::filter::Condition;
use super::payload::{Change, Field, RowError};
use super::queries::{self, SharedColumn, Values, new_row, old_row};
use super::slow_filters::SlowBudget;
use super::subscriber::Subscriber;
use super::subscriptions::Changes;
use super::table::{RoleRights, Table};
use crate::broadcast::fan_out_frame;
use crate::frame::Frame;
use crate::ids::ChannelId;
use crate::protocol::Version;
use crate::row::{Kind, RowChange};

/// The changes of a batch, and their readers.
pub(crate) struct DeliveryPlan<'a> {
    rows: Cow<'a, [RowChange]>,
    tables: Vec<(TableBatch, Evaluation)>,
}

/// Decides who gets which of `rows`. Queries that take too long are given up at the last attempt. `budget` is the
/// batch's, for all attempts.
///
/// Errors: the database is not available.
pub(crate) async fn plan<'a>(
    changes: &Changes,
    rows: &'a [RowChange],
    is_last_attempt: bool,
    budget: &SlowBudget,
) -> Result<DeliveryPlan<'a>, Error> {
    let mut by_table: Vec<(Arc<Relation>, Vec<usize>)> = Vec::new();
    for (number, row) in rows.iter().enumerate() {
        match by_table.iter_mut().find(|(relation, _)| Arc::ptr_eq(relation, &row.relation)) {
            Some((_, numbers)) => numbers.push(number),
            None => by_table.push((Arc::clone(&row.relation), vec![number])),
        }
    }
    let mut rows = Cow::Borrowed(rows);
    let mut tables = Vec::with_capacity(by_table.len());
    for (mut relation, numbers) in by_table {
        let Some(audience) = changes.audiences.of(relation.oid) else { continue };
        let Some(xid) = numbers.first().map(|number| rows[*number].xid) else { continue };
        let known = changes.catalog.table(&changes.database, &relation, xid).await?;
        let Some((table, generated)) = known else { continue };
        if let Some(generated) = generated {
            let Changes { database, catalog, .. } = changes;
            let completed = generated.complete(database, catalog, &rows, &numbers, is_last_attempt).await?;
            for (number, completed) in numbers.iter().zip(completed) {
                rows.to_mut()[*number] = completed;
            }
            relation = Arc::clone(&generated.relation);
        }
        let shared = queries::shared_columns(&relation, &table);
        let old_rows_bypass_rls = changes.settings.get().old_rows_bypass_rls;
        let batch = TableBatch { relation, table, shared, audience, numbers, old_rows_bypass_rls };
        let evaluation =
            Evaluator { changes, rows: &rows, batch: &batch, is_last_attempt, budget }.evaluate().await?;
        tables.push((batch, evaluation));
    }
    Ok(DeliveryPlan { rows, tables })
}

impl DeliveryPlan<'_> {
    /// Sends the messages, in the order of the changes, and returns their number.
    pub(crate) async fn deliver(&self) -> u64 {
        let mut next = vec![0; self.tables.len()];
        let mut deliveries = 0;
        for (number, row) in self.rows.iter().enumerate() {
            for ((batch, evaluation), next) in self.tables.iter().zip(&mut next) {
                if batch.numbers.get(*next) == Some(&number) {
                    deliveries += batch.deliver(*next, row, evaluation);
                    *next += 1;
                }
            }
            // A change may have many thousand readers; other tasks need time, too.
            tokio::task::consume_budget().await;
        }
        deliveries
    }
}

/// The changes of one table in a batch.
pub(super) struct TableBatch {
    pub(super) relation: Arc<Relation>,
    pub(super) table: Arc<Table>,
    pub(super) shared: Vec<SharedColumn>,
    pub(super) audience: Arc<Audience>,
    /// The numbers of the changes in the batch.
    pub(super) numbers: Vec<usize>,
    /// The setting of this name.
    pub(super) old_rows_bypass_rls: bool,
}

/// The id of a binding, and the columns that it selects.
type Selection<'a> = (u32, Option<&'a [String]>);

impl TableBatch {
    /// Returns the filters that a change passes; `evaluated` has the results of those that Postgres evaluated.
    pub(super) fn passed(
        &self,
        number: usize,
        change: &RowChange,
        index: &FilterIndex,
        evaluated: &HashMap<usize, Vec<usize>>,
    ) -> Vec<usize> {
        let filtered = change.filtered_row(number);
        let Some(row) = change.numbered(number).find(|row| row.number == filtered) else { return Vec::new() };
        let values = row.values();
        let has_key_alone = change.has_key_alone(number, filtered);
        let position = |name: &str| {
            let position = self.relation.columns.iter().position(|column| column.name == name)?;
            let is_there = !has_key_alone || self.relation.columns[position].is_key;
            (is_there && values.get(position) != Some(&Value::Unchanged)).then_some(position)
        };
        let mut passed = index.every.clone();
        index.find(|name| values.get(position(name)?)?.text(), &mut passed);
        for filter in evaluated.get(&filtered).into_iter().flatten() {
            let conditions = self.audience.filter(*filter).unwrap_or_default();
            if conditions.iter().all(|condition| position(&condition.column).is_some()) {
                passed.push(*filter);
            }
        }
        passed.sort_unstable();
        passed
    }

    /// Returns the members with these filters.
    pub(super) fn members(&self, filters: &[usize]) -> impl Iterator<Item = (ChannelId, &Member)> {
        let members = filters.iter().filter_map(|filter| self.audience.members(*filter)).flatten();
        members.map(|(channel, member)| (*channel, member))
    }

    /// Returns the members that a change is for: those whose filters it passes, and, regardless of their filters, those
    /// that get an error in place of rows, since even the result of a filter would reveal something about the row.
    fn readers(
        &self,
        number: usize,
        change: &RowChange,
        passed: &[usize],
        evaluation: &Evaluation,
    ) -> Vec<(ChannelId, &Member)> {
        let candidates = &evaluation.candidates;
        let values = candidates.values(self, number, change);
        let is_error = |role: &RoleRights| self.row_error(change.kind, role).is_some();
        let passing = passed.iter().flat_map(|filter| {
            let roles = evaluation.rights.iter();
            let untold = roles.filter(|(_, rights)| !self.may_tell(*filter, change.kind, rights));
            let untold: Vec<&str> = untold.map(|(role, _)| &**role).collect();
            let members = candidates.members(self, *filter, values.as_deref());
            members.into_iter().filter(move |(_, member)| !untold.contains(&member.subscriber.access.role()))
        });
        if !evaluation.rights.values().any(|role| is_error(role)) {
            return passing.collect();
        }
        let all: Vec<usize> = (0..self.audience.filters()).collect();
        let gets_error = |member: &Member| {
            evaluation.rights.get(member.subscriber.access.role()).is_some_and(|role| is_error(role))
        };
        let refused = self.members(&all).filter(|(_, member)| gets_error(member));
        passing.filter(|(_, member)| !gets_error(member)).chain(refused).collect()
    }

    /// Reports whether the result of a filter may be told to a role: it may read the columns of the conditions now, and
    /// the conditions reveal nothing of a row that is gone and that policies may have hidden, but its primary key.
    pub(super) fn may_tell(&self, filter: usize, kind: Kind, rights: &RoleRights) -> bool {
        let has_key_alone = kind == Kind::Delete && self.hides_old_rows(rights);
        self.audience.filter(filter).unwrap_or_default().iter().all(|Condition { column: name, .. }| {
            let is_key = || self.table.column(name).is_some_and(|column| column.is_key);
            rights.columns.contains(name) && (!has_key_alone || is_key())
        })
    }

    /// Reports whether policies decide which members of a role get a change: they can be asked about a row that is
    /// there.
    pub(super) fn needs_policies(kind: Kind, rights: &RoleRights) -> bool {
        kind != Kind::Delete && rights.has_row_security
    }

    /// Reports whether a role may learn only the primary key of rows as they were before a change: policies can be
    /// applied to a row as it is, but not as it was.
    const fn hides_old_rows(&self, rights: &RoleRights) -> bool {
        rights.has_row_security && !self.old_rows_bypass_rls
    }

    /// Sends the messages about the change at `position` among the table's, and returns how many these were.
    fn deliver(&self, position: usize, change: &RowChange, evaluation: &Evaluation) -> u64 {
        let Some((number, passed)) = evaluation.passed.get(position) else { return 0 };
        let mut channels: IndexMap<ChannelId, (&Member, Vec<Selection<'_>>)> = IndexMap::new();
        for (channel, member) in self.readers(*number, change, passed, evaluation) {
            let wanted = member.bindings.iter();
            for binding in wanted.filter(|binding| binding.kind.is_none_or(|kind| kind == change.kind)) {
                let (_, ids) = channels.entry(channel).or_insert((member, Vec::new()));
                ids.push((binding.id, binding.select.as_deref()));
            }
        }
        let (mut texts, mut deliveries) = (TextCache::default(), 0);
        for (member, bindings) in channels.into_values() {
            let subscriber = &member.subscriber;
            let Some(rights) = evaluation.rights.get(subscriber.access.role()) else { continue };
            let error = self.row_error(change.kind, rights);
            let sees =
                || evaluation.visible.get(&subscriber.principal).is_some_and(|seen| seen.contains(number));
            if error.is_none() && Self::needs_policies(change.kind, rights) && !sees() {
                continue;
            }
            // A row that cannot be read is not sent.
            if error.is_none() && !evaluation.values.contains_key(&change.filtered_row(*number)) {
                continue;
            }
            let mut selects: Vec<Option<&[String]>> = Vec::new();
            for (_, select) in &bindings {
                if !selects.contains(select) {
                    selects.push(*select);
                }
            }
            for select in selects {
                let mut ids: Vec<u32> =
                    bindings.iter().filter(|(_, other)| *other == select).map(|(id, _)| *id).collect();
                ids.sort_unstable();
                ids.dedup();
                let make = || self.data(*number, change, &evaluation.values, error, rights, select);
                let key = DataKey {
                    error,
                    columns: &rights.columns,
                    hides_old: self.hides_old_rows(rights),
                    select,
                };
                let data = texts.data(key, make);
                let frame = texts.frame(data, subscriber, ids);
                deliveries += u64::from(subscriber.outbox.send(frame));
            }
        }
        deliveries
    }

    /// Reports whether a role may select all columns of the primary key.
    pub(super) fn may_select_key(&self, rights: &RoleRights) -> bool {
        let mut keys = self.table.columns.iter().filter(|column| column.is_key);
        keys.all(|key| rights.columns.contains(&key.name))
    }

    /// Returns the error that a role gets in place of rows, if any.
    fn row_error(&self, kind: Kind, rights: &RoleRights) -> Option<RowError> {
        match kind {
            Kind::Delete => None,
            _ if !self.table.has_key() => Some(RowError::NoKey),
            _ if !self.may_select_key(rights) => Some(RowError::Unauthorized),
            _ => None,
        }
    }

    /// Returns a change as JSON for a role.
    fn data(
        &self,
        number: usize,
        change: &RowChange,
        values: &Values,
        error: Option<RowError>,
        rights: &RoleRights,
        select: Option<&[String]>,
    ) -> String {
        let row = |row: usize| values.get(&row).map(Vec::as_slice);
        let (new, old) = (row(new_row(number)), row(old_row(number)));
        let record = new.map(|new| self.record(new));
        let old_record = (change.kind != Kind::Insert).then(|| self.old_record(change, new, old, rights));
        let (kind, committed_at) = (change.kind, change.committed_at);
        let whole = Change { kind, table: &self.table, committed_at, record, old_record };
        if let Some(error) = error {
            return whole.to_error(error);
        }
        whole.to_json(|index| {
            let column = &self.table.columns[index];
            let is_wanted = select.is_none_or(|select| column.is_key || select.contains(&column.name));
            is_wanted && rights.columns.contains(&column.name)
        })
    }

    /// Reports whether all columns of the row before the change are known.
    fn knows_all(&self, change: &RowChange) -> bool {
        matches!(change.old, Some(OldTuple::Full(_)))
            && self.relation.replica_identity == ReplicaIdentity::Full
    }

    /// Returns the row after the change, as far as it is known.
    fn record<'v>(&self, new: JsonRow<'v>) -> Vec<Field<'v>> {
        self.shared
            .iter()
            .filter_map(|&(source, column)| Some((column, new.get(source)?.as_deref()?)))
            .collect()
    }

    /// Returns the fields of the row before the change that a role gets: all, or the replica identity; only the primary
    /// key of old rows that are hidden from it, and, as upstream, of a deletion from a table with row-level security.
    fn old_record<'v>(
        &self,
        change: &RowChange,
        new: Option<JsonRow<'v>>,
        old: Option<JsonRow<'v>>,
        rights: &RoleRights,
    ) -> Vec<Field<'v>> {
        let is_whole = self.knows_all(change);
        // An update that leaves the identity as it is has no old row in the stream.
        let Some(row) = old.or(new) else { return Vec::new() };
        let is_guarded_deletion = change.kind == Kind::Delete && self.table.has_row_security;
        let has_key_alone = is_guarded_deletion || self.hides_old_rows(rights);
        let columns = self.shared.iter().filter(|(source, column)| {
            (is_whole || self.relation.columns[*source].is_key)
                && (!has_key_alone || self.table.columns[*column].is_key)
        });
        columns.filter_map(|&(source, column)| Some((column, row.get(source)?.as_deref()?))).collect()
    }
}

/// The values of a row.
type JsonRow<'v> = &'v [Option<Box<str>>];

/// The texts of one change, each written once.
#[derive(Default)]
struct TextCache<'a> {
    data: Vec<(DataKey<'a>, String)>,
    frames: HashMap<(usize, Version, Arc<str>, Vec<u32>), Frame>,
}

/// The key of a change's JSON: all that it depends on.
#[derive(Clone, Copy, PartialEq, Eq)]
struct DataKey<'a> {
    error: Option<RowError>,
    /// The columns that the role may select.
    columns: &'a [String],
    /// Whether the row before the change is hidden but for its primary key.
    hides_old: bool,
    /// The columns that the client wants.
    select: Option<&'a [String]>,
}

impl<'a> TextCache<'a> {
    fn data(&mut self, key: DataKey<'a>, make: impl FnOnce() -> String) -> usize {
        let known = self.data.iter().position(|(other, _)| *other == key);
        known.unwrap_or_else(|| {
            self.data.push((key, make()));
            self.data.len() - 1
        })
    }

    fn frame(&mut self, data: usize, subscriber: &Subscriber, ids: Vec<u32>) -> Frame {
        let (version, topic) = (subscriber.version, &subscriber.topic);
        let make = |ids: &[u32]| {
            let list: Vec<String> = ids.iter().map(u32::to_string).collect();
            let payload = format!("{{\"ids\":[{}],\"data\":{}}}", list.join(","), self.data[data].1);
            fan_out_frame(topic, "postgres_changes", &payload, version)
        };
        match self.frames.entry((data, version, Arc::clone(topic), ids)) {
            Entry::Occupied(known) => known.get().clone(),
            Entry::Vacant(unknown) => {
                let frame = subscriber.outbox.count(make(&unknown.key().3));
                unknown.insert(frame).clone()
            }
        }
    }
}

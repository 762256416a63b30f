//! The audience of each table: the channels that want its changes, by filter.
//!
//! Each filter is stored once, however many channels have it. Filters that compare a column with a value, by far the
//! most common ones, are found by that value: a change costs the same whether ten or ten thousand other values are
//! wanted.

use std::collections::{BTreeSet, HashMap, HashSet};
use std::sync::Arc;

use indexmap::IndexMap;
use parking_lot::Mutex;

use super::filter::{Comparison, Condition, Test};
use super::readers::{Readers, Requirements};
use super::resolve::Target;
use super::subscriber::Subscriber;
use super::table::Table;
use crate::ids::ChannelId;
use crate::row::Kind;

/// The channels that want changes, by table.
#[derive(Debug, Default)]
pub(crate) struct Audiences {
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    tables: HashMap<u32, Arc<Audience>>,
    channels: HashMap<ChannelId, Vec<Membership>>,
}

/// A table and a filter that a channel is a member of.
type Membership = (u32, Arc<[Condition]>);

/// The channels that want changes of one table.
#[derive(Debug, Default)]
pub(crate) struct Audience {
    /// By filter; an empty one takes every change.
    filters: IndexMap<Arc<[Condition]>, Members>,
    /// Those of the filters that were too slow once. Copies of the audience share it.
    slow: Arc<Mutex<HashSet<Arc<[Condition]>>>>,
    /// The index of the filters, with the table that it was built for; `None` until it is needed.
    index: Mutex<Option<(Arc<Table>, Arc<FilterIndex>)>>,
    /// The index of the members, with what it was built for; `None` until it is needed.
    readers: Mutex<Option<Arc<Readers>>>,
}

/// The channels that have one filter.
type Members = IndexMap<ChannelId, Member>;

/// A channel and what it wants of the changes that pass a filter.
#[derive(Debug, Clone)]
pub(crate) struct Member {
    pub(crate) subscriber: Arc<Subscriber>,
    pub(crate) bindings: Vec<MemberBinding>,
}

/// A binding of a member.
#[derive(Debug, Clone)]
pub(crate) struct MemberBinding {
    pub(crate) id: u32,
    /// `None` for every kind.
    pub(crate) kind: Option<Kind>,
    /// `None` for all columns.
    pub(crate) select: Option<Arc<[String]>>,
}

impl Clone for Audience {
    /// Returns a copy without the indexes: the copy is about to be changed.
    fn clone(&self) -> Self {
        let (index, readers) = (Mutex::default(), Mutex::default());
        Self { filters: self.filters.clone(), slow: Arc::clone(&self.slow), index, readers }
    }
}

impl Audiences {
    /// Sets the changes that a channel gets to those of `targets`.
    pub(crate) fn set(&self, channel: ChannelId, subscriber: &Arc<Subscriber>, targets: Vec<Target>) {
        let mut state = self.state.lock();
        let slow = state.slow(channel);
        state.remove(channel);
        for target in targets {
            let filters = state.channels.entry(channel).or_default();
            filters.push((target.table, Arc::clone(&target.filter)));
            let members = state.change(target.table).filters.entry(target.filter).or_default();
            let new = || Member { subscriber: Arc::clone(subscriber), bindings: Vec::new() };
            let binding = MemberBinding { id: target.id, kind: target.kind, select: target.select };
            members.entry(channel).or_insert_with(new).bindings.push(binding);
        }
        // A renewed subscription has the filters that it had before.
        for (table, filter) in slow {
            state.mark_slow(table, &filter);
        }
    }

    /// Removes a channel.
    pub(crate) fn remove(&self, channel: ChannelId) {
        self.state.lock().remove(channel);
    }

    /// Returns the audience of a table.
    pub(crate) fn of(&self, table: u32) -> Option<Arc<Audience>> {
        self.state.lock().tables.get(&table).cloned()
    }

    /// Remembers that filters of a table were too slow, as long as anybody has them.
    pub(crate) fn mark_slow(&self, table: u32, filters: &[(usize, &[Condition])]) {
        let state = self.state.lock();
        for (_, filter) in filters {
            state.mark_slow(table, filter);
        }
    }
}

impl State {
    /// Returns the audience of a table for a change.
    fn change(&mut self, table: u32) -> &mut Audience {
        let audience = Arc::make_mut(self.tables.entry(table).or_default());
        (audience.index, audience.readers) = (Mutex::default(), Mutex::default());
        audience
    }

    /// Remembers that a filter was too slow, if anybody has it.
    fn mark_slow(&self, table: u32, filter: &[Condition]) {
        let Some(audience) = self.tables.get(&table) else { return };
        if let Some((filter, _)) = audience.filters.get_key_value(filter) {
            audience.slow.lock().insert(Arc::clone(filter));
        }
    }

    /// Returns those filters of a channel that were too slow once.
    fn slow(&self, channel: ChannelId) -> Vec<Membership> {
        let memberships = self.channels.get(&channel).into_iter().flatten();
        let is_slow = |(table, filter): &&Membership| {
            self.tables.get(table).is_some_and(|audience| audience.slow.lock().contains(filter))
        };
        memberships.filter(is_slow).cloned().collect()
    }

    fn remove(&mut self, channel: ChannelId) {
        for (table, filter) in self.channels.remove(&channel).into_iter().flatten() {
            let Audience { filters, slow, .. } = self.change(table);
            if let Some(members) = filters.get_mut(&filter) {
                members.swap_remove(&channel);
                if members.is_empty() {
                    filters.swap_remove(&filter);
                    slow.lock().remove(&filter);
                }
            }
            if filters.is_empty() {
                self.tables.remove(&table);
            }
        }
    }
}

impl Audience {
    /// Returns the channels of filter `number`.
    pub(crate) fn members(&self, number: usize) -> Option<&Members> {
        self.filters.get_index(number).map(|(_, members)| members)
    }

    /// Returns the number of filters.
    pub(crate) fn filters(&self) -> usize {
        self.filters.len()
    }

    /// Returns filter `number`.
    pub(crate) fn filter(&self, number: usize) -> Option<&[Condition]> {
        self.filters.get_index(number).map(|(filter, _)| &**filter)
    }

    /// Returns the numbers of the filters that were too slow once.
    pub(crate) fn slow(&self) -> Vec<usize> {
        self.slow.lock().iter().filter_map(|filter| self.filters.get_index_of(filter)).collect()
    }

    /// Returns the index of the filters for rows of `table`.
    pub(crate) fn index(&self, table: &Arc<Table>) -> Arc<FilterIndex> {
        let mut cached = self.index.lock();
        match &*cached {
            Some((of, index)) if of == table => Arc::clone(index),
            _ => {
                let index = Arc::new(self.build_index(table));
                *cached = Some((Arc::clone(table), Arc::clone(&index)));
                index
            }
        }
    }

    /// Returns the index of the members by what policies require of them.
    pub(super) fn readers(&self, requirements: &Requirements) -> Arc<Readers> {
        let mut cached = self.readers.lock();
        match &*cached {
            Some(readers) if readers.requirements == *requirements => Arc::clone(readers),
            _ => {
                let filters = self.filters.values().map(|members| {
                    let access = members.values().map(|member| &member.subscriber.access);
                    access.map(|access| (access.role(), &access.verified.claims))
                });
                let readers = Arc::new(Readers::new(requirements.clone(), filters));
                *cached = Some(Arc::clone(&readers));
                readers
            }
        }
    }

    fn build_index(&self, table: &Table) -> FilterIndex {
        let mut index = FilterIndex::default();
        let mut by_shape: IndexMap<Vec<Condition>, Vec<usize>> = IndexMap::new();
        for (number, (filter, members)) in self.filters.iter().enumerate() {
            let by_text = |condition: &Condition| {
                table.column(&condition.column).is_some_and(|column| column.is_equal_by_text)
            };
            let values = match &**filter {
                [] => Some(&[][..]),
                [condition] if !condition.is_negated && by_text(condition) => match &condition.test {
                    Test::Compare(Comparison::Eq, value) => Some(std::slice::from_ref(value)),
                    Test::In(values) => Some(&values[..]),
                    _ => None,
                },
                _ => None,
            };
            match (values, filter.first()) {
                (Some(_), None) => index.every.push(number),
                (Some(values), Some(condition)) => index.add(&condition.column, values, number),
                (None, _) => {
                    by_shape.entry(filter.iter().map(Condition::shape).collect()).or_default().push(number);
                }
            }
            index.roles.extend(members.values().map(|member| member.subscriber.access.role().into()));
        }
        index.by_shape = by_shape.into_values().collect();
        index
    }
}

/// An index of filters, by their numbers.
#[derive(Debug, Default)]
pub(crate) struct FilterIndex {
    /// Filters that every row passes.
    pub(crate) every: Vec<usize>,
    /// By column and value.
    by_value: HashMap<Box<str>, HashMap<Box<str>, Vec<usize>>>,
    /// Filters that Postgres evaluates, grouped by shape.
    pub(crate) by_shape: Vec<Vec<usize>>,
    /// The roles of all members.
    pub(crate) roles: BTreeSet<Box<str>>,
}

impl FilterIndex {
    fn add(&mut self, column: &str, values: &[String], filter: usize) {
        let by_value = self.by_value.entry(column.into()).or_default();
        for value in values {
            let filters = by_value.entry(value.as_str().into()).or_default();
            if filters.last() != Some(&filter) {
                filters.push(filter);
            }
        }
    }

    /// Adds to `passed` the filters by value that a row passes; `value` returns the text of its columns.
    pub(crate) fn find<'v>(&self, value: impl Fn(&str) -> Option<&'v str>, passed: &mut Vec<usize>) {
        for (column, by_value) in &self.by_value {
            if let Some(filters) = value(column).and_then(|value| by_value.get(value)) {
                passed.extend(filters);
            }
        }
    }
}

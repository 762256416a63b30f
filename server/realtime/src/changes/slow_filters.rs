//! The evaluation of filters by Postgres, with a bound on what slow ones cost, and with what subscribers are told of
//! those that fail.
//!
//! All filters of one shape are evaluated in one statement, on all rows. If it fails, halving finds the filters that
//! fail. These are evaluated again, each alone and only on the rows that its subscribers may know of, so that a failure
//! tells nothing of rows that policies hide. A filter that was slow is remembered, and evaluated in this way only. So
//! are regular expressions of subscribers under policies: the time that they take of a hidden row would tell what is in
//! it.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::sync::Arc;
use std::time::{Duration, Instant};

use parking_lot::Mutex;
use postgres::Error;

use super::audience::Member;
use super::batch::TableBatch;
use super::candidates::Candidates;
use super::evaluator::Evaluator;
use super::filter::Condition;
use super::queries::{self, NumberedRow, PATTERN_LIMIT, TIME_LIMIT, is_slow, is_temporary};
use super::subscriber::Principal;
use super::table::RoleRights;
use crate::ids::ChannelId;

/// The message to a subscription whose filter cannot be evaluated on the table's rows.
const INVALID_FILTER: &str = "Unable to subscribe to changes: the filter cannot be evaluated";

/// How long slow filters may take of one batch on all rows, and on the rows that subscribers see. These are apart,
/// since the first depends on rows that are hidden from some. Their sum is what others wait for slow filters.
const TIME_ON_ALL_ROWS: Duration = Duration::from_millis(1500);
const TIME_ON_SEEN_ROWS: Duration = Duration::from_millis(500);
/// How long a statement may take when slow filters have used up their time: others are hardly ever this slow.
const LEAST_TIME: Duration = Duration::from_millis(20);
/// How long a filter may take of a batch without counting as slow.
const FAIR_TIME: Duration = Duration::from_millis(1);

/// The time that is left for the slow filters of one batch, in all its tables and attempts.
#[derive(Debug)]
pub(crate) struct SlowBudget {
    on_all_rows: TimeLeft,
    on_seen_rows: TimeLeft,
}

impl Default for SlowBudget {
    fn default() -> Self {
        Self { on_all_rows: TimeLeft::new(TIME_ON_ALL_ROWS), on_seen_rows: TimeLeft::new(TIME_ON_SEEN_ROWS) }
    }
}

/// A time that is left.
#[derive(Debug)]
struct TimeLeft(Mutex<Duration>);

impl TimeLeft {
    const fn new(time: Duration) -> Self {
        Self(Mutex::new(time))
    }

    /// Returns how long the next statement may take: no more than half of what is left, so that there is always some
    /// left for another one; `None` if it is used up.
    fn limit(&self) -> Option<Duration> {
        let half = *self.0.lock() / 2;
        (half >= LEAST_TIME).then(|| half.min(PATTERN_LIMIT))
    }

    fn spend(&self, time: Duration) {
        let mut left = self.0.lock();
        *left = left.saturating_sub(time);
    }
}

/// The numbers of the filters that each row passes, by the row's number.
type Passed = HashMap<usize, Vec<usize>>;

/// Members who may know of the same changes.
#[derive(Debug, Default)]
struct Group<'a> {
    members: Vec<(ChannelId, &'a Member)>,
    /// Whether policies have chosen the changes.
    is_guarded: bool,
}

impl Evaluator<'_> {
    /// Returns which filters of `by_shape` each row passes. The subscriptions of filters that cannot be evaluated end.
    /// `rights` are those of all roles, `candidates` who may see the rows.
    ///
    /// Errors: the database is not available.
    pub(super) async fn passed(
        &self,
        by_shape: &[Vec<usize>],
        rights: &HashMap<Box<str>, Arc<RoleRights>>,
        candidates: &Candidates,
    ) -> Result<Passed, Error> {
        if by_shape.is_empty() {
            return Ok(Passed::new());
        }
        let mut failed = self.batch.audience.slow();
        for number in by_shape.iter().flatten() {
            if !failed.contains(number) && self.may_betray(*number, rights) {
                failed.push(*number);
            }
        }
        let mut usual: Vec<Vec<usize>> = by_shape.to_vec();
        if !failed.is_empty() {
            for numbers in &mut usual {
                numbers.retain(|number| !failed.contains(number));
            }
            usual.retain(|numbers| !numbers.is_empty());
        }
        let mut passed = Passed::new();
        self.together(&usual, &mut passed, &mut failed).await?;
        if !failed.is_empty() {
            self.each_alone(&failed, rights, candidates, &mut passed).await?;
        }
        Ok(passed)
    }

    /// Reports whether the time that filter `number` takes may tell its subscribers of rows that policies hide.
    fn may_betray(&self, number: usize, rights: &HashMap<Box<str>, Arc<RoleRights>>) -> bool {
        let Some(filter) = self.batch.audience.filter(number) else { return false };
        filter.iter().any(Condition::is_regular_expression)
            && self.batch.members(&[number]).any(|(_, member)| {
                let rights = rights.get(member.subscriber.access.role());
                rights.is_none_or(|rights| rights.has_row_security)
            })
    }

    /// Evaluates filters on all rows, those of one shape together. Adds the results to `passed`, and to `failed` the
    /// filters that cannot be evaluated.
    async fn together(
        &self,
        by_shape: &[Vec<usize>],
        passed: &mut Passed,
        failed: &mut Vec<usize>,
    ) -> Result<(), Error> {
        let TableBatch { table, shared, .. } = self.batch;
        let json = queries::rows_as_json(&self.filtered_rows(&self.batch.numbers), shared);
        let budget = &self.budget.on_all_rows;
        let mut left: Vec<&[usize]> = by_shape.iter().map(Vec::as_slice).collect();
        while let Some(numbers) = left.pop() {
            let filters = self.filters(numbers);
            let has_pattern =
                filters.iter().any(|(_, filter)| filter.iter().any(|test| test.pattern().is_some()));
            let limit = if has_pattern { budget.limit().unwrap_or(LEAST_TIME) } else { TIME_LIMIT };
            let begun = Instant::now();
            let found = queries::passed(&self.changes.database, table, shared, &json, &filters, limit).await;
            if has_pattern {
                let fair = if found.is_ok() { FAIR_TIME * filters.len() as u32 } else { Duration::ZERO };
                budget.spend(begun.elapsed().saturating_sub(fair));
            }
            let error = match found {
                Ok(found) => {
                    add(passed, found);
                    continue;
                }
                Err(error) => error,
            };
            if is_temporary(&error) && !is_slow(&error) {
                return Err(error);
            }
            let is_hopeless = has_pattern && is_slow(&error) && budget.limit().is_none();
            if numbers.len() > 1 && !is_hopeless {
                let (one, other) = numbers.split_at(numbers.len() / 2);
                left.extend([other, one]);
                continue;
            }
            // A pattern is slow by itself, and is not worth another attempt for all.
            let may_recover = !has_pattern || matches!(error, Error::AcquireTimeout(_));
            if is_slow(&error) && may_recover && !self.is_last_attempt {
                return Err(error);
            }
            self.note(numbers, &error);
            failed.extend(numbers);
        }
        Ok(())
    }

    /// Evaluates the filters `numbers` one by one on the rows that their members may know of, and adds the results to
    /// `passed`. The subscriptions of members on whose rows that fails end.
    async fn each_alone(
        &self,
        numbers: &[usize],
        rights: &HashMap<Box<str>, Arc<RoleRights>>,
        candidates: &Candidates,
        passed: &mut Passed,
    ) -> Result<(), Error> {
        let asked: Vec<(usize, Vec<usize>)> =
            self.batch.numbers.iter().map(|change| (*change, numbers.to_vec())).collect();
        let seen = self.visible(&asked, rights, candidates).await?;
        for number in numbers {
            for (changes, group) in self.groups(*number, rights, &seen) {
                self.alone(*number, &changes, &group, passed).await?;
            }
        }
        Ok(())
    }

    /// Evaluates filter `number` on `changes`, which are all that the members of `group` may know of.
    async fn alone(
        &self,
        number: usize,
        changes: &[usize],
        group: &Group<'_>,
        passed: &mut Passed,
    ) -> Result<(), Error> {
        let TableBatch { table, shared, .. } = self.batch;
        let budget = if group.is_guarded { &self.budget.on_seen_rows } else { &self.budget.on_all_rows };
        let Some(limit) = budget.limit() else {
            // The time may have been used up by what others see, so those whom policies stop are not told.
            if !group.is_guarded {
                self.end(group);
            }
            return Ok(());
        };
        let json = queries::rows_as_json(&self.filtered_rows(changes), shared);
        let (begun, filters) = (Instant::now(), self.filters(&[number]));
        let found = queries::passed(&self.changes.database, table, shared, &json, &filters, limit).await;
        budget.spend(begun.elapsed().saturating_sub(FAIR_TIME));
        match found {
            Ok(found) => add(passed, found),
            Err(error) if is_temporary(&error) && !is_slow(&error) => return Err(error),
            Err(error @ Error::AcquireTimeout(_)) if !self.is_last_attempt => return Err(error),
            Err(error) => {
                self.note(&[number], &error);
                self.end(group);
            }
        }
        Ok(())
    }

    /// Returns the members of filter `number` by the changes that they may know of: those that it may be told for,
    /// and whose rows they see. Members who may know of none are left out.
    fn groups(
        &self,
        number: usize,
        rights: &HashMap<Box<str>, Arc<RoleRights>>,
        seen: &HashMap<Arc<Principal>, HashSet<usize>>,
    ) -> BTreeMap<Vec<usize>, Group<'_>> {
        let batch = self.batch;
        let mut groups: BTreeMap<Vec<usize>, Group<'_>> = BTreeMap::new();
        for (channel, member) in batch.members(&[number]) {
            let Some(rights) = rights.get(member.subscriber.access.role()) else { continue };
            let seen = seen.get(&member.subscriber.principal);
            let known = batch.numbers.iter().copied().filter(|change| {
                let kind = self.rows[*change].kind;
                let is_hidden = TableBatch::needs_policies(kind, rights)
                    && !seen.is_some_and(|seen| seen.contains(change));
                batch.may_tell(number, kind, rights) && !is_hidden
            });
            let known: Vec<usize> = known.collect();
            if !known.is_empty() {
                let group = groups.entry(known).or_default();
                group.members.push((channel, member));
                group.is_guarded |= rights.has_row_security;
            }
        }
        groups
    }

    /// Returns the rows of changes that filters are applied to.
    fn filtered_rows(&self, changes: &[usize]) -> Vec<NumberedRow<'_>> {
        let rows = changes.iter().flat_map(|number| {
            let change = &self.rows[*number];
            let filtered = change.filtered_row(*number);
            change.numbered(*number).filter(move |row| row.number == filtered)
        });
        rows.collect()
    }

    /// Returns the filters `numbers` with their numbers.
    fn filters(&self, numbers: &[usize]) -> Vec<(usize, &[Condition])> {
        let audience = &self.batch.audience;
        numbers.iter().filter_map(|number| Some((*number, audience.filter(*number)?))).collect()
    }

    /// Logs that filters failed, and remembers them if they were slow.
    fn note(&self, numbers: &[usize], error: &Error) {
        self.report("InvalidFilter", error, "filters cannot be evaluated");
        if is_slow(error) {
            self.changes.audiences.mark_slow(self.batch.table.oid, &self.filters(numbers));
        }
    }

    /// Ends the subscriptions of `group`.
    fn end(&self, group: &Group<'_>) {
        for (channel, member) in &group.members {
            self.changes.refuse(*channel, &member.subscriber, INVALID_FILTER.to_owned());
        }
    }
}

/// Adds results.
fn add(passed: &mut Passed, found: Passed) {
    for (row, filters) in found {
        passed.entry(row).or_default().extend(filters);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn time_is_left_until_it_is_used_up() {
        let left = TimeLeft::new(TIME_ON_ALL_ROWS);
        assert_eq!(left.limit(), Some(PATTERN_LIMIT));
        let mut spent = Duration::ZERO;
        while let Some(limit) = left.limit() {
            assert!((LEAST_TIME..=PATTERN_LIMIT).contains(&limit));
            left.spend(limit);
            spent += limit;
        }
        assert!(spent < TIME_ON_ALL_ROWS);
        left.spend(TIME_ON_ALL_ROWS);
        assert_eq!(left.limit(), None);
    }
}

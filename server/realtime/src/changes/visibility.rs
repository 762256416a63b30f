//! Who sees the changed rows: policies judge many users of one role in one statement.
//!
//! A function of the platform (`schema/platform/0036_visible_rows.sql`) becomes one user after the other. Users on
//! whose behalf a policy fails, and all users where the function is missing or took too long, are judged one by one.

use std::collections::{HashMap, HashSet};
use std::fmt::Write as _;
use std::sync::Arc;
use std::time::Duration;

use futures_util::{FutureExt as _, StreamExt as _, TryStreamExt as _, stream};
use indexmap::{IndexMap, IndexSet};
use postgres::{Error, Transaction, push_identifier, text};

use super::candidates::{self, Candidates};
use super::evaluator::Evaluator;
use super::queries::{self, NumberedRow, SharedColumn, TIME_LIMIT, is_slow, is_temporary, owned};
use super::subscriber::{Principal, Subscriber};
use super::table::{RoleRights, Table};
use crate::authorize::BECOME;
use crate::row::Kind;

/// Statements of one batch that run at the same time.
const MAX_CONCURRENT: usize = 3;
/// How long the users of one statement may take.
const GROUP_TIME_LIMIT: Duration = Duration::from_secs(2);

/// A user, and the changes that are asked about.
struct Question<'a> {
    subscriber: &'a Subscriber,
    numbers: Vec<usize>,
}

/// A user, and the changes whose rows it sees.
type Answer = (Arc<Principal>, HashSet<usize>);

impl Evaluator<'_> {
    /// Returns, for each distinct role and claims that policies apply to, the changes whose rows it sees. Other sessions
    /// have to see the transactions of the changes.
    pub(super) async fn visible(
        &self,
        passed: &[(usize, Vec<usize>)],
        rights: &HashMap<Box<str>, Arc<RoleRights>>,
        candidates: &Candidates,
    ) -> Result<HashMap<Arc<Principal>, HashSet<usize>>, Error> {
        let questions = self.questions(passed, rights, candidates);
        let Some(statement) = Statement::new(&self.batch.table, &self.batch.shared) else {
            return Ok(HashMap::new());
        };
        if questions.is_empty() {
            return Ok(HashMap::new());
        }
        let mut by_role: IndexMap<&str, Vec<Question<'_>>> = IndexMap::new();
        for asked in questions.into_values() {
            by_role.entry(asked.subscriber.access.role()).or_default().push(asked);
        }
        let size = self.changes.catalog.group_size();
        let mut groups = Vec::new();
        for mut questions in by_role.into_values() {
            while !questions.is_empty() {
                let rest = questions.split_off(size.min(questions.len()));
                // Boxed, since the compiler cannot tell otherwise that the task may move between threads.
                groups.push(self.answers(&statement, std::mem::replace(&mut questions, rest)).boxed());
            }
        }
        let answers: Vec<Vec<Answer>> =
            stream::iter(groups).buffer_unordered(MAX_CONCURRENT).try_collect().await?;
        Ok(answers.into_iter().flatten().collect())
    }

    /// Returns who has to be asked about which changes.
    fn questions<'a>(
        &'a self,
        passed: &[(usize, Vec<usize>)],
        rights: &HashMap<Box<str>, Arc<RoleRights>>,
        candidates: &Candidates,
    ) -> IndexMap<&'a Arc<Principal>, Question<'a>> {
        let batch = self.batch;
        let mut questions: IndexMap<&Arc<Principal>, Question<'a>> = IndexMap::new();
        for (number, filters) in passed {
            let change = &self.rows[*number];
            if change.kind == Kind::Delete || !batch.table.has_key() {
                continue;
            }
            let values = candidates.values(batch, *number, change);
            for (_, member) in
                filters.iter().flat_map(|filter| candidates.members(batch, *filter, values.as_deref()))
            {
                let subscriber = &*member.subscriber;
                let role = rights.get(subscriber.access.role());
                if !role.is_some_and(|role| role.has_row_security && batch.may_select_key(role)) {
                    continue;
                }
                let new = || Question { subscriber, numbers: Vec::new() };
                let asked = questions.entry(&subscriber.principal).or_insert_with(new);
                if asked.numbers.last() != Some(number) {
                    asked.numbers.push(*number);
                }
            }
        }
        questions
    }

    /// Returns the answers to questions about users of one role.
    async fn answers(
        &self,
        statement: &Statement,
        questions: Vec<Question<'_>>,
    ) -> Result<Vec<Answer>, Error> {
        let (mut answers, mut left) = (Vec::with_capacity(questions.len()), questions);
        if left.len() > 1 {
            match self.judge_together(statement, &left).await {
                Ok(found) => left = take_answers(left, found, &mut answers),
                Err(error) if is_temporary(&error) && !is_slow(&error) => return Err(error),
                Err(error @ Error::AcquireTimeout(_)) if !self.is_last_attempt => return Err(error),
                Err(error) => {
                    tracing::warn!(%error, users = left.len(), "policies for row changes judge fewer users together");
                    let size = if is_slow(&error) { left.len() / 2 } else { 1 };
                    self.changes.catalog.limit_group_size(size);
                }
            }
        }
        for question in left {
            answers.push(self.judge_alone(statement, question).await?);
        }
        Ok(answers)
    }

    /// Asks about several users in one statement. Returns, by question, the changes whose rows the user sees; `None` if
    /// a policy failed.
    ///
    /// Errors: those of the database.
    async fn judge_together(
        &self,
        statement: &Statement,
        questions: &[Question<'_>],
    ) -> Result<Vec<Option<HashSet<usize>>>, Error> {
        // Many users may be asked about the same rows, which are sent once.
        let mut sets: IndexSet<&[usize]> = IndexSet::new();
        let positions = questions.iter().map(|asked| (sets.insert_full(&asked.numbers).0 + 1).to_string());
        let positions = positions.collect::<Vec<_>>().join(",");
        let keys: Vec<String> = sets.iter().map(|numbers| statement.keys(&self.new_rows(numbers))).collect();
        let claims = questions.iter().map(|asked| Some(asked.subscriber.access.claims()));
        let claims = queries::nullable_array(&claims.collect::<Vec<_>>());
        let Some(first) = questions.first() else { return Ok(Vec::new()) };
        let parameters = vec![
            text(first.subscriber.access.role()),
            owned(claims),
            owned(queries::array(&keys)),
            owned(format!("{{{positions}}}")),
            text(&statement.sql),
        ];
        let transaction = Transaction::anonymous()
            .on_primary()
            .timeout(GROUP_TIME_LIMIT)
            .statement("select basalt.visible_rows($1, $2, $3, $4, $5)", parameters)
            .rollback();
        let reply = self.changes.database.run(&transaction).await?;
        let rows = reply.rows().iter().zip(questions);
        Ok(rows.map(|(row, asked)| row.text(0).map(|seen| numbers(seen, &asked.numbers))).collect())
    }

    /// Asks about one user.
    async fn judge_alone(&self, statement: &Statement, asked: Question<'_>) -> Result<Answer, Error> {
        let (access, keys) = (&asked.subscriber.access, statement.keys(&self.new_rows(&asked.numbers)));
        let transaction = Transaction::anonymous()
            .on_primary()
            .timeout(TIME_LIMIT)
            .statement(BECOME, vec![text(access.role()), text(access.claims())])
            .statement(statement.sql.as_str(), vec![text(&keys)])
            .rollback();
        let seen = match self.changes.database.run(&transaction).await {
            Ok(reply) => {
                let seen = reply.row().and_then(|row| row.text(0));
                seen.map(|seen| numbers(seen, &asked.numbers)).unwrap_or_default()
            }
            Err(error) if self.gives_up(&error) => {
                self.report("RlsPolicyError", &error, "the policies for row changes failed");
                HashSet::new()
            }
            Err(error) => return Err(error),
        };
        Ok(asked.answer(seen))
    }

    /// Returns the rows after the changes `numbers`.
    fn new_rows(&self, numbers: &[usize]) -> Vec<NumberedRow<'_>> {
        numbers.iter().filter_map(|number| candidates::new_row(*number, &self.rows[*number])).collect()
    }
}

impl Question<'_> {
    /// Returns the answer that these changes are seen.
    fn answer(&self, seen: HashSet<usize>) -> Answer {
        (Arc::clone(&self.subscriber.principal), seen)
    }
}

/// Adds the answers that were found to `answers`, and returns the other questions.
fn take_answers<'a>(
    questions: Vec<Question<'a>>,
    found: Vec<Option<HashSet<usize>>>,
    answers: &mut Vec<Answer>,
) -> Vec<Question<'a>> {
    let mut found = found.into_iter();
    let mut left = Vec::new();
    for asked in questions {
        match found.next().flatten() {
            Some(seen) => answers.push(asked.answer(seen)),
            None => left.push(asked),
        }
    }
    left
}

/// Returns the changes whose rows are seen. `seen` is an array of positions in `asked`, from 1.
fn numbers(seen: &str, asked: &[usize]) -> HashSet<usize> {
    let positions = queries::integers(seen).unwrap_or_default().into_iter();
    positions.filter_map(|position| asked.get(position.checked_sub(1)?).copied()).collect()
}

/// The statement that returns which rows of a table its user sees now, as an array of their positions. They are found
/// by the primary key.
pub(super) struct Statement {
    pub(super) sql: String,
    keys: Vec<SharedColumn>,
}

impl Statement {
    /// Returns the statement, with the values of keys as parameter `$1`. `None` if rows cannot be found: a publication
    /// may leave out columns of the key, and no other row may stand in for one.
    pub(super) fn new(table: &Table, shared: &[SharedColumn]) -> Option<Self> {
        let keys = shared.iter().copied().filter(|(_, column)| table.columns[*column].is_key);
        let keys: Vec<SharedColumn> = keys.collect();
        if keys.len() < table.columns.iter().filter(|column| column.is_key).count() {
            return None;
        }
        let count = keys.len().max(1);
        // The limit keeps Postgres from reading the whole table for a join.
        let mut sql = format!(
            "select coalesce(array_agg(r.n), '{{}}')::text from generate_series(1, cardinality($1::text[]) / {count}) \
             as r(n), lateral (select from "
        );
        push_identifier(&mut sql, &table.schema);
        sql.push('.');
        push_identifier(&mut sql, &table.name);
        sql.push_str(" as t where true");
        for (index, (_, column)) in keys.iter().enumerate() {
            let column = &table.columns[*column];
            sql.push_str(" and t.");
            push_identifier(&mut sql, &column.name);
            let _ =
                write!(sql, " = ($1::text[])[r.n * {count} - {}]::{}", count - 1 - index, column.sql_type);
        }
        sql.push_str(" limit 1) as seen");
        Some(Self { sql, keys })
    }

    /// Returns the keys of rows as a text array.
    pub(super) fn keys(&self, rows: &[NumberedRow<'_>]) -> String {
        let mut keys = Vec::with_capacity(rows.len() * self.keys.len());
        for row in rows {
            let values = row.values();
            keys.extend(
                self.keys.iter().map(|(source, _)| values.get(*source).and_then(|value| value.text())),
            );
        }
        queries::nullable_array(&keys)
    }
}

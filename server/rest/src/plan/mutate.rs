//! Changing rows, and returning what was changed.

use std::collections::BTreeSet;

use bytes::Bytes;

use super::read::Source;
use super::values::{self, Values};
use super::{Body, BodySource, Condition, Node, Plan, Planner, RowSource};
use crate::error::Error;
use crate::request::syntax::{Filter, Operation, Operator};
use crate::request::{self, Missing, Mutation, Representation, Resolution};
use crate::schema_cache::{Column, Table};

/// A change of rows.
#[derive(Debug, Clone, PartialEq)]
pub struct MutatePlan {
    /// The relation's schema.
    pub schema: String,
    /// The relation's name.
    pub relation: String,
    /// The change.
    pub change: Change,
    /// The columns of the changed rows that are needed afterwards; empty when none are.
    pub returning: Vec<String>,
    /// What is returned of the changed rows.
    pub tree: Node,
    /// How it is represented.
    pub body: Body,
    /// The primary key's columns, when the response says where the new row is.
    pub location: Option<Vec<String>>,
    /// Whether exactly one row must have been changed.
    pub must_be_single: bool,
    /// The most rows that may be changed.
    pub row_limit: Option<i64>,
    /// The value of [`Plan::sees_request`].
    pub sees_request: bool,
}

/// What is changed.
#[derive(Debug, Clone, PartialEq)]
pub enum Change {
    /// New rows.
    Insert {
        /// The rows.
        payload: Payload,
        /// What happens to rows that exist, and the columns by which they are found.
        conflict: Option<(Resolution, Vec<String>)>,
    },
    /// One row, new or replaced, under the primary key that the conditions name.
    Put {
        /// The row.
        payload: Payload,
        /// The primary key's columns.
        key: Vec<String>,
        /// What the row must satisfy to be taken.
        conditions: Vec<Condition>,
    },
    /// New values in the rows that satisfy the conditions.
    Update {
        /// The values.
        payload: Payload,
        /// Which rows.
        conditions: Vec<Condition>,
    },
    /// The removal of the rows that satisfy the conditions.
    Delete {
        /// Which rows.
        conditions: Vec<Condition>,
    },
}

impl Change {
    /// Reports whether the response needs nothing of the change except its rows, and does not limit their number.
    fn returns_all(&self) -> bool {
        match self {
            Self::Insert { conflict, .. } => !matches!(conflict, Some((Resolution::MergeDuplicates, _))),
            Self::Put { .. } => false,
            Self::Update { payload, .. } => !payload.columns.is_empty(),
            Self::Delete { .. } => true,
        }
    }

    /// Returns the conditions that a row must satisfy to be changed or accepted.
    fn conditions(&self) -> &[Condition] {
        match self {
            Self::Insert { .. } => &[],
            Self::Put { conditions, .. } | Self::Update { conditions, .. } | Self::Delete { conditions } => {
                conditions
            }
        }
    }
}

impl MutatePlan {
    /// Implements [`Plan::values_of`].
    pub(super) fn values_of(&self, payload: &request::Payload) -> Option<Vec<Option<Bytes>>> {
        let request::Payload::Json { raw, is_object, .. } = payload else { return None };
        let (Change::Insert { payload: own, .. }
        | Change::Put { payload: own, .. }
        | Change::Update { payload: own, .. }) = &self.change
        else {
            return Some(Vec::new());
        };
        // Without values in this plan, Postgres reads the payload whatever its values are.
        let Some(values) = &own.values else { return Some(Vec::new()) };
        match (values, values::of(raw, *is_object, &own.columns)?) {
            (Values::Row(_), Values::Row(row)) => Some(row),
            (Values::Arrays(_), Values::Arrays(arrays)) => Some(arrays.into_iter().map(Some).collect()),
            _ => None,
        }
    }

    /// Implements [`Plan::reads_payload`].
    pub(super) const fn reads_payload(&self) -> bool {
        match &self.change {
            Change::Insert { payload, .. } | Change::Update { payload, .. } => payload.values.is_some(),
            Change::Put { .. } | Change::Delete { .. } => false,
        }
    }

    /// Has Postgres read the payload as a whole.
    pub(super) fn leave_payload_to_postgres(&mut self) {
        match &mut self.change {
            Change::Insert { payload, .. } | Change::Update { payload, .. } => payload.values = None,
            Change::Put { .. } | Change::Delete { .. } => {}
        }
    }
}

/// Values for columns.
#[derive(Debug, Clone, PartialEq)]
pub struct Payload {
    /// The JSON text.
    pub raw: Bytes,
    /// Whether it is one object.
    pub is_object: bool,
    /// The columns that it has values for.
    pub columns: Vec<TypedColumn>,
    /// Whether columns missing from an object take their default instead of null.
    pub applies_defaults: bool,
    /// The same values taken apart; `None` where Postgres has to read the JSON.
    pub values: Option<Values>,
}

impl Payload {
    /// Takes the values apart where that gives the same.
    fn take_apart(mut self) -> Self {
        if !self.applies_defaults {
            self.values = values::of(&self.raw, self.is_object, &self.columns);
        }
        self
    }
}

/// A column that is written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TypedColumn {
    /// Its name.
    pub name: String,
    /// Its type as SQL.
    pub type_name: String,
    /// Its default as SQL.
    pub default: Option<String>,
    /// The function that makes it of the payload's JSON, as SQL, if Postgres' own conversion does not.
    pub parse: Option<String>,
    /// The type, without its modifier, that the text of a value is read as; `None` if the value can only be read from
    /// the JSON.
    pub scalar_type: Option<String>,
}

impl TypedColumn {
    fn new(column: &Column) -> Self {
        let casts = column.casts.as_deref();
        let parse = casts.and_then(|casts| casts.from_json.clone());
        // A default goes the way of the values that it replaces: it is formatted first, then parsed.
        let format = casts.and_then(|casts| casts.to_json.as_ref()).filter(|_| parse.is_some());
        let default = column.default.clone().map(|default| match format {
            Some(format) => format!("{format}({default})"),
            None => default,
        });
        let scalar_type = values::scalar_type(column).map(str::to_owned);
        Self { name: column.name.clone(), type_name: column.type_name.clone(), default, parse, scalar_type }
    }
}

impl Planner<'_> {
    pub(super) fn mutate(&self, relation: &str, mutation: Mutation) -> Result<Plan, Error> {
        let table = self.table(relation)?;
        let mut tree = self.tree(relation, Source::Result)?;
        let preferences = &self.request.preferences;
        let change = self.change(table, mutation, &tree)?;
        preferences.check()?;
        self.check_filtered(&change)?;
        let wanted = self.body(BodySource::Rows(table), &mut tree)?;
        let is_explained = wanted.explain().is_some();
        let must_be_single = mutation != Mutation::Put && wanted.must_be_single();
        let mut body = if self.wants_representation() { wanted } else { wanted.hidden() };
        let shows_location =
            mutation == Mutation::Insert && preferences.representation == Some(Representation::HeadersOnly);
        let sees_request = table.writes_see_request
            || self.body_sees_request(&body)
            || self.read_sees_request(&tree)
            || change.conditions().iter().any(|condition| self.condition_sees_request(table, condition));
        let limits_rows = matches!(mutation, Mutation::Update | Mutation::Delete) && !is_explained;
        let row_limit = preferences.row_limit().filter(|_| limits_rows);
        let returning = self.returning(table, &tree);
        let is_guarded = row_limit.is_some() || must_be_single || !change.returns_all();
        body.writer = self.body_writer(&mut tree, &body, RowSource::Change { table, is_guarded });
        Ok(Plan::Mutate(Box::new(MutatePlan {
            schema: table.schema.clone(),
            relation: table.name.clone(),
            change,
            returning,
            tree,
            body,
            location: shows_location.then(|| table.primary_key.clone()),
            must_be_single,
            row_limit,
            sees_request,
        })))
    }

    fn change(&self, table: &Table, mutation: Mutation, tree: &Node) -> Result<Change, Error> {
        let request = self.request;
        Ok(match mutation {
            Mutation::Delete => Change::Delete { conditions: self.root_conditions(tree) },
            Mutation::Update => {
                let mut payload = self.payload(table)?.take_apart();
                // With several rows, Postgres decides which one counts.
                payload.values.take_if(|values| matches!(values, Values::Arrays(_)));
                Change::Update { payload, conditions: self.root_conditions(tree) }
            }
            Mutation::Insert => {
                let columns = request.query.on_conflict.as_ref().unwrap_or(&table.primary_key).clone();
                let conflict = request.preferences.resolution.map(|resolution| (resolution, columns));
                // Without a unique key there is nothing to conflict with.
                let conflict = conflict.filter(|(_, columns)| !columns.is_empty());
                Change::Insert { payload: self.payload(table)?.take_apart(), conflict }
            }
            Mutation::Put => {
                self.check_put_filters(table)?;
                let payload = Payload { applies_defaults: false, ..self.payload(table)? };
                Change::Put {
                    payload,
                    key: table.primary_key.clone(),
                    conditions: self.root_conditions(tree),
                }
            }
        })
    }

    /// Refuses changes of all rows, if the settings say so.
    ///
    /// Errors: `21000` where `db-safe-update` refuses what would touch every row. Filters on embeds alone pick no rows
    /// of the relation itself, and an update of nothing touches none.
    fn check_filtered(&self, change: &Change) -> Result<(), Error> {
        match change {
            _ if !self.settings.db_safe_update => Ok(()),
            Change::Update { payload, conditions }
                if conditions.is_empty() && !payload.columns.is_empty() =>
            {
                Err(Error::NoFilter("UPDATE"))
            }
            Change::Delete { conditions } if conditions.is_empty() => Err(Error::NoFilter("DELETE")),
            _ => Ok(()),
        }
    }

    /// Checks the filters of a PUT, which needs `eq` filters on all columns of the primary key and on nothing else.
    fn check_put_filters(&self, table: &Table) -> Result<(), Error> {
        let query = &self.request.query;
        let is_equality = |filter: &Filter| {
            !filter.negated
                && filter.field.path.is_empty()
                && matches!(
                    filter.operation,
                    Operation::Compare { operator: Operator::Equal, quantifier: None, .. }
                )
        };
        let filtered: BTreeSet<&str> = query.filters.iter().map(|f| f.item.field.name.as_str()).collect();
        let key: BTreeSet<&str> = table.primary_key.iter().map(String::as_str).collect();
        let is_whole_key = !key.is_empty() && filtered == key && query.logic.is_empty();
        if is_whole_key && query.filters.iter().all(|f| f.path.is_empty() && is_equality(&f.item)) {
            return Ok(());
        }
        Err(Error::InvalidPutFilters)
    }

    /// Returns the filters on the relation itself.
    fn root_conditions(&self, tree: &Node) -> Vec<Condition> {
        // A condition cannot be about embeds here: the change happens before anything is embedded.
        let bare = Node { embeds: Vec::new(), ..tree.clone() };
        let query = &self.request.query;
        let filters = query.filters.iter().filter(|filter| filter.path.is_empty());
        let logic = query.logic.iter().filter(|logic| logic.path.is_empty());
        filters
            .map(|filter| self.filter(&bare, &filter.item))
            .chain(logic.map(|logic| self.logic(&bare, &logic.item)))
            .collect()
    }

    /// Returns the request's payload with the columns that its keys name.
    ///
    /// Errors: `PGRST204` for a key that is no column.
    fn payload(&self, table: &Table) -> Result<Payload, Error> {
        let payload = self.request.payload.as_ref();
        let keys = payload.map(request::Payload::keys).unwrap_or_default();
        let columns = keys.into_iter().map(|key| {
            let column = table
                .column(key)
                .ok_or_else(|| Error::NoColumn { relation: table.name.clone(), column: key.to_owned() })?;
            Ok(TypedColumn::new(column))
        });
        Ok(Payload {
            raw: super::raw_body(payload),
            is_object: matches!(payload, Some(request::Payload::Json { is_object: true, .. })),
            columns: columns.collect::<Result<_, Error>>()?,
            applies_defaults: self.request.preferences.missing == Some(Missing::Default),
            values: None,
        })
    }

    /// Returns the columns of the changed rows that the response needs: those selected, those that embeds join by, the
    /// key.
    fn returning(&self, table: &Table, tree: &Node) -> Vec<String> {
        match self.request.preferences.representation {
            None | Some(Representation::Minimal) => return Vec::new(),
            Some(Representation::Full | Representation::HeadersOnly) => {}
        }
        let mut needed = tree.needed_columns();
        if needed != ["*"] {
            needed.extend(table.primary_key.iter().cloned());
            needed.sort_unstable();
            needed.dedup();
        }
        needed
    }
}

//! Reading: a tree of nodes, one for the request's relation and one for each embed.

use std::collections::HashSet;
use std::sync::Arc;

use super::aggregate::{Aggregation, Grouping, SpreadColumn};
use super::{Planner, SCALAR, weight};
use crate::error::{Error, closest};
use crate::request::Range;
use crate::request::syntax::{
    Aggregate, Direction, Field, Filter, IsValue, Join, JsonStep, Logic, LogicOperator, Nulls, Operation,
    OrderTerm, PathItem, SelectColumn, SelectEmbed, SelectItem,
};
use crate::schema_cache::{Relationship, Table};

/// Postgres cuts off longer names (`NAMEDATALEN` - 1 bytes), which could make two of our names equal.
const MAX_NAME: usize = 63;

/// A relation to be read, with everything that applies to it.
#[derive(Debug, Clone, PartialEq)]
pub struct Node {
    /// Where its rows come from.
    pub source: Source,
    /// Its schema.
    pub schema: String,
    /// Its name.
    pub relation: String,
    /// What its columns are qualified with; differs from that of every node around it.
    pub alias: String,
    /// The columns that are returned.
    pub columns: Vec<OutputColumn>,
    /// What is embedded into it.
    pub embeds: Vec<Embed>,
    /// The conditions that its rows must satisfy, all of them.
    pub conditions: Vec<Condition>,
    /// Whether its rows are grouped.
    pub grouping: Grouping,
    /// Its rows' order.
    pub order: Vec<Order>,
    /// The range of its rows that is returned.
    pub range: Range,
}

/// Where a node's rows come from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Source {
    /// The relation itself.
    Table,
    /// What the statement's mutation or function call gave.
    Result,
}

/// A column, or a place in its JSON.
#[derive(Debug, Clone, PartialEq)]
pub struct Column {
    /// Its name.
    pub name: String,
    /// Whether it stands for all columns instead of one.
    pub is_all: bool,
    /// Steps into it.
    pub path: Vec<JsonStep>,
    /// Whether it has to be made JSON before stepping into it.
    pub to_json: bool,
    /// Whether text search has to convert it: it is not a `tsvector`.
    pub is_searched_text: bool,
    /// The function that converts it to the JSON that is returned, as SQL.
    pub format: Option<String>,
    /// The function that converts a filter's text to the value that it is compared with, as SQL.
    pub parse: Option<String>,
}

/// A column that is returned.
#[derive(Debug, Clone, PartialEq)]
pub struct OutputColumn {
    /// The column.
    pub column: Column,
    /// The type that it is cast to, before any aggregate.
    pub cast: Option<String>,
    /// Its name in the response, if it differs from the column's.
    pub alias: Option<String>,
    /// The aggregate of its values, if there is one.
    pub aggregation: Option<Aggregation>,
}

/// A relation embedded into another.
#[derive(Debug, Clone, PartialEq)]
pub struct Embed {
    /// Its name in the response.
    pub key: String,
    /// The name that the client used in the request.
    pub target: String,
    /// The relationship with its parent.
    pub relationship: Arc<Relationship>,
    /// Whether parents without it are left out.
    pub join: Join,
    /// The alias of the junction, of a many-to-many relationship.
    pub junction_alias: Option<String>,
    /// Whether nothing of it is returned, because it only filters.
    pub is_hidden: bool,
    /// The columns that it adds to its parent's row, if it is spread into it instead of having a key of its own.
    pub spread: Option<Vec<SpreadColumn>>,
    /// The columns that make up the parent's row, where a function takes it and it has lost its type.
    pub row: Option<Vec<String>>,
    /// What is read.
    pub node: Node,
}

/// What a row must satisfy.
#[derive(Debug, Clone, PartialEq)]
pub enum Condition {
    /// A comparison.
    Filter {
        /// What is compared.
        column: Column,
        /// Whether it is negated.
        negated: bool,
        /// The comparison.
        operation: Operation,
    },
    /// Conditions joined.
    Group {
        /// Whether the whole is negated.
        negated: bool,
        /// What joins them.
        operator: LogicOperator,
        /// The conditions.
        members: Vec<Self>,
    },
    /// That the embed of this index has a row, or (negated) none.
    Embedded {
        /// Index in the node's embeds.
        embed: usize,
        /// Whether there must be none.
        negated: bool,
    },
}

/// A term of an order.
#[derive(Debug, Clone, PartialEq)]
pub struct Order {
    /// What is ordered by.
    pub target: OrderTarget,
    /// Its direction, where given.
    pub direction: Option<Direction>,
    /// The place of nulls, where given.
    pub nulls: Option<Nulls>,
}

/// What rows are ordered by.
#[derive(Debug, Clone, PartialEq)]
pub enum OrderTarget {
    /// A column of their own.
    Own(Column),
    /// A column of the to-one embed of this index.
    Related {
        /// Index in the node's embeds.
        embed: usize,
        /// The column.
        column: Column,
    },
}

impl Planner<'_> {
    /// Returns the relation called `name`.
    ///
    /// Errors: `PGRST205` with the name that is nearest, if one is near enough.
    pub(super) fn table(&self, name: &str) -> Result<&Table, Error> {
        self.schema.tables.get(name).ok_or_else(|| Error::NoTable {
            schema: self.request.schema.clone(),
            name: name.to_owned(),
            suggestion: closest(name, self.schema.tables.keys().map(String::as_str), 0.75).map(str::to_owned),
        })
    }

    /// Returns the tree that the query string asks for, from `relation` on.
    ///
    /// Errors: those of names that are not there, `PGRST100` for more conditions than one statement may have.
    pub(super) fn tree(&self, relation: &str, source: Source) -> Result<Node, Error> {
        let mut root = self.node(relation, source, relation.to_owned());
        self.select(&mut root, &self.request.query.select, &mut vec![relation.to_owned()])?;
        if source == Source::Result && root.columns.is_empty() && root.embeds.is_empty() {
            root.columns.extend(self.all(&root));
        }
        let is_mutation = matches!(self.request.action, crate::request::Action::Mutate { .. });
        let query = &self.request.query;
        // Filters on the relation itself apply to the change, not to what is returned of it.
        for filter in query.filters.iter().filter(|filter| !is_mutation || !filter.path.is_empty()) {
            let node = self.at(&mut root, &filter.path)?;
            node.conditions.push(self.filter(node, &filter.item));
        }
        for logic in query.logic.iter().filter(|logic| !is_mutation || !logic.path.is_empty()) {
            let node = self.at(&mut root, &logic.path)?;
            node.conditions.push(self.logic(node, &logic.item));
        }
        // Where the same rows have several orders, the first counts.
        for PathItem { path, item } in query.order.iter().rev() {
            let node = self.at(&mut root, path)?;
            node.order = self.order(node, item)?;
        }
        if !is_mutation {
            for PathItem { path, item } in query.ranges.iter().filter(|range| !range.path.is_empty()) {
                self.at(&mut root, path)?.range = *item;
            }
            root.range = self.request.range;
            restrict(&mut root, self.settings.db_max_rows);
        }
        weight::check(&root)?;
        self.plan_aggregates(&mut root)?;
        if source == Source::Result {
            self.type_rows(&mut root);
        }
        Ok(root)
    }

    fn node(&self, relation: &str, source: Source, alias: String) -> Node {
        Node {
            source,
            schema: self.request.schema.clone(),
            relation: relation.to_owned(),
            alias,
            columns: Vec::new(),
            embeds: Vec::new(),
            conditions: Vec::new(),
            grouping: Grouping::None,
            order: Vec::new(),
            range: Range::ALL,
        }
    }

    /// Adds the columns and embeds of `items` to `node`. `aliases` are those of the nodes around it and its own.
    fn select(&self, node: &mut Node, items: &[SelectItem], aliases: &mut Vec<String>) -> Result<(), Error> {
        let mut names = HashSet::new();
        for item in items {
            match item {
                SelectItem::All => node.columns.extend(self.all(node)),
                SelectItem::Column(column) => node.columns.push(self.output_column(node, column)),
                SelectItem::Embed(embed) => {
                    let embed = self.embed(node, embed, aliases)?;
                    if !names.insert(embed.key.clone()) {
                        let (parent, name) = (node.relation.clone(), embed.key);
                        return Err(Error::DuplicateEmbed { parent, name, depth: aliases.len() });
                    }
                    node.embeds.push(embed);
                }
            }
        }
        if items.is_empty() && aliases.len() == 1 {
            node.columns.extend(self.all(node));
        }
        Ok(())
    }

    fn output_column(&self, node: &Node, item: &SelectColumn) -> OutputColumn {
        let Some(function) = item.aggregate else {
            let column = self.formatted_column(node, &item.field);
            let formatted = column.format.as_ref().map(|_| column.name.clone());
            let alias = item.alias.clone().or_else(|| last_key(&item.field)).or(formatted);
            return OutputColumn { column, cast: item.cast.clone(), alias, aggregation: None };
        };
        let is_all = item.field == Field::column("*") && function == Aggregate::Count;
        let column = Column { is_all, ..self.column(node, &item.field) };
        let alias = Some(item.alias.clone().unwrap_or_else(|| function.name().to_owned()));
        let aggregation = Some(Aggregation { function, cast: item.aggregate_cast.clone() });
        OutputColumn { column, cast: item.cast.clone(), alias, aggregation }
    }

    fn embed(&self, parent: &Node, item: &SelectEmbed, aliases: &mut Vec<String>) -> Result<Embed, Error> {
        let relationship = self.relationship(&parent.relation, &item.relation, item.hint.as_deref())?;
        let relation = relationship.foreign_table.name.clone();
        let depth = aliases.len();
        let alias = fresh(&relation, aliases);
        aliases.push(alias.clone());
        let junction_alias = match &relationship.cardinality {
            crate::schema_cache::Cardinality::ManyToMany(junction) => {
                let alias = fresh(&junction.table.name, aliases);
                aliases.push(alias.clone());
                Some(alias)
            }
            _ => None,
        };
        let mut node = self.node(&relation, Source::Table, alias);
        node.schema.clone_from(&relationship.foreign_table.schema);
        self.select(&mut node, &item.select, aliases)?;
        aliases.truncate(depth);
        Ok(Embed {
            key: item.alias.clone().unwrap_or_else(|| item.relation.clone()),
            target: item.relation.clone(),
            relationship,
            join: item.join.unwrap_or(Join::Left),
            junction_alias,
            is_hidden: node.columns.is_empty() && node.embeds.iter().all(|embed| embed.is_hidden),
            spread: item.spread.then(Vec::new),
            row: None,
            node,
        })
    }

    /// Returns the node that `path` leads to from `node`.
    ///
    /// Errors: `PGRST108` when there is no such embed.
    fn at<'n>(&self, mut node: &'n mut Node, path: &[String]) -> Result<&'n mut Node, Error> {
        let legacy = self.settings.url_use_legacy_target_names;
        for name in path {
            let is_named = |embed: &Embed| embed.key == *name || legacy && embed.target == *name;
            let Some(index) = node.embeds.iter().position(is_named) else {
                let by_target = node.embeds.iter().find(|embed| embed.target == *name);
                let alias = by_target.map(|embed| embed.key.clone());
                return Err(Error::NotEmbedded { name: name.clone(), alias });
            };
            node = &mut node.embeds[index].node;
        }
        Ok(node)
    }

    /// Returns what is known of the relation that `node` reads.
    pub(super) fn relation_of(&self, node: &Node) -> Option<&Table> {
        let is_here = node.schema == self.request.schema;
        self.schema.tables.get(&node.relation).filter(|_| is_here)
    }

    pub(super) fn column(&self, node: &Node, field: &Field) -> Column {
        let known = self.relation_of(node).and_then(|table| table.column(&field.name));
        let is_json = known.is_some_and(|column| matches!(&*column.type_name, "json" | "jsonb"));
        Column {
            name: field.name.clone(),
            is_all: false,
            path: field.path.clone(),
            to_json: !field.path.is_empty() && !is_json,
            is_searched_text: known.is_some_and(|column| column.base_type != "tsvector"),
            format: None,
            parse: self.casts(node, field).and_then(|casts| casts.from_text.clone()),
        }
    }

    pub(super) fn logic(&self, node: &Node, logic: &Logic) -> Condition {
        match logic {
            Logic::Filter(filter) => self.filter(node, filter),
            Logic::Group { negated, operator, members } => Condition::Group {
                negated: *negated,
                operator: *operator,
                members: members.iter().map(|member| self.logic(node, member)).collect(),
            },
        }
    }

    pub(super) fn filter(&self, node: &Node, filter: &Filter) -> Condition {
        let embed = node.embeds.iter().position(|embed| embed.key == filter.field.name);
        match (embed, &filter.operation) {
            (Some(embed), Operation::Is(value @ (IsValue::Null | IsValue::NotNull)))
                if filter.field.path.is_empty() =>
            {
                Condition::Embedded { embed, negated: (*value == IsValue::Null) != filter.negated }
            }
            _ => Condition::Filter {
                column: self.column(node, &filter.field),
                negated: filter.negated,
                operation: filter.operation.clone(),
            },
        }
    }

    fn order(&self, node: &Node, terms: &[OrderTerm]) -> Result<Vec<Order>, Error> {
        let mut order = Vec::with_capacity(terms.len());
        for term in terms {
            let target = match &term.relation {
                None => OrderTarget::Own(self.column(node, &term.field)),
                Some(name) => {
                    let embed = node.embeds.iter().position(|embed| embed.key == *name);
                    let embed =
                        embed.ok_or_else(|| Error::NotEmbedded { name: name.clone(), alias: None })?;
                    let related = &node.embeds[embed];
                    if !related.relationship.is_to_one() {
                        let (origin, target) = (node.relation.clone(), name.clone());
                        return Err(Error::RelatedOrderNotToOne { origin, target });
                    }
                    OrderTarget::Related { embed, column: self.column(&related.node, &term.field) }
                }
            };
            order.push(Order { target, direction: term.direction, nulls: term.nulls });
        }
        Ok(order)
    }
}

impl OutputColumn {
    /// Returns all columns.
    pub(super) fn all() -> Self {
        Self::plain("*", true)
    }

    /// Returns the column called `name`, as it is.
    pub(super) fn named(name: &str) -> Self {
        Self::plain(name, false)
    }

    /// Returns the column of a function's values.
    pub(super) fn scalar() -> Self {
        Self::named(SCALAR)
    }

    fn plain(name: &str, is_all: bool) -> Self {
        let name = name.to_owned();
        let column = Column {
            name,
            is_all,
            path: Vec::new(),
            to_json: false,
            is_searched_text: false,
            format: None,
            parse: None,
        };
        Self { column, cast: None, alias: None, aggregation: None }
    }

    /// Returns its name in the response.
    pub(super) fn name(&self) -> &str {
        self.alias.as_ref().unwrap_or(&self.column.name)
    }
}

/// Enforces `db-max-rows` on a node and everything embedded into it.
fn restrict(node: &mut Node, rows: Option<i64>) {
    node.range = node.range.at_most(rows);
    for embed in &mut node.embeds {
        restrict(&mut embed.node, rows);
    }
}

/// Returns the name of a JSON path's value: its last key, or the column's name when it has only indexes.
fn last_key(field: &Field) -> Option<String> {
    use crate::request::syntax::JsonOperand;
    if field.path.is_empty() {
        return None;
    }
    let keys = field.path.iter().rev().filter_map(|step| match &step.operand {
        JsonOperand::Key(key) => Some(key),
        JsonOperand::Index(_) => None,
    });
    keys.into_iter().next().or(Some(&field.name)).cloned()
}

/// Returns an alias for `relation` that none of `taken` is: with the depth after it, as upstream's error messages have
/// it.
fn fresh(relation: &str, taken: &[String]) -> String {
    let mut suffix = taken.len();
    loop {
        let tail = format!("_{suffix}");
        let mut end = relation.len().min(MAX_NAME - tail.len());
        while !relation.is_char_boundary(end) {
            end -= 1;
        }
        let alias = format!("{}{tail}", &relation[..end]);
        if !taken.contains(&alias) {
            return alias;
        }
        suffix += 1;
    }
}

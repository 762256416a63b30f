//! Which columns of views cannot be null, although Postgres does not record it: those that come, unchanged, from
//! columns that cannot be null, and those whose comment has a line `@notNull`.
//!
//! A column counts if the query reads it by its name from a table, a view, a subquery or a common table expression,
//! and no outer join can replace it by null. Everything else may be null. Source: the Supabase CLI 3.1,
//! `@supabase/typegen`.

use std::cell::RefCell;
use std::collections::{HashMap, HashSet};

use crate::catalog::{Definition, Relation};
use crate::node_tree::Node;

/// `RTEKind`, of which there are more.
mod kind {
    pub(super) const RELATION: i64 = 0;
    pub(super) const SUBQUERY: i64 = 1;
    pub(super) const JOIN: i64 = 2;
    pub(super) const COMMON_TABLE_EXPRESSION: i64 = 6;
    /// Since Postgres 18.
    pub(super) const GROUP: i64 = 9;
}

/// `JoinType`, of which there are more.
mod join {
    pub(super) const INNER: i64 = 0;
    pub(super) const LEFT: i64 = 1;
    pub(super) const RIGHT: i64 = 3;
}

/// Marks the columns of the views among `relations` that cannot be null.
pub(crate) fn apply(relations: &mut [Relation], definitions: &[Definition]) {
    let views = Views {
        definitions: definitions.iter().map(|view| (view.id, view.definition.as_str())).collect(),
        non_null: definitions.iter().flat_map(|view| view.non_null_columns.iter().copied()).collect(),
        found: RefCell::default(),
    };
    for relation in relations.iter_mut().filter(|relation| views.definitions.contains_key(&relation.id)) {
        let non_null = views.columns(relation.id);
        for column in &mut relation.columns {
            let marked = || column.comment.as_deref().is_some_and(is_marked);
            if non_null.contains(&column.number) || marked() {
                column.is_nullable = false;
            }
        }
    }
}

fn is_marked(comment: &str) -> bool {
    comment.lines().any(|line| line.trim() == "@notNull")
}

struct Views<'a> {
    definitions: HashMap<i64, &'a str>,
    /// The columns of tables that cannot be null.
    non_null: HashSet<(i64, i64)>,
    found: RefCell<HashMap<i64, HashSet<i64>>>,
}

impl Views<'_> {
    /// Returns the numbers of a view's columns that cannot be null.
    fn columns(&self, view: i64) -> HashSet<i64> {
        if let Some(found) = self.found.borrow().get(&view) {
            return found.clone();
        }
        // Rules can make views that select from each other.
        self.found.borrow_mut().insert(view, HashSet::new());
        let tree = self.definitions.get(&view).and_then(|definition| Node::parse(definition));
        let query = match &tree {
            Some(Node::List(queries)) => queries.first(),
            other => other.as_ref(),
        };
        let columns: HashSet<i64> = query
            .filter(|query| is_plain(query))
            .into_iter()
            .flat_map(|query| query.list("targetList").iter().map(move |target| (query, target)))
            .filter(|(_, target)| target.is("TARGETENTRY") && target.text("resjunk") != Some("true"))
            .filter(|(query, target)| self.expression(target.field("expr"), &[*query]))
            .filter_map(|(_, target)| target.number("resno"))
            .collect();
        self.found.borrow_mut().insert(view, columns.clone());
        columns
    }

    /// Reports whether a column of a table or a view cannot be null.
    fn column(&self, relation: i64, number: i64) -> bool {
        match self.definitions.contains_key(&relation) {
            true => self.columns(relation).contains(&number),
            false => self.non_null.contains(&(relation, number)),
        }
    }

    /// Reports whether an expression of the last of `queries`, each of which contains the next, cannot be null.
    fn expression(&self, expression: Option<&Node<'_>>, queries: &[&Node<'_>]) -> bool {
        self.variable(expression, queries).unwrap_or(false)
    }

    fn variable(&self, expression: Option<&Node<'_>>, queries: &[&Node<'_>]) -> Option<bool> {
        let (query, variable) = (queries.last()?, expression?);
        if !variable.is("VAR") || variable.number("varlevelsup")? != 0 {
            return None;
        }
        let (entry, number) = (variable.number("varno")?, variable.number("varattno")?);
        // 0 is the whole row, and negative numbers are system columns.
        let index = usize::try_from(number.checked_sub(1)?).ok()?;
        if nullable_entries(query).contains(&entry) {
            return None;
        }
        let entry = query.list("rtable").get(usize::try_from(entry.checked_sub(1)?).ok()?)?;
        if !entry.is("RANGETBLENTRY") {
            return None;
        }
        match entry.number("rtekind")? {
            kind::RELATION => Some(self.column(entry.number("relid")?, number)),
            kind::SUBQUERY => self.target(entry.field("subquery")?, number, queries),
            kind::JOIN => self.variable(entry.list("joinaliasvars").get(index), queries),
            kind::GROUP => self.variable(entry.list("groupexprs").get(index), queries),
            kind::COMMON_TABLE_EXPRESSION => {
                let levels = usize::try_from(entry.number("ctelevelsup")?).ok()?;
                let outer = queries.get(..queries.len().checked_sub(levels)?)?;
                let name = entry.text("ctename")?;
                let expressions = outer.last()?.list("cteList");
                let expression =
                    expressions.iter().find(|expression| expression.text("ctename") == Some(name))?;
                if expression.text("cterecursive") == Some("true") {
                    return None;
                }
                self.target(expression.field("ctequery")?, number, outer)
            }
            _ => None,
        }
    }

    /// Reports whether a column of a query within the last of `queries` cannot be null.
    fn target(&self, query: &Node<'_>, number: i64, queries: &[&Node<'_>]) -> Option<bool> {
        if !is_plain(query) {
            return None;
        }
        let targets = query.list("targetList");
        let target = targets.iter().find(|target| target.number("resno") == Some(number))?;
        let queries: Vec<&Node<'_>> = queries.iter().copied().chain([query]).collect();
        self.variable(target.field("expr"), &queries)
    }
}

/// Reports whether it is a query whose columns are those of its target list: one without `union` and grouping sets.
fn is_plain(query: &Node<'_>) -> bool {
    query.is("QUERY")
        && query.field("setOperations") == Some(&Node::Null)
        && query.list("groupingSets").is_empty()
}

/// Returns the numbers of the query's range table entries whose columns an outer join can replace by null.
fn nullable_entries(query: &Node<'_>) -> HashSet<i64> {
    let mut entries = HashSet::new();
    if let Some(tree) = query.field("jointree") {
        collect_nullable(tree, false, &mut entries);
    }
    entries
}

fn collect_nullable(tree: &Node<'_>, nullable: bool, entries: &mut HashSet<i64>) {
    let is_join = tree.is("JOINEXPR");
    if nullable && (is_join || tree.is("RANGETBLREF")) {
        entries.extend(tree.number("rtindex"));
    }
    for item in tree.list("fromlist") {
        collect_nullable(item, nullable, entries);
    }
    if is_join {
        let kind = tree.number("jointype");
        let keeps = |side| kind == Some(join::INNER) || kind == Some(side);
        for (side, keeps) in [("larg", keeps(join::LEFT)), ("rarg", keeps(join::RIGHT))] {
            if let Some(argument) = tree.field(side) {
                collect_nullable(argument, nullable || !keeps, entries);
            }
        }
    }
}

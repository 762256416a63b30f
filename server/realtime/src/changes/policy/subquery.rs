//! Conditions with a query of another table, such as that of a group's members: `exists (select … where m.room =
//! t.room and m.user_id = auth.uid())`, `room in (select room from … where user_id = auth.uid())`, `auth.uid() in
//! (select user_id from … where …)`.

use super::claim::Claim;
use super::expression::{NamedColumn, Piece, Term, comparison, sides, term, without_alias};
use super::related::{Join, Related};
use super::{Alternative, Requirement, RowValues};
use crate::changes::table::Table;

/// What a query may have, and what is not understood then.
const NOT_UNDERSTOOD: [&str; 17] = [
    "UNION",
    "INTERSECT",
    "EXCEPT",
    "GROUP",
    "HAVING",
    "LIMIT",
    "OFFSET",
    "FETCH",
    "ORDER",
    "WITH",
    "DISTINCT",
    "WINDOW",
    "FOR",
    "JOIN",
    "LATERAL",
    "ONLY",
    "TABLESAMPLE",
];

/// Returns what a condition with a query of another table requires of a row of `table`.
pub(super) fn requirement(pieces: &[Piece], table: &Table) -> Option<Requirement> {
    let (claim, related) = match pieces {
        [word, Piece::Group(query)] if word.is_word("EXISTS") => {
            let query = Query::read(query, table)?;
            // An aggregate has a row whatever it is made of.
            if query.selected.iter().any(|piece| matches!(piece, Piece::Group(_))) {
                return None;
            }
            query.by_its_claim()?
        }
        [left @ .., word, Piece::Group(query)] if word.is_word("IN") => {
            let mut query = Query::read(query, table)?;
            let Term::Column(selected) = term(without_alias(query.selected))? else { return None };
            if !query.is_inner(&selected) {
                return None;
            }
            match term(left)? {
                Term::Claim(claim) => (claim, query.related(selected)),
                Term::Column(NamedColumn { relation: None, name, is_text: false }) if !selected.is_text => {
                    query.joins.push(Join { inner: selected.name, outer: name });
                    query.by_its_claim()?
                }
                _ => return None,
            }
        }
        _ => return None,
    };
    let is_known = |join: &Join| table.column(&join.outer).is_some();
    related
        .joins
        .iter()
        .all(is_known)
        .then(|| Requirement(vec![Alternative { claim, values: RowValues::Related(related) }]))
}

/// A query of one table.
struct Query<'a> {
    /// What it selects.
    selected: &'a [Piece],
    schema: &'a str,
    table: &'a str,
    /// The name that its columns are named with.
    alias: &'a str,
    /// The name that the columns of the policy's table are named with.
    outer: &'a str,
    /// Its columns that have to equal columns of the policy's table.
    joins: Vec<Join>,
    /// Its column that has to equal a claim.
    claim: Option<(Claim, NamedColumn)>,
}

impl<'a> Query<'a> {
    /// Reads a query in a policy of `outer`. Conditions that are not understood are left out: with them, the query
    /// could only find less.
    fn read(pieces: &'a [Piece], outer: &'a Table) -> Option<Self> {
        if pieces.iter().any(|piece| NOT_UNDERSTOOD.iter().any(|word| piece.is_word(word))) {
            return None;
        }
        let (select, rest) = pieces.split_first()?;
        let from = rest.iter().position(|piece| piece.is_word("FROM"))?;
        let (selected, rest) = (rest.get(..from)?, rest.get(from + 1..)?);
        let end = rest.iter().position(|piece| piece.is_word("WHERE"))?;
        let (relation, condition) = (rest.get(..end)?, rest.get(end + 1..)?);
        let (schema, table, alias) = match relation {
            [schema, dot, table] if dot.is_sign(".") => (schema.name()?, table.name()?, table.name()?),
            [schema, dot, table, alias] if dot.is_sign(".") => (schema.name()?, table.name()?, alias.name()?),
            _ => return None,
        };
        if !select.is_word("SELECT") || alias == outer.name {
            return None;
        }
        let (joins, claim) = (Vec::new(), None);
        let mut query = Self { selected, schema, table, alias, outer: &outer.name, joins, claim };
        query.add(condition);
        Some(query)
    }

    /// Adds conditions that all have to hold.
    fn add(&mut self, pieces: &[Piece]) {
        if let [Piece::Group(inner)] = pieces {
            return self.add(inner);
        }
        if pieces.iter().any(|piece| ["OR", "NOT", "CASE", "BETWEEN"].iter().any(|word| piece.is_word(word)))
        {
            return;
        }
        if pieces.iter().any(|piece| piece.is_word("AND")) {
            pieces.split(|piece| piece.is_word("AND")).for_each(|part| self.add(part));
        } else if let Some((claim, column)) = comparison(pieces) {
            if self.claim.is_none() && self.is_inner(&column) {
                self.claim = Some((claim, column));
            }
        } else if let Some((Term::Column(one), Term::Column(other))) = sides(pieces) {
            let (inner, outer) = if self.is_inner(&one) { (one, other) } else { (other, one) };
            let is_outer = outer.relation.as_deref() == Some(self.outer);
            if self.is_inner(&inner) && is_outer && !inner.is_text && !outer.is_text {
                self.joins.push(Join { inner: inner.name, outer: outer.name });
            }
        }
    }

    fn is_inner(&self, column: &NamedColumn) -> bool {
        column.relation.as_deref() == Some(self.alias)
    }

    /// Returns the claim that one of the columns has to equal, and where its values are.
    fn by_its_claim(mut self) -> Option<(Claim, Related)> {
        let (claim, column) = self.claim.take()?;
        Some((claim, self.related(column)))
    }

    /// Returns where the values of `column` are.
    fn related(self, column: NamedColumn) -> Related {
        let (schema, table) = (self.schema.to_owned(), self.table.to_owned());
        Related { schema, table, joins: self.joins, value: column.name, is_text: column.is_text }
    }
}

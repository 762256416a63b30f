//! What policies say about who cannot see a row, so that Postgres need not be asked about everybody.
//!
//! Most policies compare a column with a claim: `owner = auth.uid()`. Whose claim is another one cannot see the row. A
//! [`Requirement`] is what policies require at least, as far as it is understood; it only ever leaves people out, and
//! Postgres judges those who are left. What is not understood requires nothing.

mod claim;
mod expression;
mod load;
mod related;
mod subquery;
#[cfg(test)]
mod tests;

pub(super) use claim::{Claim, ClaimValue};
pub(super) use load::load;
pub(super) use related::{Related, RelatedValues};

/// The maximum number of alternatives; more are not looked at.
const MAX_ALTERNATIVES: usize = 8;

/// What the policies of a table require of a user of one role: one of these holds for each row that the user sees.
/// Without alternatives, nobody sees anything.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Requirement(pub(super) Vec<Alternative>);

/// A claim of the user equals one of the row's values.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Alternative {
    pub(super) claim: Claim,
    pub(super) values: RowValues,
}

/// The values of a row that a claim is compared with.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum RowValues {
    /// That of a column.
    Column(String),
    /// Those of rows of another table, such as the members of the row's group.
    Related(Related),
}

impl Requirement {
    /// Returns the requirement that one of two holds.
    fn either(mut self, other: Self) -> Option<Self> {
        for alternative in other.0 {
            if !self.0.contains(&alternative) {
                self.0.push(alternative);
            }
        }
        (self.0.len() <= MAX_ALTERNATIVES).then_some(self)
    }

    /// Returns the requirement that both hold, as far as one requirement can say it: the one with less to look up.
    fn both(one: Option<Self>, other: Option<Self>) -> Option<Self> {
        match (one, other) {
            (Some(one), Some(other)) => Some(if other.cost() < one.cost() { other } else { one }),
            (one, other) => one.or(other),
        }
    }

    /// Returns how much there is to look up: a query of another table is worth several comparisons.
    fn cost(&self) -> usize {
        let cost = |alternative: &Alternative| match alternative.values {
            RowValues::Column(_) => 1,
            RowValues::Related(_) => MAX_ALTERNATIVES,
        };
        self.0.iter().map(cost).sum()
    }
}

//! The members of an audience by the claims that policies require of them: those who cannot see a row are not even
//! looked at, however many they are.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use serde_json::{Map, Value};

use super::policy::{ClaimValue, Requirement, RowValues};

/// What policies require, by role. A role of which nothing is required is absent.
pub(super) type Requirements = BTreeMap<Box<str>, Arc<Requirement>>;

/// An index of the members of all filters.
#[derive(Debug)]
pub(super) struct Readers {
    pub(super) requirements: Requirements,
    /// By the number of the filter.
    filters: Vec<FilterReaders>,
}

/// The members of one filter, by their positions.
#[derive(Debug, Default)]
struct FilterReaders {
    /// Those who may see any row.
    unlimited: Vec<usize>,
    /// Those whose claim has to equal a value of the row; in the order of [`Readers::values`].
    by_claim: Vec<HashMap<Box<str>, Vec<usize>>>,
}

/// What is known of the values of a row that a claim is compared with.
#[derive(Debug)]
pub(super) enum KnownValues<'a> {
    Unknown,
    /// One value, or none if it is NULL.
    One(Option<&'a str>),
    Many(&'a [Box<str>]),
}

impl Readers {
    /// Returns the index of the members of `filters`, of whom it gets the role and the claims.
    pub(super) fn new<'a, M>(requirements: Requirements, filters: impl Iterator<Item = M>) -> Self
    where
        M: Iterator<Item = (&'a str, &'a Map<String, Value>)>,
    {
        let count = requirements.values().map(|requirement| requirement.0.len()).sum();
        let mut first = BTreeMap::new();
        let mut next = 0;
        for (role, requirement) in &requirements {
            first.insert(role.clone(), next);
            next += requirement.0.len();
        }
        let of_filter = |members: M| {
            let mut readers = FilterReaders { unlimited: Vec::new(), by_claim: vec![HashMap::new(); count] };
            for (position, (role, claims)) in members.enumerate() {
                readers.add(position, claims, requirements.get(role).zip(first.get(role)));
            }
            readers
        };
        let filters = filters.map(of_filter).collect();
        Self { requirements, filters }
    }

    /// Returns what claims are compared with, in the order that [`Self::candidates`] needs the values in.
    pub(super) fn values(&self) -> impl Iterator<Item = &RowValues> {
        self.requirements
            .values()
            .flat_map(|requirement| &requirement.0)
            .map(|alternative| &alternative.values)
    }

    /// Returns the positions of the members of filter `number` who may see a row with these values, in their order.
    pub(super) fn candidates(&self, number: usize, values: &[KnownValues<'_>]) -> Vec<usize> {
        let Some(FilterReaders { unlimited, by_claim }) = self.filters.get(number) else { return Vec::new() };
        let mut candidates = unlimited.clone();
        for (by_value, known) in by_claim.iter().zip(values) {
            match known {
                KnownValues::Unknown => candidates.extend(by_value.values().flatten()),
                KnownValues::One(value) => {
                    candidates.extend(value.and_then(|value| by_value.get(value)).into_iter().flatten());
                }
                KnownValues::Many(values) => {
                    candidates.extend(values.iter().filter_map(|value| by_value.get(value)).flatten());
                }
            }
        }
        candidates.sort_unstable();
        candidates.dedup();
        candidates
    }
}

impl FilterReaders {
    /// Adds a member with these claims. `required` is what is required of its role, and the index of the first claim.
    fn add(
        &mut self,
        position: usize,
        claims: &Map<String, Value>,
        required: Option<(&Arc<Requirement>, &usize)>,
    ) {
        let Some((requirement, first)) = required else { return self.unlimited.push(position) };
        let values: Vec<ClaimValue> =
            requirement.0.iter().map(|alternative| alternative.claim.value(claims)).collect();
        if values.contains(&ClaimValue::Unknown) {
            return self.unlimited.push(position);
        }
        for (value, by_value) in values.into_iter().zip(self.by_claim.iter_mut().skip(*first)) {
            if let ClaimValue::Text(value) = value {
                by_value.entry(value).or_default().push(position);
            }
        }
    }
}

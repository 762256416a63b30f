//! The order of names in the generated text.

use std::cmp::Ordering;

/// The characters before the digits, in their order.
const PUNCTUATION: &str = " _-,;:!?.'\"()[]{}@*/\\&#%`^+<=>|~$";

/// Compares names in the order of JavaScript's `Intl.Collator`: punctuation before digits before letters; letters
/// without regard to case unless everything else is equal, then lower case first. Source: Unicode Technical Standard
/// 10, CLDR's root collation, for the characters of ASCII.
pub(crate) fn collate(a: &str, b: &str) -> Ordering {
    let weight = |c: char| {
        let class = match PUNCTUATION.find(c) {
            Some(position) => position,
            None if c.is_ascii_digit() => PUNCTUATION.len(),
            None => PUNCTUATION.len() + 1,
        };
        (class, c.to_lowercase().next().unwrap_or(c))
    };
    let by_weight = a.chars().map(weight).cmp(b.chars().map(weight));
    by_weight.then_with(|| b.cmp(a))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_sort_as_javascript_sorts_them() {
        let mut names =
            ["source_title1", "source1", "b", "B", "a_b", "a1", "ab", "Ab", "a", "a b", "a$b", "a-b"];
        names.sort_by(|a, b| collate(a, b));
        let sorted =
            ["a", "a b", "a_b", "a-b", "a$b", "a1", "ab", "Ab", "b", "B", "source_title1", "source1"];
        assert_eq!(names, sorted);
    }
}

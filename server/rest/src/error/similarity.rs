//! Names that are near to one that was not found, for hints.
//!
//! As upstream's library has it, names are compared only if they share a few characters in a row: a name of which
//! nothing is left is no suggestion, however short both are. Source: the documentation of Haskell's `fuzzyset`.

use std::collections::HashSet;

use strsim::normalized_levenshtein;

/// How many characters in a row two names have to share; fewer only if nothing shares as many.
const SHARED: [usize; 2] = [3, 2];

/// Is put before and after a name, so that its beginning and its end count.
const EDGE: char = '-';

/// Returns the candidate nearest to `name`, if it is at least as near as `threshold` (1 is equal, 0 has nothing in
/// common). Upper and lower case count as the same; among equals the first in alphabetical order is taken.
pub(crate) fn closest<'a>(
    name: &str,
    candidates: impl Iterator<Item = &'a str>,
    threshold: f64,
) -> Option<&'a str> {
    let name = name.to_lowercase();
    let near: Vec<(f64, &str, String)> = candidates
        .map(|candidate| (candidate, candidate.to_lowercase()))
        .map(|(candidate, lower)| (normalized_levenshtein(&name, &lower), candidate, lower))
        .filter(|(score, ..)| *score >= threshold)
        .collect();
    let is_equal = |found: &&(f64, &str, String)| found.2 == name;
    if let Some((_, candidate, _)) = near.iter().find(is_equal) {
        return Some(candidate);
    }
    SHARED.into_iter().find_map(|length| {
        let grams = grams(&name, length);
        let sharing = near.iter().filter(|(.., lower)| !grams.is_disjoint(&self::grams(lower, length)));
        let best = sharing.max_by(|a, b| a.0.total_cmp(&b.0).then_with(|| b.1.cmp(a.1)));
        best.map(|(_, candidate, _)| *candidate)
    })
}

/// Returns every `length` characters in a row of `name`, of which only letters, digits, spaces and commas count.
fn grams(name: &str, length: usize) -> HashSet<Vec<char>> {
    let counts = |c: &char| c.is_alphanumeric() || c.is_whitespace() || *c == ',';
    let characters: Vec<char> =
        std::iter::once(EDGE).chain(name.chars().filter(counts)).chain([EDGE]).collect();
    characters.windows(length).map(<[char]>::to_vec).collect()
}

/// Returns what [`closest`] does, but nothing when `name` itself is a candidate: then the name is not what is wrong.
pub(crate) fn closest_inexact<'a>(
    name: &str,
    candidates: impl Iterator<Item = &'a str>,
    threshold: f64,
) -> Option<&'a str> {
    closest(name, candidates, threshold).filter(|found| *found != name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_nearest_name_is_found() {
        let names = ["films", "directors", "actors"];
        assert_eq!(closest("film", names.into_iter(), 0.75), Some("films"));
        assert_eq!(closest("DIRECTOR", names.into_iter(), 0.75), Some("directors"));
        assert_eq!(closest("noclosealternative", names.into_iter(), 0.33), None);
        assert_eq!(closest_inexact("actors", names.into_iter(), 0.33), None);
    }

    #[test]
    fn names_that_share_nothing_are_not_near() {
        let signatures = ["(a)", "(a, b)", "()"];
        assert_eq!(closest("(b)", signatures.into_iter(), 0.33), Some("(a, b)"));
        assert_eq!(closest("(c)", signatures.into_iter(), 0.33), None);
        assert_eq!(closest("()", ["(a)"].into_iter(), 0.33), None);
        assert_eq!(closest("()", signatures.into_iter(), 0.33), Some("()"));
        assert_eq!(closest("(ID, nam)", ["(id, name)"].into_iter(), 0.33), Some("(id, name)"));
    }
}

//! Names that are near to one that was not found, for hints.

use strsim::normalized_levenshtein;

/// The candidate nearest to `name`, if it is at least as near as `threshold` (1 is equal, 0 has nothing in
/// common). Upper and lower case count as the same; among equals the first in alphabetical order is taken.
pub(crate) fn closest<'a>(
    name: &str,
    candidates: impl Iterator<Item = &'a str>,
    threshold: f64,
) -> Option<&'a str> {
    let name = name.to_lowercase();
    let scored =
        candidates.map(|candidate| (normalized_levenshtein(&name, &candidate.to_lowercase()), candidate));
    scored
        .filter(|(score, _)| *score >= threshold)
        .max_by(|a, b| a.0.total_cmp(&b.0).then_with(|| b.1.cmp(a.1)))
        .map(|(_, candidate)| candidate)
}

/// As [`closest`], but nothing when `name` itself is a candidate: then the name is not what is wrong.
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
}

//! Versions of releases: `1.2.3`, or `1.2.3-rc.1` before it. They may be written as tags, `v1.2.3`.

use std::cmp::Ordering;
use std::fmt;
use std::str::FromStr;

/// A version.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Version {
    numbers: [u64; 3],
    /// What makes it an earlier one than the numbers alone.
    before: Option<String>,
}

impl FromStr for Version {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let expected = || format!("expected a version such as 1.2.3, found {text:?}");
        let written = text.strip_prefix('v').unwrap_or(text);
        let (numbers, before) = match written.split_once('-') {
            Some((numbers, before)) => (numbers, Some(before)),
            None => (written, None),
        };
        // It becomes part of a URL and of a path.
        let is_plain = |c: char| c.is_ascii_alphanumeric() || c == '.' || c == '-';
        if before.is_some_and(|before| before.is_empty() || !before.chars().all(is_plain)) {
            return Err(expected());
        }
        let parsed: Result<Vec<u64>, _> = numbers.split('.').map(str::parse).collect();
        let numbers = parsed.ok().and_then(|parsed| parsed.try_into().ok()).ok_or_else(expected)?;
        Ok(Self { numbers, before: before.map(str::to_owned) })
    }
}

impl fmt::Display for Version {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [major, minor, patch] = self.numbers;
        write!(f, "{major}.{minor}.{patch}")?;
        self.before.as_ref().map_or(Ok(()), |before| write!(f, "-{before}"))
    }
}

impl PartialOrd for Version {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Version {
    fn cmp(&self, other: &Self) -> Ordering {
        let before = match (&self.before, &other.before) {
            (None, None) => Ordering::Equal,
            (None, Some(_)) => Ordering::Greater,
            (Some(_), None) => Ordering::Less,
            (Some(own), Some(other)) => parts(own).cmp(&parts(other)),
        };
        self.numbers.cmp(&other.numbers).then(before)
    }
}

/// Returns the parts between the dots, numbers as numbers, which are the smaller ones. Source: Semantic Versioning
/// 2.0.0, section 11.
fn parts(text: &str) -> Vec<(bool, u64, &str)> {
    text.split('.').map(|part| part.parse().map_or((true, 0, part), |number| (false, number, ""))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_have_an_order() {
        let ordered = ["0.1.0", "0.2.0-rc.2", "0.2.0-rc.10", "0.2.0", "0.10.0", "1.0.0"];
        let versions = ordered.map(|text| text.parse::<Version>().unwrap());
        assert!(versions.is_sorted());
        assert_eq!(versions[2].to_string(), "0.2.0-rc.10");
        assert_eq!("v0.2.0-rc.10".parse::<Version>().unwrap(), versions[2]);
        for wrong in ["1", "1.2", "1.2.3.4", "1.2.x", "1.2.3-", "1.2.3-../x", "", "vv1.2.3"] {
            wrong.parse::<Version>().unwrap_err();
        }
    }
}

//! Positions in the write-ahead log.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use crate::error::Error;

/// A position in the write-ahead log (WAL): a number of bytes, written as `16/B374D848`. 0 is no position.
///
/// Source: PostgreSQL documentation, section 8.20.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Lsn(pub u64);

impl Lsn {
    /// Returns the number of bytes between `earlier` and this position; 0 if `earlier` is not before it.
    pub const fn bytes_since(self, earlier: Self) -> u64 {
        self.0.saturating_sub(earlier.0)
    }
}

impl fmt::Display for Lsn {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:X}/{:X}", self.0 >> 32, self.0 & u64::from(u32::MAX))
    }
}

impl FromStr for Lsn {
    type Err = Error;

    /// Parses what Postgres writes. Errors: [`Error::Protocol`] for other texts.
    fn from_str(text: &str) -> Result<Self, Error> {
        let half = |text: &str| u32::from_str_radix(text, 16).ok().filter(|_| !text.starts_with('+'));
        text.split_once('/')
            .and_then(|(high, low)| Some(u64::from(half(high)?) << 32 | u64::from(half(low)?)))
            .map(Self)
            .ok_or_else(|| Error::protocol(format!("{text:?} is no position in the WAL")))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn positions_are_the_same_after_conversion_to_text_and_back() {
        for (text, value) in [("0/0", 0), ("16/B374D848", 0x16_B374_D848), ("FFFFFFFF/FFFFFFFF", u64::MAX)] {
            assert_eq!(text.parse::<Lsn>().unwrap(), Lsn(value));
            assert_eq!(Lsn(value).to_string(), text);
        }
        assert_eq!("0/00001A28".parse::<Lsn>().unwrap(), Lsn(0x1A28), "as Postgres 19 writes it");
        for bad in ["", "/", "1", "1/", "/1", "1/2/3", "100000000/0", "0/x", "+1/0", "-1/0"] {
            assert!(bad.parse::<Lsn>().is_err(), "{bad}");
        }
        assert_eq!((Lsn(7).bytes_since(Lsn(3)), Lsn(3).bytes_since(Lsn(7))), (4, 0));
    }
}

//! The text forms of a setting's value, in `config.toml` and in the environment.

use std::collections::BTreeMap;
use std::net::{IpAddr, SocketAddr};
use std::path::PathBuf;
use std::time::Duration;

/// A type of settings.
pub trait Value: Sized {
    /// A description of the valid values, for the error about an invalid one.
    const EXPECTED: &'static str;

    /// Whether a configuration file contains it without quotes.
    const IS_BARE: bool = false;

    /// Reads an environment variable or a string of `config.toml`.
    fn from_text(text: &str) -> Option<Self>;

    /// Reads a value of `config.toml`.
    fn from_toml(value: &toml::Value) -> Option<Self> {
        match value {
            toml::Value::String(text) => Self::from_text(text),
            toml::Value::Integer(number) => Self::from_text(&number.to_string()),
            _ => None,
        }
    }

    /// Returns the text that [`Self::from_text`] parses into this value, with secrets hidden; `None` if there is no
    /// value.
    fn show(&self) -> Option<String>;
}

/// A setting that need not have a value.
impl<T: Value> Value for Option<T> {
    const EXPECTED: &'static str = T::EXPECTED;
    const IS_BARE: bool = T::IS_BARE;

    fn from_text(text: &str) -> Option<Self> {
        T::from_text(text).map(Some)
    }

    fn from_toml(value: &toml::Value) -> Option<Self> {
        T::from_toml(value).map(Some)
    }

    fn show(&self) -> Option<String> {
        self.as_ref().and_then(T::show)
    }
}

impl Value for String {
    const EXPECTED: &'static str = "a text";

    fn from_text(text: &str) -> Option<Self> {
        Some(text.to_owned())
    }

    fn from_toml(value: &toml::Value) -> Option<Self> {
        value.as_str().map(str::to_owned)
    }

    fn show(&self) -> Option<String> {
        (!self.is_empty()).then(|| self.clone())
    }
}

impl Value for bool {
    const EXPECTED: &'static str = "true or false";
    const IS_BARE: Self = true;

    /// Parses the usual words; any number above 0 also counts as true, as in PostgREST.
    fn from_text(text: &str) -> Option<Self> {
        match text.trim().to_ascii_lowercase().as_str() {
            "true" | "t" | "yes" | "on" => Some(true),
            "false" | "f" | "no" | "off" => Some(false),
            other => other.parse::<i64>().ok().map(|number| number > 0),
        }
    }

    fn from_toml(value: &toml::Value) -> Option<Self> {
        match value {
            toml::Value::Boolean(value) => Some(*value),
            toml::Value::String(text) => Self::from_text(text),
            _ => None,
        }
    }

    fn show(&self) -> Option<String> {
        Some(self.to_string())
    }
}

macro_rules! numbers {
    ($($type:ty: $expected:literal),* $(,)?) => {$(
        impl Value for $type {
            const EXPECTED: &'static str = $expected;
            const IS_BARE: bool = true;

            fn from_text(text: &str) -> Option<Self> {
                text.trim().parse().ok()
            }

            fn show(&self) -> Option<String> {
                Some(self.to_string())
            }
        }
    )*};
}

numbers! {
    u8: "a whole number from 0 to 255",
    u16: "a whole number from 0 to 65535",
    i64: "a whole number",
    u32: "a whole number from 0 on",
    u64: "a whole number from 0 on",
    usize: "a whole number from 0 on",
    IpAddr: "an IP address such as 127.0.0.1, or 0.0.0.0 for all interfaces",
    SocketAddr: "an IP address and a port, such as 0.0.0.0:5432",
}

/// A number that is not negative and may have a fraction.
impl Value for f64 {
    const EXPECTED: &'static str = "a number from 0 on";
    const IS_BARE: bool = true;

    fn from_text(text: &str) -> Option<Self> {
        text.trim().parse().ok().filter(|number: &Self| number.is_finite() && *number >= 0.0)
    }

    fn show(&self) -> Option<String> {
        Some(self.to_string())
    }
}

impl Value for PathBuf {
    const EXPECTED: &'static str = "a path";

    fn from_text(text: &str) -> Option<Self> {
        (!text.is_empty()).then(|| Self::from(text))
    }

    fn show(&self) -> Option<String> {
        Some(self.to_string_lossy().into_owned()).filter(|path| !path.is_empty())
    }
}

/// A list; in the environment its items are separated by commas.
impl Value for Vec<String> {
    const EXPECTED: &'static str = "a list of texts (separated by commas in the environment)";

    fn from_text(text: &str) -> Option<Self> {
        Some(text.split(',').map(str::trim).filter(|item| !item.is_empty()).map(str::to_owned).collect())
    }

    fn from_toml(value: &toml::Value) -> Option<Self> {
        match value {
            toml::Value::Array(items) => items.iter().map(|item| item.as_str().map(str::to_owned)).collect(),
            toml::Value::String(text) => Self::from_text(text),
            _ => None,
        }
    }

    fn show(&self) -> Option<String> {
        (!self.is_empty()).then(|| self.join(","))
    }
}

/// Texts by name; in the environment `name:text` pairs, separated by commas.
impl Value for BTreeMap<String, String> {
    const EXPECTED: &'static str =
        "a table of texts (pairs name:text, separated by commas, in the environment)";

    fn from_text(text: &str) -> Option<Self> {
        let pairs = text.split(',').map(str::trim).filter(|pair| !pair.is_empty());
        pairs
            .map(|pair| {
                pair.split_once(':').map(|(name, text)| (name.trim().to_owned(), text.trim().to_owned()))
            })
            .collect()
    }

    fn from_toml(value: &toml::Value) -> Option<Self> {
        let table = value.as_table()?;
        table.iter().map(|(name, text)| Some((name.clone(), text.as_str()?.to_owned()))).collect()
    }

    fn show(&self) -> Option<String> {
        let pairs: Vec<String> = self.iter().map(|(name, text)| format!("{name}:{text}")).collect();
        (!pairs.is_empty()).then(|| pairs.join(","))
    }
}

/// A number of bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Bytes(pub u64);

impl Value for Bytes {
    const IS_BARE: bool = true;
    const EXPECTED: &'static str = "a number of bytes such as 52428800, \"500KB\" or \"50MiB\"";

    /// Multiples are of 1024 whether or not an `i` is written, as in the Supabase CLI.
    fn from_text(text: &str) -> Option<Self> {
        let text = text.trim();
        let end = text.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(text.len());
        let (number, unit) = text.split_at(end);
        let shift = match unit.trim().to_ascii_lowercase().trim_end_matches('b').trim_end_matches('i') {
            "" => 0,
            "k" => 10,
            "m" => 20,
            "g" => 30,
            "t" => 40,
            _ => return None,
        };
        if let Ok(whole) = number.parse::<u64>() {
            return whole.checked_mul(1 << shift).map(Self);
        }
        let bytes = number.parse::<f64>().ok()? * f64::from(shift).exp2();
        // Below 2^53 the conversion is exact; fractions of petabytes do not occur in practice.
        (bytes.is_finite() && bytes < 2_f64.powi(53)).then_some(Self(bytes as u64))
    }

    fn show(&self) -> Option<String> {
        Some(self.0.to_string())
    }
}

/// A span of time, in the format of Go's `time.ParseDuration`, or a number of seconds.
impl Value for Duration {
    const IS_BARE: bool = true;
    const EXPECTED: &'static str =
        "a number of seconds or a text such as \"500ms\", \"30s\", \"5m\", \"1h30m\", \"1.5h\"";

    fn from_text(text: &str) -> Option<Self> {
        let text = text.trim();
        if let Ok(seconds) = text.parse::<u64>() {
            return Some(Self::from_secs(seconds));
        }
        let mut rest = text;
        let mut total = Self::ZERO;
        while !rest.is_empty() {
            let (number, tail) = rest.split_at(rest.find(|c: char| !c.is_ascii_digit() && c != '.')?);
            let unit_end = tail.find(|c: char| c.is_ascii_digit() || c == '.').unwrap_or(tail.len());
            let (unit, tail) = tail.split_at(unit_end);
            let unit = match unit {
                "ns" => Self::from_nanos(1),
                "us" | "µs" | "μs" => Self::from_micros(1),
                "ms" => Self::from_millis(1),
                "s" => Self::from_secs(1),
                "m" => Self::from_secs(60),
                "h" => Self::from_secs(3600),
                _ => return None,
            };
            let seconds = number.parse::<f64>().ok()? * unit.as_secs_f64();
            total = total.checked_add(Self::try_from_secs_f64(seconds).ok()?)?;
            rest = tail;
        }
        (!text.is_empty()).then_some(total)
    }

    fn show(&self) -> Option<String> {
        Some(match self.subsec_nanos() {
            0 => self.as_secs().to_string(),
            _ => format!("{self:?}"),
        })
    }
}

/// Returns the hour and the minute of a time of day such as `06:30`; `None` if `text` is none.
pub fn time_of_day(text: &str) -> Option<(u8, u8)> {
    let (hour, minute) = text.split_once(':')?;
    let number = |part: &str, end: u8| -> Option<u8> {
        let is_number = part.len() == 2 && part.bytes().all(|byte| byte.is_ascii_digit());
        is_number.then(|| part.parse().ok()).flatten().filter(|number| *number < end)
    };
    Some((number(hour, 24)?, number(minute, 60)?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_read_as_the_supabase_cli_reads_them() {
        for (text, bytes) in
            [("50MiB", 50 << 20), ("5MB", 5 << 20), ("500KB", 500 << 10), ("1.5k", 1536), ("7", 7), ("0", 0)]
        {
            assert_eq!(Bytes::from_text(text), Some(Bytes(bytes)), "{text}");
        }
        for text in ["", "MiB", "-1", "5 parsecs", "1e3MB"] {
            assert_eq!(Bytes::from_text(text), None, "{text}");
        }
    }

    #[test]
    fn durations_are_seconds_or_have_units() {
        assert_eq!(Duration::from_text("90"), Some(Duration::from_secs(90)));
        assert_eq!(Duration::from_text("1h30m"), Some(Duration::from_secs(5400)));
        assert_eq!(Duration::from_text("250ms"), Some(Duration::from_millis(250)));
        assert_eq!(Duration::from_text("1.5h"), Some(Duration::from_secs(5400)));
        for text in ["", "s", "1x", "1h30", "-1s", ".", "1..2s"] {
            assert_eq!(Duration::from_text(text), None, "{text}");
        }
    }

    #[test]
    fn tables_are_pairs() {
        let pairs = <BTreeMap<String, String>>::from_text("4915:123456, 4916:654321").unwrap();
        assert_eq!(pairs.get("4916").map(String::as_str), Some("654321"));
        assert_eq!(<BTreeMap<String, String>>::from_text("4915"), None);
    }

    #[test]
    fn lists_are_split_at_commas() {
        assert_eq!(
            <Vec<String>>::from_text("public, api,"),
            Some(vec!["public".to_owned(), "api".to_owned()])
        );
    }
}

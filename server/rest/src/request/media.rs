//! Media types of requests and responses, and the choice among those that the client accepts.

/// A media type, as far as it is told apart here.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum MediaType {
    /// `application/json`, and `application/vnd.pgrst.array+json`.
    Json,
    /// `application/vnd.pgrst.array+json;nulls=stripped`.
    JsonStripped,
    /// `application/vnd.pgrst.object+json`: exactly one row, not in an array.
    Object {
        /// `;nulls=stripped`: without the keys that are null.
        stripped: bool,
    },
    /// `application/x-www-form-urlencoded`.
    UrlEncoded,
    /// `application/octet-stream`.
    OctetStream,
    /// `text/csv`.
    Csv,
    /// `text/plain`.
    Text,
    /// `text/xml`.
    Xml,
    /// `*/*`.
    Any,
    /// Any other, as it was sent.
    Other(String),
}

impl MediaType {
    /// Parses one media type; upper and lower case mean the same.
    pub fn parse(text: &str) -> Self {
        let mut parts = text.split(';').map(str::trim);
        let essence = parts.next().unwrap_or_default().to_ascii_lowercase();
        let stripped = parts.any(|part| part.eq_ignore_ascii_case("nulls=stripped"));
        match &*essence {
            "application/json" => Self::Json,
            "application/vnd.pgrst.array+json" | "application/vnd.pgrst.array" if stripped => {
                Self::JsonStripped
            }
            "application/vnd.pgrst.array+json" | "application/vnd.pgrst.array" => Self::Json,
            "application/vnd.pgrst.object+json" | "application/vnd.pgrst.object" => Self::Object { stripped },
            "application/x-www-form-urlencoded" => Self::UrlEncoded,
            "application/octet-stream" => Self::OctetStream,
            "text/csv" => Self::Csv,
            "text/plain" => Self::Text,
            "text/xml" => Self::Xml,
            "*/*" => Self::Any,
            _ => Self::Other(text.trim().to_owned()),
        }
    }

    /// Its name without a charset.
    pub fn name(&self) -> &str {
        match self {
            Self::Json => "application/json",
            Self::JsonStripped => "application/vnd.pgrst.array+json;nulls=stripped",
            Self::Object { stripped: false } => "application/vnd.pgrst.object+json",
            Self::Object { stripped: true } => "application/vnd.pgrst.object+json;nulls=stripped",
            Self::UrlEncoded => "application/x-www-form-urlencoded",
            Self::OctetStream => "application/octet-stream",
            Self::Csv => "text/csv",
            Self::Text => "text/plain",
            Self::Xml => "text/xml",
            Self::Any => "*/*",
            Self::Other(name) => name,
        }
    }

    /// The value of a `Content-Type` header.
    pub fn content_type(&self) -> String {
        match self {
            Self::OctetStream | Self::Other(_) => self.name().to_owned(),
            _ => format!("{}; charset=utf-8", self.name()),
        }
    }
}

/// The media types of an `Accept` header, the most wanted first and without those of quality 0; an empty header
/// takes anything (RFC 9110, section 12.5.1).
pub(super) fn parse_accept(text: &str) -> Vec<MediaType> {
    let mut ranked: Vec<(u32, u8, MediaType)> = split_unquoted(text)
        .into_iter()
        .filter(|part| !part.is_empty())
        .map(|part| (quality(part), specificity(part), MediaType::parse(without_quality(part))))
        .filter(|(quality, _, _)| *quality > 0)
        .collect();
    if text.trim().is_empty() {
        return vec![MediaType::Any];
    }
    ranked.sort_by_key(|(quality, specificity, _)| std::cmp::Reverse((*quality, *specificity)));
    ranked.into_iter().map(|(_, _, media)| media).collect()
}

/// Splits at commas outside double quotes.
fn split_unquoted(text: &str) -> Vec<&str> {
    let mut is_quoted = false;
    let separator = |c: char| {
        is_quoted ^= c == '"';
        c == ',' && !is_quoted
    };
    text.split(separator).map(str::trim).collect()
}

/// `;q=` in thousandths; 1000 when it is absent.
fn quality(part: &str) -> u32 {
    let value = part.split(';').skip(1).find_map(|parameter| parameter.trim().strip_prefix("q="));
    let parsed = value.and_then(|value| value.trim().parse::<f64>().ok()).filter(|q| (0.0..=1.0).contains(q));
    // The cast cannot overflow: the value lies between 0 and 1000.
    parsed.map_or(1000, |q| (q * 1000.0) as u32)
}

/// How much a media range says: a full type more than `type/*`, that more than `*/*`.
fn specificity(part: &str) -> u8 {
    match part.split(';').next().unwrap_or_default().trim() {
        "*/*" => 0,
        range if range.ends_with("/*") => 1,
        _ => 2,
    }
}

fn without_quality(part: &str) -> &str {
    part.find(";q=").or_else(|| part.find("; q=")).map_or(part, |at| part.get(..at).unwrap_or(part))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn types_are_told_apart() {
        for (text, media) in [
            ("application/json; charset=utf-8", MediaType::Json),
            ("ApplicatIon/vnd.PgRsT.object+json", MediaType::Object { stripped: false }),
            ("application/vnd.pgrst.object+json;nulls=stripped", MediaType::Object { stripped: true }),
            ("application/vnd.pgrst.array+json; nulls=stripped", MediaType::JsonStripped),
            ("application/vnd.pgrst.array+json", MediaType::Json),
            ("image/png", MediaType::Other("image/png".to_owned())),
        ] {
            assert_eq!(MediaType::parse(text), media, "{text}");
        }
    }

    #[test]
    fn what_is_not_wanted_is_left_out() {
        assert_eq!(parse_accept("application/json;q=0, text/csv"), [MediaType::Csv]);
        assert_eq!(parse_accept(" "), [MediaType::Any]);
    }

    #[test]
    fn the_most_wanted_comes_first() {
        let found =
            parse_accept("*/*, text/csv;q=0.5, application/json;q=0.9, application/vnd.pgrst.object+json");
        assert_eq!(
            found,
            [MediaType::Object { stripped: false }, MediaType::Any, MediaType::Json, MediaType::Csv]
        );
    }
}

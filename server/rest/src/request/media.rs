//! Media types of requests and responses, and the choice among those that the client accepts.

use std::borrow::Cow;

use http::HeaderValue;

use super::explain::{Explain, ExplainFormat};

/// The media type of the document that describes a schema.
pub(crate) const OPENAPI: &str = "application/openapi+json";

/// A media type. Those that REST gives a meaning to have a variant each.
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
    /// `application/geo+json`.
    GeoJson,
    /// `application/openapi+json`.
    OpenApi,
    /// `text/plain`.
    Text,
    /// `text/xml`.
    Xml,
    /// `*/*`.
    Any,
    /// `application/vnd.pgrst.plan`, `+text`, `+json`.
    Explain(Box<Explain>),
    /// Any other, as it was sent.
    Other(String),
}

impl MediaType {
    /// Parses one media type; upper and lower case mean the same.
    pub fn parse(text: &str) -> Self {
        if text == "application/json" {
            return Self::Json;
        }
        let (essence, parameters) = split_parameters(text);
        let stripped = parameters.iter().any(|(name, value)| name == "nulls" && *value == "stripped");
        let explain = |format| {
            let value = |name| parameters.iter().find(|(key, _)| key == name).map(|(_, value)| *value);
            Self::Explain(Box::new(Explain::new(format, value("for"), value("options"))))
        };
        match &*essence {
            "application/json" => Self::Json,
            "application/vnd.pgrst.array+json" | "application/vnd.pgrst.array" if stripped => {
                Self::JsonStripped
            }
            "application/vnd.pgrst.array+json" | "application/vnd.pgrst.array" => Self::Json,
            "application/vnd.pgrst.object+json" | "application/vnd.pgrst.object" => Self::Object { stripped },
            "application/vnd.pgrst.plan" | "application/vnd.pgrst.plan+text" => explain(ExplainFormat::Text),
            "application/vnd.pgrst.plan+json" => explain(ExplainFormat::Json),
            "application/x-www-form-urlencoded" => Self::UrlEncoded,
            "application/octet-stream" => Self::OctetStream,
            "application/geo+json" => Self::GeoJson,
            OPENAPI => Self::OpenApi,
            "text/csv" => Self::Csv,
            "text/plain" => Self::Text,
            "text/xml" => Self::Xml,
            "*/*" => Self::Any,
            _ => Self::Other(text.trim().to_owned()),
        }
    }

    /// Returns its name without a charset.
    pub fn name(&self) -> Cow<'_, str> {
        Cow::Borrowed(match self {
            Self::Json => "application/json",
            Self::JsonStripped => "application/vnd.pgrst.array+json;nulls=stripped",
            Self::Object { stripped: false } => "application/vnd.pgrst.object+json",
            Self::Object { stripped: true } => "application/vnd.pgrst.object+json;nulls=stripped",
            Self::UrlEncoded => "application/x-www-form-urlencoded",
            Self::OctetStream => "application/octet-stream",
            Self::GeoJson => "application/geo+json",
            Self::OpenApi => OPENAPI,
            Self::Csv => "text/csv",
            Self::Text => "text/plain",
            Self::Xml => "text/xml",
            Self::Any => "*/*",
            Self::Explain(explain) => return Cow::Owned(explain.media_type()),
            Self::Other(name) => name,
        })
    }

    /// Reports whether a body of type `given` is what this one asks for. Parameters of types that are not known here,
    /// such as a charset, make no difference.
    pub fn is_met_by(&self, given: &Self) -> bool {
        match (self, given) {
            (Self::Other(wanted), Self::Other(given)) => {
                split_parameters(wanted).0 == split_parameters(given).0
            }
            _ => self == given,
        }
    }

    /// Returns the value of a `Content-Type` header; `None` for a name that none can have.
    pub fn content_type(&self) -> Option<HeaderValue> {
        match self {
            Self::Json => Some(HeaderValue::from_static("application/json; charset=utf-8")),
            Self::OctetStream | Self::Other(_) => HeaderValue::try_from(&*self.name()).ok(),
            _ => HeaderValue::try_from(format!("{}; charset=utf-8", self.name())).ok(),
        }
    }
}

/// Returns the media types of an `Accept` header, the most wanted first and without those of quality 0; an empty header
/// takes anything (RFC 9110, section 12.5.1).
pub(super) fn parse_accept(text: &str) -> Vec<MediaType> {
    if text.trim().is_empty() {
        return vec![MediaType::Any];
    }
    let mut ranked: Vec<(u32, isize, MediaType)> = split_unquoted(text, ',')
        .filter(|part| !part.is_empty())
        .map(|part| {
            let (quality, media) = quality(part);
            (quality, specificity(&media), MediaType::parse(&media))
        })
        .filter(|(quality, _, _)| *quality > 0)
        .collect();
    ranked.sort_by_key(|(quality, specificity, _)| std::cmp::Reverse((*quality, *specificity)));
    ranked.into_iter().map(|(_, _, media)| media).collect()
}

/// Returns the type itself in lower case, and its parameters, their names in lower case and their values without
/// quotes.
fn split_parameters(text: &str) -> (String, Vec<(String, &str)>) {
    let mut parts = split_unquoted(text, ';');
    let essence = parts.next().unwrap_or_default().to_ascii_lowercase();
    let parameters = parts.filter_map(|part| part.split_once('='));
    let parameters = parameters
        .map(|(name, value)| (name.trim_end().to_ascii_lowercase(), value.trim_start().trim_matches('"')));
    (essence, parameters.collect())
}

/// Splits at `separator` outside double quotes.
fn split_unquoted(text: &str, separator: char) -> impl Iterator<Item = &str> {
    let mut is_quoted = false;
    let is_separator = move |c: char| {
        is_quoted ^= c == '"';
        c == separator && !is_quoted
    };
    text.split(is_separator).map(str::trim)
}

/// Returns the value of `;q=` in thousandths, 1000 when it is absent, and the media range before it.
fn quality(part: &str) -> (u32, String) {
    let parameters: Vec<&str> = split_unquoted(part, ';').collect();
    let is_weight = |part: &&str| part.starts_with("q=") || part.starts_with("Q=");
    let at = parameters.iter().position(is_weight).unwrap_or(parameters.len());
    let parsed = parameters.get(at).and_then(|weight| weight.get(2..)?.trim().parse::<f64>().ok());
    // The cast cannot overflow: the value lies between 0 and 1000.
    let quality = parsed.filter(|q| (0.0..=1.0).contains(q)).map_or(1000, |q| (q * 1000.0) as u32);
    (quality, parameters[..at].join(";"))
}

/// Returns how specific a media range is: each parameter makes it more, each asterisk less specific.
fn specificity(range: &str) -> isize {
    let count = |c| isize::try_from(range.matches(c).count()).unwrap_or(isize::MAX);
    count(';') - count('*')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn types_are_recognized() {
        for (text, media) in [
            ("application/json; charset=utf-8", MediaType::Json),
            ("ApplicatIon/vnd.PgRsT.object+json", MediaType::Object { stripped: false }),
            ("application/vnd.pgrst.object+json;nulls=stripped", MediaType::Object { stripped: true }),
            ("application/vnd.pgrst.array+json; nulls=stripped", MediaType::JsonStripped),
            ("application/vnd.pgrst.array+json", MediaType::Json),
            ("application/geo+json", MediaType::GeoJson),
            ("image/png", MediaType::Other("image/png".to_owned())),
        ] {
            assert_eq!(MediaType::parse(text), media, "{text}");
        }
    }

    #[test]
    fn explanations_say_what_was_understood() {
        for (text, name) in [
            ("application/vnd.pgrst.plan", "text; for=\"application/json\""),
            (
                "application/vnd.pgrst.plan ; for=\"text/csv\" ; options=analyze",
                "text; for=\"text/csv\"; options=analyze",
            ),
            (
                "application/vnd.pgrst.plan+json;FOR=\"application/vnd.pgrst.object+json;nulls=stripped\"; options=wal|odd|verbose|;",
                "json; for=\"application/vnd.pgrst.object+json;nulls=stripped\"; options=verbose|wal",
            ),
        ] {
            assert_eq!(MediaType::parse(text).name(), format!("application/vnd.pgrst.plan+{name}"), "{text}");
        }
    }

    #[test]
    fn parameters_of_unknown_types_mean_nothing() {
        let png = MediaType::parse("image/png");
        assert!(MediaType::parse("Image/PNG; x=1").is_met_by(&png));
        assert!(!MediaType::parse("image/pn").is_met_by(&png));
    }

    #[test]
    fn what_is_not_wanted_is_left_out() {
        assert_eq!(
            parse_accept("text/csv; q=0.0, image/png;x=\"a,b;q=0\""),
            [MediaType::parse("image/png;x=\"a,b;q=0\"")]
        );
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
        assert_eq!(
            parse_accept("text/csv, application/vnd.pgrst.array+json;nulls=stripped"),
            [MediaType::JsonStripped, MediaType::Csv]
        );
    }
}

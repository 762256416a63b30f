//! The query string, taken apart by what its parameters mean.

use std::borrow::Cow;

use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, percent_decode_str, utf8_percent_encode};

use super::grammar::{columns, field_path, parse_all};
use super::range::{Range, parse_limit, parse_offset};
use super::syntax::{Filter, Logic, OrderTerm, PathItem, SelectItem};
use super::{filter, order, select};
use crate::error::Error;

/// The characters that are not encoded in a canonical query string (RFC 3986, section 2.3).
pub(crate) const ENCODED: &AsciiSet = &NON_ALPHANUMERIC.remove(b'-').remove(b'_').remove(b'.').remove(b'~');

/// The query string's parameters.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Query {
    /// `select=`; `*` when it is absent.
    pub select: Vec<SelectItem>,
    /// Filters, each with the embed that it is meant for.
    pub filters: Vec<PathItem<Filter>>,
    /// `and=` and `or=`.
    pub logic: Vec<PathItem<Logic>>,
    /// `order=`.
    pub order: Vec<PathItem<Vec<OrderTerm>>>,
    /// `limit=` and `offset=`; at most one per embed.
    pub ranges: Vec<PathItem<Range>>,
    /// `columns=`.
    pub columns: Option<Vec<String>>,
    /// `on_conflict=`.
    pub on_conflict: Option<Vec<String>>,
    /// Arguments of a function that is called by GET: all parameters that are not filters.
    pub arguments: Vec<(String, String)>,
    /// All parameters, sorted by name and encoded in one way: the same for requests that mean the same.
    pub canonical: String,
}

impl Query {
    /// Parses `text`. `is_call_by_get` says whether a parameter without an operator is a function's argument.
    ///
    /// Errors: `PGRST100` for what the grammar does not allow, `PGRST103` for a negative limit.
    pub fn parse(text: &str, is_call_by_get: bool) -> Result<Self, Error> {
        let pairs = split(text)?;
        let mut query = Self { canonical: canonical(&pairs, text.len()), ..Self::default() };
        let value_of =
            |name: &str| pairs.iter().find(|(key, _)| key == name).and_then(|(_, value)| value.as_deref());
        query.select = match value_of("select") {
            None | Some("*") => vec![SelectItem::All],
            Some(text) => select::select(text)?,
        };
        query.columns =
            value_of("columns").map(|text| parse_all(columns, "columns parameter", text)).transpose()?;
        query.on_conflict = value_of("on_conflict")
            .map(|text| parse_all(columns, "on_conflict parameter", text))
            .transpose()?;
        for (key, value) in &pairs {
            if let Some(value) = value {
                query.take(key, value, is_call_by_get)?;
            }
        }
        Ok(query)
    }

    fn take(&mut self, key: &str, value: &str, is_call_by_get: bool) -> Result<(), Error> {
        match key.rsplit('.').next().unwrap_or(key) {
            _ if matches!(key, "select" | "columns" | "on_conflict") => {}
            "order" => self.order.push(order::order(key, value)?),
            "and" | "or" => self.logic.push(filter::logic(key, value)?),
            "limit" => {
                let limit = parse_limit(value)?;
                self.range(key)?.limit = limit;
            }
            "offset" => {
                let offset = parse_offset(value);
                self.range(key)?.offset = offset;
            }
            _ => match filter::filter(key, value) {
                Ok(filter) => self.filters.push(filter),
                // A value that is no comparison is an argument.
                Err(_) if is_call_by_get && !filter::is_begun(value) => {
                    let (_, field) = parse_all(field_path, "tree path", key)?;
                    self.arguments.push((field.name, value.to_owned()));
                }
                Err(error) => return Err(error),
            },
        }
        Ok(())
    }

    /// Returns the range of the embed that `key` (`actors.limit`, `offset`) is meant for.
    fn range(&mut self, key: &str) -> Result<&mut Range, Error> {
        let (path, _) = parse_all(field_path, "tree path", key)?;
        let index = match self.ranges.iter().position(|range| range.path == path) {
            Some(index) => index,
            None => {
                self.ranges.push(PathItem { path, item: Range::ALL });
                self.ranges.len() - 1
            }
        };
        Ok(&mut self.ranges[index].item)
    }

    /// Returns the range of the request's own relation.
    pub(crate) fn top_level_range(&self) -> Range {
        self.ranges.iter().find(|range| range.path.is_empty()).map_or(Range::ALL, |range| range.item)
    }
}

/// Names with their values; `None` for a parameter without `=`.
type Pairs<'a> = Vec<(Cow<'a, str>, Option<Cow<'a, str>>)>;

/// Splits `text` as `application/x-www-form-urlencoded`.
///
/// Errors: `PGRST100` for text that is not UTF-8 or has a NUL, which no Postgres text can hold.
pub(super) fn split(text: &str) -> Result<Pairs<'_>, Error> {
    text.split('&')
        .filter(|part| !part.is_empty())
        .map(|part| match part.split_once('=') {
            Some((name, value)) => Ok((decode(name)?, Some(decode(value)?))),
            None => Ok((decode(part)?, None)),
        })
        .collect()
}

/// Returns one name or value as [`split`] decodes it.
pub(crate) fn decode(text: &str) -> Result<Cow<'_, str>, Error> {
    if !text.bytes().any(|byte| matches!(byte, b'%' | b'+' | b'\0')) {
        return Ok(Cow::Borrowed(text));
    }
    let spaced = text.replace('+', " ");
    let decoded = percent_decode_str(&spaced).decode_utf8();
    match decoded {
        Ok(decoded) if !decoded.contains('\0') => Ok(Cow::Owned(decoded.into_owned())),
        Ok(_) => Err(undecodable("a NUL character", "text without NUL characters")),
        Err(_) => Err(undecodable("bytes that are not UTF-8", "percent-encoded UTF-8")),
    }
}

/// Returns a query string that cannot be taken apart at all.
fn undecodable(found: &str, wanted: &str) -> Error {
    Error::Syntax {
        message: "\"failed to parse the query string\"".to_owned(),
        details: format!("unexpected {found} expecting {wanted}"),
    }
}

fn canonical(pairs: &Pairs<'_>, length: usize) -> String {
    let mut sorted: Vec<_> = pairs.iter().collect();
    sorted.sort_by(|a, b| a.0.cmp(&b.0));
    let mut out = String::with_capacity(length + length / 2);
    for (name, value) in sorted {
        if !out.is_empty() {
            out.push('&');
        }
        out.extend(utf8_percent_encode(name, ENCODED));
        out.push('=');
        out.extend(utf8_percent_encode(value.as_deref().unwrap_or_default(), ENCODED));
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parameters_go_where_they_belong() {
        let query = Query::parse(
            "select=id,tasks(*)&id=eq.1&tasks.done=is.true&or=(a.eq.1,b.eq.2)&order=id.desc&tasks.order=name\
             &limit=10&offset=5&tasks.limit=3&columns=a,b&on_conflict=id&flag",
            false,
        )
        .unwrap();
        assert_eq!(query.filters.len(), 2);
        assert_eq!(query.filters[1].path, ["tasks"]);
        assert_eq!(query.logic.len(), 1);
        assert_eq!(query.order.len(), 2);
        assert_eq!(query.top_level_range(), Range { offset: 5, limit: Some(10) });
        assert_eq!(query.ranges.len(), 2);
        assert_eq!(query.columns.unwrap(), ["a", "b"]);
        assert_eq!(query.on_conflict.unwrap(), ["id"]);
    }

    #[test]
    fn the_canonical_form_is_sorted_and_encoded() {
        let query = Query::parse("select=a&b=eq.x+y%2Fz&a=eq.1", false).unwrap();
        assert_eq!(query.canonical, "a=eq.1&b=eq.x%20y%2Fz&select=a");
    }

    #[test]
    fn arguments_are_distinguished_from_filters() {
        let query = Query::parse("a=1&b=eq.2&c=", true).unwrap();
        let argument = |name: &str, value: &str| (name.to_owned(), value.to_owned());
        assert_eq!(query.arguments, [argument("a", "1"), argument("c", "")]);
        assert_eq!(query.filters.len(), 1);
        assert!(Query::parse("a=1", false).is_err());
        let quoted = Query::parse("\"a%20name.with%20(these)\"=1", true).unwrap();
        assert_eq!(quoted.arguments, [argument("a name.with (these)", "1")]);
        assert_eq!(Query::parse("=1", true).unwrap_err().code(), "PGRST100");
        // Filters with a mistake in them.
        for value in ["in.1,2", "in.(1", "is.nul", "not.b", "not.in.1"] {
            assert_eq!(Query::parse(&format!("a={value}"), true).unwrap_err().code(), "PGRST100", "{value}");
        }
        for value in ["inn.1", "island", "nothing", "eqx", "fts(x", "isdistinct"] {
            assert_eq!(Query::parse(&format!("a={value}"), true).unwrap().arguments.len(), 1, "{value}");
        }
    }

    #[test]
    fn what_no_postgres_text_can_hold_is_refused() {
        assert_eq!(Query::parse("a=eq.%00", false).unwrap_err().code(), "PGRST100");
        assert_eq!(Query::parse("a=eq.%FF", false).unwrap_err().code(), "PGRST100");
    }
}

//! A payload's values as texts, each of which Postgres reads by the type of its column alone: half of what it costs
//! to have Postgres take the JSON apart.
//!
//! Only where that makes the same values as `json_to_record` and `json_to_recordset`, which read everything else.
//! Source: `populate_scalar` in PostgreSQL's `src/backend/utils/adt/jsonfuncs.c`: a string's characters or the text of
//! any other value go through the input function of the column's type; JSON's null is SQL's.

use std::borrow::Cow;
use std::fmt;

use bytes::Bytes;
use serde::de::{DeserializeSeed, Deserializer, Error as _, MapAccess, SeqAccess, Visitor};
use serde_json::value::RawValue;

use super::TypedColumn;
use crate::array::push_element;
use crate::request::Key;
use crate::schema_cache::Column;

/// Types whose input functions give what `json_to_record` gives, as the catalog prints them. Types whose name without a
/// length means a length of one are left out, and so are intervals, whose unit may depend on their modifier.
const SCALAR_TYPES: &[&str] = &[
    "bigint",
    "boolean",
    "bytea",
    "character varying",
    "cidr",
    "date",
    "double precision",
    "inet",
    "integer",
    "json",
    "jsonb",
    "macaddr",
    "numeric",
    "real",
    "smallint",
    "text",
    "time with time zone",
    "time without time zone",
    "timestamp with time zone",
    "timestamp without time zone",
    "uuid",
];

/// Those of them that may have a modifier, which an assignment enforces as their input function does.
const SIZED_TYPES: &[&str] = &["character varying", "numeric"];

/// The texts of a payload's values.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Values {
    /// Of one row: a value for each column; `None` is null.
    Row(Vec<Option<Bytes>>),
    /// Of any number of rows: for each column an array in Postgres' text form.
    Arrays(Vec<Bytes>),
}

/// Returns the type, without its modifier, that the texts of values for `column` are read as; `None` if they are not
/// enough.
pub(super) fn scalar_type(column: &Column) -> Option<&str> {
    let (of, base) = (column.type_name.as_str(), column.base_type.as_str());
    let is_whole = of == base && (SCALAR_TYPES.contains(&base) || !column.labels.is_empty());
    let is_sized =
        || SIZED_TYPES.contains(&base) && of.strip_prefix(base).is_some_and(|size| size.starts_with('('));
    (column.casts.is_none() && (is_whole || is_sized())).then_some(base)
}

/// Returns the values that `raw`, an object or an array of objects, has for `columns`. `None` where the texts would not
/// make the same values as the JSON, and for what is no such JSON.
pub(super) fn of(raw: &Bytes, is_object: bool, columns: &[TypedColumn]) -> Option<Values> {
    if columns.is_empty() {
        return None;
    }
    let kinds = columns.iter().map(|column| Some(Kind::of(column.scalar_type.as_deref()?)));
    let kinds: Vec<Kind> = kinds.collect::<Option<_>>()?;
    // Postgres refuses some of these escapes wherever they are in the payload.
    if raw.windows(2).any(|pair| pair == b"\\u") {
        return None;
    }
    let text = std::str::from_utf8(raw).ok()?;
    let row = RowSeed { columns, kinds: &kinds };
    let mut deserializer = serde_json::Deserializer::from_str(text);
    let values = if is_object {
        let shared = |text| match text {
            Cow::Borrowed(text) => raw.slice_ref(str::as_bytes(text)),
            Cow::Owned(text) => Bytes::from(text),
        };
        let values = row.deserialize(&mut deserializer).ok()?;
        Values::Row(values.into_iter().map(|value| value.map(shared)).collect())
    } else {
        let arrays = deserializer.deserialize_seq(ArraysVisitor(row)).ok()?;
        Values::Arrays(arrays.into_iter().map(Bytes::from).collect())
    };
    deserializer.end().ok()?;
    Some(values)
}

/// How the text of a JSON value becomes one of a column's type.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    /// `json`, which keeps the text that it is given.
    Json,
    /// `jsonb`, which does not.
    Jsonb,
    /// Any other.
    Scalar,
}

impl Kind {
    fn of(type_name: &str) -> Self {
        match type_name {
            "json" => Self::Json,
            "jsonb" => Self::Jsonb,
            _ => Self::Scalar,
        }
    }

    /// Returns the text of the JSON value `raw`, or `Ok(None)` for null. `Err` where `json_to_record` might read
    /// another value than the input function of the type.
    fn text(self, raw: &str) -> Result<Option<Cow<'_, str>>, ()> {
        let has_escapes = || raw.contains('\\');
        match (self, raw.as_bytes().first()) {
            _ if raw == "null" => Ok(None),
            // `json_to_record` decodes the string and escapes it in a way of its own.
            (Self::Json, Some(b'"')) if has_escapes() => Err(()),
            (Self::Json | Self::Jsonb, _) => Ok(Some(Cow::Borrowed(raw))),
            (Self::Scalar, Some(b'"')) if has_escapes() => {
                serde_json::from_str(raw).map(|text: String| Some(Cow::Owned(text))).map_err(|_| ())
            }
            (Self::Scalar, Some(b'"')) => Ok(raw.get(1..raw.len() - 1).map(Cow::Borrowed)),
            // JSON's parser and Postgres' allow different depths of these.
            (Self::Scalar, Some(b'{' | b'[')) => Err(()),
            (Self::Scalar, _) => Ok(Some(Cow::Borrowed(raw))),
        }
    }
}

/// Reads an object as a value for each column; one that is missing is null, of several the last counts.
#[derive(Clone, Copy)]
struct RowSeed<'c> {
    columns: &'c [TypedColumn],
    kinds: &'c [Kind],
}

impl<'de> DeserializeSeed<'de> for RowSeed<'_> {
    type Value = Vec<Option<Cow<'de, str>>>;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Self::Value, D::Error> {
        deserializer.deserialize_map(self)
    }
}

impl<'de> Visitor<'de> for RowSeed<'_> {
    type Value = Vec<Option<Cow<'de, str>>>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
        let mut values = vec![None; self.columns.len()];
        while let Some(key) = map.next_key::<Key<'de>>()? {
            let value: &RawValue = map.next_value()?;
            if let Some(index) = self.columns.iter().position(|column| column.name == key.0) {
                let text = self.kinds[index].text(value.get());
                values[index] = text.map_err(|()| A::Error::custom("left to Postgres"))?;
            }
        }
        Ok(values)
    }
}

/// Reads an array of objects as an array for each column.
struct ArraysVisitor<'c>(RowSeed<'c>);

impl<'de> Visitor<'de> for ArraysVisitor<'_> {
    type Value = Vec<Vec<u8>>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an array of objects")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut rows: A) -> Result<Self::Value, A::Error> {
        let mut arrays = vec![vec![b'{']; self.0.columns.len()];
        while let Some(values) = rows.next_element_seed(self.0)? {
            for (array, value) in arrays.iter_mut().zip(values) {
                push_element(array, value.as_deref());
            }
        }
        for array in &mut arrays {
            array.push(b'}');
        }
        Ok(arrays)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns the values of `raw` for columns of these types, which are called `a`, `b` and so on.
    fn values(raw: &str, types: &[&str]) -> Option<Values> {
        let columns: Vec<TypedColumn> = ('a'..)
            .zip(types)
            .map(|(name, scalar_type)| TypedColumn {
                name: name.to_string(),
                type_name: (*scalar_type).to_owned(),
                default: None,
                parse: None,
                scalar_type: Some((*scalar_type).to_owned()),
            })
            .collect();
        of(&Bytes::copy_from_slice(raw.as_bytes()), raw.trim_start().starts_with('{'), &columns)
    }

    fn row(raw: &str, types: &[&str]) -> Option<Vec<Option<String>>> {
        match values(raw, types)? {
            Values::Row(row) => Some(
                row.into_iter()
                    .map(|text| text.map(|text| String::from_utf8(text.to_vec()).unwrap()))
                    .collect(),
            ),
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn values_are_the_texts_that_postgres_would_find() {
        let some = |text: &str| Some(text.to_owned());
        let found =
            row(r#" {"b":"x\n\"é","a": 1e3 ,"c":null,"other":[{}]} "#, &["integer", "text", "date", "uuid"]);
        assert_eq!(found.unwrap(), [some("1e3"), some("x\n\"é"), None, None]);
        let found = row(r#"{"a":"x","b":{"y": "\n"},"c":true}"#, &["jsonb", "json", "text"]);
        assert_eq!(found.unwrap(), [some("\"x\""), some(r#"{"y": "\n"}"#), some("true")]);
        assert_eq!(row(r#"{"a":1,"a":2}"#, &["integer"]).unwrap(), [some("2")]);
    }

    #[test]
    fn rows_become_an_array_for_each_column() {
        let found = values(r#"[{"a":1,"b":"x\\\"y"},{"b":null},{"a":"","b":"NULL"}]"#, &["integer", "text"]);
        let arrays = [r#"{"1",NULL,""}"#, r#"{"x\\\"y",NULL,"NULL"}"#].map(Bytes::from);
        assert_eq!(found.unwrap(), Values::Arrays(arrays.to_vec()));
        assert_eq!(values("[]", &["text"]).unwrap(), Values::Arrays(vec![Bytes::from_static(b"{}")]));
    }

    #[test]
    fn what_could_be_read_otherwise_is_left_to_postgres() {
        for (raw, scalar_type) in [
            (r#"{"a":{}}"#, "text"),
            (r#"{"a":[1]}"#, "integer"),
            (r#"{"a":"\u0041"}"#, "text"),
            (r#"{"b":"\u0000"}"#, "text"),
            (r#"{"a":"\/"}"#, "json"),
            ("[1]", "text"),
            ("5", "text"),
            ("{\"a\":1}}", "text"),
            ("{\"a\":1", "text"),
        ] {
            assert_eq!(values(raw, &[scalar_type]), None, "{raw}");
        }
    }
}

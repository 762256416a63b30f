//! Claims of a token that policies compare with values of rows.

use serde_json::{Map, Value};
use uuid::Uuid;

/// A claim, and the type that its value is read as.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(in crate::changes) struct Claim {
    /// The keys that lead to it in the token.
    pub(in crate::changes) path: Vec<String>,
    pub(in crate::changes) kind: Kind,
    /// Whether the value is compared as text, whatever it was read as.
    pub(in crate::changes) is_text: bool,
    /// The SQL that policies get it by.
    pub(in crate::changes) sql: String,
}

/// The types whose equal values have equal texts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(in crate::changes) enum Kind {
    Uuid,
    /// `smallint`, `integer` or `bigint`.
    Integer,
    Text,
}

/// A claim's value in one token.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::changes) enum ClaimValue {
    /// NULL, which equals nothing.
    Absent,
    /// As Postgres writes it.
    Text(Box<str>),
    /// It is not certain what Postgres makes of it.
    Unknown,
}

impl Kind {
    /// Returns the kind of a type, by its name in SQL.
    pub(super) fn of(sql_type: &str) -> Option<Self> {
        match sql_type {
            "uuid" => Some(Self::Uuid),
            "smallint" | "integer" | "bigint" => Some(Self::Integer),
            "text" | "character varying" => Some(Self::Text),
            _ => None,
        }
    }

    /// Reports whether `pg_type.typname` is a type of this kind.
    fn has_type(self, name: &str) -> bool {
        match self {
            Self::Uuid => name == "uuid",
            Self::Integer => matches!(name, "int2" | "int4" | "int8"),
            Self::Text => matches!(name, "text" | "varchar"),
        }
    }
}

impl Claim {
    /// Returns the claim at `path`, which is text.
    pub(super) fn text_at(path: Vec<String>, sql: String) -> Self {
        Self { path, kind: Kind::Text, is_text: true, sql }
    }

    /// Returns the claim after a cast to `kind`; `None` for a cast that nobody needs.
    pub(super) fn cast(self, kind: Kind, sql: String) -> Option<Self> {
        match (self.kind, self.is_text, kind) {
            (_, true, Kind::Text) => Some(Self { sql, ..self }),
            (_, false, Kind::Text) => Some(Self { is_text: true, sql, ..self }),
            (Kind::Text, true, kind) => Some(Self { kind, is_text: false, sql, ..self }),
            (known, false, kind) if known == kind => Some(Self { sql, ..self }),
            _ => None,
        }
    }

    /// Reports whether it can be compared, by text, with values of a column whose type is `pg_type.typname` `name`.
    /// `is_text` tells that the column is cast to text.
    pub(super) fn is_comparable(&self, name: &str, is_text: bool) -> bool {
        let kinds = [Kind::Uuid, Kind::Integer, Kind::Text];
        match (self.is_text, is_text) {
            (true, true) => kinds.into_iter().any(|kind| kind.has_type(name)),
            (true, false) => Kind::Text.has_type(name),
            (false, false) => self.kind.has_type(name),
            (false, true) => false,
        }
    }

    /// Returns the value of the claim in a token with these claims.
    pub(in crate::changes) fn value(&self, claims: &Map<String, Value>) -> ClaimValue {
        let Some((first, rest)) = self.path.split_first() else { return ClaimValue::Unknown };
        let found = rest.iter().try_fold(claims.get(first), |found, key| match found {
            Some(Value::Object(object)) => Some(object.get(key)),
            // An index, for example, is none of this.
            Some(Value::Array(_)) => None,
            _ => Some(None),
        });
        match found {
            None => ClaimValue::Unknown,
            Some(None | Some(Value::Null)) => ClaimValue::Absent,
            Some(Some(value)) => self.text(value).map_or(ClaimValue::Unknown, ClaimValue::Text),
        }
    }

    /// Returns `value` as Postgres writes a value of the kind; `None` if that is not certain.
    fn text(&self, value: &Value) -> Option<Box<str>> {
        let text = match value {
            Value::String(text) => text.clone(),
            Value::Number(number) if number.is_i64() || number.is_u64() => number.to_string(),
            Value::Bool(value) => value.to_string(),
            _ => return None,
        };
        match self.kind {
            Kind::Uuid => Some(Uuid::try_parse(&text).ok()?.hyphenated().to_string().into()),
            Kind::Integer => {
                let number: i64 = text.parse().ok()?;
                (number.to_string() == text).then(|| text.into())
            }
            Kind::Text => (!text.contains('\0')).then(|| text.into()),
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn values_are_as_postgres_writes_them_or_unknown() {
        let claims = json!({
            "sub": "A0EEBC99-9C0B-4EF8-BB6D-6BB9BD380A11", "app_metadata": { "org": 7, "list": ["x"], "none": null },
            "spaced": " 7", "float": 7.0, "yes": true, "text": "a b",
        });
        let claims = claims.as_object().unwrap();
        let value = |path: &str, kind| {
            let path = path.split('.').map(str::to_owned).collect();
            Claim { path, kind, is_text: false, sql: String::new() }.value(claims)
        };
        let text = |text: &str| ClaimValue::Text(text.into());
        assert_eq!(value("sub", Kind::Uuid), text("a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11"));
        assert_eq!(value("sub", Kind::Text), text("A0EEBC99-9C0B-4EF8-BB6D-6BB9BD380A11"));
        assert_eq!(value("app_metadata.org", Kind::Integer), text("7"));
        assert_eq!(value("yes", Kind::Text), text("true"));
        for absent in ["more", "app_metadata.none", "app_metadata.more.deep", "text.deep"] {
            assert_eq!(value(absent, Kind::Text), ClaimValue::Absent, "{absent}");
        }
        for (path, kind) in [
            ("text", Kind::Uuid),
            ("spaced", Kind::Integer),
            ("float", Kind::Text),
            ("app_metadata", Kind::Text),
            ("app_metadata.list.0", Kind::Text),
        ] {
            assert_eq!(value(path, kind), ClaimValue::Unknown, "{path}");
        }
    }
}

//! How the database says that its values are represented: casts of domains, and handlers of media types.
//!
//! Source: PostgREST's documentation, "Domain Representations" and "Media Type Handlers".

use serde::{Deserialize, Deserializer, Serialize, Serializer};

use super::QualifiedName;
use crate::request::MediaType;

/// The functions of a domain's implicit casts, as SQL.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, Serialize)]
pub struct DomainCasts {
    /// Converts a value to the JSON that is returned.
    pub to_json: Option<String>,
    /// Reads a value from a payload's JSON.
    pub from_json: Option<String>,
    /// Reads a value from a filter's text.
    pub from_text: Option<String>,
}

/// A domain that is named as a media type.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MediaDomain {
    /// What is matched with the types that a client accepts.
    pub accepted: MediaType,
    /// The media type that the response names: the domain's own name, or bytes for `*/*`.
    pub given: MediaType,
}

impl<'de> Deserialize<'de> for MediaDomain {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let accepted = MediaType::parse(&String::deserialize(deserializer)?);
        let given = if accepted == MediaType::Any { MediaType::OctetStream } else { accepted.clone() };
        Ok(Self { accepted, given })
    }
}

impl Serialize for MediaDomain {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&self.accepted.name())
    }
}

/// An aggregate that makes rows a body.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, Serialize)]
pub struct MediaHandler {
    /// The aggregate.
    pub function: QualifiedName,
    /// The relation whose whole rows it takes; `None` takes any rows.
    pub relation: Option<QualifiedName>,
    /// What it makes of them.
    pub media_type: MediaDomain,
}

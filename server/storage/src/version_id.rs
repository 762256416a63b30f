//! The ids of versions of objects.

use std::fmt;

use uuid::Uuid;

use crate::error::Error;

/// What S3 calls the version of an object that was written while its bucket kept no versions.
const NULL: &str = "null";

/// The id of a version, as callers name it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum VersionId {
    /// That of the version that was written while the bucket kept none.
    Null,
    /// The name of the version's bytes, or what a delete marker has in its place.
    Id(Uuid),
}

impl VersionId {
    /// Reads an id. No version has one of another form.
    ///
    /// Errors: [`Error::NoSuchKey`].
    pub(crate) fn parse(id: &str) -> Result<Self, Error> {
        match id {
            NULL => Ok(Self::Null),
            id => Uuid::try_parse(id).map(Self::Id).map_err(|_| Error::NoSuchKey),
        }
    }

    /// Returns the id of a version of which this is known.
    pub(crate) const fn of(version: Uuid, is_versioned: bool) -> Self {
        if is_versioned { Self::Id(version) } else { Self::Null }
    }
}

impl fmt::Display for VersionId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Null => f.write_str(NULL),
            Self::Id(version) => version.hyphenated().fmt(f),
        }
    }
}

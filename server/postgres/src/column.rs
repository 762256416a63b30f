//! Columns of results.

/// A column of a result.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Column {
    /// The column's name.
    pub name: Box<str>,
    /// The OID of its type in `pg_type`.
    pub type_oid: u32,
}

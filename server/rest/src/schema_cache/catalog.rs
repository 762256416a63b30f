//! What the catalog says, before anything is derived from it.

use foldhash::HashMap;
use serde::Deserialize;

use super::{Function, MediaHandler, QualifiedName, Source, Table};

/// What the catalog says, before anything is derived from it.
#[derive(Debug, Default, Deserialize)]
pub struct Catalog {
    /// Those of the exposed schemas that do not exist.
    #[serde(default)]
    pub missing_schemas: Vec<String>,
    /// Relations of the exposed schemas.
    pub tables: Vec<Table>,
    /// All foreign keys.
    pub foreign_keys: Vec<ForeignKey>,
    /// All relations, with the definitions of views.
    #[serde(default)]
    pub relations: Vec<Relation>,
    /// Functions of the exposed schemas.
    pub functions: Vec<Function>,
    /// Texts of functions that can be understood, in the exposed schemas and wherever their tables call them.
    #[serde(default)]
    pub sources: Vec<Source>,
    /// Whether the database announces changes of all code that tables and functions run.
    #[serde(default)]
    pub is_watched: bool,
    /// Comments by schema, of those that have one.
    #[serde(default)]
    pub schema_comments: HashMap<String, String>,
    /// Aggregates that make rows a media type.
    #[serde(default)]
    pub media_handlers: Vec<MediaHandler>,
    /// PostGIS' function that makes a GeoJSON feature of a row, where there is one.
    #[serde(default)]
    pub geojson: Option<QualifiedName>,
    /// Those of the functions that relate relations.
    #[serde(default)]
    pub row_functions: Vec<RowFunction>,
    /// Settings by role.
    pub role_settings: HashMap<String, Vec<(String, String)>>,
}

/// A foreign key.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct ForeignKey {
    /// The relation that refers.
    pub table: QualifiedName,
    /// The relation referred to.
    pub foreign_table: QualifiedName,
    /// Its name.
    pub constraint: String,
    /// (referring column, column referred to).
    pub columns: Vec<(String, String)>,
    /// Whether the referring columns are unique.
    pub is_one_to_one: bool,
}

/// A function from a relation's row to rows of a relation.
#[derive(Debug, Clone, Deserialize)]
pub struct RowFunction {
    /// The function.
    pub function: QualifiedName,
    /// The relation whose row it takes.
    pub table: QualifiedName,
    /// The relation whose rows it gives.
    pub foreign_table: QualifiedName,
    /// Whether it gives one row at most: it is no set, or one of an estimated single row.
    pub is_to_one: bool,
}

/// Any relation of the database.
#[derive(Debug, Clone, Deserialize)]
pub struct Relation {
    /// Its OID.
    pub oid: u32,
    /// Its schema.
    pub schema: String,
    /// Its name.
    pub name: String,
    /// Its columns by their number.
    pub columns: std::collections::HashMap<u32, String>,
    /// The columns of its primary key.
    #[serde(default)]
    pub primary_key: Vec<String>,
    /// Of a view, its query as Postgres' node tree.
    pub definition: Option<String>,
}

impl Relation {
    /// Returns its schema and its name.
    pub(super) fn qualified_name(&self) -> QualifiedName {
        QualifiedName { schema: self.schema.clone(), name: self.name.clone() }
    }
}

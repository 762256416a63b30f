//! What the service knows of the database's catalog: relations, keys, relationships, functions.
//!
//! A cache is never changed: a reload builds a new one and swaps it in (see [`reload`]).

mod catalog;
mod computed;
mod load;
mod own_code;
mod relationships;
pub(crate) mod reload;
mod representations;
mod views;

use std::sync::Arc;

use foldhash::HashMap;
use own_code::RequestVisibility;
use serde::{Deserialize, Serialize};

pub use catalog::{Catalog, ForeignKey, Relation, RowFunction};
pub use load::{LoadError, load};
pub use own_code::{OwnCode, Source};
pub use relationships::{Cardinality, Junction, Relationship};
pub use representations::{DomainCasts, MediaDomain, MediaHandler};

/// A name with its schema.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Deserialize, Serialize)]
pub struct QualifiedName {
    /// The schema.
    pub schema: String,
    /// The name inside it.
    pub name: String,
}

/// Everything that requests are planned against.
#[derive(Debug, Default)]
pub struct SchemaCache {
    schemas: HashMap<String, Schema>,
    media_handlers: Vec<MediaHandler>,
    geojson: Option<QualifiedName>,
    /// Settings of the roles that the login role may become, by role.
    role_settings: HashMap<String, Vec<(String, String)>>,
}

/// One exposed schema.
#[derive(Debug, Default, Serialize)]
pub struct Schema {
    /// Tables, views, materialized views, foreign and partitioned tables, by name.
    pub tables: HashMap<String, Table>,
    /// Functions by name; those that share a name in the order in which upstream lists them.
    pub functions: HashMap<String, Vec<Function>>,
    /// Its comment.
    pub comment: Option<String>,
    /// Relationships by the name of the relation that they start from.
    pub relationships: HashMap<String, Vec<Arc<Relationship>>>,
}

/// A relation.
#[derive(Debug, Clone, Deserialize, Serialize)]
pub struct Table {
    /// Its schema.
    pub schema: String,
    /// Its name.
    pub name: String,
    /// Its comment.
    #[serde(default)]
    pub comment: Option<String>,
    /// Whether rows can be inserted.
    pub insertable: bool,
    /// Whether rows can be updated.
    pub updatable: bool,
    /// Whether rows can be deleted.
    pub deletable: bool,
    /// The columns of its primary key.
    #[serde(default)]
    pub primary_key: Vec<String>,
    /// Its columns in their order.
    #[serde(default)]
    pub columns: Vec<Column>,
    /// The code that Postgres runs when it is read or written; removed once the two flags below are known.
    #[serde(default, skip_serializing)]
    own_code: Option<OwnCode>,
    /// Whether code that runs when it is read may see more of a request than its caller's claims, or say something
    /// about its response.
    #[serde(default = "yes")]
    pub reads_see_request: bool,
    /// The same of code that runs when it is written.
    #[serde(default = "yes")]
    pub writes_see_request: bool,
}

/// Returns the value of flags that the catalog leaves out.
const fn yes() -> bool {
    true
}

impl Table {
    /// Returns the column called `name`.
    pub fn column(&self, name: &str) -> Option<&Column> {
        self.columns.iter().find(|column| column.name == name)
    }

    /// Releases the unused capacity of its lists.
    fn shrink_to_fit(&mut self) {
        self.primary_key.shrink_to_fit();
        self.columns.shrink_to_fit();
        self.columns.iter_mut().for_each(|column| column.labels.shrink_to_fit());
    }
}

/// A column.
#[derive(Debug, Clone, Deserialize, Serialize)]
pub struct Column {
    /// Its name.
    pub name: String,
    /// Its type as SQL, with its modifier.
    #[serde(rename = "type")]
    pub type_name: String,
    /// The type under its domains, as SQL.
    pub base_type: String,
    /// Its default as an SQL expression.
    pub default: Option<String>,
    /// Its comment.
    #[serde(default)]
    pub comment: Option<String>,
    /// Whether it may be null.
    #[serde(default)]
    pub is_nullable: bool,
    /// The most characters or bits that its type takes, where there is such a limit.
    #[serde(default)]
    pub max_length: Option<u32>,
    /// The values of its enumerated type in their order; empty for any other type.
    #[serde(default)]
    pub labels: Vec<String>,
    /// How its domain's values are written and read, if the domain has casts.
    #[serde(default)]
    pub casts: Option<Box<DomainCasts>>,
}

/// A function.
#[derive(Debug, Clone, Deserialize, Serialize)]
pub struct Function {
    /// Its schema.
    pub schema: String,
    /// Its name.
    pub name: String,
    /// Its identity in `pg_proc`.
    #[serde(default)]
    pub oid: u32,
    /// Its comment.
    #[serde(default)]
    pub comment: Option<String>,
    /// Its input parameters in their order.
    #[serde(default)]
    pub parameters: Vec<Parameter>,
    /// What it gives.
    pub returns: Returns,
    /// The media type that its value is one of.
    #[serde(default)]
    pub media_type: Option<MediaDomain>,
    /// Whether it may write: volatile.
    pub is_volatile: bool,
    /// Those of its `SET` options that are applied to the whole transaction.
    #[serde(default)]
    pub settings: Vec<(String, String)>,
    /// Whether it may see more of a request than its caller's claims, or say something about its response.
    #[serde(default = "yes")]
    pub sees_request: bool,
}

impl Function {
    /// Reports whether it gives exactly one value without columns.
    pub(crate) const fn gives_one_value(&self) -> bool {
        !self.returns.is_set && !self.returns.is_composite
    }

    /// Compares two functions of one name in the order in which upstream lists them: by the number of parameters, then
    /// by comment, then by names and types of the parameters.
    fn in_listed_order(&self, other: &Self) -> std::cmp::Ordering {
        fn signature(function: &Function) -> impl Iterator<Item = (&str, &str)> {
            function
                .parameters
                .iter()
                .map(|parameter| (parameter.name.as_str(), parameter.type_name.as_str()))
        }
        let by_length = self.parameters.len().cmp(&other.parameters.len());
        by_length
            .then_with(|| self.comment.cmp(&other.comment))
            .then_with(|| signature(self).cmp(signature(other)))
    }

    /// Releases the unused capacity of its lists.
    fn shrink_to_fit(&mut self) {
        self.parameters.shrink_to_fit();
        self.settings.shrink_to_fit();
    }
}

/// An input parameter of a function.
#[derive(Debug, Clone, Deserialize, Serialize)]
pub struct Parameter {
    /// Its name; empty for an unnamed one.
    pub name: String,
    /// Its type as SQL.
    #[serde(rename = "type")]
    pub type_name: String,
    /// The type of any length that values are read as where they would otherwise be cut off.
    #[serde(default)]
    pub wide_type: Option<String>,
    /// Whether it has no default.
    pub is_required: bool,
    /// Whether it is variadic.
    pub is_variadic: bool,
    /// Whether a JSON value's text is this type's text form too: no array, composite or domain.
    pub is_scalar: bool,
}

impl Parameter {
    /// Returns the type that values are read as: its own, unless that would cut them off.
    pub(crate) fn value_type(&self) -> &str {
        self.wide_type.as_ref().unwrap_or(&self.type_name)
    }
}

/// What a function gives.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, Serialize)]
pub struct Returns {
    /// The type's schema.
    pub schema: String,
    /// The type's name; of a relation's row type, the relation's.
    pub name: String,
    /// Whether it gives any number of rows.
    pub is_set: bool,
    /// Whether a row has columns: a composite type, `TABLE` or `OUT` parameters.
    pub is_composite: bool,
    /// If it gives any number of rows: names and types of the columns that are known from its parameters. The types are
    /// those under domains.
    #[serde(default)]
    pub columns: Vec<(String, String)>,
}

impl Returns {
    /// Reports whether the columns of its rows are known only from a call: `record` without `OUT` parameters.
    pub(crate) fn is_untyped(&self) -> bool {
        !self.is_composite && self.schema == "pg_catalog" && self.name == "record"
    }

    /// Reports whether it gives nothing at all.
    pub(crate) fn is_void(&self) -> bool {
        !self.is_set && !self.is_composite && self.schema == "pg_catalog" && self.name == "void"
    }
}

impl SchemaCache {
    /// Builds the cache of the exposed `schemas` from what the catalog says.
    pub fn new(mut catalog: Catalog, schemas: &[String]) -> Self {
        views::inherit_keys(&mut catalog);
        let visibility = RequestVisibility::new(&catalog.sources, catalog.is_watched);
        let mut related = relationships::derive(&catalog, schemas);
        computed::compute(&mut related, std::mem::take(&mut catalog.row_functions), schemas);
        let mut cache = Self {
            schemas: HashMap::default(),
            media_handlers: catalog.media_handlers,
            geojson: catalog.geojson,
            role_settings: catalog.role_settings,
        };
        for schema in schemas {
            let comment = catalog.schema_comments.remove(schema);
            cache.schemas.insert(schema.clone(), Schema { comment, ..Schema::default() });
        }
        for mut table in catalog.tables {
            if let Some(schema) = cache.schemas.get_mut(&table.schema) {
                if let Some(code) = table.own_code.take() {
                    (table.reads_see_request, table.writes_see_request) = visibility.relation(&code);
                }
                table.shrink_to_fit();
                schema.tables.insert(table.name.clone(), table);
            }
        }
        for mut function in catalog.functions {
            if let Some(schema) = cache.schemas.get_mut(&function.schema) {
                function.sees_request = visibility.function(function.oid);
                function.shrink_to_fit();
                let overloads = schema.functions.entry(function.name.clone()).or_default();
                // Most names have one function, and a list that grows by itself has room for four.
                overloads.reserve_exact(1);
                overloads.push(function);
            }
        }
        for relationship in related {
            if let Some(schema) = cache.schemas.get_mut(&relationship.table.schema) {
                let name = relationship.table.name.clone();
                schema.relationships.entry(name).or_default().push(Arc::new(relationship));
            }
        }
        for schema in cache.schemas.values_mut() {
            for overloads in schema.functions.values_mut() {
                overloads.sort_by(Function::in_listed_order);
            }
        }
        cache
    }

    /// Returns the exposed schema called `name`.
    pub fn schema(&self, name: &str) -> Option<&Schema> {
        self.schemas.get(name)
    }

    /// Returns the aggregates that make rows a media type.
    pub(crate) fn media_handlers(&self) -> &[MediaHandler] {
        &self.media_handlers
    }

    /// Returns PostGIS' function that makes a GeoJSON feature of a row, where there is one.
    pub(crate) fn geojson(&self) -> Option<&QualifiedName> {
        self.geojson.as_ref()
    }

    /// Returns the settings that `role` brings along (`ALTER ROLE … SET`).
    pub(crate) fn role_settings(&self, role: &str) -> &[(String, String)] {
        self.role_settings.get(role).map_or(&[], Vec::as_slice)
    }

    /// Returns everything in it as JSON text, for operators to look at.
    ///
    /// Errors: none that a cache is known to cause.
    pub fn to_json(&self) -> Result<String, serde_json::Error> {
        serde_json::to_string(&self.schemas)
    }

    /// Returns how many relations, relationships and functions there are, for the log.
    pub fn summary(&self) -> String {
        let count = |of: fn(&Schema) -> usize| self.schemas.values().map(of).sum::<usize>();
        format!(
            "{} relations, {} relationships, {} functions",
            count(|schema| schema.tables.len()),
            count(|schema| schema.relationships.values().map(Vec::len).sum()),
            count(|schema| schema.functions.values().map(Vec::len).sum()),
        )
    }
}

#[cfg(test)]
pub(crate) mod fixture;

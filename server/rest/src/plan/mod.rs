//! A request resolved against the schema cache: what will be read, changed or called, nothing executed.
//!
//! A plan can be printed and compared; making one needs no database.

mod call;
mod describe;
mod mutate;
mod read;
mod relate;

use bytes::Bytes;

pub use call::{Argument, ArgumentValue, CallPlan};
pub use describe::DescribePlan;
pub use mutate::{Change, MutatePlan, Payload, TypedColumn};
pub use read::{Column, Condition, Embed, Node, Order, OrderTarget, Selected, Source};

use crate::error::Error;
use crate::request::{Action, MediaType, Representation, Request};
use crate::schema_cache::{Schema, SchemaCache};
use crate::settings::Settings;

/// What is to be done.
#[derive(Debug, Clone, PartialEq)]
pub enum Plan {
    /// Rows of a relation.
    Read(ReadPlan),
    /// A change of rows, and what is shown of them.
    Mutate(Box<MutatePlan>),
    /// A function's result.
    Call(Box<CallPlan>),
    /// The document that describes the schema.
    Describe(DescribePlan),
    /// Nothing but an `Allow` header of this value.
    Info(String),
}

/// Rows of a relation.
#[derive(Debug, Clone, PartialEq)]
pub struct ReadPlan {
    /// What is read.
    pub tree: Node,
    /// How it is shown.
    pub body: Body,
}

/// How rows are made into a body.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Body {
    /// Which rows become what.
    pub shape: Shape,
    /// Whether keys that are null are left out.
    pub strips_nulls: bool,
}

/// Which rows become what.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Shape {
    /// No body at all.
    Nothing,
    /// An array of objects.
    Array,
    /// The object of the one row that there must be.
    Object,
    /// The object of the one row that a function gives.
    FunctionRow,
    /// The value that a function gives.
    Scalar,
    /// An array of the values that a function gives.
    ScalarArray,
    /// Comma-separated values with a line of names.
    Csv,
}

/// The column of a function's values that have no columns of their own.
pub const SCALAR: &str = "pgrst_scalar";

impl Plan {
    /// Resolves `request`.
    ///
    /// Errors: `PGRST2xx` for names that the cache does not know or knows too often, `PGRST107` when nothing that
    /// the client accepts can be given, `PGRST108` and `PGRST118` for embeds that are not there, `PGRST105` for a
    /// PUT that names no single row, `PGRST122` and `PGRST128` for preferences, `PGRST123` for aggregates.
    pub fn new(request: &Request, cache: &SchemaCache, settings: &Settings) -> Result<Self, Error> {
        let schema = cache.schema(&request.schema).ok_or(Error::NoSchemaCache)?;
        let planner = Planner { request, schema, settings };
        match &request.action {
            Action::Read { relation } => planner.read(relation),
            Action::Mutate { relation, mutation } => planner.mutate(relation, *mutation),
            Action::Call { function, by_get } => planner.call(function, *by_get),
            Action::Describe => planner.describe(),
            Action::RootInfo => Ok(Plan::Info("OPTIONS,GET,HEAD".to_owned())),
            Action::RelationInfo { relation } => planner.relation_info(relation),
            Action::FunctionInfo { function } => planner.function_info(function),
        }
    }

    /// The media type of the answer's body.
    pub fn media_type(&self, request: &Request) -> MediaType {
        let wanted = |media: &MediaType| !matches!(media, MediaType::Any);
        request
            .accept
            .iter()
            .find(|media| is_available(media))
            .filter(|m| wanted(m))
            .cloned()
            .unwrap_or(MediaType::Json)
    }
}

/// What all plans are made from.
struct Planner<'a> {
    request: &'a Request,
    schema: &'a Schema,
    settings: &'a Settings,
}

const fn is_available(media: &MediaType) -> bool {
    matches!(
        media,
        MediaType::Any
            | MediaType::Json
            | MediaType::JsonStripped
            | MediaType::Object { .. }
            | MediaType::Csv
    )
}

impl Planner<'_> {
    fn read(&self, relation: &str) -> Result<Plan, Error> {
        self.table(relation)?;
        let tree = self.tree(relation, Source::Table)?;
        let body = self.body()?;
        self.request.preferences.check()?;
        Ok(Plan::Read(ReadPlan { tree, body }))
    }

    /// The first media type that the client accepts and that can be given.
    fn body(&self) -> Result<Body, Error> {
        let accept = &self.request.accept;
        let Some(media) = accept.iter().find(|media| is_available(media)) else {
            return Err(Error::NotAcceptable(accept.iter().map(|media| media.name().to_owned()).collect()));
        };
        let (shape, strips_nulls) = match media {
            MediaType::Object { stripped } => (Shape::Object, *stripped),
            MediaType::Csv => (Shape::Csv, false),
            media => (Shape::Array, *media == MediaType::JsonStripped),
        };
        let shape = if self.request.headers_only && shape != Shape::Object { Shape::Nothing } else { shape };
        Ok(Body { shape, strips_nulls })
    }

    fn wants_representation(&self) -> bool {
        self.request.preferences.representation == Some(Representation::Full)
    }

    fn relation_info(&self, relation: &str) -> Result<Plan, Error> {
        let table = self.table(relation)?;
        let has_key = !table.primary_key.is_empty();
        let mut allow = "OPTIONS,GET,HEAD".to_owned();
        for (is_allowed, method) in [
            (table.insertable, ",POST"),
            (table.insertable && table.updatable && has_key, ",PUT"),
            (table.updatable, ",PATCH"),
            (table.deletable, ",DELETE"),
        ] {
            if is_allowed {
                allow.push_str(method);
            }
        }
        Ok(Plan::Info(allow))
    }

    fn function_info(&self, name: &str) -> Result<Plan, Error> {
        let function = self.function(name, &[], None)?;
        let allow = if function.is_volatile { "OPTIONS,POST" } else { "OPTIONS,GET,HEAD,POST" };
        Ok(Plan::Info(allow.to_owned()))
    }
}

/// The bytes of a body as Postgres will read them.
fn raw_body(payload: Option<&crate::request::Payload>) -> Bytes {
    match payload {
        Some(crate::request::Payload::Json { raw, .. } | crate::request::Payload::Raw(raw)) => raw.clone(),
        _ => Bytes::new(),
    }
}

#[cfg(test)]
mod tests;

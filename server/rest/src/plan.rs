//! A request resolved against the schema cache: what will be read, changed or called. Nothing is executed yet.
//!
//! A plan can be printed and compared; making one needs no database.

mod aggregate;
mod call;
mod describe;
mod domain;
mod mutate;
mod plain;
mod read;
mod relate;
mod representation;
mod result;
mod values;
mod visibility;
mod weight;

use bytes::Bytes;

pub use aggregate::{Aggregation, Grouping, SpreadColumn};
pub use call::{Argument, ArgumentValue, CallPlan};
pub use describe::DescribePlan;
pub use mutate::{Change, MutatePlan, Payload, TypedColumn};
use plain::RowSource;
pub use plain::{BodyWriter, PlainColumn};
pub use read::{Column, Condition, Embed, Node, Order, OrderTarget, OutputColumn, Source};
use representation::BodySource;
pub use representation::{AggregateInput, Body, BodyShape};
pub use values::Values;

use crate::error::Error;
use crate::request::{self, Action, Representation, Request};
use crate::schema_cache::{Schema, SchemaCache};
use crate::settings::Settings;

/// What the request does.
#[derive(Debug, Clone, PartialEq)]
pub enum Plan {
    /// Rows of a relation.
    Read(Box<ReadPlan>),
    /// A change of rows, and what is returned of them.
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
    /// How it is represented.
    pub body: Body,
    /// The value of [`Plan::sees_request`].
    pub sees_request: bool,
}

/// The column of a function's values that have no columns of their own.
pub(crate) const SCALAR: &str = "pgrst_scalar";

impl Plan {
    /// Resolves `request`.
    ///
    /// Errors: `PGRST2xx` for names that the cache does not know or knows too often, `PGRST107` when nothing that
    /// the client accepts can be given, `PGRST108` and `PGRST118` for embeds that are not there, `PGRST105` for a
    /// PUT that names no single row, `PGRST122` and `PGRST128` for preferences, `PGRST123` and `PGRST127` for
    /// aggregates.
    pub fn new(request: &Request, cache: &SchemaCache, settings: &Settings) -> Result<Self, Error> {
        let schema = cache.schema(&request.schema).ok_or(Error::NoSchemaCache)?;
        let planner = Planner { request, cache, schema, settings };
        match &request.action {
            Action::Read { relation } => planner.read(relation),
            Action::Mutate { relation, mutation } => planner.mutate(relation, *mutation),
            Action::Call { function, by_get } => planner.call(function, *by_get),
            Action::Describe => planner.describe(),
            Action::RootInfo => Ok(Self::Info("OPTIONS,GET,HEAD".to_owned())),
            Action::RelationInfo { relation } => planner.relation_info(relation),
            Action::FunctionInfo { function } => planner.function_info(function),
        }
    }

    /// Returns how the response's body is made; `None` for a response that never has one.
    pub const fn body(&self) -> Option<&Body> {
        match self {
            Self::Read(plan) => Some(&plan.body),
            Self::Mutate(plan) => Some(&plan.body),
            Self::Call(plan) => Some(&plan.body),
            Self::Describe(_) | Self::Info(_) => None,
        }
    }

    /// Returns the values that the statement of this plan would have of `payload`, whose keys are those of the payload
    /// that it was made for. `None` where its statement would be another one.
    pub(crate) fn values_of(&self, payload: &request::Payload) -> Option<Vec<Option<Bytes>>> {
        match self {
            Self::Mutate(plan) => plan.values_of(payload),
            Self::Call(plan) => plan.values_of(payload),
            Self::Read(_) | Self::Describe(_) | Self::Info(_) => Some(Vec::new()),
        }
    }

    /// Reports whether code of the database's own that runs with this may see more of the request than its caller's
    /// claims, or say something about the response.
    pub const fn sees_request(&self) -> bool {
        match self {
            Self::Read(plan) => plan.sees_request,
            Self::Mutate(plan) => plan.sees_request,
            Self::Call(plan) => plan.sees_request,
            Self::Describe(_) | Self::Info(_) => true,
        }
    }

    /// Reports whether nothing is written, so that a replica may run it and the plan may be run more than once.
    pub const fn is_read_only(&self) -> bool {
        match self {
            Self::Read(_) | Self::Describe(_) | Self::Info(_) => true,
            Self::Mutate(_) => false,
            Self::Call(plan) => plan.is_read_only,
        }
    }

    /// Reports whether the server takes the payload's values apart, and Postgres does not read it as a whole.
    pub(crate) const fn reads_payload(&self) -> bool {
        match self {
            Self::Mutate(plan) => plan.reads_payload(),
            _ => false,
        }
    }

    /// Moves `task` from the server to Postgres, if the server does it in this plan.
    pub(crate) fn leave_to_postgres(&mut self, task: ServerTask) {
        match (task, self) {
            (ServerTask::WriteRows, Self::Read(plan)) => plan.body.writer = BodyWriter::Postgres,
            (ServerTask::WriteRows, Self::Call(plan)) => plan.body.writer = BodyWriter::Postgres,
            (ServerTask::ReadPayload, Self::Mutate(plan)) => plan.leave_payload_to_postgres(),
            _ => {}
        }
    }
}

/// A task that the server does itself where it can, since Postgres needs longer. Whether it can is sometimes known
/// only when Postgres has replied.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ServerTask {
    /// Writing rows as JSON.
    WriteRows,
    /// Taking the payload apart into the values of its rows.
    ReadPayload,
}

/// What all plans are made from.
struct Planner<'a> {
    request: &'a Request,
    cache: &'a SchemaCache,
    schema: &'a Schema,
    settings: &'a Settings,
}

impl Planner<'_> {
    fn read(&self, relation: &str) -> Result<Plan, Error> {
        let table = self.table(relation)?;
        let mut tree = self.tree(relation, Source::Table)?;
        let mut body = self.body(BodySource::Rows(table), &mut tree)?;
        self.request.preferences.check()?;
        body.writer = self.body_writer(&mut tree, &body, RowSource::Read(table));
        let sees_request = self.body_sees_request(&body) || self.read_sees_request(&tree);
        Ok(Plan::Read(Box::new(ReadPlan { tree, body, sees_request })))
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

/// Returns the bytes of a body as Postgres will read them.
fn raw_body(payload: Option<&request::Payload>) -> Bytes {
    match payload {
        Some(request::Payload::Json { raw, .. } | request::Payload::Raw(raw)) => raw.clone(),
        _ => Bytes::new(),
    }
}

#[cfg(test)]
mod tests;

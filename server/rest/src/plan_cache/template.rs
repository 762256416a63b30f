//! The plan and the statements that the requests of one shape have in common.

use std::borrow::Cow;
use std::hash::{BuildHasher as _, RandomState};

use bytes::Bytes;
use percent_encoding::utf8_percent_encode;

use super::shape::{Parameter, RequestShape};
use crate::plan::{Body, Plan};
use crate::request::{ENCODED, Incoming, Payload, Request};
use crate::schema_cache::SchemaCache;
use crate::settings::Settings;
use crate::statement::{MainResult, Statement, Statements};

/// About how many times larger a template is than its texts: plans have every name in an allocation of its own.
const OVERHEAD: usize = 6;

/// The plan and the statements of all requests of one shape.
#[derive(Debug)]
pub struct Template {
    request: Request,
    plan: Plan,
    main: StatementTemplate,
    main_result: MainResult,
    response: Option<StatementTemplate>,
    needs_response: bool,
    estimate: Option<StatementTemplate>,
    canonical: Vec<Piece>,
}

/// A statement with places for values.
#[derive(Debug)]
struct StatementTemplate {
    sql: String,
    parameters: Vec<ParameterSource>,
}

/// Where a parameter's value comes from.
#[derive(Debug)]
enum ParameterSource {
    /// It belongs to the shape.
    Fixed(Option<Vec<u8>>),
    /// The value of a filter.
    Filter(usize),
    /// A value of the payload.
    Payload(usize),
    /// The payload as a whole.
    Whole,
}

/// A part of the canonical query string.
#[derive(Debug)]
enum Piece {
    Fixed(String),
    Filter(usize),
}

/// The values of a request, for the places of a [`Template`].
#[derive(Debug)]
pub struct Values<'v> {
    filters: &'v [Cow<'v, str>],
    payload: Vec<Option<Bytes>>,
    whole: Option<&'v Bytes>,
}

impl Template {
    /// Makes the template for requests like `incoming`, of this shape, of which `request` was made. `None` where a
    /// value is used for more than to be sent to Postgres as it is.
    pub fn new(
        incoming: &Incoming<'_>,
        shape: &RequestShape<'_>,
        request: &Request,
        cache: &SchemaCache,
        settings: &Settings,
    ) -> Option<Self> {
        let placeholders = Placeholders::new();
        let filters: Vec<Cow<'_, str>> =
            (0..shape.values().len()).map(|index| placeholders.of(index).into()).collect();
        let body = match &request.payload {
            Some(payload) => placeholders.body(payload)?,
            None => Bytes::new(),
        };
        let query = with_values(incoming.query, &filters);
        let model = Incoming { query: &query, body, ..*incoming };
        let model_shape = RequestShape::of(&model)?;
        let request = Request::parse(&model, settings).ok()?;
        let plan = Plan::new(&request, cache, settings).ok()?;
        if matches!(plan, Plan::Describe(_) | Plan::Info(_)) || plan.body().and_then(Body::explain).is_some()
        {
            return None;
        }
        let values = Values::of(&model_shape, &plan)?;
        let statements = Statements::new(&plan, &request, settings).ok()??;
        // A payload without keys has no placeholders in it: then any text may come from the payload.
        let may_be_fixed = request.payload.as_ref().is_none_or(|payload| !payload.keys().is_empty());
        let text = |statement: &Statement<'_>| placeholders.text(statement, &values, may_be_fixed);
        let main = text(&statements.main)?;
        let (main_result, needs_response) = (statements.main_result, statements.needs_response);
        let response =
            statements.response.as_ref().map_or(Some(None), |statement| text(statement).map(Some))?;
        let estimate =
            statements.estimate.as_ref().map_or(Some(None), |statement| text(statement).map(Some))?;
        let canonical = placeholders.pieces(&request.query.canonical, filters.len());
        Some(Self { request, plan, main, main_result, response, needs_response, estimate, canonical })
    }

    /// Returns the request that represents all of this shape, with placeholders for values.
    pub const fn request(&self) -> &Request {
        &self.request
    }

    /// Returns the plan of every request of this shape, with placeholders for values.
    pub const fn plan(&self) -> &Plan {
        &self.plan
    }

    /// Returns the values of the request that `shape` is of. `None` where its payload needs another statement.
    pub fn values<'v>(&self, shape: &'v RequestShape<'_>) -> Option<Values<'v>> {
        Values::of(shape, &self.plan)
    }

    /// Returns the statements of the request with these `values`.
    pub fn statements<'t>(&'t self, values: &'t Values<'_>) -> Option<Statements<'t>> {
        let fill =
            |text: Option<&'t StatementTemplate>| text.map_or(Some(None), |text| text.fill(values).map(Some));
        Some(Statements {
            main: self.main.fill(values)?,
            main_result: self.main_result,
            response: fill(self.response.as_ref())?,
            needs_response: self.needs_response,
            estimate: fill(self.estimate.as_ref())?,
        })
    }

    /// Returns the canonical query string of the request that `shape` is of.
    pub fn canonical(&self, shape: &RequestShape<'_>) -> String {
        let mut text = String::with_capacity(self.request.query.canonical.len());
        for piece in &self.canonical {
            match piece {
                Piece::Fixed(fixed) => text.push_str(fixed),
                Piece::Filter(index) => {
                    let value = shape.values().get(*index).map_or("", |value| value);
                    text.extend(utf8_percent_encode(value, ENCODED));
                }
            }
        }
        text
    }

    /// Estimates how many bytes it takes.
    pub(super) fn size(&self) -> usize {
        let texts = [Some(&self.main), self.response.as_ref(), self.estimate.as_ref()];
        let sql: usize = texts.iter().flatten().map(|text| text.sql.len()).sum();
        size_of::<Self>() + OVERHEAD * (sql + self.request.query.canonical.len())
    }
}

impl StatementTemplate {
    /// Returns the statement with `values` in their places.
    fn fill<'t>(&'t self, values: &'t Values<'_>) -> Option<Statement<'t>> {
        let parameters = self.parameters.iter().map(|place| {
            let value: Option<&[u8]> = match place {
                ParameterSource::Fixed(value) => value.as_deref(),
                ParameterSource::Filter(index) => Some(values.filters.get(*index)?.as_bytes()),
                ParameterSource::Payload(index) => values.payload.get(*index)?.as_deref(),
                ParameterSource::Whole => Some(values.whole?),
            };
            Some(value.map(Cow::Borrowed))
        });
        Some(Statement { sql: Cow::Borrowed(&self.sql), parameters: parameters.collect::<Option<_>>()? })
    }
}

impl<'v> Values<'v> {
    /// Returns the values of the request that `shape` is of; `None` where `plan` is not one for its payload.
    fn of(shape: &'v RequestShape<'_>, plan: &Plan) -> Option<Self> {
        let (payload, whole) = match shape.payload() {
            Some(payload @ Payload::Json { raw, .. }) => (plan.values_of(payload)?, Some(raw)),
            Some(_) => return None,
            None => (Vec::new(), None),
        };
        Some(Self { filters: shape.values(), payload, whole })
    }
}

/// Texts that stand for values. They are random, so that no request contains one by chance or on purpose.
struct Placeholders(String);

impl Placeholders {
    fn new() -> Self {
        let random = || RandomState::new().hash_one(0);
        Self(format!("m{:016x}{:016x}", random(), random()))
    }

    /// Returns the placeholder of this number. None begins with another one.
    fn of(&self, number: usize) -> String {
        format!("{}x{number:05}", self.0)
    }

    /// Returns a body like `payload`, with a placeholder for the value of each key.
    fn body(&self, payload: &Payload) -> Option<Bytes> {
        let Payload::Json { is_object, keys, .. } = payload else { return None };
        let placeholders = keys
            .iter()
            .enumerate()
            .map(|(index, key)| (key.clone(), serde_json::Value::from(format!("{}y{index:05}", self.0))));
        let object = serde_json::Value::Object(placeholders.collect()).to_string();
        Some(Bytes::from(if *is_object { object } else { format!("[{object}]") }))
    }

    /// Returns `statement`, with a place for each of `values`, which are placeholders.
    fn text(
        &self,
        statement: &Statement<'_>,
        values: &Values<'_>,
        may_be_fixed: bool,
    ) -> Option<StatementTemplate> {
        let has_placeholder = |text: &[u8]| text.windows(self.0.len()).any(|part| part == self.0.as_bytes());
        if has_placeholder(statement.sql.as_bytes()) {
            return None;
        }
        let place = |value: &Option<Cow<'_, [u8]>>| {
            let Some(text) = value.as_deref() else { return Some(ParameterSource::Fixed(None)) };
            let filter = || values.filters.iter().position(|placeholder| placeholder.as_bytes() == text);
            let payload =
                || values.payload.iter().position(|placeholder| placeholder.as_deref() == Some(text));
            let is_whole = || values.whole.is_some_and(|whole| *whole == text);
            Some(if !has_placeholder(text) {
                return may_be_fixed.then(|| ParameterSource::Fixed(Some(text.to_vec())));
            } else if let Some(index) = filter() {
                ParameterSource::Filter(index)
            } else if let Some(index) = payload() {
                ParameterSource::Payload(index)
            } else if is_whole() {
                ParameterSource::Whole
            } else {
                return None;
            })
        };
        let parameters = statement.parameters.iter().map(place).collect::<Option<_>>()?;
        Some(StatementTemplate { sql: statement.sql.to_string(), parameters })
    }

    /// Returns `text`, parted at the placeholders of the first `count` numbers.
    fn pieces(&self, text: &str, count: usize) -> Vec<Piece> {
        let mut pieces = Vec::new();
        let mut rest = text;
        while let Some(at) = rest.find(&self.0) {
            let (before, from) = rest.split_at(at);
            let found = (0..count)
                .map(|index| (index, self.of(index)))
                .find(|(_, placeholder)| from.starts_with(placeholder));
            let Some((index, placeholder)) = found else { break };
            pieces.extend([Piece::Fixed(before.to_owned()), Piece::Filter(index)]);
            rest = &from[placeholder.len()..];
        }
        pieces.push(Piece::Fixed(rest.to_owned()));
        pieces
    }
}

/// Returns the query string `query` with other values of its comparisons, which need no encoding.
fn with_values(query: &str, values: &[Cow<'_, str>]) -> String {
    let mut values = values.iter();
    let parameters = query.split('&').map(|text| match Parameter::of(text) {
        Parameter::Comparison { before, .. } => {
            format!("{before}{}", values.next().map_or("", |value| value))
        }
        Parameter::Other(text) => text.to_owned(),
    });
    parameters.collect::<Vec<_>>().join("&")
}

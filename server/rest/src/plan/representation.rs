//! The choice among the media types that a client accepts, and how rows become a body of that type.
//!
//! Source: PostgREST's documentation, "Resource Representation" and "Media Type Handlers".

use super::{BodyWriter, Node, OutputColumn, Planner};
use crate::error::Error;
use crate::request::syntax::SelectItem;
use crate::request::{Explain, MediaType};
use crate::schema_cache::{Function, MediaDomain, MediaHandler, QualifiedName, Table};

/// How rows are made into a body.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Body {
    /// Which rows become what.
    pub shape: BodyShape,
    /// Whether keys that are null are left out.
    pub strips_nulls: bool,
    /// The body's media type.
    pub media: MediaType,
    /// Who writes it.
    pub writer: BodyWriter,
}

impl Body {
    /// Returns a body that Postgres writes.
    const fn new(shape: BodyShape, strips_nulls: bool, media: MediaType) -> Self {
        Self { shape, strips_nulls, media, writer: BodyWriter::Postgres }
    }

    /// Returns how Postgres' plan of the statement is returned in place of its result, if the client requests that.
    pub(crate) const fn explain(&self) -> Option<&Explain> {
        match &self.media {
            MediaType::Explain(explain) => Some(explain),
            _ => None,
        }
    }

    /// Reports whether there must be exactly one row.
    pub(crate) fn must_be_single(&self) -> bool {
        self.shape == BodyShape::Object && self.explain().is_none()
    }

    /// Returns the same body for a request that returns none.
    pub fn hidden(self) -> Self {
        Self { shape: BodyShape::Nothing, ..self }
    }
}

/// Which rows become what.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum BodyShape {
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
    /// A collection of the features that this function makes of each row.
    GeoJson(QualifiedName),
    /// What an aggregate makes of all rows.
    Aggregate {
        /// The aggregate.
        function: QualifiedName,
        /// What it takes.
        input: AggregateInput,
    },
    /// The value that a function gives, which is a body already.
    Raw,
}

/// What a media type's aggregate takes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum AggregateInput {
    /// Rows of any columns.
    Row,
    /// Whole rows of this relation.
    WholeRow(QualifiedName),
    /// The value that a function gives.
    Value,
}

/// The source of a body.
#[derive(Debug, Clone, Copy)]
pub(super) enum BodySource<'a> {
    /// Rows of a relation.
    Rows(&'a Table),
    /// What a function gives.
    Result(&'a Function),
}

impl Planner<'_> {
    /// Returns the body of the first media type that the client accepts and that can be given. Where an aggregate takes
    /// whole rows, `tree` shows them.
    ///
    /// Errors: `PGRST107` when there is none.
    pub(super) fn body(&self, source: BodySource<'_>, tree: &mut Node) -> Result<Body, Error> {
        let accept = &self.request.accept;
        let body = accept.iter().find_map(|media| self.representation(media, source));
        let Some(body) = body else {
            return Err(Error::NotAcceptable(accept.iter().map(|media| media.name().into_owned()).collect()));
        };
        if matches!(body.shape, BodyShape::Aggregate { input: AggregateInput::WholeRow(_), .. }) {
            // Columns that a cast of their domain formats would make it another row.
            tree.columns = vec![OutputColumn::all()];
        }
        let is_headless = self.request.headers_only && !body.must_be_single() && body.explain().is_none();
        Ok(if is_headless { body.hidden() } else { body })
    }

    fn representation(&self, media: &MediaType, source: BodySource<'_>) -> Option<Body> {
        let of = |shape, strips_nulls| Some(Body::new(shape, strips_nulls, media.clone()));
        match media {
            MediaType::Object { stripped } => of(BodyShape::Object, *stripped),
            MediaType::JsonStripped => of(BodyShape::Array, true),
            MediaType::Explain(explain) => {
                let is_nested = matches!(explain.of, MediaType::Explain(_));
                let explained =
                    if self.settings.db_plan_enabled && !is_nested { &explain.of } else { return None };
                let body = self.representation(explained, source)?;
                Some(Body { media: media.clone(), ..body })
            }
            other => self.by_handler(other, source).or_else(|| self.built_in(other)),
        }
    }

    /// Returns the body that a handler of the database makes.
    fn by_handler(&self, media: &MediaType, source: BodySource<'_>) -> Option<Body> {
        let of = |shape, media: &MediaType| Some(Body::new(shape, false, media.clone()));
        let for_any = MediaType::Any;
        if self.selects_all() {
            // A handler of any type comes before one of this type.
            for wanted in [&for_any, media] {
                let is_wanted = |domain: &&MediaDomain| wanted.is_met_by(&domain.accepted);
                if let Some(domain) = source.value_type().filter(is_wanted) {
                    return of(BodyShape::Raw, &domain.given);
                }
                if let Some((schema, name)) = source.relation()
                    && let Some((function, domain)) = self.aggregate(Some((schema, name)), wanted)
                {
                    let relation = QualifiedName { schema: schema.to_owned(), name: name.to_owned() };
                    let input = AggregateInput::WholeRow(relation);
                    return of(BodyShape::Aggregate { function, input }, &domain.given);
                }
            }
        }
        let (function, domain) = self.aggregate(None, media)?;
        let is_value = matches!(source, BodySource::Result(function) if function.gives_one_value());
        let input = if is_value { AggregateInput::Value } else { AggregateInput::Row };
        of(BodyShape::Aggregate { function, input }, &domain.given)
    }

    /// Returns the aggregate that makes `media` of the whole rows of `relation`; without one, of any rows.
    fn aggregate(
        &self,
        relation: Option<(&str, &str)>,
        media: &MediaType,
    ) -> Option<(QualifiedName, &MediaDomain)> {
        let takes = |handler: &&MediaHandler| {
            let taken = handler.relation.as_ref();
            taken.map(|taken| (taken.schema.as_str(), taken.name.as_str())) == relation
        };
        let mut handlers = self.cache.media_handlers().iter().filter(takes);
        let handler = handlers.find(|handler| media.is_met_by(&handler.media_type.accepted))?;
        Some((handler.function.clone(), &handler.media_type))
    }

    fn built_in(&self, media: &MediaType) -> Option<Body> {
        let (shape, media) = match media {
            MediaType::Any | MediaType::Json => (BodyShape::Array, MediaType::Json),
            MediaType::Csv => (BodyShape::Csv, MediaType::Csv),
            MediaType::GeoJson => (BodyShape::GeoJson(self.cache.geojson()?.clone()), MediaType::GeoJson),
            _ => return None,
        };
        Some(Body::new(shape, false, media))
    }

    /// Reports whether whole rows are returned: all their columns, unchanged, and nothing embedded.
    pub(super) fn selects_all(&self) -> bool {
        matches!(self.request.query.select.as_slice(), [] | [SelectItem::All])
    }
}

impl BodySource<'_> {
    /// Returns the media type that the one value is.
    fn value_type(&self) -> Option<&MediaDomain> {
        match self {
            Self::Rows(_) => None,
            Self::Result(function) => function.media_type.as_ref(),
        }
    }

    /// Returns the schema and name of the relation whose rows there are.
    fn relation(&self) -> Option<(&str, &str)> {
        match self {
            Self::Rows(table) => Some((&table.schema, &table.name)),
            Self::Result(Function { returns, .. }) if returns.is_composite => {
                Some((&returns.schema, &returns.name))
            }
            Self::Result(_) => None,
        }
    }
}

//! What the query string's grammar produces: names as the client wrote them, nothing looked up.
//!
//! Source of all forms: PostgREST's documentation, "URL grammar" and "Tables and views".

/// A column, perhaps followed into its JSON: `data->phones->0->>number`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Field {
    /// The column's name.
    pub name: String,
    /// Steps into a JSON, composite or array value; empty for the column itself.
    pub path: Vec<JsonStep>,
}

impl Field {
    /// Returns the column `name` itself.
    pub fn column(name: impl Into<String>) -> Self {
        Self { name: name.into(), path: Vec::new() }
    }
}

/// One arrow and what it points at.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct JsonStep {
    /// `->>` instead of `->`.
    pub as_text: bool,
    /// Key or index.
    pub operand: JsonOperand,
}

/// What a JSON arrow points at.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum JsonOperand {
    /// A key of an object.
    Key(String),
    /// An index of an array; negative ones count from the end.
    Index(i32),
}

/// One item of `select=`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SelectItem {
    /// `*`: all columns.
    All,
    /// `alias:column->path::cast`.
    Column(SelectColumn),
    /// `alias:relation!hint!inner(…)`.
    Embed(SelectEmbed),
}

/// A selected column.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SelectColumn {
    /// The column and the path into it.
    pub field: Field,
    /// The aggregate function applied to it.
    pub aggregate: Option<Aggregate>,
    /// The type that it is cast to, before any aggregate.
    pub cast: Option<String>,
    /// The type that the aggregate's result is cast to.
    pub aggregate_cast: Option<String>,
    /// Its name in the response.
    pub alias: Option<String>,
}

::settings::words! {
    /// An aggregate function of `select=`, by its name here and in Postgres.
    pub enum Aggregate {
        /// `avg()`.
        Avg = "avg",
        /// `count()`.
        Count = "count",
        /// `max()`.
        Max = "max",
        /// `min()`.
        Min = "min",
        /// `sum()`.
        Sum = "sum",
    }
}

/// An embedded relation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SelectEmbed {
    /// The relation's, foreign key's or foreign key column's name.
    pub relation: String,
    /// Its name in the response.
    pub alias: Option<String>,
    /// `!hint`: a foreign key, column or junction that picks one relationship of several.
    pub hint: Option<String>,
    /// `!inner` or `!left`.
    pub join: Option<Join>,
    /// `...relation(…)`: its columns are lifted into the parent's row.
    pub spread: bool,
    /// What is selected of it.
    pub select: Vec<SelectItem>,
}

/// Whether rows without a match in the embed stay.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Join {
    /// They are left out.
    Inner,
    /// They stay.
    Left,
}

/// A condition on a row.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Logic {
    /// One filter.
    Filter(Filter),
    /// `and(…)`, `or(…)`, `not.and(…)`, `not.or(…)`.
    Group {
        /// Whether the whole is negated.
        negated: bool,
        /// What joins the members.
        operator: LogicOperator,
        /// The conditions joined.
        members: Vec<Self>,
    },
}

/// What joins conditions.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LogicOperator {
    /// All must hold.
    And,
    /// One must hold.
    Or,
}

/// `column=not.operator.value`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Filter {
    /// What is compared.
    pub field: Field,
    /// Whether the comparison is negated.
    pub negated: bool,
    /// The comparison.
    pub operation: Operation,
}

/// The comparison of a filter.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Operation {
    /// `eq.5`, `like(any).{a*,b*}`, `cs.{1,2}`, …
    Compare {
        /// Which operator.
        operator: Operator,
        /// `(any)` or `(all)`: the value is an array of which one or all must match.
        quantifier: Option<Quantifier>,
        /// The right side, in Postgres' own text form.
        value: String,
    },
    /// `in.(a,b,"c,d")`.
    In(Vec<String>),
    /// `is.null` and its like.
    Is(IsValue),
    /// `isdistinct.5`.
    IsDistinctFrom(String),
    /// `fts(english).cat&rat` and its like.
    TextSearch {
        /// Which parser of the query text.
        parser: TextSearchParser,
        /// The text search configuration.
        language: Option<String>,
        /// The query text.
        query: String,
    },
}

/// A binary operator of a filter.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Operator {
    /// `eq`.
    Equal,
    /// `neq`.
    NotEqual,
    /// `gt`.
    Greater,
    /// `gte`.
    GreaterOrEqual,
    /// `lt`.
    Less,
    /// `lte`.
    LessOrEqual,
    /// `like`; `*` stands for `%`.
    Like,
    /// `ilike`; `*` stands for `%`.
    ILike,
    /// `match`: POSIX regular expression.
    Match,
    /// `imatch`: the same, case-insensitively.
    IMatch,
    /// `cs`: contains.
    Contains,
    /// `cd`: is contained in.
    ContainedIn,
    /// `ov`: overlaps.
    Overlaps,
    /// `sl`: is strictly left of.
    StrictlyLeft,
    /// `sr`: is strictly right of.
    StrictlyRight,
    /// `nxr`: does not extend to the right of.
    NotExtendsRight,
    /// `nxl`: does not extend to the left of.
    NotExtendsLeft,
    /// `adj`: is adjacent to.
    Adjacent,
}

/// How a comparison with an array's elements counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Quantifier {
    /// One element must match.
    Any,
    /// All elements must match.
    All,
}

/// The right side of `is`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum IsValue {
    /// `null`.
    Null,
    /// `not_null`.
    NotNull,
    /// `true`.
    True,
    /// `false`.
    False,
    /// `unknown`: a boolean that is null.
    Unknown,
}

/// The function that makes a `tsquery` of a text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TextSearchParser {
    /// `fts`: `to_tsquery`.
    Raw,
    /// `plfts`: `plainto_tsquery`.
    Plain,
    /// `phfts`: `phraseto_tsquery`.
    Phrase,
    /// `wfts`: `websearch_to_tsquery`.
    WebSearch,
}

/// One term of `order=`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OrderTerm {
    /// The to-one embed whose column this is; `None` for the relation's own.
    pub relation: Option<String>,
    /// What is ordered by.
    pub field: Field,
    /// `asc` or `desc`, where given.
    pub direction: Option<Direction>,
    /// `nullsfirst` or `nullslast`, where given.
    pub nulls: Option<Nulls>,
}

/// The direction of an order.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Direction {
    /// Smallest first.
    Ascending,
    /// Largest first.
    Descending,
}

/// Where an order puts nulls.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Nulls {
    /// Before everything else.
    First,
    /// After everything else.
    Last,
}

/// Something that the client addressed to an embed by the path of names that leads to it; an empty path is the
/// request's own relation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PathItem<T> {
    /// Names of embeds from the outermost on.
    pub path: Vec<String>,
    /// The item.
    pub item: T,
}

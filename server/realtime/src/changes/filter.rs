//! Filters of bindings: `column=operator.value`, several separated by commas.

/// One condition of a filter.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) struct Condition {
    pub(crate) column: String,
    pub(crate) is_negated: bool,
    pub(crate) test: Test,
}

/// The test of a condition.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) enum Test {
    /// A comparison by an operator of Postgres.
    Compare(Comparison, String),
    /// Equality with one of these.
    In(Vec<String>),
    /// `IS` with one of `null`, `true`, `false`, `unknown`.
    Is(IsValue),
    /// `IS DISTINCT FROM`.
    IsDistinct(String),
}

::settings::words! {
    /// Comparisons, by their names in filters.
    #[derive(Hash)]
    pub(crate) enum Comparison {
        Eq = "eq",
        Neq = "neq",
        Lt = "lt",
        Lte = "lte",
        Gt = "gt",
        Gte = "gte",
        Like = "like",
        Ilike = "ilike",
        Match = "match",
        Imatch = "imatch",
    }
}

::settings::words! {
    /// The SQL keyword after `IS`.
    #[derive(Hash)]
    pub(crate) enum IsValue {
        Null = "null",
        True = "true",
        False = "false",
        Unknown = "unknown",
    }
}

/// The reason why a filter is refused.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(crate) enum FilterError {
    /// Part of the filter is not `column=operator.value`.
    #[error("Error parsing `filter` params: {0}")]
    Syntax(String),
    /// The filter is too long or has too many conditions.
    #[error("a filter may have {MAX_SIZE} bytes and {MAX_CONDITIONS} conditions")]
    TooLong,
    /// `in` has too many values.
    #[error("too many values for `in` filter. Maximum 100")]
    TooManyValues,
    /// `is` has an unknown value.
    #[error("invalid value for is filter: must be null, true, false, or unknown")]
    InvalidIsValue,
}

/// Bytes and conditions that a filter may have.
const MAX_SIZE: usize = 32 << 10;
const MAX_CONDITIONS: usize = 32;
/// Values that `in` may have.
const MAX_VALUES: usize = 100;

impl Condition {
    /// Returns the condition without its values: one statement evaluates all filters of the same shape.
    pub(crate) fn shape(&self) -> Self {
        let test = match &self.test {
            Test::Compare(comparison, _) => Test::Compare(*comparison, String::new()),
            Test::In(_) => Test::In(Vec::new()),
            Test::Is(value) => Test::Is(*value),
            Test::IsDistinct(_) => Test::IsDistinct(String::new()),
        };
        Self { column: self.column.clone(), is_negated: self.is_negated, test }
    }

    /// Reports whether it compares with a regular expression, whose time depends on the value.
    pub(crate) fn is_regular_expression(&self) -> bool {
        matches!(self.test, Test::Compare(Comparison::Match | Comparison::Imatch, _))
    }

    /// Returns the comparison with a pattern and its name; `None` for other conditions.
    pub(crate) fn pattern(&self) -> Option<(Comparison, &'static str)> {
        match &self.test {
            Test::Compare(comparison, _) => comparison.pattern_name().map(|name| (*comparison, name)),
            _ => None,
        }
    }
}

impl Comparison {
    /// Returns the name in filters of a comparison with a pattern; `None` for others.
    pub(crate) fn pattern_name(self) -> Option<&'static str> {
        matches!(self, Self::Like | Self::Ilike | Self::Match | Self::Imatch).then_some(self.name())
    }

    /// Returns the operator of Postgres.
    pub(crate) const fn operator(self) -> &'static str {
        match self {
            Self::Eq => "=",
            Self::Neq => "<>",
            Self::Lt => "<",
            Self::Lte => "<=",
            Self::Gt => ">",
            Self::Gte => ">=",
            Self::Like => "like",
            Self::Ilike => "ilike",
            Self::Match => "~",
            Self::Imatch => "~*",
        }
    }
}

/// Parses a filter.
///
/// Errors: [`FilterError`].
pub(crate) fn parse(filter: &str) -> Result<Vec<Condition>, FilterError> {
    let parts = split(filter, ',');
    if filter.len() > MAX_SIZE || parts.len() > MAX_CONDITIONS {
        return Err(FilterError::TooLong);
    }
    parts.into_iter().map(|part| condition(part.trim())).collect()
}

fn condition(part: &str) -> Result<Condition, FilterError> {
    if part.is_empty() {
        return Err(FilterError::Syntax("filter must not contain empty segments".to_owned()));
    }
    let wrong = || FilterError::Syntax(format!("\"{part}\" is not of the form column=operator.value"));
    let unwrapped = || FilterError::Syntax("`in` filter value must be wrapped by parentheses".to_owned());
    let (column, rest) = part.split_once('=').ok_or_else(wrong)?;
    let (is_negated, rest) = match rest.strip_prefix("not.") {
        Some(rest) => (true, rest),
        None => (false, rest),
    };
    let (operator, value) = rest.split_once('.').ok_or_else(wrong)?;
    let column = column.trim();
    if column.is_empty() {
        return Err(wrong());
    }
    let test = match (Comparison::of_name(operator), operator) {
        (Some(comparison), _) => Test::Compare(comparison, unquote(value)),
        (None, "in") => Test::In(list(value).ok_or_else(unwrapped)??),
        (None, "is") => {
            let word = unquote(value).to_ascii_lowercase();
            Test::Is(IsValue::of_name(&word).ok_or(FilterError::InvalidIsValue)?)
        }
        (None, "isdistinct") => Test::IsDistinct(unquote(value)),
        (None, unknown) => {
            return Err(FilterError::Syntax(format!("the operator \"{unknown}\" is not supported")));
        }
    };
    Ok(Condition { column: column.to_owned(), is_negated, test })
}

/// Parses `(a,b)`; `None` without parentheses.
fn list(value: &str) -> Option<Result<Vec<String>, FilterError>> {
    let inner = value.trim().strip_prefix('(')?.strip_suffix(')')?;
    let values: Vec<String> = match inner.trim() {
        "" => Vec::new(),
        _ => split(inner, ',').into_iter().map(|value| unquote(value.trim())).collect(),
    };
    Some(if values.len() > MAX_VALUES { Err(FilterError::TooManyValues) } else { Ok(values) })
}

/// Splits `text` at `separator`, but not inside parentheses and double quotes. A double quote only quotes at the
/// beginning of a value; within a value it is an ordinary character.
fn split(text: &str, separator: char) -> Vec<&str> {
    let (mut parts, mut start, mut depth) = (Vec::new(), 0, 0_usize);
    let mut previous = separator;
    let (mut is_quoted, mut is_escaped) = (false, false);
    for (index, character) in text.char_indices() {
        if is_quoted {
            match character {
                _ if is_escaped => is_escaped = false,
                '\\' => is_escaped = true,
                '"' => is_quoted = false,
                _ => {}
            }
            continue;
        }
        let before = previous;
        previous = if character.is_whitespace() { before } else { character };
        match character {
            '"' => is_quoted = before == separator || matches!(before, '.' | '('),
            '(' => depth += 1,
            ')' => depth = depth.saturating_sub(1),
            _ if character == separator && depth == 0 => {
                parts.push(&text[start..index]);
                start = index + character.len_utf8();
            }
            _ => {}
        }
    }
    parts.push(&text[start..]);
    parts
}

/// Removes the double quotes around `value` and the escapes inside them.
fn unquote(value: &str) -> String {
    let inner = value.strip_prefix('"').and_then(|value| value.strip_suffix('"'));
    let Some(inner) = inner else { return value.to_owned() };
    let mut text = String::with_capacity(inner.len());
    let mut characters = inner.chars();
    while let Some(character) = characters.next() {
        text.extend(if character == '\\' { characters.next() } else { Some(character) });
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    fn one(filter: &str) -> Condition {
        let [condition] = <[_; 1]>::try_from(parse(filter).unwrap()).unwrap();
        condition
    }

    #[test]
    fn conditions_are_read() {
        let condition = one(" a = eq.b=c.d ".replace("= eq", "=eq").as_str());
        assert_eq!(condition.column, "a");
        assert_eq!(condition.test, Test::Compare(Comparison::Eq, "b=c.d".to_owned()));
        assert_eq!(one("a=in.(1,\"x,\\\"y\")").test, Test::In(vec!["1".to_owned(), "x,\"y".to_owned()]));
        assert_eq!(
            one("a=not.is.NULL"),
            Condition { column: "a".to_owned(), is_negated: true, test: Test::Is(IsValue::Null) }
        );
        assert_eq!(one("a=eq.").test, Test::Compare(Comparison::Eq, String::new()));
        assert_eq!(parse("a=gt.1,b=like.\"%,%\"").unwrap().len(), 2);
        // A size in inches.
        assert_eq!(parse("a=eq.5\" pipe,b=gt.100").unwrap().len(), 2);
        assert_eq!(one("a=in.(1, \"x,y\")").test, Test::In(vec!["1".to_owned(), "x,y".to_owned()]));
    }

    #[test]
    fn errors_name_the_cause() {
        for filter in ["a", "a=1", "=eq.1", "a=eq.1,", "a=in.1", "a=near.1"] {
            assert!(matches!(parse(filter), Err(FilterError::Syntax(_))), "{filter}");
        }
        assert_eq!(parse("a=is.maybe"), Err(FilterError::InvalidIsValue));
        let many = format!("a=in.({})", vec!["1"; 101].join(","));
        assert_eq!(parse(&many), Err(FilterError::TooManyValues));
    }
}

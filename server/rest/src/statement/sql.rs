//! An SQL text under construction, with its parameters.

use std::borrow::Cow;

use postgres::{push_identifier, push_literal};

use crate::request::Explain;

/// One SQL text and its parameters in text format; `None` is null.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Statement<'p> {
    /// The text, with `$1` and so on for the parameters.
    pub sql: Cow<'p, str>,
    /// The parameters.
    pub parameters: Vec<Option<Cow<'p, [u8]>>>,
}

impl Statement<'_> {
    /// Makes it give its plan, a line in each row, in place of its result.
    pub(super) fn explain(&mut self, explain: &Explain) {
        let options = explain.options.iter().map(|option| format!(", {}", option.name()));
        let options: String = options.collect();
        self.sql = format!("EXPLAIN (FORMAT {}{options}) {}", explain.format.name(), self.sql).into();
    }
}

/// How long a text may get before it has to be moved: a usual one does not.
const USUAL_LENGTH: usize = 512;

/// A [`Statement`] that is being written.
#[derive(Debug)]
pub(super) struct Sql<'p> {
    text: String,
    parameters: Vec<Option<Cow<'p, [u8]>>>,
}

impl Default for Sql<'_> {
    fn default() -> Self {
        Self { text: String::with_capacity(USUAL_LENGTH), parameters: Vec::new() }
    }
}

impl<'p> Sql<'p> {
    /// Appends SQL. Nothing that a client sent may come here.
    pub(super) fn push(&mut self, sql: &str) -> &mut Self {
        self.text.push_str(sql);
        self
    }

    /// Appends a name.
    pub(super) fn identifier(&mut self, name: &str) -> &mut Self {
        push_identifier(&mut self.text, name);
        self
    }

    /// Appends a name in its schema.
    pub(super) fn qualified(&mut self, schema: &str, name: &str) -> &mut Self {
        self.identifier(schema).push(".").identifier(name)
    }

    /// Appends the columns called `names` of what `qualifier` names; `*` stands for all of them.
    pub(super) fn columns(&mut self, qualifier: &str, names: &[String]) -> &mut Self {
        self.separated(names, ", ", |sql, name| {
            sql.identifier(qualifier).push(".");
            if name == "*" {
                sql.push("*")
            } else {
                sql.identifier(name)
            };
        })
    }

    /// Appends a text that shapes the plan, and so belongs to the statement.
    pub(super) fn literal(&mut self, text: &str) -> &mut Self {
        push_literal(&mut self.text, text);
        self
    }

    /// Appends a number.
    pub(super) fn number(&mut self, number: i64) -> &mut Self {
        self.text.push_str(&number.to_string());
        self
    }

    /// Appends a placeholder for `value`.
    pub(super) fn parameter(&mut self, value: Option<impl Into<Cow<'p, [u8]>>>) -> &mut Self {
        self.parameters.push(value.map(Into::into));
        self.text.push('$');
        self.text.push_str(&self.parameters.len().to_string());
        self
    }

    /// Appends `inner` between `before` and `after`.
    pub(super) fn enclosed(&mut self, before: &str, after: &str, inner: impl FnOnce(&mut Self)) -> &mut Self {
        self.push(before);
        inner(self);
        self.push(after)
    }

    /// Appends `items`, with `separator` between them.
    pub(super) fn separated<T>(
        &mut self,
        items: impl IntoIterator<Item = T>,
        separator: &str,
        mut write: impl FnMut(&mut Self, T),
    ) -> &mut Self {
        for (index, item) in items.into_iter().enumerate() {
            if index > 0 {
                self.push(separator);
            }
            write(self, item);
        }
        self
    }
}

impl<'p> From<Sql<'p>> for Statement<'p> {
    fn from(sql: Sql<'p>) -> Self {
        Self { sql: sql.text.into(), parameters: sql.parameters }
    }
}

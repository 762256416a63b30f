//! Templates in the syntax of Go's `text/template` and `html/template`, which those that people have for Supabase's
//! mails and text messages are written in.
//!
//! A template goes through `lexer` (tokens), `parser` (a tree), `execute` (values into text). What becomes of a value
//! in HTML depends on where it stands: `escape` knows whether that is text, an attribute, a URL or a style.
//!
//! Source: the documentation of Go's packages `text/template` and `html/template`. Left out: methods and `call`, which
//! need Go values, and values inside scripts, which no mail program runs.

mod escape;
mod execute;
mod functions;
mod lexer;
mod parser;
mod printf;
mod value;

use std::collections::BTreeMap;

use parser::Node;
pub(crate) use value::Value;

/// Most bytes that a template may become.
const MAX_OUTPUT: usize = 4 << 20;

/// Why a template cannot be read or filled in; for the log of whoever wrote it.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("line {line}: {reason}")]
pub(crate) struct TemplateError {
    line: usize,
    reason: String,
}

impl TemplateError {
    fn new(line: usize, reason: impl Into<String>) -> TemplateError {
        TemplateError { line, reason: reason.into() }
    }
}

/// What a template makes, which decides how values are escaped.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Format {
    /// Values stay as they are (`text/template`).
    Text,
    /// Values are escaped as the place where they stand asks for (`html/template`).
    Html,
}

/// A template that can be filled in.
#[derive(Debug, Clone)]
pub(crate) struct Template {
    format: Format,
    nodes: Vec<Node>,
    defined: BTreeMap<String, Vec<Node>>,
}

impl Template {
    /// Reads `source`.
    ///
    /// Errors: [`TemplateError`] with the line where the syntax is broken or an unknown function is named.
    pub(crate) fn parse(source: &str, format: Format) -> Result<Template, TemplateError> {
        let parsed = parser::parse(lexer::tokens(source)?)?;
        Ok(Template { format, nodes: parsed.nodes, defined: parsed.defined })
    }

    /// The template with `data` as its dot.
    ///
    /// Errors: [`TemplateError`] for a field of something that has none, wrong arguments, a value inside a script, and
    /// output of more than 4 MiB.
    pub(crate) fn render(&self, data: &Value) -> Result<String, TemplateError> {
        execute::render(self, data)
    }
}

#[cfg(test)]
mod tests;

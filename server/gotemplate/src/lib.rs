//! Templates in the syntax of Go's [`text/template`] and [`html/template`], which Supabase's mails and text messages are
//! written in.
//!
//! ```
//! use gotemplate::{Format, Template, Value};
//!
//! let template = Template::parse("<p>Hello {{ .Name }}!</p>", Format::Html)?;
//! let data = Value::map([("Name", Value::from("<Ann>"))]);
//! assert_eq!(template.render(&data)?, "<p>Hello &lt;Ann&gt;!</p>");
//! # Ok::<(), gotemplate::TemplateError>(())
//! ```
//!
//! A template goes through `lexer` (tokens), `parser` (a tree) and `execute` (values into text). In [`Format::Html`],
//! `escape` follows the HTML and escapes each value for its context: in text, an attribute, a URL or a style.
//!
//! All functions that Go defines for every template are there, except `call`; so are `if`, `range`, `with`, `define`,
//! `template` and `block`. Methods and `call` are left out, because they need Go values, and values inside scripts are
//! refused, because no mail program runs scripts. Output is limited to 4 MiB.
//!
//! [`text/template`]: https://pkg.go.dev/text/template
//! [`html/template`]: https://pkg.go.dev/html/template

mod escape;
mod execute;
mod functions;
mod lexer;
mod parser;
mod printf;
mod value;

use std::collections::BTreeMap;

use parser::Node;
pub use value::Value;

/// Most bytes that a template may become.
const MAX_OUTPUT: usize = 4 << 20;

/// Why a template cannot be parsed or executed; for the log.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("line {line}: {reason}")]
pub struct TemplateError {
    line: usize,
    reason: String,
}

impl TemplateError {
    fn new(line: usize, reason: impl Into<String>) -> Self {
        Self { line, reason: reason.into() }
    }
}

/// What a template makes, which decides how values are escaped.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Format {
    /// Values stay as they are (`text/template`).
    Text,
    /// Values are escaped for their context (`html/template`).
    Html,
}

/// A template that can be filled in.
#[derive(Debug, Clone)]
pub struct Template {
    format: Format,
    nodes: Vec<Node>,
    defined: BTreeMap<String, Vec<Node>>,
}

impl Template {
    /// Reads `source`.
    ///
    /// Errors: [`TemplateError`] with the line where the syntax is broken or an unknown function is named.
    pub fn parse(source: &str, format: Format) -> Result<Self, TemplateError> {
        let parsed = parser::parse(lexer::tokens(source)?)?;
        Ok(Self { format, nodes: parsed.nodes, defined: parsed.defined })
    }

    /// Returns the template with `data` as its dot.
    ///
    /// Errors: [`TemplateError`] for a field of something that has none, wrong arguments, a value inside a script, and
    /// output of more than 4 MiB.
    pub fn render(&self, data: &Value) -> Result<String, TemplateError> {
        execute::render(self, data)
    }
}

#[cfg(test)]
mod tests;

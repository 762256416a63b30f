//! Templates in the syntax of Go's [`text/template`] and [`html/template`], in which Supabase's mails and text messages
//! are written.
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
//! A template is processed by `lexer` (tokens), `parser` (a tree) and `execute` (output). In [`Format::Html`], `escape`
//! parses the HTML and escapes each value for its context: in text, an attribute, a URL, a style or (`json`) JSON.
//!
//! All functions that Go defines for every template are supported, except `call`; so are `if`, `range`, `with`,
//! `define`, `template` and `block`. Methods and `call` are not supported, because they need Go values. Values inside
//! scripts are refused, because no mail program runs scripts, except in JSON, which some read. Output is limited to 4
//! MiB.
//!
//! [`text/template`]: https://pkg.go.dev/text/template
//! [`html/template`]: https://pkg.go.dev/html/template

mod escape;
mod execute;
mod functions;
mod json;
mod lexer;
mod parser;
mod printf;
mod value;

use std::collections::BTreeMap;

use parser::Node;
pub use value::Value;

/// The maximum number of bytes of a template's output.
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

/// The format of a template's output, which decides how values are escaped.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Format {
    /// Values stay unchanged (`text/template`).
    Text,
    /// Values are escaped for their context (`html/template`).
    Html,
}

/// A parsed template.
#[derive(Debug, Clone)]
pub struct Template {
    format: Format,
    nodes: Vec<Node>,
    defined: BTreeMap<String, Vec<Node>>,
}

impl Template {
    /// Parses `source`.
    ///
    /// Errors: [`TemplateError`] with the line of a syntax error or of an unknown function.
    pub fn parse(source: &str, format: Format) -> Result<Self, TemplateError> {
        let parsed = parser::parse(lexer::tokens(source)?)?;
        Ok(Self { format, nodes: parsed.nodes, defined: parsed.defined })
    }

    /// Executes the template with `data` as its dot, and returns the output.
    ///
    /// Errors: [`TemplateError`] for a field of a value that has no fields, wrong arguments, a value inside a script,
    /// and output of more than 4 MiB.
    pub fn render(&self, data: &Value) -> Result<String, TemplateError> {
        execute::render(self, data)
    }
}

#[cfg(test)]
mod tests;

//! A built client's description of the heads of its pages: `.heads.json` next to its page.

use std::collections::{BTreeMap, BTreeSet};

use serde::Deserialize;
use serde_json::Value;

use super::template::{self, Placeholder};

/// The values that every page has without a query.
const BUILT_IN: [&str; 4] = ["origin", "path", "storage", "images"];

/// The maximum number of values that may replace each other in a row (`otherwise`).
const MAX_DEPTH: usize = 4;

/// The whole file. Its format is described in docs/page-heads.md.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(crate) struct Description {
    /// Targets below `/rest/v1/`, by the names that placeholders use.
    pub(super) queries: BTreeMap<String, String>,
    #[serde(default)]
    pub(super) values: BTreeMap<String, Source>,
    pub(super) pages: BTreeMap<String, Page>,
    pub(super) not_found: Page,
    pub(super) closed: Option<Closure>,
    #[serde(default)]
    pub(super) documents: BTreeMap<String, Document>,
}

/// A page's head.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(super) struct Page {
    pub(super) title: String,
    pub(super) elements: Vec<Element>,
    pub(super) json_ld: Option<Value>,
    /// Values of this page; they take precedence over those of all pages.
    #[serde(default)]
    pub(super) values: BTreeMap<String, Source>,
    /// The query that must return a row; otherwise the page does not exist.
    pub(super) requires: Option<String>,
    pub(super) is_listed: bool,
    /// The name of the value with the time of the page's last change.
    pub(super) modified: Option<String>,
    /// HTML that the page shows until its scripts run.
    pub(super) screen: Option<String>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Element {
    pub(super) tag: Tag,
    pub(super) attributes: BTreeMap<String, String>,
}

/// The elements without content that a head can have.
#[derive(Debug, Clone, Copy, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum Tag {
    Link,
    Meta,
}

/// The source of a value.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Source {
    pub(super) query: String,
    pub(super) column: String,
    /// Columns and the texts that they must have; the first row that has all of them is used.
    #[serde(default, rename = "where")]
    pub(super) conditions: BTreeMap<String, String>,
    #[serde(default)]
    pub(super) steps: Vec<Step>,
    /// The text if none is stored. The steps apply to it, too.
    pub(super) default: Option<String>,
    /// A template that replaces the value if there is no default.
    pub(super) otherwise: Option<String>,
}

/// A step from a stored text to a value.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum Step {
    /// Removes the quotes around the text.
    Unquote,
    /// Returns the text of a member; the text is a JSON object.
    Member(String),
    /// Returns the first paragraph, cut after the last whole word that fits into this many characters.
    Excerpt(usize),
    /// Returns the public URL of the stored file `bucket/path`.
    File {
        /// The bucket of a path without one.
        bucket: String,
        /// Whether paths that begin with a slash are the site's own files and stay unchanged.
        #[serde(default)]
        own: bool,
    },
}

/// The condition under which the site is closed to the public, and the page whose head all pages have then.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Closure {
    pub(super) value: String,
    pub(super) is: String,
    pub(super) page: String,
}

/// A JSON file made of templates.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Document {
    #[serde(rename = "type")]
    pub(super) content_type: String,
    pub(super) body: Value,
}

impl Description {
    /// Parses the file.
    ///
    /// Errors: a sentence about the syntax, or a name that is not defined.
    pub(super) fn parse(bytes: &[u8]) -> Result<Self, String> {
        let description: Self = serde_json::from_slice(bytes).map_err(|error| error.to_string())?;
        for (path, page) in description.pages.iter().chain([(&"notFound".to_owned(), &description.not_found)])
        {
            description.queries_of(page).map_err(|reason| format!("page {path}: {reason}"))?;
        }
        for (path, document) in &description.documents {
            description.queries_in(&document.body).map_err(|reason| format!("document {path}: {reason}"))?;
        }
        match &description.closed {
            Some(closed) if !description.pages.contains_key(&closed.page) => {
                Err(format!("closed: there is no page {:?}", closed.page))
            }
            _ => Ok(description),
        }
    }

    /// Returns the names of the queries of `page`.
    ///
    /// Errors: a sentence about a name that is not defined.
    pub(super) fn queries_of<'a>(&'a self, page: &'a Page) -> Result<BTreeSet<&'a str>, String> {
        let mut found = BTreeSet::new();
        let texts = page.elements.iter().flat_map(|element| element.attributes.values()).chain([&page.title]);
        for text in texts.chain(&page.screen) {
            self.add(text, Some(page), 0, &mut found)?;
        }
        for name in page.modified.iter().chain(self.closed.as_ref().map(|closed| &closed.value)) {
            self.add_value(name, Some(page), 0, &mut found)?;
        }
        if let Some(json_ld) = &page.json_ld {
            self.add_texts(json_ld, Some(page), &mut found)?;
        }
        if let Some(name) = &page.requires {
            found.insert(self.known(name)?);
        }
        Ok(found)
    }

    /// Returns the names of the queries of a document.
    ///
    /// Errors: a sentence about a name that is not defined.
    pub(super) fn queries_in<'a>(&'a self, template: &'a Value) -> Result<BTreeSet<&'a str>, String> {
        let mut found = BTreeSet::new();
        self.add_texts(template, None, &mut found)?;
        Ok(found)
    }

    /// Returns the source of the value `name` on `page`.
    pub(super) fn source<'a>(&'a self, name: &str, page: Option<&'a Page>) -> Option<&'a Source> {
        page.and_then(|page| page.values.get(name)).or_else(|| self.values.get(name))
    }

    fn add_texts<'a>(
        &'a self,
        template: &'a Value,
        page: Option<&'a Page>,
        found: &mut BTreeSet<&'a str>,
    ) -> Result<(), String> {
        match template {
            Value::String(text) => self.add(text, page, 0, found),
            Value::Array(items) => items.iter().try_for_each(|item| self.add_texts(item, page, found)),
            Value::Object(members) => members.values().try_for_each(|item| self.add_texts(item, page, found)),
            Value::Null | Value::Bool(_) | Value::Number(_) => Ok(()),
        }
    }

    fn add<'a>(
        &'a self,
        text: &'a str,
        page: Option<&'a Page>,
        depth: usize,
        found: &mut BTreeSet<&'a str>,
    ) -> Result<(), String> {
        for placeholder in template::placeholders(text) {
            match placeholder {
                Placeholder::Column { query, .. } => {
                    found.insert(self.known(query)?);
                }
                Placeholder::Value(name) => self.add_value(name, page, depth, found)?,
            }
        }
        Ok(())
    }

    fn add_value<'a>(
        &'a self,
        name: &str,
        page: Option<&'a Page>,
        depth: usize,
        found: &mut BTreeSet<&'a str>,
    ) -> Result<(), String> {
        if BUILT_IN.contains(&name) {
            return Ok(());
        }
        let source = self.source(name, page).ok_or_else(|| format!("there is no value {name:?}"))?;
        found.insert(self.known(&source.query)?);
        match &source.otherwise {
            Some(_) if depth == MAX_DEPTH => Err(format!("value {name:?} stands in for itself")),
            Some(otherwise) => self.add(otherwise, page, depth + 1, found),
            None => Ok(()),
        }
    }

    fn known<'a>(&'a self, query: &str) -> Result<&'a str, String> {
        let known = self.queries.get_key_value(query).map(|(name, _)| name.as_str());
        known.ok_or_else(|| format!("there is no query {query:?}"))
    }
}

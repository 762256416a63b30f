//! A built client's description of the heads of its pages: `.heads.json` beside its page.

use std::collections::{BTreeMap, BTreeSet};

use serde::Deserialize;
use serde_json::Value;

use super::template::{self, Placeholder};

/// The values that every page has without a query.
const GIVEN: [&str; 4] = ["origin", "path", "storage", "images"];

/// How deep values may stand in for one another.
const DEPTH: usize = 4;

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
    pub(super) closed: Option<Closed>,
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
    /// Values of this page alone; they win over those that all pages share.
    #[serde(default)]
    pub(super) values: BTreeMap<String, Source>,
    /// The query without whose row there is no such page.
    pub(super) requires: Option<String>,
    pub(super) is_listed: bool,
    /// The name of the value that holds when the page was last changed.
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

/// Where a value comes from.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Source {
    pub(super) query: String,
    pub(super) column: String,
    /// Columns and the texts that the wanted row has in them; the first such row counts.
    #[serde(default, rename = "where")]
    pub(super) conditions: BTreeMap<String, String>,
    #[serde(default)]
    pub(super) steps: Vec<Step>,
    /// The text where none is stored. It goes through the steps, too.
    pub(super) default: Option<String>,
    /// What stands in for the value where there is no default; a template.
    pub(super) otherwise: Option<String>,
}

/// How a stored text becomes a value.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum Step {
    /// Takes off the quotes around it.
    Unquote,
    /// Takes the text of one member of the JSON object that it is.
    Member(String),
    /// Takes the first paragraph, cut after the last whole word that fits into so many characters.
    Excerpt(usize),
    /// Makes `bucket/path` the public URL of the stored file.
    File {
        /// Where a path without a bucket lies.
        bucket: String,
        /// Whether paths that begin with a slash are the site's own files and stay as they are.
        #[serde(default)]
        own: bool,
    },
}

/// When the site is closed to the public, and which page then speaks for all of them.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Closed {
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
    /// Reads the file.
    ///
    /// Errors: a sentence that names what is malformed or what is named but not described.
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

    /// Returns the names of the queries that `page` needs an answer to.
    ///
    /// Errors: a sentence about a name that stands for nothing.
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

    /// Returns the names of the queries that a document needs an answer to.
    pub(super) fn queries_in<'a>(&'a self, template: &'a Value) -> Result<BTreeSet<&'a str>, String> {
        let mut found = BTreeSet::new();
        self.add_texts(template, None, &mut found)?;
        Ok(found)
    }

    /// Returns where the value called `name` comes from on `page`.
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
        if GIVEN.contains(&name) {
            return Ok(());
        }
        let source = self.source(name, page).ok_or_else(|| format!("there is no value {name:?}"))?;
        found.insert(self.known(&source.query)?);
        match &source.otherwise {
            Some(_) if depth == DEPTH => Err(format!("value {name:?} stands in for itself")),
            Some(otherwise) => self.add(otherwise, page, depth + 1, found),
            None => Ok(()),
        }
    }

    fn known<'a>(&'a self, query: &str) -> Result<&'a str, String> {
        let known = self.queries.get_key_value(query).map(|(name, _)| name.as_str());
        known.ok_or_else(|| format!("there is no query {query:?}"))
    }
}

//! Metadata for search engines and link previews: title, description, canonical address, Open Graph, JSON-LD,
//! `robots.txt`, `sitemap.xml` and the web manifest.
//!
//! The client's `.heads.json` describes its pages, their heads, and the rows of the API that fill them. Rows are read
//! with the rights of visitors, so a head shows nothing that the page itself could not show. A client without this file
//! is served unchanged.

mod description;
mod documents;
mod rows;
mod scope;
mod template;

use std::fmt::Write as _;
use std::sync::Arc;

use futures_util::future::join_all;
use gateway::escape_html;
use parking_lot::Mutex;
use percent_encoding::{NON_ALPHANUMERIC, utf8_percent_encode};
use poem::http::StatusCode;

use crate::assets::Assets;
use crate::page;
use description::{Description, Page, Tag};
pub use rows::Api;
use rows::{Limits, Rows};
use scope::{Results, Scope};

/// The address of a requested page.
pub(crate) struct Location<'a> {
    /// The origin of the request.
    pub(crate) origin: &'a str,
    /// The URL of the storage's public files.
    pub(crate) storage: &'a str,
    /// The URL of the public pictures in the width that a query string specifies.
    pub(crate) images: &'a str,
    /// The page's path, without slashes at its end.
    pub(crate) path: &'a str,
}

/// A page's head and first screen as HTML, and the status that the page is served with.
pub(crate) struct Head {
    pub(crate) html: String,
    /// HTML that the page shows until its scripts run.
    pub(crate) screen: Option<String>,
    pub(crate) status: StatusCode,
}

impl Head {
    /// Returns the head of `page`; a page that does not exist has no first screen.
    fn of(scope: &Scope<'_>, page: &Page, exists: bool) -> Self {
        let screen = page.screen.as_deref().filter(|_| exists).map(|screen| scope.fill_html(screen));
        let status = if exists { StatusCode::OK } else { StatusCode::NOT_FOUND };
        Self { html: html(scope, page), screen, status }
    }
}

/// The heads of the client's pages.
pub(crate) struct Heads {
    rows: Rows,
    /// The latest description, and the tag of its file.
    current: Mutex<Option<(String, Option<Arc<Description>>)>>,
}

impl Heads {
    /// Returns heads that are filled with rows of `api`; without one, with defaults.
    pub(crate) fn new(api: Option<Api>) -> Self {
        Self { rows: Rows::new(api, Limits::default()), current: Mutex::default() }
    }

    /// Returns the description among `assets`; `None` if there is none or it is invalid.
    pub(crate) async fn description(&self, assets: &Assets) -> Option<Arc<Description>> {
        let file = assets.heads().await?;
        if let Some((etag, description)) = &*self.current.lock()
            && *etag == file.etag
        {
            return description.clone();
        }
        let parsed = Description::parse(&file.body).map(Arc::new);
        let parsed = parsed.inspect_err(|reason| {
            tracing::error!(
                reason,
                "the client's .heads.json cannot be used; its pages are served as they are"
            );
        });
        let description = parsed.ok();
        *self.current.lock() = Some((file.etag, description.clone()));
        description
    }

    /// Returns the head of the page at `location`.
    pub(crate) async fn page(&self, description: &Description, location: &Location<'_>) -> Head {
        let found = description.pages.get_key_value(location.path);
        let (route, page) =
            found.map_or(("", &description.not_found), |(route, page)| (route.as_str(), page));
        let results = self.results(description, page, route).await;
        let scope = Scope::new(description, Some(page), location, &results);
        if let Some(gate) = self.gate(description, &scope) {
            let location = Location { path: gate.0, ..*location };
            let results = self.results(description, gate.1, gate.0).await;
            let scope = Scope::new(description, Some(gate.1), &location, &results);
            return Head::of(&scope, gate.1, found.is_some());
        }
        Head::of(&scope, page, found.is_some() && !is_missing(page, &results))
    }

    /// Returns the page whose head all pages have while the site is closed to the public; `None` if it is open.
    fn gate<'a>(&self, description: &'a Description, scope: &Scope<'_>) -> Option<(&'a str, &'a Page)> {
        let closed = description.closed.as_ref()?;
        let (path, page) = description.pages.get_key_value(&closed.page)?;
        (scope.value(&closed.value) == closed.is).then_some((path.as_str(), page))
    }

    /// Returns the results of the queries of `page` at `route`.
    async fn results<'a>(&self, description: &'a Description, page: &'a Page, route: &str) -> Results<'a> {
        let queries = description.queries_of(page).unwrap_or_default();
        self.ask(description, queries, route).await
    }

    async fn ask<'a>(
        &self,
        description: &'a Description,
        queries: impl IntoIterator<Item = &'a str>,
        route: &str,
    ) -> Results<'a> {
        let route = utf8_percent_encode(route, NON_ALPHANUMERIC).to_string();
        let reads = queries.into_iter().map(|name| {
            let target = description.queries.get(name).map_or("", String::as_str);
            let target = target.replace("{{path}}", &route);
            async move { Some((name, self.rows.read(&target).await?)) }
        });
        join_all(reads).await.into_iter().flatten().collect()
    }
}

/// Reports whether the page's required row does not exist.
fn is_missing(page: &Page, results: &Results<'_>) -> bool {
    let required = page.requires.as_deref().and_then(|query| results.get(query));
    required.is_some_and(|rows| rows.is_empty())
}

/// Returns the elements of `page`'s head.
fn html(scope: &Scope<'_>, page: &Page) -> String {
    let mut html = format!("<title>{}</title>", escape_html(&scope.fill(&page.title)));
    for element in &page.elements {
        html.push_str(match element.tag {
            Tag::Link => "\n    <link",
            Tag::Meta => "\n    <meta",
        });
        for (name, value) in &element.attributes {
            // Writing to a string cannot fail.
            let _ = write!(html, " {}=\"{}\"", escape_html(name), escape_html(&scope.fill(value)));
        }
        html.push('>');
    }
    if let Some(json_ld) = page.json_ld.as_ref().and_then(|template| scope.render(template)) {
        let json = page::escape(&json_ld.to_string());
        let _ = write!(html, "\n    <script id=\"json-ld\" type=\"application/ld+json\">{json}</script>");
    }
    html
}

#[cfg(test)]
mod tests;

//! Files for search engines and browsers, generated from the description of the pages.

use std::fmt::Write as _;

use super::description::Description;
use super::scope::Scope;
use super::{Heads, Location, is_missing};
use crate::File;
use gateway::escape_html;

impl Heads {
    /// Returns the generated document at `location`; `None` if there is none.
    pub(crate) async fn document(&self, description: &Description, location: &Location<'_>) -> Option<File> {
        match location.path {
            "/robots.txt" => Some(self.robots(description, location).await),
            "/sitemap.xml" => Some(self.sitemap(description, location).await),
            path => {
                let document = description.documents.get(path)?;
                let queries = description.queries_in(&document.body).unwrap_or_default();
                let results = self.ask(description, queries, "").await;
                let scope = Scope::new(description, None, location, &results);
                let body = scope.render(&document.body)?.to_string();
                Some(File::generated(document.content_type.clone(), body))
            }
        }
    }

    /// Returns `robots.txt`. Source: RFC 9309; `Sitemap` is that of sitemaps.org.
    async fn robots(&self, description: &Description, location: &Location<'_>) -> File {
        let body = match self.is_closed(description, location).await {
            true => "User-agent: *\nDisallow: /\n".to_owned(),
            false => format!("User-agent: *\nAllow: /\n\nSitemap: {}/sitemap.xml\n", location.origin),
        };
        File::generated("text/plain; charset=utf-8".to_owned(), body)
    }

    /// Returns `sitemap.xml`. Source: the protocol of sitemaps.org, version 0.9.
    async fn sitemap(&self, description: &Description, location: &Location<'_>) -> File {
        let mut body = String::from(
            "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<urlset xmlns=\"http://www.sitemaps.org/schemas/sitemap/0.9\">\n",
        );
        let is_closed = self.is_closed(description, location).await;
        let pages = description.pages.iter().filter(|(_, page)| page.is_listed && !is_closed);
        for (path, page) in pages {
            let results = self.results(description, page, path).await;
            if is_missing(page, &results) {
                continue;
            }
            let location = Location { path, ..*location };
            let scope = Scope::new(description, Some(page), &location, &results);
            let modified = page.modified.as_ref().map(|name| scope.value(name));
            let modified = modified.filter(|time| !time.is_empty());
            let modified = modified
                .map_or_else(String::new, |time| format!("<lastmod>{}</lastmod>", escape_html(&time)));
            // Writing to a string cannot fail.
            let _ = writeln!(
                body,
                "  <url><loc>{}{}</loc>{modified}</url>",
                escape_html(location.origin),
                escape_html(path)
            );
        }
        body.push_str("</urlset>\n");
        File::generated("application/xml".to_owned(), body)
    }

    /// Reports whether the site is closed to the public.
    async fn is_closed(&self, description: &Description, location: &Location<'_>) -> bool {
        let page = &description.not_found;
        let results = self.results(description, page, "").await;
        self.gate(description, &Scope::new(description, Some(page), location, &results)).is_some()
    }
}

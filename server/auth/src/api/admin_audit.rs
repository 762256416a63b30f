//! The audit log, for administrators.

use poem::Request;
use poem_openapi::OpenApi;
use poem_openapi::param::Query;
use poem_openapi::payload::{Json, Response};
use postgres::Database;

use super::callers::Callers;
use super::paging::{Page, non_empty};
use crate::Error;
use crate::store::audit::{self, Entry, Scope};

pub(super) struct AdminAuditApi {
    pub(super) callers: Callers,
    pub(super) database: Database,
}

#[OpenApi]
impl AdminAuditApi {
    /// Returns the audit log, newest first.
    #[oai(path = "/admin/audit", method = "get")]
    async fn entries(
        &self,
        request: &Request,
        /// `author:…`, `action:…` or `type:…`: returns only entries whose author, action or type contains the text.
        query: Query<Option<String>>,
        /// The number of the page, from 1.
        page: Query<Option<String>>,
        /// Entries on a page. Default: 50.
        per_page: Query<Option<String>>,
    ) -> Result<Response<Json<Vec<Entry>>>, Error> {
        self.callers.admin(request).await?;
        let page = Page::parse(non_empty(&page), non_empty(&per_page))?;
        let query = non_empty(&query).map(parse).transpose()?.filter(|(_, text)| !text.is_empty());
        let found = audit::page(&self.database, query, page.limit(), page.offset()).await?;
        Ok(Response::new(Json(found.entries))
            .header("link", page.links(request, found.total))
            .header("x-total-count", found.total.to_string()))
    }
}

fn parse(query: &str) -> Result<(Scope, &str), Error> {
    let parsed = query.split_once(':').and_then(|(scope, text)| Some((Scope::of_name(scope)?, text)));
    parsed.filter(|(_, text)| !text.contains('\0')).ok_or_else(|| {
        Error::validation(format!("Invalid query scope: {query:?}; expected author:…, action:… or type:…"))
    })
}

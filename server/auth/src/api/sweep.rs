//! Deletion of some expired rows after each request that changes something.

use http::Method;
use poem::{Endpoint, Request, Response};
use postgres::Database;

use crate::store::cleanup::Cleanup;

/// Wraps the routes: after a request that has changed something, expired rows are deleted if the settings enable this.
pub(super) struct Sweep<E> {
    cleanup: Cleanup,
    database: Database,
    routes: E,
}

impl<E> Sweep<E> {
    pub(super) fn new(cleanup: Cleanup, database: Database, routes: E) -> Self {
        Self { cleanup, database, routes }
    }
}

impl<E: Endpoint<Output = Response>> Endpoint for Sweep<E> {
    type Output = Response;

    async fn call(&self, request: Request) -> poem::Result<Response> {
        let changes =
            matches!(*request.method(), Method::POST | Method::PUT | Method::PATCH | Method::DELETE);
        let response = self.routes.call(request).await?;
        if changes && response.status().is_success() {
            self.cleanup.run(&self.database).await;
        }
        Ok(response)
    }
}

//! Deletion of some expired rows after each request that changes something.

use std::sync::Arc;

use http::Method;
use poem::{Endpoint, Request, Response};

use crate::Auth;

/// Wraps the routes: after a request that has changed something, expired rows are deleted if the settings enable this.
pub(super) struct Sweep<E> {
    auth: Arc<Auth>,
    answers: E,
}

impl<E> Sweep<E> {
    pub(super) fn new(auth: Arc<Auth>, answers: E) -> Self {
        Self { auth, answers }
    }
}

impl<E: Endpoint<Output = Response>> Endpoint for Sweep<E> {
    type Output = Response;

    async fn call(&self, request: Request) -> poem::Result<Response> {
        let changes =
            matches!(*request.method(), Method::POST | Method::PUT | Method::PATCH | Method::DELETE);
        let response = self.answers.call(request).await?;
        if changes && response.status().is_success() {
            self.auth.cleanup.run(&self.auth.database).await;
        }
        Ok(response)
    }
}

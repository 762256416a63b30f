//! Routes that are exchanged while requests use them.

use std::sync::Arc;

use parking_lot::RwLock;
use poem::{Endpoint, Request};

/// The current routes of a port, an endpoint `E`. A request that has begun ends in the routes in which it began. Cheap
/// to clone.
pub(super) struct CurrentRoutes<E>(Arc<RwLock<Arc<E>>>);

impl<E> CurrentRoutes<E> {
    pub(super) fn new(routes: E) -> Self {
        Self(Arc::new(RwLock::new(Arc::new(routes))))
    }

    /// Lets all requests that come from now on use `routes`.
    pub(super) fn replace(&self, routes: E) {
        *self.0.write() = Arc::new(routes);
    }
}

impl<E> Clone for CurrentRoutes<E> {
    fn clone(&self) -> Self {
        Self(Arc::clone(&self.0))
    }
}

impl<E: Endpoint> Endpoint for CurrentRoutes<E> {
    type Output = E::Output;

    async fn call(&self, request: Request) -> poem::Result<E::Output> {
        let routes = Arc::clone(&self.0.read());
        routes.call(request).await
    }
}

#[cfg(test)]
mod tests {
    use poem::endpoint::{BoxEndpoint, make};
    use poem::{EndpointExt as _, Response};
    use tokio::sync::Notify;

    use super::*;

    #[tokio::test]
    async fn a_request_ends_in_the_routes_in_which_it_began() {
        let (begun, end) = (Arc::new(Notify::new()), Arc::new(Notify::new()));
        let (has_begun, may_end) = (Arc::clone(&begun), Arc::clone(&end));
        let old = make(move |_| {
            let (begun, end) = (Arc::clone(&begun), Arc::clone(&end));
            async move {
                begun.notify_one();
                end.notified().await;
                "old"
            }
        });
        let routes = CurrentRoutes::new(old.map_to_response().boxed());
        let ask = async |routes: &CurrentRoutes<BoxEndpoint<'static, Response>>| {
            let response = routes.call(Request::default()).await.unwrap();
            response.into_body().into_string().await.unwrap()
        };
        let running = tokio::spawn({
            let routes = routes.clone();
            async move { ask(&routes).await }
        });
        has_begun.notified().await;
        routes.replace(make(|_| async { "new" }).map_to_response().boxed());
        assert_eq!(ask(&routes).await, "new");
        may_end.notify_one();
        assert_eq!(running.await.unwrap(), "old");
    }
}

//! Routes that are exchanged while requests use them.

use std::sync::Arc;

use parking_lot::RwLock;
use poem::endpoint::BoxEndpoint;
use poem::{Endpoint, EndpointExt, Request, Response};

/// The current routes of a port. A request that has begun ends in the routes in which it began. Cheap to clone.
#[derive(Clone)]
pub(super) struct CurrentRoutes(Arc<RwLock<Routes>>);

type Routes = Arc<BoxEndpoint<'static, Response>>;

impl CurrentRoutes {
    pub(super) fn new(routes: impl Endpoint + 'static) -> Self {
        Self(Arc::new(RwLock::new(shared(routes))))
    }

    /// Lets all requests that come from now on use `routes`.
    pub(super) fn replace(&self, routes: impl Endpoint + 'static) {
        *self.0.write() = shared(routes);
    }
}

impl Endpoint for CurrentRoutes {
    type Output = Response;

    async fn call(&self, request: Request) -> poem::Result<Response> {
        let routes = Arc::clone(&self.0.read());
        routes.call(request).await
    }
}

fn shared(routes: impl Endpoint + 'static) -> Routes {
    Arc::new(routes.map_to_response().boxed())
}

#[cfg(test)]
mod tests {
    use poem::endpoint::make;
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
        let routes = CurrentRoutes::new(old);
        let ask = async |routes: &CurrentRoutes| {
            let response = routes.call(Request::default()).await.unwrap();
            response.into_body().into_string().await.unwrap()
        };
        let running = tokio::spawn({
            let routes = routes.clone();
            async move { ask(&routes).await }
        });
        has_begun.notified().await;
        routes.replace(make(|_| async { "new" }));
        assert_eq!(ask(&routes).await, "new");
        may_end.notify_one();
        assert_eq!(running.await.unwrap(), "old");
    }
}

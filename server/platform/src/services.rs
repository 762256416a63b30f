//! Requests to other services of the project, as its administrator.

use std::sync::Arc;

use gateway::{Bearer, BearerSource, Caller};
use http::header::AUTHORIZATION;
use http::{HeaderMap, HeaderValue, Method, StatusCode, Uri};
use parking_lot::RwLock;
use poem::endpoint::BoxEndpoint;
use poem::{Endpoint as _, Request, Response};
use serde_json::Value;
use tokens::Keys;

use crate::Error;

/// The largest response in bytes.
const LARGEST: usize = 16 << 20;

/// A service, with paths relative to where it is mounted.
pub type ServiceEndpoint = BoxEndpoint<'static, Response>;

/// A service that runs at present; `None` if it is off.
#[derive(Default)]
pub(crate) struct Service(RwLock<Option<Arc<ServiceEndpoint>>>);

impl Service {
    /// Replaces it.
    pub(crate) fn set(&self, endpoint: ServiceEndpoint) {
        *self.0.write() = Some(Arc::new(endpoint));
    }

    /// Sends a request with further `headers` on behalf of the operator who has sent `request`, and returns the
    /// status and the document of the response.
    ///
    /// Errors: 501 if the service is off; its refusals with their status.
    pub(crate) async fn send(
        &self,
        request: &Request,
        keys: &Keys,
        (method, path): (Method, &str),
        headers: HeaderMap,
        body: Option<&Value>,
    ) -> Result<Value, Error> {
        let endpoint = self.0.read().clone().ok_or_else(|| {
            Error::Refused(StatusCode::NOT_IMPLEMENTED, "That service of this server is off".into())
        })?;
        let uri: Uri = path.parse().map_err(|_| Error::missing("Not found"))?;
        let mut outgoing = Request::builder()
            .method(method)
            .uri(uri)
            .content_type("application/json")
            .body(body.map(Value::to_string).unwrap_or_default());
        outgoing.headers_mut().extend(headers);
        let token = format!("Bearer {}", keys.api_keys().service_role());
        if let Ok(mut token) = HeaderValue::from_str(&token) {
            token.set_sensitive(true);
            outgoing.headers_mut().insert(AUTHORIZATION, token);
        }
        if let Some(caller) = request.extensions().get::<Caller>() {
            let bearer = Bearer::of(outgoing.headers());
            let caller = Caller { bearer, bearer_source: BearerSource::Authorization, ..caller.clone() };
            outgoing.extensions_mut().insert(caller);
        }
        let response = endpoint.call(outgoing).await.map_err(|error| Error::Internal(error.to_string()))?;
        let status = response.status();
        let bytes = response.into_body().into_bytes_limit(LARGEST).await;
        let bytes = bytes.map_err(|error| Error::Internal(error.to_string()))?;
        let document: Value = serde_json::from_slice(&bytes).unwrap_or_default();
        match status.is_success() {
            true => Ok(document),
            false => {
                let message = document["msg"].as_str().or_else(|| document["message"].as_str());
                let message = message.unwrap_or("The service refused the request");
                Err(Error::Refused(status, message.to_owned().into()))
            }
        }
    }
}

//! Requests to the Management API of this process.

use std::sync::Arc;

use http::{Method, StatusCode};
use poem::endpoint::BoxEndpoint;
use poem::{Endpoint as _, EndpointExt as _, Request, Response};
use serde::de::DeserializeOwned;
use serde_json::Value;

use crate::access::Operator;
use crate::api::{self, Context};

/// The largest response in bytes that becomes an answer.
const LARGEST: usize = 64 << 20;

/// The endpoints below `/v1`, for an operator who is known already.
#[derive(Clone)]
pub(super) struct Requests(Arc<BoxEndpoint<'static, Response>>);

impl Requests {
    pub(super) fn new(context: &Arc<Context>) -> Self {
        Self(Arc::new(api::for_known_operators(Arc::clone(context)).boxed()))
    }

    /// Sends a request as `operator`, and returns the body of its response.
    ///
    /// Errors: the message of a response that is an error; `fallback` if it has none.
    pub(super) async fn send<T: DeserializeOwned + Default>(
        &self,
        operator: &Operator,
        (method, path): (Method, &str),
        body: Option<&Value>,
        fallback: &str,
    ) -> Result<T, String> {
        let mut request = Request::builder().method(method).content_type("application/json");
        if let Ok(uri) = path.parse() {
            request = request.uri(uri);
        }
        let request = request.body(body.map(Value::to_string).unwrap_or_default());
        let (status, bytes) = self.exchange(operator, request).await?;
        if status.is_success() {
            return Ok(serde_json::from_slice(&bytes).unwrap_or_default());
        }
        let value = serde_json::from_slice::<Value>(&bytes).unwrap_or(Value::Null);
        Err(value["message"].as_str().unwrap_or(fallback).to_owned())
    }

    /// Sends `request` as `operator`, and returns the status and the body of its response.
    pub(super) async fn exchange(
        &self,
        operator: &Operator,
        mut request: Request,
    ) -> Result<(StatusCode, Vec<u8>), String> {
        request.extensions_mut().insert(operator.clone());
        let response = self.0.call(request).await.map_err(|error| error.to_string())?;
        let status = response.status();
        let bytes = response.into_body().into_bytes_limit(LARGEST).await;
        Ok((status, bytes.map_err(|error| error.to_string())?.into()))
    }
}

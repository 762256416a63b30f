//! Calls functions on a schedule, as `pg_cron` does on the hosted platform.

use std::net::{IpAddr, Ipv4Addr};
use std::sync::Arc;
use std::time::Duration;

use futures_util::future::BoxFuture;
use http::header::{AUTHORIZATION, CONTENT_TYPE};
use http::{HeaderValue, Method};
use poem::Request;
use tokio::time::{Instant, MissedTickBehavior, interval_at};

use crate::relay::Origin;
use crate::{Error, Inner};

/// Claims the next call of a function for this server, given the function's name and the interval of its calls. Returns
/// `false` if another server of the project makes the call; an error if that is not known.
pub type TakeCall = Arc<dyn Fn(String, Duration) -> BoxFuture<'static, Result<bool, String>> + Send + Sync>;

/// The body of a scheduled call.
const BODY: &str = r#"{"type":"scheduled"}"#;
/// The maximum number of bytes that are read of a response.
const LONGEST_RESPONSE: usize = 1024 * 1024;

/// Starts a task for each schedule in the settings, which makes its calls until the server stops. Without `take_call`
/// this server makes all calls.
pub(crate) fn run(functions: &Arc<Inner>, take_call: Option<&TakeCall>) {
    for (name, &every) in &functions.host.configuration().settings.schedules {
        let (functions, name, take_call) = (Arc::clone(functions), name.clone(), take_call.cloned());
        // An interval of zero would be an endless loop.
        let every = every.max(Duration::from_secs(1));
        functions.host.tasks.clone().spawn(async move {
            let mut ticks = interval_at(Instant::now() + every, every);
            ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
            let calls = async {
                loop {
                    ticks.tick().await;
                    call_if_due(&functions, &name, every, take_call.as_ref()).await;
                }
            };
            functions.host.stop.run_until_cancelled(calls).await;
        });
    }
}

/// Makes the call, unless another server does. Logs a failure; the call is not repeated.
async fn call_if_due(functions: &Inner, name: &str, every: Duration, take_call: Option<&TakeCall>) {
    if let Some(take_call) = take_call {
        match take_call(name.to_owned(), every).await {
            Ok(true) => {}
            Ok(false) => return,
            Err(error) => {
                tracing::warn!(function = name, error, "a scheduled call is left out");
                return;
            }
        }
    }
    match call(functions, name).await {
        Ok(status) if status.is_success() => {}
        Ok(status) => tracing::warn!(function = name, %status, "a scheduled call failed"),
        Err(error) => tracing::warn!(function = name, %error, "a scheduled call failed"),
    }
}

async fn call(functions: &Inner, name: &str) -> Result<http::StatusCode, Error> {
    let processes = functions.processes(name)?;
    let configuration = functions.host.configuration();
    let key = configuration.environment.get("SUPABASE_SERVICE_ROLE_KEY").map_or("", String::as_str);
    let request = Request::builder()
        .method(Method::POST)
        .uri(format!("/{name}").parse().map_err(|_| Error::NotFound)?)
        .header(AUTHORIZATION, format!("Bearer {key}"))
        .header(CONTENT_TYPE, "application/json")
        .body(BODY);
    let request_id = HeaderValue::from_str(&uuid::Uuid::new_v4().to_string()).map_err(|_| Error::NotFound)?;
    let origin = Origin { address: IpAddr::V4(Ipv4Addr::LOCALHOST), request_id: &request_id };
    let response = functions.relay(Box::new(request), origin, processes).await?;
    let status = response.status();
    // The response is read to its end, so that the connection can be reused for another call.
    let _ = response.into_body().into_bytes_limit(LONGEST_RESPONSE).await;
    Ok(status)
}

//! `basalt functions serve` beside a running server, which then serves the functions as that command asks.

use std::time::Duration;

use functions::{Functions, Overrides};
use futures_util::stream;
use gateway::Bearer;
use poem::http::{Method, StatusCode};
use poem::{Body, Endpoint, Request, Response, endpoint};
use tokio_util::sync::CancellationToken;

use crate::backend;
use crate::console;
use crate::error::Error;
use crate::instance::Instance;
use crate::server;
use crate::settings::Settings;

/// The path on the admin port that begins a session, which lasts as long as its response is read.
pub(super) const SESSIONS: &str = "/functions/session";
/// How often a line is sent at least. Only a line that cannot be sent shows that the command has ended.
const BEAT: Duration = Duration::from_secs(1);
/// The maximum number of bytes of the variables.
const BODY_LIMIT: usize = 4 << 20;

/// Returns the endpoint that begins sessions, for whoever has the project's keys.
pub(super) fn sessions(
    functions: Functions,
    keys: &tokens::Keys,
    draining: CancellationToken,
) -> impl Endpoint<Output = Response> + use<> {
    let keys = keys.clone();
    endpoint::make(move |request| {
        let (functions, draining) = (functions.clone(), draining.clone());
        let is_allowed = is_allowed(&keys, &request);
        async move {
            Ok::<_, poem::Error>(match is_allowed {
                true => begin(&functions, draining, request).await.unwrap_or_else(Into::into),
                false => StatusCode::UNAUTHORIZED.into(),
            })
        }
    })
}

/// Derived keys are compared, so that the time of the comparison tells nothing.
fn is_allowed(keys: &tokens::Keys, request: &Request) -> bool {
    let given = Bearer::of(request.headers());
    given.is_some_and(|given| keys.derive(&given) == keys.derive(&key(keys)))
}

fn key(keys: &tokens::Keys) -> String {
    keys.derive("sessions of functions")
}

/// Responds with the lines of the functions' log until the command that asked has ended, or the server stops.
async fn begin(
    functions: &Functions,
    draining: CancellationToken,
    mut request: Request,
) -> Result<Response, StatusCode> {
    if request.method() != Method::POST {
        return Err(StatusCode::METHOD_NOT_ALLOWED);
    }
    let body = request.take_body().into_bytes_limit(BODY_LIMIT).await;
    let body = body.map_err(|_| StatusCode::PAYLOAD_TOO_LARGE)?;
    let overrides: Overrides = serde_json::from_slice(&body).map_err(|_| StatusCode::UNPROCESSABLE_ENTITY)?;
    let session = functions.begin_session(overrides).ok_or(StatusCode::CONFLICT)?;
    let lines = stream::unfold((session, draining), |(mut session, draining)| async move {
        let line = tokio::select! {
            line = session.next_line() => line?,
            () = tokio::time::sleep(BEAT) => String::new(),
            () = draining.cancelled() => return None,
        };
        Some((Ok::<_, std::io::Error>(format!("{line}\n")), (session, draining)))
    });
    Ok(Response::builder().content_type("text/plain; charset=utf-8").body(Body::from_bytes_stream(lines)))
}

/// Lets the server `instance` serve the functions with these `settings`, and prints their log until a signal ends that.
/// `is_open` accepts calls without a token. Returns `false` if that server serves no functions, or is an older one.
///
/// Errors: if the server has other keys, or does so for another command already.
pub(super) async fn hand_over(
    settings: &Settings,
    instance: &Instance,
    is_open: bool,
) -> Result<bool, Error> {
    let Some(functions) = &settings.services.functions else { return Ok(false) };
    let overrides = Overrides {
        variables: functions.secrets.0.clone(),
        env_file: functions.env_file.clone().map(|variables| variables.0),
        is_open,
    };
    let signals = server::stop_on_signals()?;
    let failed =
        |error: reqwest::Error| Error::Advice(format!("the running server does not answer: {error}"));
    let client = reqwest::Client::builder().no_proxy().build().map_err(failed)?;
    let request = client
        .post(format!("{}{SESSIONS}", instance.admin_url))
        .bearer_auth(key(&backend::keys(settings)?))
        .json(&overrides);
    let mut response = request.send().await.map_err(failed)?;
    match response.status() {
        StatusCode::OK => {}
        StatusCode::NOT_FOUND => return Ok(false),
        StatusCode::CONFLICT => {
            let message = "another `basalt functions serve` of this project is running: stop it first";
            return Err(Error::Advice(message.to_owned()));
        }
        status => {
            return Err(Error::Advice(format!(
                "the running server refuses ({status}): call this with the same environment, such as JWT_SECRET"
            )));
        }
    }
    let url = &instance.api_url;
    console::print(format_args!(
        "The running server serves the functions at {url}/functions/v1/<name>; changed files take effect at the next \
         call. Ctrl-C ends this."
    ));
    let mut rest = Vec::new();
    loop {
        let part = tokio::select! {
            part = response.chunk() => part,
            () = signals.cancelled() => return Ok(true),
        };
        let Ok(Some(part)) = part else {
            console::note("The server has stopped.");
            return Ok(true);
        };
        rest.extend_from_slice(&part);
        while let Some(end) = rest.iter().position(|&byte| byte == b'\n') {
            let line: Vec<u8> = rest.drain(..=end).collect();
            let line = String::from_utf8_lossy(&line);
            if !line.trim().is_empty() {
                console::print(line.trim_end());
            }
        }
    }
}

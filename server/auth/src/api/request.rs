//! What endpoints want to know of a request.

use gateway::Caller;
use http::HeaderName;
use http::header::USER_AGENT;
use poem::Request;

use crate::flows::bearer::{self, Bearer};
use crate::store::sessions::Client;
use crate::{Auth, Error};

const AUDIENCE: HeaderName = HeaderName::from_static("x-jwt-aud");

fn caller(request: &Request) -> Result<&Caller, Error> {
    request
        .extensions()
        .get()
        .ok_or_else(|| Error::Internal("there is no gateway in front of auth".to_owned()))
}

/// Where the request comes from.
pub(super) fn client(request: &Request) -> Result<Client<'_>, Error> {
    let user_agent = request.headers().get(USER_AGENT).and_then(|agent| agent.to_str().ok());
    Ok(Client { user_agent, address: caller(request)?.address })
}

/// The user whose access token the request carries; errors as [`bearer::authenticate`].
pub(super) async fn bearer(auth: &Auth, request: &Request) -> Result<Bearer, Error> {
    bearer::authenticate(auth, caller(request)?.bearer.as_deref()).await
}

/// The audience that the request is about: header `X-JWT-AUD`, else that of the caller's token unless it is an
/// administrator's, else the configured one.
pub(super) fn audience<'a>(auth: &'a Auth, request: &'a Request, bearer: Option<&'a Bearer>) -> &'a str {
    let header = request.headers().get(AUDIENCE).and_then(|value| value.to_str().ok());
    let token = || bearer.filter(|bearer| !bearer.is_admin(auth)).and_then(Bearer::audience);
    let named = header.filter(|name| !name.is_empty()).or_else(|| token().filter(|name| !name.is_empty()));
    named.unwrap_or(&auth.settings.token.audience)
}

//! An authorization server for agents: with it, a client of `/mcp` gets a token of its own, after an operator of the
//! server has agreed. Operators show who they are with their own access token.
//!
//! Sources: the authorization of the Model Context Protocol; OAuth 2.1 (draft 13), RFC 7591, 7636, 8414, 8707, 9207, 9728.

mod page;
mod redirect;

use std::sync::Arc;

use data_encoding::{BASE64URL_NOPAD, HEXLOWER};
use gateway::Caller;
use http::header::{CACHE_CONTROL, LOCATION};
use http::{HeaderValue, Method, StatusCode};
use poem::{Endpoint, Request, Response, endpoint};
use serde::Deserialize;
use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};
use url::form_urlencoded;

use crate::access::{self, Operator};
use crate::api::Context;
use crate::error::{self, Error};
use crate::store::oauth::{self, Client, Grant};

/// Where the server is mounted, which is also the path of its identifier.
pub(crate) const PATH: &str = "/v1/oauth";
/// The largest body in bytes.
const LARGEST: usize = 64 << 10;
/// The longest name of a client, and the most redirects that it may have.
const LONGEST_NAME: usize = 100;
const MOST_REDIRECTS: usize = 10;
/// How long the verifier of a code may be (RFC 7636, section 4.1).
const VERIFIER: std::ops::RangeInclusive<usize> = 43..=128;
/// How long an access token is valid, in seconds.
const LIFETIME: u32 = 3600;

/// An error of OAuth: its code and its description.
struct Refusal(&'static str, &'static str);

/// A registration (RFC 7591, section 2).
#[derive(Deserialize)]
struct Registration {
    redirect_uris: Vec<String>,
    client_name: Option<String>,
}

/// The fields of a form, or of a query string.
struct Fields(Vec<(String, String)>);

impl Fields {
    fn parse(text: &[u8]) -> Self {
        Self(form_urlencoded::parse(text).into_owned().collect())
    }

    /// Returns the first value of `name`; empty without one.
    fn get(&self, name: &str) -> &str {
        self.0.iter().find(|(known, _)| known == name).map_or("", |(_, value)| value)
    }
}

/// Returns the metadata of the resource `/mcp` (RFC 9728). Its identifier has the query string that it was asked for
/// with: clients compare it with the URL that they use.
pub(crate) fn resource_metadata(context: Arc<Context>) -> impl Endpoint<Output = Response> + use<> {
    endpoint::make(move |request: Request| {
        let context = Arc::clone(&context);
        async move {
            if !["", "/", crate::MCP].contains(&request.uri().path()) {
                return Ok::<_, poem::Error>(missing());
            }
            let url = &context.settings.api_url;
            let query = request.uri().query().map(|query| format!("?{query}")).unwrap_or_default();
            let body = json!({
                "resource": format!("{url}{}{query}", crate::MCP),
                "authorization_servers": [format!("{url}{PATH}")],
                "bearer_methods_supported": ["header"],
                "resource_name": "Basalt",
            });
            Ok(if context.is_open() { ok(&body) } else { missing() })
        }
    })
}

/// Returns the metadata of the authorization server (RFC 8414).
pub(crate) fn server_metadata(context: Arc<Context>) -> impl Endpoint<Output = Response> + use<> {
    endpoint::make(move |request: Request| {
        let context = Arc::clone(&context);
        async move {
            if !["", "/"].contains(&request.uri().path()) {
                return Ok::<_, poem::Error>(missing());
            }
            let issuer = format!("{}{PATH}", context.settings.api_url);
            let body = json!({
                "issuer": issuer,
                "authorization_endpoint": format!("{issuer}/authorize"),
                "token_endpoint": format!("{issuer}/token"),
                "registration_endpoint": format!("{issuer}/register"),
                "revocation_endpoint": format!("{issuer}/revoke"),
                "response_types_supported": ["code"],
                "response_modes_supported": ["query"],
                "grant_types_supported": ["authorization_code", "refresh_token"],
                "token_endpoint_auth_methods_supported": ["none"],
                "code_challenge_methods_supported": ["S256"],
                "authorization_response_iss_parameter_supported": true,
            });
            Ok(if context.is_open() { ok(&body) } else { missing() })
        }
    })
}

/// Returns the endpoints below [`PATH`].
pub(crate) fn endpoint(context: Arc<Context>) -> impl Endpoint<Output = Response> + use<> {
    endpoint::make(move |mut request: Request| {
        let context = Arc::clone(&context);
        async move {
            if !context.is_open() {
                return Ok::<_, poem::Error>(missing());
            }
            let body = match request.take_body().into_bytes_limit(LARGEST).await {
                Ok(body) => body,
                Err(_) => {
                    return Ok(refused(&Refusal("invalid_request", "the body is too large or incomplete")));
                }
            };
            let path = request.uri().path().to_owned();
            let outcome = match (request.method(), path.as_str()) {
                (&Method::POST, "/register") => register(&context, &request, &body).await,
                (&Method::GET, "/authorize") => {
                    let fields = Fields::parse(request.uri().query().unwrap_or_default().as_bytes());
                    ask(&context, &fields, None).await
                }
                (&Method::POST, "/authorize") => consent(&context, &request, &Fields::parse(&body)).await,
                (&Method::POST, "/token") => token(&context, &Fields::parse(&body)).await,
                (&Method::POST, "/revoke") => revoke(&context, &Fields::parse(&body)).await,
                _ => Ok(missing()),
            };
            Ok(outcome.unwrap_or_else(Error::into_response))
        }
    })
}

fn ok(body: &Value) -> Response {
    Response::builder().content_type("application/json").body(body.to_string())
}

fn missing() -> Response {
    error::response(StatusCode::NOT_FOUND, "Not found")
}

/// Returns the response of an error (RFC 6749, section 5.2).
fn refused(Refusal(code, description): &Refusal) -> Response {
    let body = json!({ "error": code, "error_description": description });
    let builder = Response::builder().status(StatusCode::BAD_REQUEST).content_type("application/json");
    builder.header(CACHE_CONTROL, "no-store").body(body.to_string())
}

/// Registers a client, which has no secret.
async fn register(context: &Context, request: &Request, body: &[u8]) -> Result<Response, Error> {
    let Ok(wanted) = serde_json::from_slice::<Registration>(body) else {
        return Ok(refused(&Refusal(
            "invalid_client_metadata",
            "redirect_uris is missing, or this is not JSON",
        )));
    };
    let uris = &wanted.redirect_uris;
    if uris.is_empty() || uris.len() > MOST_REDIRECTS || !uris.iter().all(|uri| redirect::is_valid(uri)) {
        let description =
            "redirect_uris: expected https, a loopback address, or a scheme of the client's own";
        return Ok(refused(&Refusal("invalid_redirect_uri", description)));
    }
    let client = Client {
        name: shown_name(&wanted.client_name.unwrap_or_default()),
        redirect_uris: wanted.redirect_uris,
    };
    let address = request.extensions().get::<Caller>().map(|caller| caller.address);
    if address.is_some_and(|address| context.inner().registrations.are_too_many(address)) {
        return Err(Error::Refused(StatusCode::TOO_MANY_REQUESTS, "Too many clients are registered".into()));
    }
    let id = uuid::Uuid::new_v4().to_string();
    if !oauth::register(&context.inner().store, &id, &client).await? {
        return Err(Error::Refused(StatusCode::TOO_MANY_REQUESTS, "Too many clients are registered".into()));
    }
    let body = json!({
        "client_id": id,
        "client_id_issued_at": time::OffsetDateTime::now_utc().unix_timestamp(),
        "client_name": client.name,
        "redirect_uris": client.redirect_uris,
        "grant_types": ["authorization_code", "refresh_token"],
        "response_types": ["code"],
        "token_endpoint_auth_method": "none",
    });
    Ok(Response::builder()
        .status(StatusCode::CREATED)
        .content_type("application/json")
        .body(body.to_string()))
}

/// Returns the name of a client as it is shown: without what cannot be seen or changes the direction of text.
fn shown_name(name: &str) -> String {
    let is_shown = |c: &char| {
        !c.is_control()
            && !matches!(c, '\u{ad}' | '\u{61c}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{feff}')
    };
    let shown: String = name.chars().filter(is_shown).take(LONGEST_NAME).collect();
    match shown.trim() {
        "" => "An agent".to_owned(),
        shown => shown.to_owned(),
    }
}

/// Returns the client of a request for authorization, if the request may be answered by a redirect to it.
///
/// Errors: what to show to the person in front of the browser.
async fn client_of(context: &Context, fields: &Fields) -> Result<Result<Client, &'static str>, Error> {
    let Some(client) = oauth::client(&context.inner().store, fields.get("client_id")).await? else {
        return Ok(Err("This client is not registered here."));
    };
    let uri = fields.get("redirect_uri");
    Ok(match client.redirect_uris.iter().any(|known| redirect::matches(known, uri)) {
        true => Ok(client),
        false => Err("The client asks to be called back at an address that it has not registered."),
    })
}

/// Returns what is wrong with a request for authorization whose client is known.
fn problem(fields: &Fields) -> Option<Refusal> {
    if fields.get("response_type") != "code" {
        return Some(Refusal("unsupported_response_type", "response_type: expected code"));
    }
    let challenge = fields.get("code_challenge");
    if fields.get("code_challenge_method") != "S256" || challenge.len() != 43 {
        return Some(Refusal("invalid_request", "code_challenge: expected one with the method S256"));
    }
    None
}

/// Shows the page on which an operator agrees, or is told that `wrong`.
async fn ask(context: &Context, fields: &Fields, wrong: Option<&str>) -> Result<Response, Error> {
    let client = match client_of(context, fields).await? {
        Ok(client) => client,
        Err(reason) => return Ok(page::refusal(reason)),
    };
    if let Some(Refusal(code, _)) = problem(fields) {
        return Ok(redirected(context, fields, &[("error", code)]));
    }
    Ok(page::consent(&client, &fields.0, redirect::host(fields.get("redirect_uri")), wrong))
}

/// Takes the answer of an operator, who shows an access token.
async fn consent(context: &Context, request: &Request, fields: &Fields) -> Result<Response, Error> {
    if let Err(reason) = client_of(context, fields).await? {
        return Ok(page::refusal(reason));
    }
    if let Some(Refusal(code, _)) = problem(fields) {
        return Ok(redirected(context, fields, &[("error", code)]));
    }
    if fields.get("answer") != "allow" {
        return Ok(redirected(context, fields, &[("error", "access_denied")]));
    }
    let inner = context.inner();
    let address = request.extensions().get::<Caller>().map(|caller| caller.address);
    let found =
        Operator::with_token(fields.get("token").trim(), address, &inner.store, &inner.failures).await;
    let operator = match found {
        Ok(operator) => operator,
        Err(Error::Refused(..)) => {
            return ask(context, fields, Some("This access token is not valid.")).await;
        }
        Err(error) => return Err(error),
    };
    if operator.is_granted() {
        return ask(context, fields, Some("Use an access token of your own, not one of an agent.")).await;
    }
    let scopes = operator.scopes_for_agent(fields.get("access") != "all");
    if scopes.as_ref().is_some_and(Vec::is_empty) {
        return ask(context, fields, Some("This access token may not read, so the agent could do nothing."))
            .await;
    }
    let grant = Grant {
        client: fields.get("client_id").to_owned(),
        redirect_uri: fields.get("redirect_uri").to_owned(),
        challenge: fields.get("code_challenge").to_owned(),
        scopes,
        parent: operator.id(),
    };
    let code = HEXLOWER.encode(&rand::random::<[u8; 32]>());
    oauth::grant(&inner.store, &Sha256::digest(&code), &grant).await?;
    context
        .audit(&operator, "oauth.grant", json!({ "client": grant.client, "scopes": grant.scopes }))
        .await?;
    Ok(redirected(context, fields, &[("code", &code)]))
}

/// Sends the browser back to the client, with the parameters of the response (RFC 6749, section 4.1.2; RFC 9207).
fn redirected(context: &Context, fields: &Fields, parameters: &[(&str, &str)]) -> Response {
    let issuer = format!("{}{PATH}", context.settings.api_url);
    let mut query = form_urlencoded::Serializer::new(String::new());
    query.extend_pairs(parameters).append_pair("iss", &issuer);
    if !fields.get("state").is_empty() {
        query.append_pair("state", fields.get("state"));
    }
    let uri = fields.get("redirect_uri");
    let joint = if uri.contains('?') { '&' } else { '?' };
    let target = format!("{uri}{joint}{}", query.finish());
    let builder = Response::builder().status(StatusCode::SEE_OTHER).header(CACHE_CONTROL, "no-store");
    match HeaderValue::from_str(&target) {
        Ok(target) => builder.header(LOCATION, target).finish(),
        Err(_) => page::refusal("The client asks to be called back at an address that is none."),
    }
}

/// Exchanges a code, or a refresh token, for tokens.
async fn token(context: &Context, fields: &Fields) -> Result<Response, Error> {
    let store = &context.inner().store;
    let (token, hash, hint) = access::new_granted_token();
    let refresh = HEXLOWER.encode(&rand::random::<[u8; 32]>());
    let refresh_hash = Sha256::digest(&refresh);
    match fields.get("grant_type") {
        "authorization_code" => {
            let code = Sha256::digest(fields.get("code"));
            let found = oauth::take_grant(store, &code).await?;
            if found.is_none() {
                oauth::revoke_spent(store, &code).await?;
            }
            let verifier = fields.get("code_verifier");
            let challenge = BASE64URL_NOPAD.encode(&Sha256::digest(verifier));
            let Some(grant) = found.filter(|grant| {
                let is_client = grant.client == fields.get("client_id");
                let is_verified = VERIFIER.contains(&verifier.len()) && grant.challenge == challenge;
                is_client && is_verified && grant.redirect_uri == fields.get("redirect_uri")
            }) else {
                return Ok(refused(&Refusal("invalid_grant", "the code is not valid, or was used before")));
            };
            let client = oauth::client(store, &grant.client).await?;
            let name = client.map_or_else(|| "agent".to_owned(), |client| format!("agent: {}", client.name));
            oauth::issue(store, &grant, &code, &name, (&hash, &hint), &refresh_hash).await?;
        }
        "refresh_token" => {
            let old = Sha256::digest(fields.get("refresh_token"));
            let client = fields.get("client_id");
            if !oauth::refresh(store, (client, &old), (&hash, &hint), &refresh_hash).await? {
                oauth::revoke_spent(store, &old).await?;
                return Ok(refused(&Refusal(
                    "invalid_grant",
                    "the refresh token is not valid, or was used before",
                )));
            }
        }
        _ => {
            let description = "grant_type: expected authorization_code or refresh_token";
            return Ok(refused(&Refusal("unsupported_grant_type", description)));
        }
    }
    let body = json!({
        "access_token": token, "token_type": "Bearer", "expires_in": LIFETIME, "refresh_token": refresh,
    });
    let builder = Response::builder().content_type("application/json").header(CACHE_CONTROL, "no-store");
    Ok(builder.body(body.to_string()))
}

/// Revokes a token that a client got here (RFC 7009). Others stay.
async fn revoke(context: &Context, fields: &Fields) -> Result<Response, Error> {
    oauth::revoke(&context.inner().store, &Sha256::digest(fields.get("token"))).await?;
    Ok(StatusCode::NO_CONTENT.into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_clients_have_only_what_can_be_seen() {
        assert_eq!(shown_name(" Claude <b>\u{202e}\u{200b}\n "), "Claude <b>");
        assert_eq!(shown_name("\u{200b} "), "An agent");
        assert_eq!(shown_name(&"a".repeat(500)).len(), LONGEST_NAME);
    }
}

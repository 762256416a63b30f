//! Broadcasts over HTTP: many at once, or one.

use std::collections::HashMap;
use std::sync::Arc;

use gateway::Caller;
use http::header::CONTENT_TYPE;
use http::{HeaderName, HeaderValue, StatusCode};
use percent_encoding::percent_decode_str;
use poem::error::ReadBodyError;
use poem::{Body, Request, Response};
use postgres::Database;
use serde::Deserialize;
use serde_json::value::RawValue;
use serde_json::{Value, json};
use uuid::Uuid;

use crate::authorize::Authorizer;
use crate::broadcast::{Broadcast, Origin, envelope};
use crate::error::Error;
use crate::ids::TopicName;
use crate::limits::Rates;
use crate::protocol::Encoding;
use crate::publisher::Publisher;
use crate::rights::Right;
use crate::settings::Settings;
use crate::token::{Access, Tokens};
use crate::{messages, persistence};

const BLANK: &str = "can't be blank";
const INVALID: &str = "is invalid";
const PUBLIC_PERSIST: &str = "can only be used on private channels";
/// Bytes of a body beside those of its payloads.
const ENVELOPE: usize = 64 << 10;
/// Messages of one request.
const MAX_MESSAGES: usize = 10_000;

/// A message of a batch, unchecked.
#[derive(Deserialize)]
struct Entry<'a> {
    #[serde(borrow, default)]
    topic: Option<&'a RawValue>,
    #[serde(borrow, default)]
    event: Option<&'a RawValue>,
    #[serde(borrow, default)]
    payload: Option<&'a RawValue>,
    #[serde(borrow, default)]
    private: Option<&'a RawValue>,
    #[serde(borrow, default)]
    id: Option<&'a RawValue>,
}

#[derive(Deserialize)]
struct Batch<'a> {
    #[serde(borrow, default)]
    messages: Option<&'a RawValue>,
}

/// A message of a batch.
struct Message<'a> {
    topic: TopicName,
    event: String,
    payload: &'a str,
    id: Option<Uuid>,
}

/// What broadcasts over HTTP work with.
pub(crate) struct Broadcasts {
    pub(crate) settings: Arc<Settings>,
    pub(crate) tokens: Tokens,
    pub(crate) database: Database,
    pub(crate) authorizer: Authorizer,
    pub(crate) publisher: Publisher,
    pub(crate) rates: Arc<Rates>,
}

/// Responds to `POST /api/broadcast`: sends the messages that the caller may send, and leaves out the others.
pub(super) async fn batch(broadcasts: Arc<Broadcasts>, request: Request) -> Result<Response, Error> {
    let Broadcasts { settings, authorizer, publisher, rates, .. } = &*broadcasts;
    let (access, headers, body) = broadcasts.accept(request).await?;
    let text = std::str::from_utf8(&body).map_err(|_| Error::BadRequest("the body is no JSON"))?;
    let batch: Batch<'_> =
        serde_json::from_str(text).map_err(|_| Error::BadRequest("the body is no JSON object"))?;
    let list = batch.messages.ok_or_else(|| Error::InvalidMessages(json!([BLANK])))?;
    let list: Vec<&RawValue> =
        serde_json::from_str(list.get()).map_err(|_| Error::InvalidMessages(json!([INVALID])))?;
    if list.is_empty() {
        return Err(Error::InvalidMessages(json!([BLANK])));
    }
    let expected = rates.events.average() + list.len() as f64;
    if list.len() > MAX_MESSAGES || expected > f64::from(settings.max_events_per_second) {
        return Err(Error::TooManyRequests("Too many messages to broadcast, please reduce the batch size"));
    }
    let max_size = settings.max_payload_size();
    let read: Vec<Result<Message<'_>, Value>> =
        list.iter().map(|entry| message(entry.get(), max_size)).collect();
    if read.iter().any(Result::is_err) {
        let errors = read.into_iter().map(|read| read.err().unwrap_or_else(|| json!({})));
        return Err(Error::InvalidMessages(errors.collect()));
    }
    let mut allowed: HashMap<TopicName, bool> = HashMap::new();
    for message in read.into_iter().flatten() {
        if message.topic.is_private && !allowed.contains_key(&message.topic) {
            let name = &message.topic.name;
            let may_write = authorizer.may_write(&access, name, &headers, Right::Broadcast);
            allowed.insert(message.topic.clone(), may_write.await.unwrap_or(false));
        }
        if !message.topic.is_private || allowed.get(&message.topic) == Some(&true) {
            rates.events.add(1);
            publisher.publish_to(&message.topic, &Broadcast::Plain(&message.to_payload()));
        }
    }
    Ok(broadcasts.accepted())
}

/// Responds to `POST /api/broadcast/{topic}/events/{event}`: sends the body.
pub(super) async fn single(broadcasts: Arc<Broadcasts>, request: Request) -> Result<Response, Error> {
    let of = |name| request.raw_path_param(name).unwrap_or_default().to_owned();
    let (topic, event) = (of("topic"), of("event"));
    broadcasts.send(&topic, &event, request).await
}

/// Responds like [`single`], for a topic that contains slashes.
pub(super) async fn single_with_slashes(
    broadcasts: Arc<Broadcasts>,
    request: Request,
) -> Result<Response, Error> {
    let names = request.raw_path_param("topic_and_event").unwrap_or_default().to_owned();
    match names.split_once("/events/") {
        Some((topic, event)) if !event.contains('/') => broadcasts.send(topic, event, request).await,
        _ => Err(Error::NotFound),
    }
}

impl Broadcasts {
    /// Sends the body of `request` as the event of a topic. Both names may have percent-escapes.
    async fn send(&self, topic: &str, event: &str, request: Request) -> Result<Response, Error> {
        let decode = |text: &str| percent_decode_str(text).decode_utf8_lossy().into_owned();
        let (name, event) = (decode(topic), decode(event));
        let query = request.uri().query().unwrap_or_default();
        let is_private = query.split('&').any(|parameter| parameter == "private=true");
        let lifetime = persistence::of_query(query).map_err(|error| Error::InvalidPersist(error.to_string()));
        let kind =
            request.headers().get(CONTENT_TYPE).map(|kind| kind.to_str().unwrap_or_default().to_owned());
        let kind = kind.as_deref().map(|kind| kind.split(';').next().unwrap_or_default().trim());
        let encoding = match kind.map(str::to_ascii_lowercase).as_deref() {
            None | Some("application/json") => Encoding::Json,
            Some("application/octet-stream") => Encoding::Bytes,
            Some(_) => return Err(Error::UnsupportedMediaType),
        };
        let (access, headers, body) = self.accept(request).await?;
        if body.len() > self.settings.max_payload_size() {
            return Err(Error::Unprocessable("Payload size exceeds tenant limit"));
        }
        // Upstream's parser takes an empty body for an empty object.
        let body = if encoding == Encoding::Json && body.is_empty() { b"{}".to_vec() } else { body };
        if encoding == Encoding::Json && serde_json::from_slice::<&RawValue>(&body).is_err() {
            return Err(Error::BadRequest("the body is no JSON"));
        }
        if name.is_empty() || event.is_empty() {
            return Err(Error::NotFound);
        }
        let topic = TopicName { name: name.into(), is_private };
        let mut lifetime = lifetime?;
        if lifetime.is_some() && !is_private {
            return Err(Error::InvalidPersist(PUBLIC_PERSIST.to_owned()));
        }
        if is_private {
            let may_write = |right| self.may_write_to_private(&access, &topic.name, &headers, right);
            if !may_write(Right::Broadcast).await? {
                return Err(Error::Forbidden);
            }
            if lifetime.is_some() && !may_write(Right::Persistence).await? {
                lifetime = None;
            }
        }
        self.rates.events.add(1);
        let broadcast = Broadcast::User { event: &event, encoding, payload: &body, origin: Origin::Client };
        self.publisher.publish_to(&topic, &broadcast);
        if let Some(lifetime) = lifetime {
            messages::store(&self.database, &topic.name, &broadcast, lifetime).await;
        }
        Ok(self.accepted())
    }

    /// Reports whether the holder of `access` has a right to write to private topic `name`.
    ///
    /// Errors: [`Error::Unprocessable`] if the policies fail.
    async fn may_write_to_private(
        &self,
        access: &Access,
        name: &str,
        headers: &str,
        right: Right,
    ) -> Result<bool, Error> {
        self.authorizer.may_write(access, name, headers, right).await.map_err(|error| {
            tracing::error!(code = "RlsPolicyError", %error, "the policies of a private channel failed");
            Error::Unprocessable("RLS policy error")
        })
    }

    /// Checks the caller's token and the rate limit. Returns the access, the headers for policies, and the body.
    async fn accept(&self, mut request: Request) -> Result<(Access, String, Vec<u8>), Error> {
        let caller = request.extensions().get::<Caller>().cloned();
        let bearer = caller.and_then(|caller| caller.bearer).ok_or(Error::Unauthorized)?;
        let access = self.tokens.check(&bearer).map_err(|_| Error::Unauthorized)?;
        if self.rates.events.is_exceeded(self.settings.max_events_per_second) {
            return Err(Error::TooManyRequests("You have exceeded your rate limit"));
        }
        let headers = super::handshake::headers_as_json(request.headers()).to_string();
        let body: Body = request.take_body();
        let limit = self.settings.max_payload_size() * 4 + ENVELOPE;
        let body = body.into_bytes_limit(limit).await;
        let body = body.map_err(|error| match error {
            ReadBodyError::PayloadTooLarge => Error::Unprocessable("Payload size exceeds tenant limit"),
            _ => Error::BadRequest("Request body is malformed or incomplete"),
        })?;
        Ok((access, headers, body.to_vec()))
    }

    /// Returns the response to an accepted request, with the state of the rate limit.
    fn accepted(&self) -> Response {
        let average = self.rates.events.average().round() as u64;
        let limit = u64::from(self.settings.max_events_per_second);
        let mut response = Response::builder().status(StatusCode::ACCEPTED).finish();
        for (name, value) in [
            ("x-rate-rolling", average),
            ("x-rate-limit", limit),
            ("x-rate-limit-remaining", limit.saturating_sub(average)),
        ] {
            response.headers_mut().insert(HeaderName::from_static(name), HeaderValue::from(value));
        }
        response
    }
}

/// Parses a message of a batch.
///
/// Errors: a JSON object with the error of each invalid field.
fn message(entry: &str, max_size: usize) -> Result<Message<'_>, Value> {
    let entry: Entry<'_> = serde_json::from_str(entry).map_err(|_| json!(INVALID))?;
    let (topic, event) = (text(entry.topic), text(entry.event));
    let payload = match entry.payload.map(RawValue::get) {
        None | Some("null") => Err(BLANK),
        Some(object) if !object.starts_with('{') => Err(INVALID),
        Some(object) if object.len() > max_size => Err("Payload size exceeds tenant limit"),
        Some(object) => Ok(object),
    };
    let is_private = match entry.private.map(RawValue::get) {
        None | Some("null" | "false" | "\"false\"" | "\"0\"") => Ok(false),
        Some("true" | "\"true\"" | "\"1\"") => Ok(true),
        Some(_) => Err(INVALID),
    };
    let id = match entry.id.map(RawValue::get) {
        None | Some("null") => Ok(None),
        Some(id) => serde_json::from_str::<Uuid>(id).map(Some).map_err(|_| INVALID),
    };
    match (topic, event, payload, is_private, id) {
        (Ok(topic), Ok(event), Ok(payload), Ok(is_private), Ok(id)) => {
            Ok(Message { topic: TopicName { name: topic.into(), is_private }, event, payload, id })
        }
        (topic, event, payload, is_private, id) => {
            let mut errors = serde_json::Map::new();
            let named = [
                ("topic", topic.err()),
                ("event", event.err()),
                ("payload", payload.err()),
                ("private", is_private.err()),
                ("id", id.err()),
            ];
            for (name, error) in named {
                if let Some(error) = error {
                    errors.insert(name.to_owned(), json!([error]));
                }
            }
            Err(errors.into())
        }
    }
}

fn text(value: Option<&RawValue>) -> Result<String, &'static str> {
    match value.map(RawValue::get) {
        None | Some("null" | "\"\"") => Err(BLANK),
        Some(json) => serde_json::from_str(json).map_err(|_| INVALID),
    }
}

impl Message<'_> {
    /// Returns the payload for subscribers.
    fn to_payload(&self) -> String {
        let metadata = self.id.as_ref().map(|id| json!({ "id": id }).to_string());
        envelope(&self.event, self.payload, &metadata.unwrap_or_default())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_message_says_what_is_wrong_with_it() {
        let of = |entry: Value| message(&entry.to_string(), 10).map(|message| message.to_payload());
        assert_eq!(
            of(json!({ "topic": "t", "event": "e", "payload": {}, "id": Uuid::nil(), "private": "1" }))
                .unwrap(),
            r#"{"type":"broadcast","event":"e","payload":{},"meta":{"id":"00000000-0000-0000-0000-000000000000"}}"#
        );
        assert_eq!(of(json!({})), Err(json!({ "topic": [BLANK], "event": [BLANK], "payload": [BLANK] })));
        assert_eq!(
            of(json!({ "topic": 1, "event": "e", "payload": [], "private": 1, "id": "1" })),
            Err(json!({ "topic": [INVALID], "payload": [INVALID], "private": [INVALID], "id": [INVALID] }))
        );
        let long = of(json!({ "topic": "t", "event": "e", "payload": { "a": "0123456789" } }));
        assert_eq!(long, Err(json!({ "payload": ["Payload size exceeds tenant limit"] })));
        assert_eq!(of(json!("x")), Err(json!(INVALID)));
    }
}

//! Mails of the project's functions. A function knows a URL and a key, never the mail server's password.
//!
//! The shape of a request is that of Resend's `POST /emails`, one of the services that functions on the hosted platform
//! send their mails through, so that a function only needs another URL and key there.
//!
//! Source: Resend's API reference, "Send Email".

use gateway::Bearer;
use http::{Method, StatusCode};
use poem::{Endpoint, Request, Response};
use serde::Deserialize;
use serde_json::json;
use subtle::ConstantTimeEq as _;
use uuid::Uuid;

use crate::Settings;
use crate::delivery::mail::{ForeignMail, ForeignMailer, MailError};

/// Largest body of a request in bytes.
const BODY_LIMIT: usize = 256 * 1024;
/// Most addresses that one mail goes to; Resend allows as many.
const MOST_RECIPIENTS: usize = 50;

/// Takes mails and sends them.
pub(crate) struct Outbox {
    mailer: ForeignMailer,
    key: String,
}

/// A mail; `from` may be there and is not read: the sender is the project's.
#[derive(Deserialize)]
struct Mail {
    to: Recipients,
    #[serde(default)]
    reply_to: Option<String>,
    subject: String,
    text: String,
    html: String,
}

#[derive(Deserialize)]
#[serde(untagged)]
enum Recipients {
    One(String),
    Many(Vec<String>),
}

impl Outbox {
    pub(crate) fn new(settings: &Settings, key: String) -> Result<Self, String> {
        Ok(Self { mailer: ForeignMailer::new(settings)?, key })
    }

    async fn send(&self, request: &mut Request) -> Result<Uuid, (StatusCode, String)> {
        if request.method() != Method::POST {
            return Err((StatusCode::METHOD_NOT_ALLOWED, "expected POST".to_owned()));
        }
        let bearer = Bearer::of(request.headers());
        if !bearer.is_some_and(|bearer| bearer.as_bytes().ct_eq(self.key.as_bytes()).into()) {
            return Err((StatusCode::UNAUTHORIZED, "expected the key of the outbox as bearer".to_owned()));
        }
        let id = request.header("idempotency-key").and_then(|key| key.parse().ok());
        let body = request.take_body().into_bytes_limit(BODY_LIMIT).await;
        let body = body.map_err(|error| (StatusCode::BAD_REQUEST, error.to_string()))?;
        let mail: Mail = serde_json::from_slice(&body)
            .map_err(|error| (StatusCode::UNPROCESSABLE_ENTITY, error.to_string()))?;
        let to = match mail.to {
            Recipients::One(address) => vec![address],
            Recipients::Many(addresses) => addresses,
        };
        if to.is_empty() || to.len() > MOST_RECIPIENTS {
            let expected = format!("expected 1 to {MOST_RECIPIENTS} recipients, found {}", to.len());
            return Err((StatusCode::UNPROCESSABLE_ENTITY, expected));
        }
        let Mail { reply_to, subject, text, html, .. } = mail;
        let letter = ForeignMail { id: id.unwrap_or_else(Uuid::new_v4), to, reply_to, subject, text, html };
        self.mailer.send(&letter).await.map_err(refusal)?;
        Ok(letter.id)
    }
}

fn refusal(error: MailError) -> (StatusCode, String) {
    let status = match &error {
        MailError::Address(_) | MailError::Message(_) => StatusCode::UNPROCESSABLE_ENTITY,
        _ => StatusCode::SERVICE_UNAVAILABLE,
    };
    (status, error.to_string())
}

impl Endpoint for Outbox {
    type Output = Response;

    async fn call(&self, mut request: Request) -> poem::Result<Response> {
        let (status, body) = match self.send(&mut request).await {
            Ok(id) => (StatusCode::OK, json!({ "id": id })),
            Err((status, message)) => (status, json!({ "statusCode": status.as_u16(), "message": message })),
        };
        Ok(Response::builder().status(status).content_type("application/json").body(body.to_string()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::MailSettings;

    async fn post(outbox: &Outbox, key: &str, body: serde_json::Value) -> (u16, String) {
        let request = Request::builder()
            .method(Method::POST)
            .header("authorization", format!("Bearer {key}"))
            .header("idempotency-key", "3f0d8c1e-8a60-4ed4-9d55-3f1d0e9a1b2c")
            .body(body.to_string());
        let response = outbox.get_response(request).await;
        (response.status().as_u16(), response.into_body().into_string().await.unwrap())
    }

    #[tokio::test]
    async fn mails_leave_from_the_projects_sender_under_their_own_id() {
        let folder = tempfile::tempdir().unwrap();
        let mail = MailSettings { folder: Some(folder.path().to_owned()), ..MailSettings::default() };
        let outbox = Outbox::new(&Settings { mail, ..Settings::default() }, "key".to_owned()).unwrap();
        let letter = json!({
            "from": "Mallory <mallory@elsewhere.example>",
            "to": ["team@club.example"],
            "reply_to": "ada@fan.example",
            "subject": "Hello\r\nBcc: all@elsewhere.example",
            "text": "plain",
            "html": "<p>rich</p>",
        });
        assert_eq!(post(&outbox, "wrong", letter.clone()).await.0, 401);
        let (status, body) = post(&outbox, "key", letter.clone()).await;
        assert_eq!((status, body.contains("3f0d8c1e")), (200, true));
        let file = std::fs::read_dir(folder.path()).unwrap().next().unwrap().unwrap().path();
        let text = std::fs::read_to_string(file).unwrap();
        for part in
            ["<3f0d8c1e-8a60-4ed4-9d55-3f1d0e9a1b2c@", "Reply-To: ada@fan.example", "plain", "<p>rich</p>"]
        {
            assert!(text.contains(part), "{part} in {text}");
        }
        assert!(!text.contains("mallory") && !text.contains("\nBcc:"), "{text}");
    }

    #[tokio::test]
    async fn invalid_mails_are_refused_and_not_sent() {
        let folder = tempfile::tempdir().unwrap();
        let mail = MailSettings { folder: Some(folder.path().to_owned()), ..MailSettings::default() };
        let outbox = Outbox::new(&Settings { mail, ..Settings::default() }, "key".to_owned()).unwrap();
        let addressed = |to: serde_json::Value| json!({ "to": to, "subject": "s", "text": "t", "html": "h" });
        let many = |number| json!((0..number).map(|one| format!("a{one}@b.example")).collect::<Vec<_>>());
        for (letter, words) in [
            (addressed(json!("not an address")), "the address cannot get mail"),
            (addressed(json!(["a@b.example", "nobody"])), "the address cannot get mail"),
            (addressed(json!([])), "expected 1 to 50 recipients, found 0"),
            (addressed(many(51)), "expected 1 to 50 recipients, found 51"),
            (json!({ "to": "a@b.example", "subject": "s", "text": "t" }), "missing field `html`"),
        ] {
            let (status, body) = post(&outbox, "key", letter).await;
            assert_eq!((status, body.contains(words)), (422, true), "{body}");
        }
        let long = addressed(json!("x".repeat(BODY_LIMIT)));
        assert_eq!(post(&outbox, "key", long).await.0, 400);
        let got = outbox.get_response(Request::builder().method(Method::GET).finish()).await;
        assert_eq!(got.status(), 405);
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0);

        let (status, body) = post(&outbox, "key", addressed(many(50))).await;
        assert_eq!(status, 200, "{body}");
    }

    #[tokio::test]
    async fn holders_of_no_key_are_told_what_is_expected() {
        let mail = MailSettings::default();
        let outbox = Outbox::new(&Settings { mail, ..Settings::default() }, "key".to_owned()).unwrap();
        for key in ["", "ke", "key2", "KEY"] {
            let (status, body) = post(&outbox, key, json!({})).await;
            assert_eq!((status, body.contains("expected the key of the outbox")), (401, true), "{key}");
        }
        let bare = outbox.get_response(Request::builder().method(Method::POST).finish()).await;
        assert_eq!(bare.status(), 401);
    }

    #[tokio::test]
    async fn without_a_mail_server_the_response_is_503() {
        let mail = MailSettings { folder: None, smtp: None, ..MailSettings::default() };
        let outbox = Outbox::new(&Settings { mail, ..Settings::default() }, "key".to_owned()).unwrap();
        let letter = json!({ "to": "a@b.example", "subject": "s", "text": "t", "html": "h" });
        assert_eq!(post(&outbox, "key", letter).await.0, 503);
    }
}

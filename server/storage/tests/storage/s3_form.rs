//! Uploads of browsers' forms with a signed policy.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use poem::http::Method;
use serde_json::{Value, json};

use crate::s3_client::Signer;
use crate::support::{Response, Server};

const BOUNDARY: &str = "boundary";

/// A form: its fields, and the file at its end.
pub(crate) struct Form {
    fields: Vec<(String, String)>,
    file: String,
}

impl Form {
    /// Returns a form that `signer` has signed for key prefix `u/`, with `conditions` beside those that are always
    /// needed.
    pub(crate) fn signed(signer: &Signer, fields: &[(&str, &str)], conditions: &[Value]) -> Self {
        let (date, credential) = (signer.date(), signer.credential());
        let mut all = vec![
            json!({ "bucket": "files" }),
            json!(["starts-with", "$key", "u/"]),
            json!({ "x-amz-date": date, }),
        ];
        all.extend_from_slice(conditions);
        let policy = json!({ "expiration": "2099-01-01T00:00:00.000Z", "conditions": all });
        Self::with_policy(signer, fields, &policy, &date, &credential)
    }

    fn with_policy(
        signer: &Signer,
        fields: &[(&str, &str)],
        policy: &Value,
        date: &str,
        credential: &str,
    ) -> Self {
        let policy = STANDARD.encode(policy.to_string());
        let signature = signer.sign(&policy);
        let signing = [
            ("X-Amz-Algorithm", "AWS4-HMAC-SHA256"),
            ("X-Amz-Credential", credential),
            ("X-Amz-Date", date),
            ("Policy", &policy),
            ("X-Amz-Signature", &signature),
        ];
        let token = signer.token.as_deref().map(|token| ("X-Amz-Security-Token", token));
        let fields = fields.iter().copied().chain(signing).chain(token);
        Self {
            fields: fields.map(|(name, value)| (name.to_owned(), value.to_owned())).collect(),
            file: "text".to_owned(),
        }
    }

    pub(crate) async fn send(&self, server: &Server, path: &str) -> Response {
        let mut body = String::new();
        for (name, value) in &self.fields {
            body += &format!(
                "--{BOUNDARY}\r\nContent-Disposition: form-data; name=\"{name}\"\r\n\r\n{value}\r\n"
            );
        }
        let file = &self.file;
        body += &format!(
            "--{BOUNDARY}\r\nContent-Disposition: form-data; name=\"file\"; filename=\"a.txt\"\r\n\
             Content-Type: text/html\r\n\r\n{file}\r\n--{BOUNDARY}--\r\n"
        );
        let kind = format!("multipart/form-data; boundary={BOUNDARY}");
        server.send(Method::POST, path, &[("content-type", &kind)], body).await
    }
}

async fn server() -> (Server, Signer) {
    let server = Server::start().await;
    server.bucket("files", true).await;
    let signer = Signer::service(&server);
    (server, signer)
}

#[tokio::test]
async fn a_signed_form_is_stored() {
    let (server, signer) = server().await;
    let fields = [("key", "u/${filename}"), ("Content-Type", "text/plain"), ("x-amz-meta-color", "red")];
    let conditions = [json!({ "content-type": "text/plain" }), json!(["eq", "$x-amz-meta-color", "red"])];
    let stored = Form::signed(&signer, &fields, &conditions).send(&server, "/s3/files").await;
    assert_eq!(stored.status, 204, "{}", stored.text());
    assert_eq!(stored.header("etag"), "\"1cb251ec0d568de6a929b520c4aed8d1\"");
    let read = server.get("/object/public/files/u/a.txt").await;
    assert_eq!((read.text().as_str(), read.header("content-type")), ("text", "text/plain"));
    assert_eq!(server.row("select user_metadata->>'color' from storage.objects").await, ["red"]);

    let status = [("key", "u/b"), ("success_action_status", "201")];
    let created = Form::signed(&signer, &status, &[json!({ "success_action_status": "201" })]);
    let created = created.send(&server, "/s3/files/").await;
    assert_eq!((created.status.as_u16(), created.element("Key")), (201, "u/b".to_owned()));
    let redirect = [("key", "u/c"), ("success_action_redirect", "https://site.test/done?a=1")];
    let condition = json!({ "success_action_redirect": "https://site.test/done?a=1" });
    let redirected = Form::signed(&signer, &redirect, &[condition]).send(&server, "/s3/files").await;
    assert_eq!(redirected.status, 303);
    let place = redirected.header("location");
    assert!(place.starts_with("https://site.test/done?a=1&bucket=files&key=u/c&etag=%22"), "{place}");
}

#[tokio::test]
async fn a_form_is_what_its_policy_allows() {
    let (server, signer) = server().await;
    let form = |fields: &[(&str, &str)], conditions: &[Value]| Form::signed(&signer, fields, conditions);
    let key = ("key", "u/a");
    let denied = (403, "AccessDenied".to_owned());
    assert_eq!(form(&[("key", "v/a")], &[]).send(&server, "/s3/files").await.s3_code(), denied);
    let uncovered = [key, ("content-type", "text/html")];
    assert_eq!(form(&uncovered, &[]).send(&server, "/s3/files").await.s3_code(), denied);
    assert_eq!(form(&[key], &[]).send(&server, "/s3/other").await.s3_code(), denied, "another bucket");
    let mut claimed = form(&[key], &[]);
    claimed.fields.insert(0, ("bucket".to_owned(), "files".to_owned()));
    assert_eq!(claimed.send(&server, "/s3/other").await.s3_code(), denied, "the address says which bucket");
    for (range, code) in [([5, 9], (400, "EntityTooSmall")), ([1, 3], (413, "EntityTooLarge"))] {
        let condition = json!(["content-length-range", range[0], range[1]]);
        let response = form(&[key], &[condition]).send(&server, "/s3/files").await;
        assert_eq!(response.s3_code(), (code.0, code.1.to_owned()));
    }
    let mut forged = form(&[key], &[]);
    forged.fields.retain(|(name, _)| name != "X-Amz-Signature");
    assert_eq!(forged.send(&server, "/s3/files").await.s3_code(), (400, "InvalidSignature".to_owned()));
    forged.fields.push(("X-Amz-Signature".to_owned(), "0".repeat(64)));
    assert_eq!(forged.send(&server, "/s3/files").await.s3_code(), (403, "SignatureDoesNotMatch".to_owned()));
    let mut doubled = form(&[key], &[]);
    doubled.fields.push(("KEY".to_owned(), "u/b".to_owned()));
    assert_eq!(doubled.send(&server, "/s3/files").await.s3_code(), (400, "InvalidSignature".to_owned()));
    let (date, credential) = (signer.date(), signer.credential());
    for (policy, code) in [
        (json!({ "expiration": "2020-01-01T00:00:00Z", "conditions": [] }), "ExpiredToken"),
        (json!({ "conditions": [] }), "InvalidSignature"),
        (json!({ "expiration": "2099-01-01T00:00:00Z" }), "InvalidSignature"),
    ] {
        let form = Form::with_policy(&signer, &[key], &policy, &date, &credential);
        assert_eq!(form.send(&server, "/s3/files").await.s3_code(), (400, code.to_owned()), "{policy}");
    }
    assert_eq!(server.stored_files(), 0);
}

#[tokio::test]
async fn a_users_form_is_under_row_level_security() {
    let (server, _) = server().await;
    let user = Signer::user(&server, &server.user("00000000-0000-4000-8000-00000000000a"));
    let form = Form::signed(&user, &[("key", "u/a")], &[]);
    assert_eq!(form.send(&server, "/s3/files").await.s3_code(), (403, "AccessDenied".to_owned()));
    server.sql("create policy may on storage.objects to authenticated using (true) with check (true)").await;
    assert_eq!(form.send(&server, "/s3/files").await.status, 204);
}

#[tokio::test]
async fn a_form_that_is_signed_by_version_2_is_told_the_right_algorithm() {
    let server = Server::start().await;
    server.bucket("files", true).await;
    let fields = [("AWSAccessKeyId", "a"), ("policy", "e30="), ("signature", "b"), ("key", "u/a")];
    let fields = fields.map(|(name, value)| (name.to_owned(), value.to_owned())).to_vec();
    let response = Form { fields, file: "text".to_owned() }.send(&server, "/s3/files").await;
    let (status, code, words) = response.s3_refusal();
    assert_eq!((status, &*code), (400, "InvalidRequest"));
    assert!(words.ends_with("Please use AWS4-HMAC-SHA256."), "{words}");
}

//! A client of the S3 protocol that signs whatever it is told to, also what no real client would send.

use hmac::{Hmac, KeyInit as _, Mac as _};
use poem::Body;
use poem::http::Method;
use sha2::{Digest as _, Sha256};

use crate::support::{Response, Server};

pub(crate) const UNSIGNED: &str = "UNSIGNED-PAYLOAD";
pub(crate) const HOST: &str = "basalt.test";

/// Who signs, and for which region.
#[derive(Clone)]
pub(crate) struct Signer {
    pub(crate) access_key: String,
    pub(crate) secret: String,
    pub(crate) token: Option<String>,
    pub(crate) region: String,
    pub(crate) host: String,
    pub(crate) time: time::OffsetDateTime,
}

fn hmac(key: &[u8], data: &str) -> Vec<u8> {
    let mut mac = Hmac::<Sha256>::new_from_slice(key).unwrap();
    mac.update(data.as_bytes());
    mac.finalize().into_bytes().to_vec()
}

pub(crate) fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

pub(crate) fn sha256(data: &[u8]) -> String {
    hex(&Sha256::digest(data))
}

/// Encodes all but what a canonical request leaves as it is.
pub(crate) fn encode(text: &str) -> String {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-_.~".contains(&byte);
    text.bytes()
        .map(|byte| if plain(byte) { (byte as char).to_string() } else { format!("%{byte:02X}") })
        .collect()
}

impl Signer {
    /// Returns the holder of the project's access key.
    pub(crate) fn service(server: &Server) -> Self {
        let keys = server.access_keys();
        Self {
            access_key: keys.id.clone(),
            secret: keys.secret.expose().to_owned(),
            token: None,
            region: keys.region.clone(),
            host: HOST.to_owned(),
            time: time::OffsetDateTime::now_utc(),
        }
    }

    /// Returns a user with the session token `token`.
    pub(crate) fn user(server: &Server, token: &str) -> Self {
        let access_key = server.access_keys().project;
        let secret = server.anon().to_owned();
        Self { access_key, secret, token: Some(token.to_owned()), ..Self::service(server) }
    }

    pub(crate) fn date(&self) -> String {
        let (date, (hour, minute, second)) = (self.time.date(), self.time.to_hms());
        let day = date.to_string().replace('-', "");
        format!("{day}T{hour:02}{minute:02}{second:02}Z")
    }

    pub(crate) fn credential(&self) -> String {
        format!("{}/{}/{}/s3/aws4_request", self.access_key, &self.date()[..8], self.region)
    }

    /// Returns the signature of `text` by the key of this day.
    pub(crate) fn sign(&self, text: &str) -> String {
        let mut key = hmac(format!("AWS4{}", self.secret).as_bytes(), &self.date()[..8]);
        for part in [&self.region, "s3", "aws4_request"] {
            key = hmac(&key, part);
        }
        hex(&hmac(&key, text))
    }

    fn signature(&self, canonical: &str) -> String {
        let date = self.date();
        let scope = format!("{}/{}/s3/aws4_request", &date[..8], self.region);
        self.sign(&format!("AWS4-HMAC-SHA256\n{date}\n{scope}\n{}", sha256(canonical.as_bytes())))
    }

    /// Returns the headers of a signed request; `path` is the one that is signed, with its query, whose parameters are
    /// in order.
    pub(crate) fn headers(
        &self,
        method: &Method,
        path: &str,
        headers: &[(&str, &str)],
        payload: &str,
    ) -> Vec<(String, String)> {
        let mut all: Vec<(String, String)> =
            headers.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
        all.push(("host".to_owned(), self.host.clone()));
        all.push(("x-amz-date".to_owned(), self.date()));
        all.push(("x-amz-content-sha256".to_owned(), payload.to_owned()));
        if let Some(token) = &self.token {
            all.push(("x-amz-security-token".to_owned(), token.clone()));
        }
        all.sort();
        let names: Vec<&str> = all.iter().map(|(name, _)| name.as_str()).collect();
        let names = names.join(";");
        let lines: String = all.iter().map(|(name, value)| format!("{name}:{value}\n")).collect();
        let (path, query) = path.split_once('?').unwrap_or((path, ""));
        let signature = self.signature(&format!("{method}\n{path}\n{query}\n{lines}\n{names}\n{payload}"));
        let credential = self.credential();
        let authorization =
            format!("AWS4-HMAC-SHA256 Credential={credential}, SignedHeaders={names}, Signature={signature}");
        all.push(("authorization".to_owned(), authorization));
        all
    }

    /// Returns the query of a presigned request for `path`, good for `life` seconds; `more` are further parameters of
    /// it.
    pub(crate) fn presigned(&self, method: &Method, path: &str, life: u64, more: &[(&str, &str)]) -> String {
        let (date, life, credential) = (self.date(), life.to_string(), self.credential());
        let mut pairs = vec![
            ("X-Amz-Algorithm", "AWS4-HMAC-SHA256"),
            ("X-Amz-Credential", &credential),
            ("X-Amz-Date", &date),
            ("X-Amz-Expires", &life),
            ("X-Amz-SignedHeaders", "host"),
        ];
        pairs.extend(self.token.as_deref().map(|token| ("X-Amz-Security-Token", token)));
        pairs.extend_from_slice(more);
        pairs.sort_unstable();
        let pairs: Vec<String> =
            pairs.iter().map(|(name, value)| format!("{}={}", encode(name), encode(value))).collect();
        let query = pairs.join("&");
        let host = &self.host;
        let canonical = format!("{method}\n{path}\n{query}\nhost:{host}\n\nhost\n{UNSIGNED}");
        format!("{query}&X-Amz-Signature={}", self.signature(&canonical))
    }
}

impl Server {
    /// Sends a request that `signer` signs with an unsigned body.
    pub(crate) async fn s3(
        &self,
        signer: &Signer,
        method: Method,
        path: &str,
        headers: &[(&str, &str)],
        body: impl Into<Body>,
    ) -> Response {
        let signed = signer.headers(&method, path, headers, UNSIGNED);
        self.send_all(method, path, &signed, body).await
    }

    /// Stores an object as the service.
    pub(crate) async fn s3_put(&self, path: &str, body: &str) -> Response {
        let length = body.len().to_string();
        let headers = [("content-length", &*length)];
        self.s3(&Signer::service(self), Method::PUT, path, &headers, body.to_owned()).await
    }

    pub(crate) async fn send_all(
        &self,
        method: Method,
        path: &str,
        headers: &[(String, String)],
        body: impl Into<Body>,
    ) -> Response {
        let mut headers: Vec<(&str, &str)> =
            headers.iter().map(|(name, value)| (&**name, &**value)).collect();
        if !headers.iter().any(|(name, _)| *name == "host") {
            headers.push(("host", HOST));
        }
        self.send(method, path, &headers, body).await
    }
}

impl Response {
    /// Returns the text of the first element `name` of an XML document.
    pub(crate) fn element(&self, name: &str) -> String {
        let text = self.text();
        let inner = text
            .split_once(&format!("<{name}>"))
            .and_then(|(_, rest)| rest.split_once(&format!("</{name}>")));
        inner.map_or_else(String::new, |(inner, _)| inner.to_owned())
    }

    /// Returns the refusal: the status, code and message.
    pub(crate) fn s3_refusal(&self) -> (u16, String, String) {
        (self.status.as_u16(), self.element("Code"), self.element("Message"))
    }

    /// Returns the status and the code of a refusal; the status alone of a response that is none.
    pub(crate) fn s3_code(&self) -> (u16, String) {
        (self.status.as_u16(), self.element("Code"))
    }
}

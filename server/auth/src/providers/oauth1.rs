//! The client's side of OAuth 1.0a (RFC 5849), which X still offers under its old name.

use std::time::{SystemTime, UNIX_EPOCH};

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use hmac::{Hmac, KeyInit, Mac};
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};
use reqwest::Method;
use reqwest::header::AUTHORIZATION;
use sha1::Sha1;
use url::form_urlencoded;

use super::ProviderError;
use crate::Secret;
use crate::http_client::{HttpClient, HttpResponse, Reach};

/// RFC 5849, section 3.6.
const ENCODED: &AsciiSet = &NON_ALPHANUMERIC.remove(b'-').remove(b'.').remove(b'_').remove(b'~');

/// This project as a provider's client.
pub(crate) struct Consumer<'a> {
    pub(crate) key: &'a str,
    pub(crate) secret: &'a Secret,
}

/// A token and its secret.
#[derive(Default)]
pub(crate) struct Token {
    pub(crate) token: String,
    pub(crate) secret: Secret,
}

impl Consumer<'_> {
    /// Returns a token to send the user with, who comes back to `callback`.
    pub(crate) async fn request_token(
        &self,
        http: &HttpClient,
        url: &str,
        callback: &str,
    ) -> Result<Token, ProviderError> {
        let extra = [("oauth_callback", callback)];
        token(url, &self.send(http, Method::POST, url, &[], &extra, &Token::default()).await?)
    }

    /// Returns the access token of the user who came back with `request_token` and `verifier`.
    pub(crate) async fn access_token(
        &self,
        http: &HttpClient,
        url: &str,
        (request_token, verifier): (&str, &str),
    ) -> Result<Token, ProviderError> {
        let extra = [("oauth_verifier", verifier)];
        let request_token = Token { token: request_token.to_owned(), secret: Secret::default() };
        token(url, &self.send(http, Method::POST, url, &[], &extra, &request_token).await?)
    }

    /// Returns the response of `url` to a request of the user who has `token`.
    pub(crate) async fn get(
        &self,
        http: &HttpClient,
        url: &str,
        query: &[(&str, &str)],
        token: &Token,
    ) -> Result<HttpResponse, ProviderError> {
        self.send(http, Method::GET, url, query, &[], token).await
    }

    async fn send(
        &self,
        http: &HttpClient,
        method: Method,
        url: &str,
        query: &[(&str, &str)],
        extra: &[(&str, &str)],
        token: &Token,
    ) -> Result<HttpResponse, ProviderError> {
        let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        let (nonce, timestamp) = (rand::random::<u64>().to_string(), since.as_secs().to_string());
        let header = self.header(method.as_str(), url, query, extra, token, (&nonce, &timestamp));
        let failed = |cause| ProviderError::Http { url: url.to_owned(), cause };
        let request = http.request(method, url, Reach::Anywhere).map_err(failed)?;
        let request = request.query(query).header(AUTHORIZATION, header);
        let response = http.send(request).await.map_err(failed)?;
        if !response.status.is_success() {
            return Err(ProviderError::Status { url: url.to_owned(), status: response.status });
        }
        Ok(response)
    }

    /// Returns header `Authorization` (section 3.5.1).
    fn header(
        &self,
        method: &str,
        url: &str,
        query: &[(&str, &str)],
        extra: &[(&str, &str)],
        token: &Token,
        (nonce, timestamp): (&str, &str),
    ) -> String {
        let mut protocol = vec![
            ("oauth_consumer_key", self.key),
            ("oauth_nonce", nonce),
            ("oauth_signature_method", "HMAC-SHA1"),
            ("oauth_timestamp", timestamp),
            ("oauth_version", "1.0"),
        ];
        if !token.token.is_empty() {
            protocol.push(("oauth_token", &token.token));
        }
        protocol.extend_from_slice(extra);
        let signature = self.signature(method, url, &[query, &protocol].concat(), token.secret.expose());
        protocol.push(("oauth_signature", &signature));
        let pairs: Vec<_> =
            protocol.iter().map(|(name, value)| format!("{}=\"{}\"", encode(name), encode(value))).collect();
        format!("OAuth {}", pairs.join(", "))
    }

    /// Returns the HMAC-SHA1 of method, address and sorted parameters (sections 3.4.1 and 3.4.2).
    fn signature(&self, method: &str, url: &str, parameters: &[(&str, &str)], secret: &str) -> String {
        let mut pairs: Vec<_> =
            parameters.iter().map(|(name, value)| (encode(name), encode(value))).collect();
        pairs.sort();
        let pairs: Vec<_> = pairs.iter().map(|(name, value)| format!("{name}={value}")).collect();
        let base = format!("{method}&{}&{}", encode(url), encode(&pairs.join("&")));
        let key = format!("{}&{}", encode(self.secret.expose()), encode(secret));
        // HMAC takes keys of any length.
        let Ok(mut mac) = Hmac::<Sha1>::new_from_slice(key.as_bytes()) else { return String::new() };
        mac.update(base.as_bytes());
        STANDARD.encode(mac.finalize().into_bytes())
    }
}

fn encode(text: &str) -> String {
    utf8_percent_encode(text, ENCODED).to_string()
}

/// Reads a token in form encoding (section 2.1).
fn token(url: &str, response: &HttpResponse) -> Result<Token, ProviderError> {
    let mut token = Token::default();
    for (name, value) in form_urlencoded::parse(&response.body) {
        match name.as_ref() {
            "oauth_token" => token.token = value.into_owned(),
            "oauth_token_secret" => token.secret = Secret::from(value.into_owned()),
            _ => {}
        }
    }
    if token.token.is_empty() {
        return Err(ProviderError::Unexpected(format!("{url} responded without an oauth_token")));
    }
    Ok(token)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn requests_are_signed_as_the_specification_shows_it() {
        // OAuth Core 1.0, appendix A.5.
        let secret = Secret::from("kd94hf93k423kf44");
        let consumer = Consumer { key: "dpf43f3p2l4k3l03", secret: &secret };
        let parameters = [
            ("file", "vacation.jpg"),
            ("size", "original"),
            ("oauth_consumer_key", "dpf43f3p2l4k3l03"),
            ("oauth_nonce", "kllo9940pd9333jh"),
            ("oauth_signature_method", "HMAC-SHA1"),
            ("oauth_timestamp", "1191242096"),
            ("oauth_token", "nnch734d00sl2jdk"),
            ("oauth_version", "1.0"),
        ];
        let url = "http://photos.example.net/photos";
        let signature = consumer.signature("GET", url, &parameters, "pfkkdhi9sl3r4s00");
        assert_eq!(signature, "tR3+Ty81lMeYAr/Fid0kMTYa/WM=");
    }
}

//! Captchas: verification of a token by hCaptcha or Cloudflare's Turnstile, which share one interface.

use std::net::IpAddr;

use reqwest::Method;
use serde::Deserialize;

use crate::http_client::{HttpClient, HttpError, Reach};
use crate::{Captcha, CaptchaProvider, Code, Error};

/// Verifies the tokens of captchas.
pub(crate) struct Captchas {
    captcha: Option<Captcha>,
    client: HttpClient,
}

/// The response of the captcha's provider.
#[derive(Deserialize)]
struct CaptchaVerdict {
    success: bool,
    #[serde(default, rename = "error-codes")]
    error_codes: Vec<String>,
}

impl Captchas {
    /// Creates the verifier. Without a `captcha` it accepts every token.
    pub(crate) fn new(captcha: Option<Captcha>, client: HttpClient) -> Self {
        Self { captcha, client }
    }

    /// Returns whether requests need a captcha.
    pub(crate) fn are_required(&self) -> bool {
        self.captcha.is_some()
    }

    /// Verifies `token` (of `gotrue_meta_security.captcha_token`, empty if it is missing) for a client at `address`.
    /// Does nothing if captchas are off.
    ///
    /// Errors: `captcha_failed`; 500 if the provider cannot be reached, since an outage must not disable the check.
    pub(crate) async fn check(&self, token: &str, address: IpAddr) -> Result<(), Error> {
        let Some(captcha) = &self.captcha else { return Ok(()) };
        let token = token.trim();
        if token.is_empty() {
            const MISSING: &str = "captcha protection: request disallowed (no captcha_token found)";
            return Err(Code::CaptchaFailed.because(MISSING));
        }
        let verdict = self.ask(captcha, token, address).await.map_err(|error| {
            tracing::error!(%error, "a captcha cannot be checked");
            Code::UnexpectedFailure.because("captcha verification process failed")
        })?;
        if verdict.success {
            return Ok(());
        }
        let reasons = verdict.error_codes.join(", ");
        Err(Code::CaptchaFailed.because(format!("captcha protection: request disallowed ({reasons})")))
    }

    async fn ask(
        &self,
        captcha: &Captcha,
        token: &str,
        address: IpAddr,
    ) -> Result<CaptchaVerdict, HttpError> {
        let url = captcha.url.as_deref().unwrap_or(match captcha.provider {
            CaptchaProvider::Hcaptcha => "https://hcaptcha.com/siteverify",
            CaptchaProvider::Turnstile => "https://challenges.cloudflare.com/turnstile/v0/siteverify",
        });
        let address = address.to_string();
        let form =
            [("secret", captcha.secret.expose().trim()), ("response", token), ("remoteip", address.as_str())];
        let request = self.client.request(Method::POST, url, Reach::Anywhere)?;
        self.client.send(request.form(&form).timeout(captcha.timeout)).await?.json()
    }
}

#[cfg(test)]
mod tests {
    use std::net::Ipv4Addr;
    use std::time::Duration;

    use serde_json::json;

    use super::*;
    use crate::testing::{self, Mock, MockResponse, ReceivedRequest};

    const ADDRESS: IpAddr = IpAddr::V4(Ipv4Addr::new(203, 0, 113, 7));

    async fn check(token: &str, response: MockResponse) -> (Result<(), (u16, String)>, Vec<ReceivedRequest>) {
        let mock = Mock::start(vec![response]).await;
        let captcha = Captcha {
            enabled: true,
            provider: CaptchaProvider::Turnstile,
            secret: " hunter2 ".into(),
            url: Some(format!("{}/siteverify", mock.url)),
            timeout: Duration::from_secs(20),
        };
        let captchas = Captchas::new(Some(captcha), HttpClient::new().unwrap());
        let result = captchas.check(token, ADDRESS).await;
        (result.map_err(|error| (error.status().as_u16(), error.to_string())), mock.received())
    }

    #[tokio::test]
    async fn the_captcha_provider_gets_secret_token_and_address() {
        let (result, received) = check(" proof ", testing::json(200, json!({ "success": true }))).await;
        assert_eq!(result, Ok(()));
        let [received] = received.as_slice() else { panic!("{received:?}") };
        assert_eq!(received.path, "/siteverify");
        assert_eq!(received.field("secret").as_deref(), Some("hunter2"));
        assert_eq!(received.field("response").as_deref(), Some("proof"));
        assert_eq!(received.field("remoteip").as_deref(), Some("203.0.113.7"));
    }

    #[tokio::test]
    async fn missing_and_refused_tokens_are_told_apart_from_outages() {
        let refusal = json!({ "success": false, "error-codes": ["timeout-or-duplicate"] });
        let (result, received) = check("", testing::json(200, refusal.clone())).await;
        let message = "captcha protection: request disallowed (no captcha_token found)";
        assert_eq!((result, received.len()), (Err((400, message.to_owned())), 0));
        let (result, _) = check("used", testing::json(200, refusal)).await;
        let message = "captcha protection: request disallowed (timeout-or-duplicate)";
        assert_eq!(result, Err((400, message.to_owned())));
        let (result, _) = check("proof", testing::json(503, json!("down"))).await;
        assert_eq!(result, Err((500, "captcha verification process failed".to_owned())));
    }

    #[tokio::test]
    async fn nothing_is_demanded_where_captchas_are_off() {
        Captchas::new(None, HttpClient::new().unwrap()).check("", ADDRESS).await.unwrap();
    }
}

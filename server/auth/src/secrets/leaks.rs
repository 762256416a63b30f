//! Checks at haveibeenpwned.com whether a password has leaked, without sending the password: five hex digits of its
//! SHA-1 are sent, and all hashes that begin with them come back.
//!
//! Source: the documentation of the Pwned Passwords API.

use std::time::Duration;

use data_encoding::HEXUPPER;
use reqwest::Method;
use sha1::{Digest as _, Sha1};

use crate::http_client::{HttpClient, HttpError, Reach};
use crate::{Code, Error, PasswordSettings};

/// How long the response is waited for.
const TIMEOUT: Duration = Duration::from_secs(5);
/// Hex digits that are sent.
const PREFIX: usize = 5;

/// Looks up leaked passwords.
pub(crate) struct Leaks {
    client: HttpClient,
    /// The URL up to the digits; `None` if the check is off.
    url: Option<String>,
    fails_closed: bool,
}

impl Leaks {
    pub(crate) fn new(settings: &PasswordSettings, client: HttpClient) -> Self {
        Self {
            client,
            url: settings.leaked_check.then(|| settings.leaked_check_url.clone()),
            fails_closed: settings.leaked_check_fails_closed,
        }
    }

    /// Returns whether `password` has leaked. If that cannot be found out, the result is false with a warning in the
    /// log, or an error if the settings require the check.
    ///
    /// Errors: 500 in this case.
    pub(crate) async fn contains(&self, password: &str) -> Result<bool, Error> {
        let Some(url) = &self.url else { return Ok(false) };
        match self.ask(url, password).await {
            Ok(leaked) => Ok(leaked),
            Err(error) if self.fails_closed => {
                tracing::error!(%error, "a password cannot be checked for leaks and is refused");
                const REFUSED: &str = "Unable to perform password strength check with HaveIBeenPwned.org.";
                Err(Code::UnexpectedFailure.because(REFUSED))
            }
            Err(error) => {
                tracing::warn!(%error, "a password cannot be checked for leaks and is allowed");
                Ok(false)
            }
        }
    }

    async fn ask(&self, url: &str, password: &str) -> Result<bool, HttpError> {
        let hash = HEXUPPER.encode(&Sha1::digest(password));
        let (prefix, suffix) = hash.split_at(PREFIX);
        let request = self.client.request(Method::GET, &format!("{url}{prefix}"), Reach::Anywhere)?;
        // Padding keeps the length of the response from telling the digits.
        let response = self.client.send(request.header("Add-Padding", "true").timeout(TIMEOUT)).await?;
        if !response.status.is_success() {
            return Err(HttpError::Failed(format!("status {}", response.status)));
        }
        let lines = String::from_utf8_lossy(&response.body);
        // Padding has the count 0.
        Ok(lines
            .lines()
            .filter_map(|line| line.trim().split_once(':'))
            .any(|(known, count)| known.eq_ignore_ascii_case(suffix) && count.trim() != "0"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{Mock, MockResponse};

    /// SHA-1 of "password" is 5BAA61E4C9B93F3F0682250B6CF8331B7EE68FD8.
    const KNOWN: &str =
        "1D2DA4053E34E76F6576ED1DA63134B5E2A:2\r\n1E4C9B93F3F0682250B6CF8331B7EE68FD8:10437277\r\n";
    const PADDED: &str = "1E4C9B93F3F0682250B6CF8331B7EE68FD8:0\r\n";

    async fn leaked(status: u16, body: &str, fails_closed: bool) -> Result<bool, u16> {
        let mock =
            Mock::start(vec![MockResponse { status, headers: Vec::new(), body: body.to_owned() }]).await;
        let settings = PasswordSettings {
            leaked_check: true,
            leaked_check_fails_closed: fails_closed,
            leaked_check_url: format!("{}/range/", mock.url),
            ..PasswordSettings::default()
        };
        let leaked = Leaks::new(&settings, HttpClient::new().unwrap()).contains("password").await;
        assert_eq!(mock.only().path, "/range/5BAA6");
        leaked.map_err(|error| error.status().as_u16())
    }

    #[tokio::test]
    async fn only_five_digits_are_told_and_the_rest_is_compared_here() {
        assert_eq!(leaked(200, KNOWN, false).await, Ok(true));
        assert_eq!(leaked(200, PADDED, false).await, Ok(false));
        assert_eq!(leaked(200, "", true).await, Ok(false));
    }

    #[tokio::test]
    async fn settings_say_what_an_outage_means() {
        assert_eq!(leaked(503, "", false).await, Ok(false));
        assert_eq!(leaked(503, "", true).await, Err(500));
    }

    #[tokio::test]
    async fn no_request_is_sent_if_the_check_is_off() {
        let settings =
            PasswordSettings { leaked_check_url: "http://127.0.0.1:1/".to_owned(), ..Default::default() };
        assert!(!Leaks::new(&settings, HttpClient::new().unwrap()).contains("password").await.unwrap());
    }
}

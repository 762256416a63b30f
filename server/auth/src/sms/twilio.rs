//! Twilio: Programmable Messaging, and Verify, which makes the codes itself.
//!
//! Source: Twilio's documentation, "Messages resource" (2010-04-01) and "Verifications resource" (v2).

use reqwest::RequestBuilder;
use serde::Deserialize;
use serde_json::json;

use super::{Channel, Sms, SmsError, SmsSender};
use crate::Secret;
use crate::http_client::Answer;

const MESSAGES: &str = "https://api.twilio.com";
const VERIFY: &str = "https://verify.twilio.com";

/// Whose messages they are.
#[derive(Clone, Copy)]
pub(super) struct Account<'a> {
    pub(super) sid: &'a str,
    pub(super) token: &'a Secret,
    /// A messaging service, a sender's number, or a verification service.
    pub(super) service: &'a str,
}

impl Account<'_> {
    fn sign(&self, request: RequestBuilder) -> RequestBuilder {
        request.basic_auth(self.sid, Some(self.token.expose()))
    }
}

#[derive(Deserialize, Default)]
#[serde(default)]
struct Message {
    sid: String,
    status: String,
    error_code: Option<serde_json::Value>,
    error_message: Option<String>,
    valid: bool,
}

#[derive(Deserialize, Default)]
#[serde(default)]
struct Refusal {
    message: String,
    more_info: String,
}

/// Sends a message; WhatsApp ones by the template `content_sid`, where there is one.
pub(super) async fn send(
    texter: &SmsSender,
    account: Account<'_>,
    content_sid: &str,
    sms: Sms<'_>,
) -> Result<String, SmsError> {
    let (channel, mut to, mut from) =
        (sms.channel.name(), format!("+{}", sms.phone), account.service.to_owned());
    let variables = json!({ "1": sms.code }).to_string();
    let mut form = Vec::new();
    if sms.channel == Channel::Whatsapp {
        to = format!("whatsapp:{to}");
        if is_number(&from) {
            from = format!("whatsapp:{from}");
        }
    }
    if sms.channel == Channel::Whatsapp && !content_sid.is_empty() {
        form.extend([("ContentSid", content_sid), ("ContentVariables", variables.as_str())]);
    } else {
        form.push(("Body", sms.text));
    }
    form.extend([("To", to.as_str()), ("Channel", channel), ("From", from.as_str())]);
    let path = format!("/2010-04-01/Accounts/{}/Messages.json", account.sid);
    let answer = texter.answer(account.sign(texter.form(MESSAGES, &path, &form)?)).await?;
    let message = accepted(&answer)?;
    if matches!(message.status.as_str(), "failed" | "undelivered") {
        let code = message.error_code.map(|code| code.to_string()).unwrap_or_default();
        let reason = message.error_message.unwrap_or_default();
        return Err(SmsError::Refused(format!("twilio error: {reason} {code} for message {}", message.sid)));
    }
    Ok(message.sid)
}

/// Lets Twilio send a code of its own.
pub(super) async fn send_verification(
    texter: &SmsSender,
    account: Account<'_>,
    sms: Sms<'_>,
) -> Result<String, SmsError> {
    let to = format!("+{}", sms.phone);
    let path = format!("/v2/Services/{}/Verifications", account.service);
    let form = [("To", to.as_str()), ("Channel", sms.channel.name())];
    let answer = texter.answer(account.sign(texter.form(VERIFY, &path, &form)?)).await?;
    accepted(&answer).map(|message| message.sid)
}

/// Returns whether Twilio has sent `code` to `phone`.
pub(super) async fn check_verification(
    texter: &SmsSender,
    account: Account<'_>,
    phone: &str,
    code: &str,
) -> Result<bool, SmsError> {
    let to = format!("+{phone}");
    let path = format!("/v2/Services/{}/VerificationCheck", account.service);
    let form = [("To", to.as_str()), ("Code", code)];
    let answer = texter.answer(account.sign(texter.form(VERIFY, &path, &form)?)).await?;
    let message = accepted(&answer)?;
    Ok(message.status == "approved" && message.valid)
}

fn accepted(answer: &Answer) -> Result<Message, SmsError> {
    if matches!(answer.status.as_u16(), 200 | 201) {
        return Ok(answer.json()?);
    }
    let refusal: Refusal = answer.json()?;
    Err(SmsError::Refused(format!("{} More information: {}", refusal.message, refusal.more_info)))
}

fn is_number(sender: &str) -> bool {
    let digits = sender.trim_start_matches('+').replace(' ', "");
    (2..=15).contains(&digits.len())
        && !digits.starts_with('0')
        && digits.bytes().all(|byte| byte.is_ascii_digit())
}

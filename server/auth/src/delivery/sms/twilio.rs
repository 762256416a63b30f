//! Twilio: Programmable Messaging, and Verify, which makes the codes itself.
//!
//! Source: Twilio's documentation, "Messages resource" (2010-04-01) and "Verifications resource" (v2).

use serde::Deserialize;
use serde_json::json;

use super::{Channel, Sms, SmsError, SmsSender};
use crate::http_client::HttpResponse;
use crate::{Twilio, TwilioVerify};

const MESSAGES: &str = "https://api.twilio.com";
const VERIFY: &str = "https://verify.twilio.com";

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

/// Sends a message; WhatsApp ones by the account's template, where there is one.
pub(super) async fn send(sender: &SmsSender, account: &Twilio, sms: Sms<'_>) -> Result<String, SmsError> {
    let mut to = format!("+{}", sms.phone);
    let mut from = account.message_service_sid.clone();
    let variables = json!({ "1": sms.code }).to_string();
    let mut form = Vec::new();
    if sms.channel == Channel::Whatsapp {
        to = format!("whatsapp:{to}");
        if is_number(&from) {
            from = format!("whatsapp:{from}");
        }
    }
    if sms.channel == Channel::Whatsapp && !account.content_sid.is_empty() {
        form.extend([("ContentSid", account.content_sid.as_str()), ("ContentVariables", variables.as_str())]);
    } else {
        form.push(("Body", sms.text));
    }
    form.extend([("To", to.as_str()), ("Channel", sms.channel.name()), ("From", from.as_str())]);
    let path = format!("/2010-04-01/Accounts/{}/Messages.json", account.account_sid);
    let request = sender.form(MESSAGES, &path, &form)?;
    let request = request.basic_auth(&account.account_sid, Some(account.auth_token.expose()));
    let response = sender.response_to(request).await?;
    let message = read_message(&response)?;
    if matches!(message.status.as_str(), "failed" | "undelivered") {
        let code = message.error_code.map(|code| code.to_string()).unwrap_or_default();
        let reason = message.error_message.unwrap_or_default();
        return Err(SmsError::Refused(format!("twilio error: {reason} {code} for message {}", message.sid)));
    }
    Ok(message.sid)
}

/// Lets Twilio send a code of its own.
pub(super) async fn send_verification(
    sender: &SmsSender,
    account: &TwilioVerify,
    sms: Sms<'_>,
) -> Result<String, SmsError> {
    let to = format!("+{}", sms.phone);
    let form = [("To", to.as_str()), ("Channel", sms.channel.name())];
    verify(sender, account, "Verifications", &form).await.map(|message| message.sid)
}

/// Returns whether Twilio has sent `code` to `phone`.
pub(super) async fn check_verification(
    sender: &SmsSender,
    account: &TwilioVerify,
    phone: &str,
    code: &str,
) -> Result<bool, SmsError> {
    let to = format!("+{phone}");
    let message =
        verify(sender, account, "VerificationCheck", &[("To", to.as_str()), ("Code", code)]).await?;
    Ok(message.status == "approved" && message.valid)
}

/// Posts `form` to a resource of the account's verification service.
async fn verify(
    sender: &SmsSender,
    account: &TwilioVerify,
    resource: &str,
    form: &[(&str, &str)],
) -> Result<Message, SmsError> {
    let path = format!("/v2/Services/{}/{resource}", account.message_service_sid);
    let request = sender.form(VERIFY, &path, form)?;
    let request = request.basic_auth(&account.account_sid, Some(account.auth_token.expose()));
    read_message(&sender.response_to(request).await?)
}

fn read_message(response: &HttpResponse) -> Result<Message, SmsError> {
    if matches!(response.status.as_u16(), 200 | 201) {
        return Ok(response.json()?);
    }
    let refusal: Refusal = response.json()?;
    Err(SmsError::Refused(format!("{} More information: {}", refusal.message, refusal.more_info)))
}

fn is_number(sender: &str) -> bool {
    let digits = sender.trim_start_matches('+').replace(' ', "");
    (2..=15).contains(&digits.len())
        && !digits.starts_with('0')
        && digits.bytes().all(|byte| byte.is_ascii_digit())
}

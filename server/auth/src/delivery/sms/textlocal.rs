//! Textlocal. Source: its documentation, "Send SMS".

use serde::Deserialize;

use super::{Sms, SmsError, SmsSender};
use crate::Textlocal;

const HOST: &str = "https://api.textlocal.in";

#[derive(Deserialize, Default)]
#[serde(default)]
struct Response {
    status: String,
    errors: Vec<Refusal>,
    messages: Vec<Message>,
}

#[derive(Deserialize)]
struct Refusal {
    code: i64,
    message: String,
}

#[derive(Deserialize)]
struct Message {
    /// A number or a text, depending on the account's country.
    id: serde_json::Value,
}

pub(super) async fn send(sender: &SmsSender, account: &Textlocal, sms: Sms<'_>) -> Result<String, SmsError> {
    let form = [
        ("sender", account.sender.as_str()),
        ("apikey", account.api_key.expose()),
        ("message", sms.text),
        ("numbers", sms.phone),
    ];
    let response: Response = sender.response_to(sender.form(HOST, "/send", &form)?).await?.json()?;
    if response.status != "success" {
        let reason = response.errors.first().map(|error| format!("{} (code: {})", error.message, error.code));
        let reason = reason.unwrap_or_else(|| format!("status {:?}", response.status));
        return Err(SmsError::Refused(format!("textlocal error: {reason}")));
    }
    let id = response.messages.into_iter().next().map(|message| message.id).unwrap_or_default();
    Ok(id.as_str().map_or_else(|| if id.is_null() { String::new() } else { id.to_string() }, str::to_owned))
}

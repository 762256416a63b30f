//! Vonage. Source: its documentation, "SMS API".

use serde::Deserialize;

use super::{Sms, SmsError, SmsSender};
use crate::Vonage;

const HOST: &str = "https://rest.nexmo.com";

#[derive(Deserialize, Default)]
#[serde(default)]
struct Response {
    messages: Vec<Message>,
}

#[derive(Deserialize, Default)]
#[serde(default, rename_all = "kebab-case")]
struct Message {
    message_id: String,
    status: String,
    error_text: String,
}

pub(super) async fn send(sender: &SmsSender, account: &Vonage, sms: Sms<'_>) -> Result<String, SmsError> {
    let mut form = vec![
        ("from", account.from.as_str()),
        ("to", sms.phone),
        ("text", sms.text),
        ("api_key", account.api_key.as_str()),
        ("api_secret", account.api_secret.expose()),
    ];
    if !sms.text.is_ascii() {
        form.push(("type", "unicode"));
    }
    let response: Response = sender.response_to(sender.form(HOST, "/sms/json", &form)?).await?.json()?;
    let Some(message) = response.messages.into_iter().next() else {
        return Err(SmsError::Refused("vonage error: Internal Error".to_owned()));
    };
    if message.status != "0" {
        let Message { message_id, status, error_text } = message;
        return Err(SmsError::Refused(format!(
            "vonage error: {error_text} (status: {status}) for message {message_id}"
        )));
    }
    Ok(message.message_id)
}

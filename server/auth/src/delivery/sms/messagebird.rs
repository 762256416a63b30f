//! MessageBird. Source: its documentation, "SMS messaging API".

use http::header::AUTHORIZATION;
use serde::Deserialize;

use super::{Sms, SmsError, SmsSender};
use crate::Messagebird;

const HOST: &str = "https://rest.messagebird.com";

#[derive(Deserialize, Default)]
#[serde(default, rename_all = "camelCase")]
struct Recipients {
    total_sent_count: u64,
}

#[derive(Deserialize, Default)]
#[serde(default)]
struct Response {
    id: String,
    recipients: Recipients,
    errors: Vec<Refusal>,
}

#[derive(Deserialize)]
struct Refusal {
    description: String,
}

pub(super) async fn send(
    sender: &SmsSender,
    account: &Messagebird,
    sms: Sms<'_>,
) -> Result<String, SmsError> {
    let form = [
        ("originator", account.originator.as_str()),
        ("body", sms.text),
        ("recipients", sms.phone),
        ("type", "sms"),
        ("datacoding", "unicode"),
    ];
    let request = sender.form(HOST, "/messages", &form)?;
    let request = request.header(AUTHORIZATION, format!("AccessKey {}", account.access_key.expose()));
    let response: Response = sender.response_to(request).await?.json()?;
    if let Some(refusal) = response.errors.into_iter().next() {
        return Err(SmsError::Refused(refusal.description));
    }
    if response.recipients.total_sent_count == 0 {
        return Err(SmsError::Refused("messagebird error: total sent count is 0".to_owned()));
    }
    Ok(response.id)
}

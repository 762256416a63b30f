//! Mails as JSON.

use mail_parser::{Address, Message, MessageParser};
use serde_json::{Value, json};

/// Characters of a mail's text that lists show.
const SNIPPET: usize = 160;

/// Returns the summary of a mail for lists.
pub(super) fn summary(id: &str, raw: &[u8]) -> Value {
    let Some(message) = MessageParser::default().parse(raw) else { return json!({ "ID": id }) };
    let mut document = common(id, &message, raw);
    let text = message.body_text(0).unwrap_or_default();
    let words = text.split_whitespace().collect::<Vec<_>>().join(" ");
    document["Snippet"] = words.chars().take(SNIPPET).collect::<String>().into();
    document["Created"] = date(&message);
    document["Read"] = false.into();
    document["Attachments"] = message.attachment_count().into();
    document
}

/// Returns a whole mail.
pub(super) fn message(id: &str, raw: &[u8]) -> Value {
    let Some(message) = MessageParser::default().parse(raw) else { return json!({ "ID": id }) };
    let mut document = common(id, &message, raw);
    document["Date"] = date(&message);
    document["Text"] = message.body_text(0).unwrap_or_default().into();
    document["HTML"] = message.body_html(0).unwrap_or_default().into();
    document["ReturnPath"] = message.return_address().unwrap_or_default().into();
    document["Inline"] = json!([]);
    document["Attachments"] = json!([]);
    document
}

/// Returns the text of a mail.
pub(super) fn plain(raw: &[u8]) -> String {
    let message = MessageParser::default().parse(raw);
    message.and_then(|message| message.body_text(0).map(|text| text.into_owned())).unwrap_or_default()
}

/// Returns whether the mail of `summary` is one that `query` looks for: words, of which those with `to:`, `from:` or
/// `subject:` before them are looked for there alone.
pub(super) fn matches(summary: &Value, query: &str) -> bool {
    query.split_whitespace().all(|word| {
        let word = word.to_lowercase().replace('"', "");
        let (place, word) = word.split_once(':').unwrap_or(("", &word));
        let field = |name: &str| summary[name].to_string().to_lowercase();
        match place {
            "to" => field("To").contains(word),
            "from" => field("From").contains(word),
            "subject" => field("Subject").contains(word),
            _ => ["To", "From", "Subject", "Snippet"].iter().any(|name| field(name).contains(word)),
        }
    })
}

fn common(id: &str, message: &Message<'_>, raw: &[u8]) -> Value {
    json!({
        "ID": id,
        "MessageID": message.message_id().unwrap_or_default(),
        "From": addresses(message.from()).into_iter().next().unwrap_or_default(),
        "To": addresses(message.to()),
        "Cc": addresses(message.cc()),
        "Bcc": addresses(message.bcc()),
        "ReplyTo": addresses(message.reply_to()),
        "Subject": message.subject().unwrap_or_default(),
        "Tags": [],
        "Size": raw.len(),
    })
}

fn addresses(header: Option<&Address<'_>>) -> Vec<Value> {
    let all = header.into_iter().flat_map(|addresses| addresses.iter());
    all.map(|address| {
        json!({ "Name": address.name().unwrap_or_default(), "Address": address.address().unwrap_or_default() })
    })
    .collect()
}

fn date(message: &Message<'_>) -> Value {
    message.date().map(|date| date.to_rfc3339()).into()
}

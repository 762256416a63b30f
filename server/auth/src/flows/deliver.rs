//! Delivery of codes: each is generated, stored in place of the previous one, and sent. If sending fails, all of it is
//! undone with the transaction.

use std::time::Duration;

use super::Context;
use crate::delivery::messages::{Mail, TextMessage};
use crate::error::refusals;
use crate::flows::services::Delivery;
use crate::store::one_time_tokens::{self, Kind, PendingCode};
use crate::store::users::{Account, Changes};
use crate::store::{Executor, Work};
use crate::{Error, HookName, MailKind};

/// Returns how long it takes until something that may happen once in `frequency` may happen again.
fn remaining(pending: &PendingCode, frequency: Duration) -> Option<Duration> {
    let elapsed = Duration::try_from_secs_f64(pending.age?).unwrap_or_default();
    frequency.checked_sub(elapsed).filter(|wait| !wait.is_zero())
}

/// Mails `account` a code of `kind` at its own address. The code's link ends in a code if `pkce` is set.
///
/// Errors: `over_email_send_rate_limit` if the last one is too recent (invitations may repeat); those of
/// [`Messages::send_mail`](crate::delivery::messages::Messages::send_mail).
pub(crate) async fn mail(
    context: &Context<'_, Delivery>,
    work: &Work,
    account: Account,
    kind: MailKind,
    pkce: bool,
) -> Result<Account, Error> {
    let settings = &context.services.settings.mail;
    let token = match kind {
        MailKind::Recovery | MailKind::MagicLink => Kind::Recovery,
        MailKind::Reauthentication => Kind::Reauthentication,
        _ => Kind::Confirmation,
    };
    if kind != MailKind::Invite
        && let Some(wait) = remaining(&account.pending(token), settings.max_frequency)
    {
        return Err(refusals::mail_too_soon(wait));
    }
    let address = account.user.email.clone();
    let code = context.services.codes.generate(&address, settings.otp_length, pkce);
    let account = one_time_tokens::put(work, account.id(), token, &code.hash, &address).await?;
    let mail = Mail {
        kind,
        account: &account,
        code: Some(&code),
        new_address: None,
        redirect_to: &context.redirect_to,
        subject: "",
        client: &context.client,
    };
    context.services.messages.send_mail(mail).await?;
    Ok(account)
}

/// Mails codes that confirm the change of `account`'s address to `new`: one to the new address and, if changes are
/// to be secure and there is one, another to the current address.
///
/// Errors: as [`mail`].
pub(crate) async fn email_change(
    context: &Context<'_, Delivery>,
    work: &Work,
    account: Account,
    new: &str,
    pkce: bool,
) -> Result<Account, Error> {
    let settings = &context.services.settings.mail;
    if let Some(wait) = remaining(&account.pending(Kind::EmailChangeNew), settings.max_frequency) {
        return Err(refusals::mail_too_soon(wait));
    }
    let id = account.id();
    let current = account.user.email.clone();
    Changes::new().email_change(new, 0).apply(work, id).await?;
    let to_current = (settings.secure_email_change && !current.is_empty())
        .then(|| context.services.codes.generate(&current, settings.otp_length, pkce));
    if let Some(code) = &to_current {
        one_time_tokens::put(work, id, Kind::EmailChangeCurrent, &code.hash, &current).await?;
    }
    let to_new = context.services.codes.generate(new, settings.otp_length, pkce);
    let account = one_time_tokens::put(work, id, Kind::EmailChangeNew, &to_new.hash, new).await?;
    let mail = Mail {
        kind: MailKind::EmailChange,
        account: &account,
        code: to_current.as_ref(),
        new_address: Some((&to_new, new)),
        redirect_to: &context.redirect_to,
        subject: "",
        client: &context.client,
    };
    context.services.messages.send_mail(mail).await?;
    Ok(account)
}

/// Notifies `account` of a change by mail, if that kind of notification is on and there is an address. `subject` is
/// what [`Mail::subject`] says. A mail that cannot be sent does not undo the change; the failure is logged.
pub(crate) async fn notify(
    context: &Context<'_, Delivery>,
    account: &Account,
    kind: MailKind,
    subject: &str,
) {
    let on = context.services.settings.mail.notifications.contains(&kind);
    let has_address = !account.user.email.is_empty() || kind == MailKind::EmailChanged && !subject.is_empty();
    if !on || !has_address {
        return;
    }
    let mail = Mail {
        kind,
        account,
        code: None,
        new_address: None,
        redirect_to: &context.redirect_to,
        subject,
        client: &context.client,
    };
    if let Err(error) = context.services.messages.send_mail(mail).await {
        tracing::warn!(kind = kind.name(), %error, "a notification was not sent");
    }
}

/// A text message that was sent.
pub(crate) struct SentMessage {
    pub(crate) account: Account,
    /// Its id at the provider; empty if there is none.
    pub(crate) message_id: String,
}

/// Sends `account` a code of `kind` to `phone` by `channel` (`sms` or `whatsapp`). Numbers that have a test code get
/// no message.
///
/// Errors: `over_sms_send_rate_limit` if the last one is too recent; those of
/// [`Messages::send_sms`](crate::delivery::messages::Messages::send_sms).
pub(crate) async fn text_message(
    context: &Context<'_, Delivery>,
    executor: &impl Executor,
    account: Account,
    (kind, phone): (Kind, &str),
    channel: &str,
) -> Result<SentMessage, Error> {
    let settings = &context.services.settings.sms;
    // Checked before test codes are looked up, so that these behave like all others.
    if let Some(wait) = remaining(&account.pending(kind), settings.max_frequency) {
        return Err(refusals::sms_too_soon(wait));
    }
    let test = settings.test_otp(phone);
    let code = match test {
        Some(code) => context.services.codes.of(phone, code.to_owned(), false),
        None => context.services.codes.generate(phone, settings.otp_length, false),
    };
    let account = one_time_tokens::put(executor, account.id(), kind, &code.hash, phone).await?;
    if test.is_some() {
        return Ok(SentMessage { account, message_id: "test-otp".to_owned() });
    }
    let message = TextMessage {
        phone,
        code: &code.code,
        channel,
        is_factor: false,
        account: &account,
        client: &context.client,
    };
    let message_id = context.services.messages.send_sms(message).await?;
    Ok(SentMessage { account, message_id })
}

/// Checks that text messages may go by `channel`.
///
/// Errors: `validation_failed`.
pub(crate) fn check_channel(context: &Context<'_, Delivery>, channel: &str) -> Result<(), Error> {
    let settings = &context.services.settings;
    let by_whatsapp =
        settings.sms.provider.as_ref().is_some_and(|provider| provider.name().starts_with("twilio"));
    let known = match channel {
        "sms" => true,
        "whatsapp" => by_whatsapp,
        _ => false,
    };
    if known || context.services.hooks.is_on(HookName::SendSms) {
        return Ok(());
    }
    Err(Error::validation(
        "Invalid channel, supported values are 'sms' or 'whatsapp'. 'whatsapp' is only supported if Twilio or \
         Twilio Verify is used as the provider.",
    ))
}

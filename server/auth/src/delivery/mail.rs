//! Mails: from a kind and its variables to a message at an SMTP server or in a folder.

mod defaults;
mod folder;
mod message;
mod plain;
mod smtp;
mod templates;

use std::path::PathBuf;

use gotemplate::Value;
use lettre::Message;

use crate::Settings;
use crate::http_client::HttpClient;
use crate::settings::MailKind;

use folder::Folder;
pub(crate) use folder::{KEPT, files};
pub(crate) use message::ForeignMail;
use message::Sender;
pub(crate) use smtp::MailQueue;
use smtp::Smtp;
use templates::Templates;

/// Why a mail did not go out; for the log.
#[derive(Debug, thiserror::Error)]
pub(crate) enum MailError {
    /// The address is none that a mail can be sent to.
    #[error("the address cannot get mail: {0}")]
    Address(String),
    /// The message could not be put together.
    #[error("the message cannot be made: {0}")]
    Message(String),
    /// The mail server did not take it.
    #[error("the mail server {0} did not take the mail: {1}")]
    Server(String, String),
    /// Too many mails wait already.
    #[error("{0} mails are waiting for the mail server already")]
    Busy(usize),
    /// Neither a mail server nor a folder is set.
    #[error("neither a mail server nor a folder for mails is set")]
    Nowhere,
    /// The folder could not be written to.
    #[error("the mail cannot be kept in {0}: {1}")]
    Folder(PathBuf, std::io::Error),
}

/// Makes and sends mails.
pub(crate) struct Mailer {
    templates: Templates,
    sender: Sender,
    transport: Transport,
}

enum Transport {
    Smtp(Box<Smtp>),
    Folder(Folder),
    /// Neither is set.
    Nowhere,
}

impl Transport {
    fn new(settings: &Settings, queue: MailQueue) -> Result<Self, String> {
        Ok(match (&settings.mail.smtp, &settings.mail.folder) {
            (Some(smtp), _) => Self::Smtp(Box::new(Smtp::new(smtp, &settings.external_url, queue)?)),
            (None, Some(folder)) => Self::Folder(Folder::new(folder.clone())),
            (None, None) => Self::Nowhere,
        })
    }

    /// Hands `message` over. Returns when the mail server or the file system has it.
    async fn send(&self, message: &Message) -> Result<(), MailError> {
        match self {
            Self::Smtp(smtp) => smtp.send(message).await,
            Self::Folder(folder) => folder.keep(message).await,
            Self::Nowhere => Err(MailError::Nowhere),
        }
    }
}

impl Mailer {
    /// Creates the mailer of `settings`. Does not connect yet.
    ///
    /// Errors: a sentence for a sender's address or header that cannot be used, and for certificates that cannot be
    /// read.
    pub(crate) fn new(settings: &Settings, client: HttpClient, queue: MailQueue) -> Result<Self, String> {
        Ok(Self {
            templates: Templates::new(&settings.mail, &settings.site_url, client),
            sender: Sender::new(settings)?,
            transport: Transport::new(settings, queue)?,
        })
    }

    /// Sends the mail of `kind` with `variables` to `to`. Returns when the mail server or the file system has it.
    ///
    /// Errors: [`MailError`].
    pub(crate) async fn send(&self, kind: MailKind, to: &str, variables: &Value) -> Result<(), MailError> {
        let (subject, html) = self.templates.render(kind, variables).await;
        let message = self.sender.message(kind, to, subject, html)?;
        match self.transport.send(&message).await {
            Err(MailError::Nowhere) => {
                tracing::warn!(
                    kind = kind.name(),
                    "a mail is dropped: neither a mail server nor a folder is set"
                );
                Ok(())
            }
            outcome => outcome,
        }
    }
}

/// Sends mails whose content is given by the caller.
pub(crate) struct ForeignMailer {
    sender: Sender,
    transport: Transport,
}

impl ForeignMailer {
    /// Creates the mailer of `settings`, as [`Mailer::new`] does.
    pub(crate) fn new(settings: &Settings) -> Result<Self, String> {
        let transport = Transport::new(settings, MailQueue::default())?;
        Ok(Self { sender: Sender::new(settings)?, transport })
    }

    /// Sends `letter`. Returns when the mail server or the file system has it.
    ///
    /// Errors: [`MailError`]; also where neither is set, so that the sender may try again later.
    pub(crate) async fn send(&self, letter: &ForeignMail) -> Result<(), MailError> {
        self.transport.send(&self.sender.letter(letter)?).await
    }
}

#[cfg(test)]
mod tests;

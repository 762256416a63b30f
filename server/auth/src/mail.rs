//! Mails: from a kind and its variables to a message at an SMTP server or in a folder.

mod defaults;
mod folder;
mod message;
mod plain;
mod smtp;
mod templates;

use std::path::PathBuf;

use crate::http_client::HttpClient;
use crate::settings::MailKind;
use crate::{MailSettings, Settings};
use gotemplate::Value;

use folder::Folder;
pub(crate) use folder::{KEPT, files};
pub(crate) use message::ForeignMail;
use message::Sender;
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
    /// There is no way out.
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

impl Mailer {
    /// Prepares what `settings` say. Connects to nobody yet.
    ///
    /// Errors: a sentence for a sender's address or header that cannot be used, and for certificates that cannot be
    /// read.
    pub(crate) fn new(settings: &Settings, client: HttpClient) -> Result<Self, String> {
        let mail = &settings.mail;
        Ok(Self {
            templates: Templates::new(mail, &settings.site_url, client),
            sender: Sender::new(settings)?,
            transport: transport(mail, &settings.external_url)?,
        })
    }

    /// Returns how many mails the mail server is being given, or wait for it.
    pub(crate) fn pending(&self) -> usize {
        match &self.transport {
            Transport::Smtp(smtp) => smtp.pending(),
            Transport::Folder(_) | Transport::Nowhere => 0,
        }
    }

    /// Sends the mail of `kind` with `variables` to `to`. Returns when the mail server or the file system has it.
    ///
    /// Errors: [`MailError`].
    pub(crate) async fn send(&self, kind: MailKind, to: &str, variables: &Value) -> Result<(), MailError> {
        let (subject, html) = self.templates.render(kind, variables).await;
        let message = self.sender.message(kind, to, subject, html)?;
        match &self.transport {
            Transport::Smtp(smtp) => smtp.send(&message).await,
            Transport::Folder(folder) => folder.keep(&message).await,
            Transport::Nowhere => {
                tracing::warn!(
                    kind = kind.name(),
                    "a mail is dropped: neither a mail server nor a folder is set"
                );
                Ok(())
            }
        }
    }
}

/// Sends mails that others have written.
pub(crate) struct Post {
    sender: Sender,
    transport: Transport,
}

impl Post {
    /// As [`Mailer::new`].
    pub(crate) fn new(settings: &Settings) -> Result<Self, String> {
        let transport = transport(&settings.mail, &settings.external_url)?;
        Ok(Self { sender: Sender::new(settings)?, transport })
    }

    /// Sends `letter`. Returns when the mail server or the file system has it.
    ///
    /// Errors: [`MailError`]; also where neither is set, so that whoever wrote it may try again later.
    pub(crate) async fn send(&self, letter: &ForeignMail) -> Result<(), MailError> {
        let message = self.sender.letter(letter)?;
        match &self.transport {
            Transport::Smtp(smtp) => smtp.send(&message).await,
            Transport::Folder(folder) => folder.keep(&message).await,
            Transport::Nowhere => Err(MailError::Nowhere),
        }
    }
}

fn transport(settings: &MailSettings, external_url: &str) -> Result<Transport, String> {
    Ok(match (&settings.smtp, &settings.folder) {
        (Some(smtp), _) => Transport::Smtp(Box::new(Smtp::new(smtp, external_url)?)),
        (None, Some(folder)) => Transport::Folder(Folder::new(folder.clone())),
        (None, None) => Transport::Nowhere,
    })
}

#[cfg(test)]
mod tests;

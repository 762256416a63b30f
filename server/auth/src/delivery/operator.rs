//! Mails of the server to its operator.

use gateway::escape_html;
use uuid::Uuid;

use crate::delivery::mail::{ForeignMail, ForeignMailer};
use crate::{InvalidSettings, Settings};

/// Sends mails to the operator, by the way and from the sender of all other mails.
pub struct OperatorMailer(ForeignMailer);

impl OperatorMailer {
    /// Returns the mailer of `settings`. Does not connect yet.
    ///
    /// Errors: as [`service`](crate::service).
    pub fn new(settings: &Settings) -> Result<Self, InvalidSettings> {
        ForeignMailer::new(settings).map(Self).map_err(InvalidSettings)
    }

    /// Sends a mail with this plain `text` to the address `to`. Returns when the mail server or the file system has it.
    ///
    /// Errors: a sentence for the log.
    pub async fn send(&self, to: String, subject: String, text: String) -> Result<(), String> {
        let html = format!("<pre>{}</pre>", escape_html(&text));
        let letter = ForeignMail { id: Uuid::new_v4(), to: vec![to], reply_to: None, subject, text, html };
        self.0.send(&letter).await.map_err(|error| error.to_string())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::MailSettings;

    #[tokio::test]
    async fn the_operator_gets_the_text_as_it_is() {
        let folder = tempfile::tempdir().unwrap();
        let mail = MailSettings { folder: Some(folder.path().to_owned()), ..MailSettings::default() };
        let mailer = OperatorMailer::new(&Settings { mail, ..Settings::default() }).unwrap();
        let (to, subject) = ("ops@shop.example".to_owned(), "1 problem".to_owned());
        mailer.send(to, subject, "table <a>\nsince today".to_owned()).await.unwrap();
        let file = std::fs::read_dir(folder.path()).unwrap().next().unwrap().unwrap().path();
        let text = std::fs::read_to_string(file).unwrap();
        for part in
            ["To: ops@shop.example", "Subject: 1 problem", "table <a>\r\nsince today", "table &lt;a&gt;"]
        {
            assert!(text.contains(part), "{part} in {text}");
        }
    }
}

//! Mails and text messages: what they say, how they leave, and the page that shows mails while there is no mail server.

pub(crate) mod inbox;
pub(crate) mod mail;
pub(crate) mod messages;
pub(crate) mod outbox;
pub(crate) mod sms;

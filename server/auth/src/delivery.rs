//! What leaves for users and for the project: mails, text messages and calls of hooks; and the page that shows mails
//! while there is no mail server.

pub(crate) mod hooks;
pub(crate) mod inbox;
pub(crate) mod mail;
pub(crate) mod messages;
pub(crate) mod metrics;
pub(crate) mod operator;
pub(crate) mod outbox;
pub(crate) mod sms;

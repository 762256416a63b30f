//! What flows need to know of a request: who sends it, where it may lead, whether a person sent it.

pub(crate) mod captcha;
pub(crate) mod client;
pub(crate) mod redirects;

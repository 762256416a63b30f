//! What is checked of a request before the rules apply: how often it comes, whether a person has sent it, and where it
//! may lead.

pub(crate) mod captcha;
pub(crate) mod limits;
pub(crate) mod redirects;

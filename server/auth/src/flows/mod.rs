//! The rules of the service: what must hold, in which order it is checked, and what follows.

pub(crate) mod access_token;
pub(crate) mod bearer;
pub(crate) mod refresh;
mod refresh_token;
pub(crate) mod session;
pub(crate) mod sign_in;
pub(crate) mod sign_out;

pub(crate) use refresh_token::RefreshToken;
pub(crate) use sign_in::Address;
pub(crate) use sign_out::Scope;

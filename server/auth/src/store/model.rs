//! What the store reads and writes, as all folders above speak of it: users, sessions, addresses, clients.

pub(crate) mod address;
pub(crate) mod client;
pub(crate) mod nullable;
pub(crate) mod session;
pub(crate) mod user;

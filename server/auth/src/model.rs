//! What the rooms of the service speak of with each other: users, sessions, addresses.

pub(crate) mod address;
pub(crate) mod nullable;
pub(crate) mod session;
pub(crate) mod user;

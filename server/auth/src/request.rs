//! What flows need to know of a request: who sends it.

pub(crate) mod client;

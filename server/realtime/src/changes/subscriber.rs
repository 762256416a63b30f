//! A channel that wants row changes, and on whose behalf it gets them.

use std::sync::Arc;

use fairness::Network;

use super::binding::Bindings;
use crate::outbox::Outbox;
use crate::protocol::Version;
use crate::token::Access;

/// A channel that wants row changes.
#[derive(Debug, Clone)]
pub(crate) struct Subscriber {
    pub(crate) outbox: Arc<Outbox>,
    pub(crate) version: Version,
    /// The topic's name on the wire.
    pub(crate) topic: Arc<str>,
    pub(crate) access: Access,
    pub(crate) principal: Arc<Principal>,
    pub(crate) bindings: Arc<Bindings>,
    /// The network on whose behalf its filters are tried.
    pub(crate) network: Option<Network>,
}

/// The identity that policies apply to.
#[derive(Debug, PartialEq, Eq, Hash)]
pub(crate) struct Principal {
    role: Box<str>,
    claims: Box<str>,
}

impl Principal {
    /// Returns the principal of the holder of `access`.
    pub(crate) fn of(access: &Access) -> Arc<Self> {
        Arc::new(Self { role: access.role().into(), claims: access.claims().into() })
    }
}

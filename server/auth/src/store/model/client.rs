//! The client of a request: its address, its program and the name by which it reached this server.

use std::net::IpAddr;

/// Where a session is used from.
#[derive(Clone, Copy)]
pub(crate) struct Client<'a> {
    pub(crate) user_agent: Option<&'a str>,
    pub(crate) address: IpAddr,
    /// By which name it reached this server.
    pub(crate) requested_host: RequestedHost<'a>,
}

/// The host and scheme that a client says it has reached this server by. Clients can say any host.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct RequestedHost<'a> {
    /// That of a trusted proxy, else the one that was received.
    pub(crate) host: Option<&'a str>,
    /// A trusted proxy says that it got the request without TLS.
    pub(crate) is_plain: bool,
}

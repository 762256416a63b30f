//! The client of a request: its address, its program and the name by which it reached this server.

use std::net::IpAddr;

/// Where a session is used from.
pub(crate) struct Client<'a> {
    pub(crate) user_agent: Option<&'a str>,
    pub(crate) address: IpAddr,
    /// By which name it reached this server.
    pub(crate) requested_host: RequestedHost<'a>,
}

/// The host and scheme that a client says it has reached this server by. Clients can say anything here.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct RequestedHost<'a> {
    /// `X-Forwarded-Host`, else `Host`.
    pub(crate) host: Option<&'a str>,
    /// `X-Forwarded-Proto` is `http`.
    pub(crate) is_plain: bool,
}

//! Pages that only programs on this machine may open.
//!
//! They listen on the loopback interface. That alone does not exclude others: a proxy on this machine can reach it, and
//! so can any web page whose host name resolves to the loopback address (DNS rebinding).

use http::{StatusCode, Uri};
use poem::{Request, Response};

use crate::forwarded::is_forwarding_header;
use crate::public_address::received_host;

/// A request that does not come from a person or a program on this machine.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RemoteRequest {
    /// A proxy has passed it on.
    Proxied,
    /// It names another host, which resolves to this machine.
    OtherHost,
}

impl RemoteRequest {
    /// Returns why `request` is remote; `None` if it comes from this machine.
    pub fn of(request: &Request) -> Option<Self> {
        if request.headers().keys().any(|name| is_forwarding_header(name.as_str())) {
            return Some(Self::Proxied);
        }
        let host = received_host(request).and_then(|host| host.parse::<Uri>().ok());
        let is_local = host.as_ref().and_then(Uri::host).is_some_and(|name| {
            matches!(name, "127.0.0.1" | "[::1]") || name.eq_ignore_ascii_case("localhost")
        });
        (!is_local).then_some(Self::OtherHost)
    }
}

/// Returns the refusal of a remote request; `None` if `request` comes from this machine. `what` names the page, in the
/// plural.
pub(crate) fn refusal(request: &Request, what: &str) -> Option<Response> {
    RemoteRequest::of(request).map(|_| {
        let reason = format!(
            "{what} are for this machine alone: ask for them as http://127.0.0.1 or http://localhost"
        );
        Response::builder().status(StatusCode::FORBIDDEN).body(reason)
    })
}

#[cfg(test)]
mod tests {
    use http::header::HOST;

    use super::*;

    #[test]
    fn only_names_of_this_machine_are_local() {
        let of = |host: &str| RemoteRequest::of(&Request::builder().header(HOST, host).finish());
        for host in ["127.0.0.1", "127.0.0.1:9000", "localhost", "Localhost:1", "[::1]", "[::1]:9000"] {
            assert_eq!(of(host), None, "{host}");
        }
        for host in [
            "rebound.example",
            "rebound.example:9000",
            "127.0.0.1.example",
            "[::2]",
            "",
            "localhost/a",
            "a@b@",
        ] {
            assert_eq!(of(host), Some(RemoteRequest::OtherHost), "{host}");
        }
        let request = Request::builder().uri_str("http://localhost:9000/metrics").finish();
        assert_eq!(RemoteRequest::of(&request), None);
        for name in ["forwarded", "via", "x-forwarded-for", "x-forwarded-host", "x-real-ip"] {
            let request = Request::builder().header(HOST, "localhost").header(name, "x").finish();
            assert_eq!(RemoteRequest::of(&request), Some(RemoteRequest::Proxied));
        }
    }
}

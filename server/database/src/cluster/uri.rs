//! Connection URIs (PostgreSQL documentation, section 34.1.1.2).

use std::net::Ipv6Addr;

use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};

/// RFC 3986's unreserved characters stay as they are.
const ENCODED: &AsciiSet = &NON_ALPHANUMERIC.remove(b'-').remove(b'.').remove(b'_').remove(b'~');

/// The URI for `role` at `host`, which is a name, an address or the folder of a unix socket.
pub fn uri(host: &str, port: u16, role: &str, password: &str, database: &str) -> String {
    // Addresses of IPv6 stand in brackets, as they are (RFC 3986, section 3.2.2).
    let host = match host.parse::<Ipv6Addr>() {
        Ok(address) => format!("[{address}]"),
        Err(_) => encoded(host),
    };
    let [role, password, database] = [role, password, database].map(encoded);
    format!("postgresql://{role}:{password}@{host}:{port}/{database}")
}

/// `text` as a part of a URI.
pub(crate) fn encoded(text: &str) -> String {
    utf8_percent_encode(text, ENCODED).to_string()
}

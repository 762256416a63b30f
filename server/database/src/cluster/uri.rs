//! Connection URIs (PostgreSQL documentation, section 34.1.1.2).

use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};

/// RFC 3986's unreserved characters stay as they are.
const ENCODED: &AsciiSet = &NON_ALPHANUMERIC.remove(b'-').remove(b'.').remove(b'_').remove(b'~');

/// The URI for `role` at `host`, which is a name, an address or the folder of a unix socket.
pub fn uri(host: &str, port: u16, role: &str, password: &str, database: &str) -> String {
    let [host, role, password, database] =
        [host, role, password, database].map(|part| utf8_percent_encode(part, ENCODED));
    format!("postgresql://{role}:{password}@{host}:{port}/{database}")
}

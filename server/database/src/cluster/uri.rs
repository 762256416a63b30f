//! Connection URIs (PostgreSQL documentation, section 34.1.1.2).

use crate::conninfo::Conninfo;

/// The URI for `role` at `host`, which is a name, an address or the folder of a unix socket.
pub fn uri(host: &str, port: u16, role: &str, password: &str, database: &str) -> String {
    let port = port.to_string();
    let parameters =
        [("user", role), ("password", password), ("host", host), ("port", &port), ("dbname", database)];
    let parameters = parameters.map(|(name, value)| (name.to_owned(), value.to_owned()));
    Conninfo::from_iter(parameters).to_uri()
}

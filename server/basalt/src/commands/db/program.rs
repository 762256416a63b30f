//! Programs of Postgres and others that a command runs on a database.

use std::path::Path;

use postgres::conninfo::Conninfo;
use tokio::process::Command;

use crate::uri;

/// How to install Postgres' client programs.
pub(in super::super) const CLIENT_PACKAGES: &str = "It is in the packages postgresql-client (Debian, Ubuntu), postgresql (Fedora), libpq (Homebrew: `brew install \
     libpq`, then add its bin folder to PATH)";

/// Returns the command of a program of Postgres for the database at `server`. The password is passed in the
/// environment, since every user can read arguments in a list of processes.
pub(super) fn client(program: &Path, server: &Conninfo) -> Command {
    let mut command = Command::new(program);
    let (server, password) = uri::without_password(server);
    forget_other_servers(&mut command);
    if let Some(password) = password {
        command.env("PGPASSWORD", password);
    }
    command.arg("--dbname").arg(server.to_uri()).kill_on_drop(true);
    command
}

/// Removes variables such as `PGHOST`, which are set for other servers.
pub(super) fn forget_other_servers(command: &mut Command) {
    for (name, _) in std::env::vars_os() {
        if name.as_encoded_bytes().starts_with(b"PG") {
            command.env_remove(name);
        }
    }
}

//! `basalt psql`: runs psql on the project's database.

use std::ffi::OsString;
use std::os::unix::process::CommandExt as _;
use std::process::Command;

use clap::Args;

use super::db::CLIENT_PACKAGES;
use crate::backend::RunningPostgres;
use crate::error::Error;
use crate::settings::Settings;
use crate::uri;

/// Arguments of `psql`.
#[derive(Debug, Args)]
pub(super) struct Arguments {
    /// Arguments that are passed to psql
    #[arg(trailing_var_arg = true, allow_hyphen_values = true, value_name = "ARGUMENTS")]
    arguments: Vec<OsString>,
}

/// Replaces this process by psql. The password is passed in the environment, since every user can read arguments in a
/// list of processes.
pub(super) fn run(settings: &Settings, arguments: Arguments) -> Result<(), Error> {
    let program = embedded::find_psql(None).ok_or_else(|| {
        Error::Advice(format!(
            "psql was not found on PATH or in the system's usual folders. {CLIENT_PACKAGES}"
        ))
    })?;
    let mut command = Command::new(&program);
    match &settings.database.url {
        Some(url) => {
            let (server, password) = uri::without_password(url);
            command.arg(server.to_uri());
            if let Some(password) = password {
                command.env("PGPASSWORD", password);
            }
        }
        None => {
            let running = RunningPostgres::find(&settings.data_dir).ok_or_else(not_running)?;
            command.env("PGHOST", "127.0.0.1").env("PGPORT", running.port.to_string());
            command.env("PGUSER", embedded::POSTGRES).env("PGDATABASE", "postgres");
            command.env("PGPASSFILE", settings.data_dir.join("pgpass"));
        }
    }
    let error = command.args(arguments.arguments).exec();
    Err(Error::io(format!("run {}", program.display()))(error))
}

fn not_running() -> Error {
    Error::Advice(
        "the embedded Postgres is not running: start it with `basalt serve` in another terminal, or set DATABASE_URL"
            .to_owned(),
    )
}

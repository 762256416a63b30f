//! `basalt conformance` and `basalt swap`: run the conformance kit, a program for Node.js.

use std::ffi::{OsStr, OsString};
use std::os::unix::process::CommandExt as _;
use std::path::Path;
use std::process::Command;

use clap::{Args, Subcommand};

use super::status;
use crate::error::Error;
use crate::settings::{Invocation, Settings};

/// The kit's package, in the version that was released together with this program.
const PACKAGE: &str = concat!("basalt-conformance@", env!("CARGO_PKG_VERSION"));

/// The names of the running server's values in `status`, with the variables that the kit reads.
const VARIABLES: [(&str, &str); 9] = [
    ("API_URL", "SUPABASE_URL"),
    ("ANON_KEY", "SUPABASE_ANON_KEY"),
    ("SERVICE_ROLE_KEY", "SUPABASE_SERVICE_ROLE_KEY"),
    ("DB_URL", "DATABASE_URL"),
    ("MAILPIT_URL", "MAIL_URL"),
    ("JWT_SECRET", "JWT_SECRET"),
    ("S3_PROTOCOL_ACCESS_KEY_ID", "S3_PROTOCOL_ACCESS_KEY_ID"),
    ("S3_PROTOCOL_ACCESS_KEY_SECRET", "S3_PROTOCOL_ACCESS_KEY_SECRET"),
    ("S3_PROTOCOL_REGION", "S3_PROTOCOL_REGION"),
];

/// Arguments of `conformance`.
#[derive(Debug, Args)]
pub(super) struct Arguments {
    /// Arguments that are passed to the kit; `--help` lists them
    #[arg(trailing_var_arg = true, allow_hyphen_values = true, value_name = "ARGUMENTS")]
    arguments: Vec<OsString>,
}

/// Arguments of `swap`.
#[derive(Debug, Subcommand)]
pub(super) enum Swap {
    /// List what the project uses, and what another server lacks of it
    ///
    /// Example: `basalt swap check --url https://x.example --anon-key KEY --service-key KEY`
    Check(Arguments),
}

/// Replaces this process by the kit, which tests the server in its arguments or in SUPABASE_URL, or else the project's
/// running one.
///
/// Errors: if there is no such server, or if npx is missing.
pub(super) async fn run(invocation: &Invocation, arguments: Arguments) -> Result<(), Error> {
    let settings = Settings::load(invocation)?;
    let mut kit = kit(arguments.arguments.iter());
    let is_named = invocation.variables.get("SUPABASE_URL").is_some_and(|url| !url.is_empty());
    if !is_named && !names_server(&arguments.arguments) {
        let instance = super::running(&settings).await?;
        let values = status::values(&settings, &instance)?;
        for (name, variable) in VARIABLES {
            // In the environment, since every user can read arguments in a list of processes.
            if let Some(value) = values.get(name) {
                kit.env(variable, value);
            }
        }
    }
    replace_by(kit)
}

/// Replaces this process by the kit, which compares the project with the server in its arguments.
///
/// Errors: if npx is missing.
pub(super) fn swap(settings: &Settings, Swap::Check(arguments): Swap) -> Result<(), Error> {
    let project: &Path = &settings.project.root;
    let own = [OsStr::new("swap"), OsStr::new("check"), OsStr::new("--project"), project.as_os_str()];
    replace_by(kit(own.into_iter().chain(arguments.arguments.iter().map(OsString::as_os_str))))
}

fn kit(arguments: impl Iterator<Item = impl AsRef<OsStr>>) -> Command {
    let mut command = Command::new("npx");
    command.args(["--yes", PACKAGE]).args(arguments);
    command
}

/// Reports whether the arguments need no running server, because they name one or do not test a server at all.
fn names_server(arguments: &[OsString]) -> bool {
    let enough = ["--url", "--help", "-h", "--list", "--print-sql"];
    let mut arguments = arguments.iter().filter_map(|argument| argument.to_str());
    arguments.any(|argument| enough.contains(&argument.split_once('=').map_or(argument, |(name, _)| name)))
}

fn replace_by(mut command: Command) -> Result<(), Error> {
    let error = command.exec();
    if error.kind() == std::io::ErrorKind::NotFound {
        let advice = "npx was not found on PATH: the conformance kit needs Node.js 20.19 or newer";
        return Err(Error::Advice(advice.to_owned()));
    }
    Err(Error::io("run npx")(error))
}

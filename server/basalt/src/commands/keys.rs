//! `basalt keys`: prints the project's API keys.

use clap::Args;

use crate::error::Error;
use crate::settings::{Settings, display_path};
use crate::{backend, console};

/// Arguments of `keys`.
#[derive(Debug, Args)]
pub(super) struct Arguments {
    /// Show the secret keys, too, as lines for a .env file
    #[arg(long)]
    show: bool,
}

/// Prints the keys; the secret ones only with `--show`.
pub(super) fn run(settings: &Settings, arguments: &Arguments) -> Result<(), Error> {
    let keys = backend::keys(settings)?;
    let api = keys.api_keys();
    console::print(format_args!("SUPABASE_PUBLISHABLE_KEY={}", api.publishable()));
    console::print(format_args!("ANON_KEY={}", api.anon()));
    if arguments.show {
        console::print(format_args!("SUPABASE_SECRET_KEY={}", api.secret()));
        console::print(format_args!("SERVICE_ROLE_KEY={}", api.service_role()));
        console::print(format_args!("JWT_SECRET={}", keys.jwt_secret()));
    } else {
        let file = display_path(&settings.key_file());
        console::note(format_args!("The secret keys are in {file}; `basalt keys --show` prints them."));
    }
    Ok(())
}

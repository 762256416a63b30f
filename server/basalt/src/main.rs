//! The binary: command line, settings, one port, start and stop.

mod accept;
mod backend;
mod commands;
mod console;
mod error;
mod logging;
mod ports;
mod settings;
mod site;
mod typescript;
mod uri;

use std::process::ExitCode;

use clap::Parser as _;

fn main() -> ExitCode {
    match commands::Arguments::parse().run() {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            console::complain(&error);
            ExitCode::FAILURE
        }
    }
}

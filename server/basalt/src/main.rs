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

/// A request makes a hundred small allocations; with the system's allocator they take a fifth of its instructions.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> ExitCode {
    // Clients that are not told whose cryptography to use take the process's; only a second call could fail.
    let _ = rustls::crypto::ring::default_provider().install_default();
    match commands::Arguments::parse().run() {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            console::complain(&error);
            ExitCode::FAILURE
        }
    }
}

//! The binary: command line, settings, one port, start and stop.

mod accept;
mod backend;
mod commands;
mod console;
mod error;
mod instance;
mod logging;
mod ports;
mod settings;
mod uri;

use std::process::ExitCode;

use clap::Parser as _;

/// A request makes a hundred small allocations; with the system's allocator they take a fifth of its instructions.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> ExitCode {
    keep_pages_small();
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

/// Has no huge pages given to this process and those that it starts: a buffer that needs some kilobytes would hold two
/// megabytes. The answers are as fast without; see `docs/decisions/0025`.
#[cfg(target_os = "linux")]
fn keep_pages_small() {
    // A kernel without huge pages refuses.
    let _ = rustix::thread::disable_transparent_huge_pages(true);
}

#[cfg(not(target_os = "linux"))]
const fn keep_pages_small() {}

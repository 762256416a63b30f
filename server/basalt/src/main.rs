//! The program: command line, settings, ports, start and stop.

mod accept;
mod backend;
mod backups;
mod commands;
mod console;
mod database_port;
mod declared;
mod edge_functions;
mod error;
mod exposure;
mod https;
mod instance;
mod logging;
mod machine_memory;
mod ports;
mod program;
mod server;
mod service_manager;
mod settings;
mod uri;

use std::process::ExitCode;

/// A request makes a hundred small allocations. With the system's allocator, a fifth of its instructions are spent
/// there.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> ExitCode {
    program::remember();
    ports::take_from_environment();
    disable_huge_pages();
    // The default of TLS clients that name no provider. Only a second call could fail.
    let _ = rustls::crypto::ring::default_provider().install_default();
    let arguments = commands::parse(std::env::args_os()).unwrap_or_else(|error| error.exit());
    match arguments.run(::settings::process_variables()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            console::print_error(&error);
            ExitCode::FAILURE
        }
    }
}

/// Disables transparent huge pages for this process and those that it starts: a buffer of some kilobytes would occupy
/// two megabytes. Responses are as fast without them; see `docs/decisions/0025-no-huge-pages.md`.
#[cfg(target_os = "linux")]
fn disable_huge_pages() {
    // It fails on a kernel without huge pages.
    let _ = rustix::thread::disable_transparent_huge_pages(true);
}

#[cfg(not(target_os = "linux"))]
const fn disable_huge_pages() {}

//! Measures single steps of a request in isolation, without server or database, and prints one JSON object.

mod clock;
mod copy;
mod fanout;
mod files;
mod passwords;
mod proxy;
mod signatures;

use std::error::Error;
use std::io::Write as _;
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;

use clap::{Args, Parser, Subcommand};

/// Measures a step of a request in isolation.
#[derive(Parser)]
struct Arguments {
    #[command(subcommand)]
    step: Step,
}

#[derive(Subcommand)]
enum Step {
    /// Compares a password with its bcrypt hash, on several threads: hashes per second
    Passwords {
        /// Threads
        #[arg(long, default_value_t = 1, value_parser = clap::value_parser!(u16).range(1..))]
        threads: u16,
        #[command(flatten)]
        time: Time,
    },
    /// Writes small files durably, on several threads: files per second
    Files {
        /// The folder that they are written to
        folder: PathBuf,
        /// Bytes of each
        #[arg(long, default_value_t = 1024)]
        bytes: usize,
        /// Threads
        #[arg(long, default_value_t = 1, value_parser = clap::value_parser!(u16).range(1..))]
        threads: u16,
        #[command(flatten)]
        time: Time,
    },
    /// Verifies users' tokens: microseconds of processor time for each, for the first time and from the cache
    Tokens {
        #[command(flatten)]
        time: Time,
    },
    /// Forwards requests unchanged until it is killed: the cost of a minimal proxy
    Proxy {
        /// The unix socket that they go to
        socket: PathBuf,
    },
    /// Sends each message of a WebSocket to all others until it is killed: the cost of a fan-out
    Fanout,
    /// Copies bytes until it is killed: the cost of a relay
    Copy {
        /// The unix socket that they go to
        socket: PathBuf,
    },
}

#[derive(Args)]
struct Time {
    /// How long each figure is measured, in seconds
    #[arg(long, default_value_t = 3, value_parser = clap::value_parser!(u64).range(1..=600))]
    seconds: u64,
}

impl Time {
    const fn span(&self) -> Duration {
        Duration::from_secs(self.seconds)
    }
}

fn main() -> ExitCode {
    match run(&Arguments::parse()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            let _ = writeln!(std::io::stderr(), "bare: {error}");
            ExitCode::FAILURE
        }
    }
}

fn run(arguments: &Arguments) -> Result<(), Box<dyn Error>> {
    let figures = match &arguments.step {
        Step::Passwords { threads, time } => passwords::measure(*threads, time.span())?,
        Step::Files { folder, bytes, threads, time } => {
            files::measure(folder, *threads, *bytes, time.span())?
        }
        Step::Copy { socket } => return Ok(copy::serve(socket)?),
        Step::Fanout => return Ok(fanout::serve()?),
        Step::Proxy { socket } => return Ok(proxy::serve(socket)?),
        Step::Tokens { time } => signatures::measure(time.span())?,
    };
    Ok(writeln!(std::io::stdout(), "{figures}")?)
}

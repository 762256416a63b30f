//! Runs a command with a Postgres of its own: `with-cluster <command> [argument …]`.
//!
//! Starts an ephemeral cluster, passes its URL to the command in `BASALT_TEST_DATABASE_URL`, stops it when the command
//! ends, and exits with the command's exit code.

use std::ffi::OsString;
use std::process::ExitCode;

use embedded::Cluster;
use rustix::process::{Pid, Signal, kill_process};
use tokio::process::Command;
use tokio::signal::unix::{SignalKind, signal};

/// The exit code of a shell if the command cannot be run.
const CANNOT_RUN: u8 = 127;

#[tokio::main(flavor = "current_thread")]
async fn main() -> ExitCode {
    let mut arguments = std::env::args_os().skip(1).skip_while(|argument| argument == "--");
    let Some(program) = arguments.next() else {
        return report_error("usage: with-cluster <command> [argument …]");
    };
    let cluster = match Cluster::ephemeral(testkit::search(), None).await {
        Ok(cluster) => cluster,
        Err(error) => return report_error(&error.to_string()),
    };
    let ended = run(&cluster, program, arguments.collect()).await;
    cluster.stop().await;
    ended.unwrap_or_else(|error| report_error(&error.to_string()))
}

/// Runs the command. The command also receives Ctrl-C, so this only waits for its end; SIGTERM is passed on.
async fn run(cluster: &Cluster, program: OsString, arguments: Vec<OsString>) -> std::io::Result<ExitCode> {
    let mut interrupt = signal(SignalKind::interrupt())?;
    let mut terminate = signal(SignalKind::terminate())?;
    let mut command = Command::new(program);
    command.args(arguments).env(testkit::DATABASE_URL_VARIABLE, cluster.login().to_uri()).kill_on_drop(true);
    let mut child = command.spawn()?;
    loop {
        tokio::select! {
            status = child.wait() => {
                let code = status?.code().and_then(|code| u8::try_from(code).ok());
                return Ok(ExitCode::from(code.unwrap_or(1)));
            }
            _ = interrupt.recv() => {}
            _ = terminate.recv() => {
                if let Some(pid) = child.id().and_then(|id| Pid::from_raw(id.cast_signed())) {
                    // The command may have just ended.
                    let _ = kill_process(pid, Signal::TERM);
                }
            }
        }
    }
}

#[expect(clippy::print_stderr, reason = "a command tells its user there")]
fn report_error(message: &str) -> ExitCode {
    eprintln!("with-cluster: {message}");
    ExitCode::from(CANNOT_RUN)
}

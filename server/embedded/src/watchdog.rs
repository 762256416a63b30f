//! A shell process that stops Postgres when this process ends for any reason. It notices the end by reading from a
//! pipe.
//!
//! Only this process has the other end of the pipe, and the system closes it even after `kill -9`. The alternative, a
//! signal from the kernel at the parent's death, exists only on Linux and needs code between fork and exec.

use std::io;
use std::path::Path;
use std::process::Stdio;
use std::time::Duration;

use rustix::process::Signal;
use tokio::io::AsyncWriteExt;
use tokio::process::{Child, Command};
use tokio::time::timeout;

use super::environment;

/// The first line of the input is the process to watch. A second line means that it has ended; the end of the input
/// means that Basalt has. Postgres then gets ten seconds for a fast shutdown, after which an immediate one follows.
const SCRIPT: &str = r#"
read -r pid || pid=
if [ -n "$pid" ]; then
    read -r ended && exit 0
    kill -"$1" "$pid" 2>/dev/null
    for second in 1 2 3 4 5 6 7 8 9 10; do
        kill -0 "$pid" 2>/dev/null || break
        sleep 1
    done
    kill -QUIT "$pid" 2>/dev/null
fi
[ -z "$2" ] || rm -rf -- "$2"
"#;

/// How long the shell may take to end after it was told to.
const END_LIMIT: Duration = Duration::from_secs(2);

#[derive(Debug)]
pub(super) struct Watchdog {
    shell: Child,
}

impl Watchdog {
    /// Starts the shell. It will send `signal` to Postgres and then remove the folder `remove`.
    pub(super) fn start(signal: Signal, remove: Option<&Path>) -> io::Result<Self> {
        let mut command = Command::new("/bin/sh");
        command.env_clear().envs(environment::inherited());
        let signal = if signal == Signal::QUIT { "QUIT" } else { "INT" };
        command.args(["-c", SCRIPT, "basalt-watchdog", signal]);
        command.arg(remove.unwrap_or(Path::new("")));
        command.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::null()).current_dir("/");
        // A process group of its own, so that Ctrl-C in the terminal does not end it before Postgres.
        command.process_group(0);
        Ok(Self { shell: command.spawn()? })
    }

    /// Tells the shell which process to watch.
    pub(super) async fn watch(&mut self, pid: u32) -> io::Result<()> {
        self.send(&format!("{pid}\n")).await
    }

    /// Ends the shell because Postgres has ended.
    pub(super) async fn dismiss(mut self) {
        let sent = self.send("ended\n").await;
        if sent.is_err() || timeout(END_LIMIT, self.shell.wait()).await.is_err() {
            let _ = self.shell.start_kill();
            let _ = self.shell.wait().await;
        }
    }

    async fn send(&mut self, line: &str) -> io::Result<()> {
        match &mut self.shell.stdin {
            Some(pipe) => pipe.write_all(line.as_bytes()).await,
            None => Err(io::ErrorKind::BrokenPipe.into()),
        }
    }
}

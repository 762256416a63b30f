//! Ends Postgres when this process is gone, however it went: a shell that waits at the end of a pipe.
//!
//! The pipe's other end is held by this process alone and the system closes it even after `kill -9`. A shell, because
//! asking the kernel for a signal at the parent's death needs code between fork and exec, and only Linux has it.

use std::io;
use std::path::Path;
use std::process::Stdio;
use std::time::Duration;

use rustix::process::Signal;
use tokio::io::AsyncWriteExt;
use tokio::process::{Child, Command};
use tokio::time::timeout;

/// First line: the process to watch. Second line: it has ended. The pipe's end instead: this process has.
/// Fast shutdown is given ten seconds, then Postgres is told to drop everything.
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

/// How long the shell may take to end once it is told to.
const END_LIMIT: Duration = Duration::from_secs(2);

#[derive(Debug)]
pub(super) struct Watchdog {
    shell: Child,
}

impl Watchdog {
    /// Starts the shell. `signal` is what it will send; `remove` a folder that it will remove after that.
    pub(super) fn start(signal: Signal, remove: Option<&Path>) -> io::Result<Self> {
        let mut command = Command::new("/bin/sh");
        let signal = if signal == Signal::QUIT { "QUIT" } else { "INT" };
        command.args(["-c", SCRIPT, "basalt-watchdog", signal]);
        command.arg(remove.unwrap_or(Path::new("")));
        command.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::null()).current_dir("/");
        // A group of its own, so that Ctrl-C in the terminal does not end it before Postgres.
        command.process_group(0);
        Ok(Self { shell: command.spawn()? })
    }

    /// Names the process to watch.
    pub(super) async fn watch(&mut self, pid: u32) -> io::Result<()> {
        self.tell(&format!("{pid}\n")).await
    }

    /// Ends the shell because Postgres has ended.
    pub(super) async fn dismiss(mut self) {
        let told = self.tell("ended\n").await;
        if told.is_err() || timeout(END_LIMIT, self.shell.wait()).await.is_err() {
            let _ = self.shell.start_kill();
            let _ = self.shell.wait().await;
        }
    }

    async fn tell(&mut self, line: &str) -> io::Result<()> {
        match &mut self.shell.stdin {
            Some(pipe) => pipe.write_all(line.as_bytes()).await,
            None => Err(io::ErrorKind::BrokenPipe.into()),
        }
    }
}

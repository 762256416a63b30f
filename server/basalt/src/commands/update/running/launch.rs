//! How a process was started, so that it can be started again in the same way. Known on Linux only.

use std::ffi::OsString;
use std::fs::{File, OpenOptions};
use std::io;
use std::os::unix::ffi::OsStringExt as _;
use std::os::unix::fs::MetadataExt as _;
use std::os::unix::process::CommandExt as _;
use std::path::PathBuf;
use std::process::{Command, Stdio};

use crate::program;

/// The words, the environment, the folder, the user and the output of a process. Source: proc(5).
pub(super) struct Launch {
    words: Vec<OsString>,
    environment: Vec<(OsString, OsString)>,
    folder: PathBuf,
    user: (u32, u32),
    output: Option<File>,
    errors: Option<File>,
}

impl Launch {
    /// Returns how the process `pid` was started; `None` where the system does not say it.
    pub(super) fn of(pid: i32) -> Option<Self> {
        let at = |name: &str| PathBuf::from(format!("/proc/{pid}/{name}"));
        let list = |name| Some(pieces(&std::fs::read(at(name)).ok()?));
        let pair = |entry: OsString| {
            let bytes = entry.into_vec();
            let end = bytes.iter().position(|byte| *byte == b'=')?;
            let (name, value) = bytes.split_at_checked(end)?;
            let value = value.get(1..)?.to_vec();
            Some((OsString::from_vec(name.to_vec()), OsString::from_vec(value)))
        };
        let owner = std::fs::metadata(at("")).ok()?;
        // A terminal, a file or a pipe; a socket cannot be opened.
        let open = |name| OpenOptions::new().append(true).open(at(name)).ok();
        Some(Self {
            words: list("cmdline")?.into_iter().skip(1).collect(),
            environment: list("environ")?.into_iter().filter_map(pair).collect(),
            folder: std::fs::read_link(at("cwd")).ok()?,
            user: (owner.uid(), owner.gid()),
            output: open("fd/1"),
            errors: open("fd/2"),
        })
    }

    /// Starts the program that is at the place of this one in the same way. It outlives this process.
    pub(super) fn repeat(&self) -> io::Result<()> {
        let stream = |file: &Option<File>| {
            file.as_ref().and_then(|file| file.try_clone().ok()).map_or_else(Stdio::null, Stdio::from)
        };
        let program = program::path().map_err(io::Error::other)?;
        let mut command = Command::new(program);
        command.args(&self.words).env_clear().envs(self.environment.iter().cloned());
        command.current_dir(&self.folder).process_group(0).stdin(Stdio::null());
        command.stdout(stream(&self.output)).stderr(stream(&self.errors));
        if rustix::process::geteuid().is_root() && self.user.0 != 0 {
            command.uid(self.user.0).gid(self.user.1);
        }
        command.spawn().map(drop)
    }
}

/// Returns the strings that end with a NUL each.
fn pieces(bytes: &[u8]) -> Vec<OsString> {
    let bytes = bytes.strip_suffix(b"\0").unwrap_or(bytes);
    bytes.split(|byte| *byte == 0).map(|piece| OsString::from_vec(piece.to_vec())).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn empty_words_stay() {
        assert_eq!(pieces(b"basalt\0serve\0\0--x\0"), ["basalt", "serve", "", "--x"]);
    }
}

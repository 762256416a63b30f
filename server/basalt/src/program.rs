//! Where this program is, and how it begins anew.

use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;

use crate::error::Error;

static PATH: OnceLock<Option<PathBuf>> = OnceLock::new();

/// Remembers where this program is. Later the system may not say so any more: an update replaces the file.
pub(crate) fn remember() {
    let _ = PATH.set(std::env::current_exe().ok());
}

/// Returns the path of this program at its start, without links.
///
/// Errors: if the system does not say it.
pub(crate) fn path() -> Result<&'static Path, Error> {
    let path = PATH.get_or_init(|| std::env::current_exe().ok());
    path.as_deref().ok_or_else(|| Error::Advice("the system does not say where this program is".to_owned()))
}

/// Replaces this process by the program that is now at [`path`], with the same arguments and what `prepare` adds.
/// Returns only if that is not possible, and why.
pub(crate) fn begin_anew(prepare: impl FnOnce(&mut Command)) -> Error {
    let program = match path() {
        Ok(program) => program,
        Err(error) => return error,
    };
    let mut command = Command::new(program);
    command.args(std::env::args_os().skip(1));
    prepare(&mut command);
    Error::io(format!("run {}", program.display()))(command.exec())
}

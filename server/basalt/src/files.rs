//! Files that other processes read.

use std::fs::{self, OpenOptions, Permissions};
use std::io::{self, ErrorKind, Write as _};
use std::os::unix::fs::{OpenOptionsExt as _, PermissionsExt as _};
use std::path::Path;

/// Writes a file under a temporary name first, so that it is never read incomplete. It has `mode` whatever this process
/// withholds from new files. What is at the temporary name is replaced, and no link is followed.
pub(crate) fn write_whole(path: &Path, content: &[u8], mode: u32) -> io::Result<()> {
    let mut draft = path.as_os_str().to_owned();
    draft.push(".tmp");
    match fs::remove_file(&draft) {
        Err(error) if error.kind() != ErrorKind::NotFound => return Err(error),
        _ => {}
    }
    let mut file = OpenOptions::new().write(true).create_new(true).mode(mode).open(&draft)?;
    file.set_permissions(Permissions::from_mode(mode))?;
    file.write_all(content)?;
    fs::rename(&draft, path)
}

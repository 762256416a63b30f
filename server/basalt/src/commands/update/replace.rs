//! The files of an update. At every moment there is a whole program at its place: files are written beside it and
//! renamed over it.

use std::fs::{self, File};
use std::io;
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};

use flate2::read::GzDecoder;

use crate::error::Error;
use crate::settings::display_path;

/// The largest program in an archive, in bytes.
const PROGRAM_LIMIT: u64 = 1 << 30;

/// The program, and those before and after it.
#[derive(Debug)]
pub(super) struct Places {
    pub(super) program: PathBuf,
    /// The one that the last update has replaced.
    pub(super) old: PathBuf,
    /// The one that is tried.
    pub(super) new: PathBuf,
    /// The last one that was put in place and was not healthy.
    pub(super) failed: PathBuf,
}

impl Places {
    /// Returns the places around `program`.
    pub(super) fn of(program: &Path) -> Self {
        let beside = |end: &str| {
            let mut name = program.file_name().unwrap_or_default().to_owned();
            name.push(end);
            program.with_file_name(name)
        };
        Self {
            program: program.to_owned(),
            old: beside(".old"),
            new: beside(".new"),
            failed: beside(".failed"),
        }
    }

    /// Writes the program of a release archive as the new one.
    pub(super) fn unpack(&self, archive: &[u8]) -> Result<(), Error> {
        self.discard();
        let written = self.write_new(archive);
        if written.is_err() {
            self.discard();
        }
        written.map_err(self.cannot("write"))
    }

    fn write_new(&self, archive: &[u8]) -> io::Result<()> {
        let mut archive = tar::Archive::new(GzDecoder::new(archive));
        for entry in archive.entries()? {
            let mut entry = entry?;
            let is_program = entry.path()?.file_name().is_some_and(|name| name == env!("CARGO_PKG_NAME"));
            if !is_program || !entry.header().entry_type().is_file() {
                continue;
            }
            let mut file = fs::OpenOptions::new().write(true).create_new(true).mode(0o755).open(&self.new)?;
            io::copy(&mut io::Read::take(&mut entry, PROGRAM_LIMIT), &mut file)?;
            return file.sync_all();
        }
        Err(io::Error::other("the archive has no program"))
    }

    /// Removes the new program.
    pub(super) fn discard(&self) {
        let _ = fs::remove_file(&self.new);
    }

    /// Keeps the program as the old one, and puts the new one in its place.
    pub(super) fn replace(&self) -> Result<(), Error> {
        self.keep().and_then(|()| self.put(&self.new)).map_err(self.cannot("replace"))
    }

    /// Exchanges the program and the old one.
    ///
    /// Errors: if no old one is kept.
    pub(super) fn go_back(&self) -> Result<(), Error> {
        if !self.old.exists() {
            let path = display_path(&self.old);
            return Err(Error::Advice(format!("there is no program to go back to: {path} is missing")));
        }
        self.discard();
        let exchanged = fs::hard_link(&self.old, &self.new).and_then(|()| self.keep());
        exchanged.and_then(|()| self.put(&self.new)).map_err(self.cannot("go back to the old one of"))
    }

    /// Puts the old program back. The one that failed gets another name, so that nobody goes back to it later.
    ///
    /// Errors: if no old one is kept.
    pub(super) fn undo(&self) -> Result<(), Error> {
        self.go_back()?;
        fs::rename(&self.old, &self.failed).map_err(self.cannot("keep what failed beside"))
    }

    /// Gives the program the name of the old one, too.
    fn keep(&self) -> io::Result<()> {
        let draft = self.old.with_extension("old.tmp");
        let _ = fs::remove_file(&draft);
        fs::hard_link(&self.program, &draft)?;
        fs::rename(draft, &self.old)
    }

    fn put(&self, new: &Path) -> io::Result<()> {
        fs::rename(new, &self.program)?;
        // So that a loss of power does not undo it in part.
        self.program.parent().map_or(Ok(()), |folder| File::open(folder)?.sync_all())
    }

    fn cannot(&self, doing: &str) -> impl FnOnce(io::Error) -> Error {
        Error::io(format!("{doing} {}", display_path(&self.program)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_update_keeps_the_old_program_and_going_back_exchanges_them() {
        let folder = tempfile::tempdir().unwrap();
        let places = Places::of(&folder.path().join("basalt"));
        let content = |path: &Path| fs::read_to_string(path).unwrap();
        fs::write(&places.program, "1").unwrap();
        assert!(places.go_back().is_err());
        for version in ["2", "3"] {
            fs::write(&places.new, version).unwrap();
            places.replace().unwrap();
        }
        assert_eq!((content(&places.program), content(&places.old)), ("3".to_owned(), "2".to_owned()));
        places.go_back().unwrap();
        assert_eq!((content(&places.program), content(&places.old)), ("2".to_owned(), "3".to_owned()));
        assert!(!places.new.exists());
        fs::write(&places.new, "broken").unwrap();
        places.replace().unwrap();
        places.undo().unwrap();
        assert_eq!(
            (content(&places.program), content(&places.failed)),
            ("2".to_owned(), "broken".to_owned())
        );
        assert!(places.go_back().is_err());
    }
}

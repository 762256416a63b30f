//! Watches the functions folder and what functions import from elsewhere, so that a changed file ends the processes
//! that use it.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::Weak;

use notify::{Event, EventKind, RecommendedWatcher, RecursiveMode, Watcher as _};
use parking_lot::Mutex;

use crate::Inner;

/// Watches files until it is dropped; none before it was started.
#[derive(Default)]
pub(crate) struct FileWatcher(Mutex<Option<Watched>>);

struct Watched {
    watcher: RecommendedWatcher,
    /// The folders, of which the first is watched with all in it.
    folders: Vec<PathBuf>,
}

/// The functions that use a file in the functions folder, whether or not they import it.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Concerned<'a> {
    /// Any function may use it.
    All,
    /// It belongs to this one.
    One(&'a str),
    /// It is elsewhere.
    None,
}

impl FileWatcher {
    /// Watches `folder` and all in it. If that is not possible, logs a warning.
    pub(crate) fn start(&self, folder: &Path, functions: Weak<Inner>) {
        let watched = folder.to_owned();
        let changed = move |event: notify::Result<Event>| {
            let Some(functions) = functions.upgrade() else { return };
            match event {
                Ok(event) if matches!(event.kind, EventKind::Access(_)) => {}
                Ok(event) => {
                    event.paths.iter().for_each(|path| functions.renew(&concerned(&watched, path), path));
                }
                // Changes may have been missed.
                Err(_) => functions.renew(&Concerned::All, &watched),
            }
        };
        let started = notify::recommended_watcher(changed).and_then(|mut watcher| {
            watcher.watch(folder, RecursiveMode::Recursive)?;
            Ok(Watched { watcher, folders: vec![folder.to_owned()] })
        });
        match started {
            Ok(watched) => *self.0.lock() = Some(watched),
            Err(error) => {
                tracing::warn!(%error, "the functions folder is not watched: restart to see changes");
            }
        }
    }

    /// Watches nothing any more.
    pub(crate) fn stop(&self) {
        *self.0.lock() = None;
    }

    /// Watches `files`, too, if it was started.
    pub(crate) fn add(&self, files: &BTreeSet<PathBuf>) {
        let mut watched = self.0.lock();
        let Some(Watched { watcher, folders }) = &mut *watched else { return };
        // Of a file that is replaced, only its folder notices it.
        for folder in files.iter().filter_map(|file| file.parent()) {
            if folder.starts_with(&folders[0]) || folders.iter().any(|known| known == folder) {
                continue;
            }
            match watcher.watch(folder, RecursiveMode::NonRecursive) {
                Ok(()) => folders.push(folder.to_owned()),
                Err(error) => {
                    let folder = folder.display();
                    tracing::warn!(%error, %folder, "a folder with imported files is not watched");
                }
            }
        }
    }
}

/// Returns the functions that the file at `path` belongs to, where `folder` is the functions folder.
fn concerned<'a>(folder: &Path, path: &'a Path) -> Concerned<'a> {
    let Ok(within) = path.strip_prefix(folder) else { return Concerned::None };
    let mut parts = within.components();
    match parts.next().and_then(|first| first.as_os_str().to_str()) {
        Some(first) if parts.next().is_some() && !first.starts_with(['_', '.']) => Concerned::One(first),
        _ => Concerned::All,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shared_code_belongs_to_all() {
        let folder = Path::new("/p/functions");
        for (path, functions) in [
            ("/p/functions/hello/index.ts", Concerned::One("hello")),
            ("/p/functions/hello/deep/x.ts", Concerned::One("hello")),
            ("/p/functions/_shared/x.ts", Concerned::All),
            ("/p/functions/deno.json", Concerned::All),
            ("/p/functions", Concerned::All),
            ("/p/shared/x.ts", Concerned::None),
        ] {
            assert_eq!(concerned(folder, Path::new(path)), functions, "{path}");
        }
    }
}

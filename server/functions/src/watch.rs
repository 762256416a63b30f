//! Watches the functions folder, so that a changed file ends its function's process.

use std::path::{Path, PathBuf};
use std::sync::Weak;

use notify::{Event, EventKind, RecommendedWatcher, RecursiveMode, Watcher as _};

use crate::Inner;

/// Watches `folder` until the returned watcher is dropped. Returns `None`, and logs a warning, if that is not possible.
pub(crate) fn watch(folder: PathBuf, functions: Weak<Inner>) -> Option<RecommendedWatcher> {
    let watched = folder.clone();
    let changed = move |event: notify::Result<Event>| {
        let Some(functions) = functions.upgrade() else { return };
        match event {
            Ok(event) if matches!(event.kind, EventKind::Access(_)) => {}
            Ok(event) => event.paths.iter().for_each(|path| functions.renew(name(&watched, path))),
            // Changes may have been missed.
            Err(_) => functions.renew(None),
        }
    };
    let started = notify::recommended_watcher(changed).and_then(|mut watcher| {
        watcher.watch(&folder, RecursiveMode::Recursive)?;
        Ok(watcher)
    });
    started
        .inspect_err(
            |error| tracing::warn!(%error, "the functions folder is not watched: restart to see changes"),
        )
        .ok()
}

/// Returns the name of the function that `path` belongs to; `None` for a file that several functions may use.
fn name<'a>(folder: &Path, path: &'a Path) -> Option<&'a str> {
    let mut parts = path.strip_prefix(folder).ok()?.components();
    let first = parts.next()?.as_os_str().to_str()?;
    let is_within_one = parts.next().is_some() && !first.starts_with(['_', '.']);
    is_within_one.then_some(first)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shared_code_belongs_to_all() {
        let folder = Path::new("/p/functions");
        for (path, function) in [
            ("/p/functions/hello/index.ts", Some("hello")),
            ("/p/functions/hello/deep/x.ts", Some("hello")),
            ("/p/functions/_shared/x.ts", None),
            ("/p/functions/deno.json", None),
            ("/p/functions", None),
        ] {
            assert_eq!(name(folder, Path::new(path)), function, "{path}");
        }
    }
}

//! Declared schemas: SQL files that say what the database's schema should be. They are not run on the project's
//! database: `basalt db diff` makes migrations of their difference from the migrations, as with the Supabase CLI.

use std::path::{Path, PathBuf};

use serde::Deserialize;

use crate::console;
use crate::error::Error;
use crate::settings::{Settings, display_path};

/// The folder of the files, if `db.migrations.schema_paths` names none.
pub(crate) const FOLDER: &str = "schemas";

/// The file in the data folder with the hash of what was last compared with the migrations.
const COMPARED: &str = "declared-schemas";

/// The file in which the Supabase CLI says in which order the files of an export are run.
const EXPORT: &str = ".pgdelta-export.json";

/// What that file says, as far as it is used here.
#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct Export {
    load_order: Vec<PathBuf>,
}

/// Returns the files in the order in which they are run: that of `db.migrations.schema_paths`, else those in
/// `supabase/schemas` and in the folders below it, in the order of an export or by their paths.
pub(crate) fn files(settings: &Settings) -> Vec<PathBuf> {
    let patterns = &settings.migrations.schema_paths;
    if !patterns.is_empty() {
        return settings.project.glob(patterns);
    }
    let folder = settings.project.base.join(FOLDER);
    let mut files = Vec::new();
    collect(&folder, &mut files);
    files.sort();
    let export = std::fs::read(folder.join(EXPORT)).ok();
    let export: Export = export.and_then(|text| serde_json::from_slice(&text).ok()).unwrap_or_default();
    let first: Vec<PathBuf> = export.load_order.iter().map(|file| folder.join(file)).collect();
    let (mut exported, others): (Vec<_>, Vec<_>) = files.into_iter().partition(|file| first.contains(file));
    exported.sort_by_key(|file| first.iter().position(|other| other == file));
    exported.extend(others);
    exported
}

fn collect(folder: &Path, files: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(folder).into_iter().flatten().flatten() {
        let path = entry.path();
        match entry.file_type() {
            Ok(kind) if kind.is_dir() => collect(&path, files),
            _ if path.extension().is_some_and(|extension| extension == "sql") => files.push(path),
            _ => {}
        }
    }
}

/// Says if the declared schemas have changed since they were compared with the migrations.
pub(crate) fn note_changes(settings: &Settings) {
    let files = files(settings);
    if files.is_empty() || std::fs::read_to_string(compared(settings)).ok() == hash(settings, &files).ok() {
        return;
    }
    console::step(
        "declared schemas: changed since they were compared with the migrations. `basalt db diff -f NAME` writes the \
         migration that they need, and the next start applies it",
    );
}

/// Remembers that the migrations make what is declared.
pub(crate) fn remember(settings: &Settings) -> Result<(), Error> {
    let files = files(settings);
    let path = compared(settings);
    let doing = || format!("write {}", display_path(&path));
    let hash = hash(settings, &files).map_err(Error::io("read the declared schemas"))?;
    std::fs::create_dir_all(&settings.data_dir).map_err(Error::io(doing()))?;
    std::fs::write(&path, hash).map_err(Error::io(doing()))
}

fn compared(settings: &Settings) -> PathBuf {
    settings.data_dir.join(COMPARED)
}

/// Returns a hash of the files, and of the names of the migrations.
fn hash(settings: &Settings, files: &[PathBuf]) -> std::io::Result<String> {
    let mut text = String::new();
    for file in files {
        text.push_str(&format!("{}\0{}\0", file.display(), std::fs::read_to_string(file)?));
    }
    let mut migrations = Vec::new();
    collect(&settings.migrations.path, &mut migrations);
    migrations.sort();
    for file in migrations {
        text.push_str(&format!("{}\0", file.display()));
    }
    Ok(migrations::digest(text.as_bytes()))
}

//! Settings of backups.

use std::path::Path;

use ::backup::Settings;
use settings::{Invalid, Reader};

use super::Project;

/// The files of settings that are part of a backup, in the project's folder and in that of `config.toml`.
const FILES: [&str; 2] = [".env", ".env.local"];

/// The variable that names the file of the passphrase.
const PASSPHRASE_FILE: &str = "BASALT_BACKUP_PASSPHRASE_FILE";

/// Reads the settings of a server on `data_dir`. Paths are relative to the folder of `config.toml`.
pub(super) fn read(reader: &mut Reader<'_>, project: &Project, data_dir: &Path) -> Result<Settings, Invalid> {
    let mut settings: Settings = reader.read()?;
    // This variable also sets the passphrase itself, as those of all secrets do. The file is read anew while the server
    // runs.
    let is_file = settings.passphrase_file.as_ref().is_some_and(|path| path.is_absolute());
    if is_file && reader.is_in_environment(PASSPHRASE_FILE) {
        settings.passphrase = None;
    }
    settings.passphrase_file = settings.passphrase_file.map(|path| project.resolve(path));
    settings.target = settings.target.map(|target| place(target, project, data_dir)).transpose()?;
    let folders =
        if project.root == project.base { vec![&project.root] } else { vec![&project.root, &project.base] };
    let of_environment = folders.into_iter().flat_map(|folder| FILES.map(|name| folder.join(name)));
    settings.files = project.config_path.iter().cloned().chain(of_environment).collect();
    Ok(settings)
}

/// Returns the target of backups that the text of an operator names.
fn place(text: String, project: &Project, data_dir: &Path) -> Result<String, Invalid> {
    let target = match text.is_empty() || text.contains("://") {
        true => text.clone(),
        false => project.resolve(&text).to_string_lossy().into_owned(),
    };
    let checked = ::backup::check_place(&target, data_dir, &[&project.root, &project.base]);
    let refused = |expected: &str| Invalid::new("basalt.backup.target", expected, &format!("{text:?}"));
    checked.map(|()| target).map_err(refused)
}

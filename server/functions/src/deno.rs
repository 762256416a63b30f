//! Finds the Deno that functions run on.

use std::io::Read as _;
use std::path::{Path, PathBuf};

/// Returns the name of Deno's npm package for this machine (below `@deno/`); `None` if Deno has none for it.
fn package() -> Option<&'static str> {
    Some(match (std::env::consts::OS, std::env::consts::ARCH) {
        ("linux", "x86_64") => "linux-x64-glibc",
        ("linux", "aarch64") => "linux-arm64-glibc",
        ("macos", "x86_64") => "darwin-x64",
        ("macos", "aarch64") => "darwin-arm64",
        _ => return None,
    })
}

/// Why there is no Deno to run functions with, and what to do.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum NoDeno {
    /// No file is named, and no place has one.
    #[error(
        "Edge functions run on Deno, and none was found. Install it with `npm install deno` in the project's folder, \
         put `deno` on the PATH, or set DENO to where it is"
    )]
    NotFound,
    /// The file that is named does not exist, or is no program.
    #[error(
        "Edge functions run on Deno, and the file that the variable DENO names is not there, or is no program. Correct \
         the variable, or remove it so that Deno is looked for"
    )]
    NotAsNamed,
}

/// Returns the first Deno in: the npm package of one of `projects` or of its parents, then `path` (as in `PATH`). If
/// `named` is set, only that file is considered. The npm package's script is no Deno, but starts one, whose memory and
/// time nobody would watch; the program that it starts is returned in its place.
///
/// Errors: [`NoDeno`].
pub(crate) fn find(named: Option<&Path>, projects: &[PathBuf], path: &str) -> Result<PathBuf, NoDeno> {
    let of_package = package().map(|package| Path::new("node_modules/@deno").join(package).join("deno"));
    if let Some(named) = named {
        return program(named, of_package.as_deref()).ok_or(NoDeno::NotAsNamed);
    }
    let packages = of_package.iter().flat_map(|file| {
        projects.iter().flat_map(|project| project.ancestors()).map(move |folder| folder.join(file))
    });
    let on_path = std::env::split_paths(path).map(|folder| folder.join("deno"));
    packages.chain(on_path).find_map(|file| program(&file, of_package.as_deref())).ok_or(NoDeno::NotFound)
}

/// Returns `file`, or the program of `package` that it starts if it is a script; `None` if there is no program.
fn program(file: &Path, package: Option<&Path>) -> Option<PathBuf> {
    let mut begin = [0; 2];
    let read = std::fs::File::open(file).and_then(|mut file| file.read(&mut begin));
    if !file.is_file() || read.is_ok() && begin != *b"#!" {
        return file.is_file().then(|| file.to_owned());
    }
    let (script, package) = (file.canonicalize().ok()?, package?);
    script.ancestors().map(|folder| folder.join(package)).find(|program| program.is_file())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_project_precedes_the_path_and_a_named_file_precedes_both() {
        let folder = tempfile::tempdir().unwrap();
        let write = |name: &str| {
            let path = folder.path().join(name);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(&path, "").unwrap();
            path
        };
        let of_path = write("bin/deno");
        let path = folder.path().join("bin").display().to_string();
        let projects = [folder.path().join("project/deep")];
        assert_eq!(find(None, &projects, &path), Ok(of_path.clone()));
        let of_project = write(&format!("project/node_modules/@deno/{}/deno", package().unwrap_or_default()));
        assert_eq!(find(None, &projects, &path), Ok(of_project));
        assert_eq!(find(Some(&of_path), &projects, &path), Ok(of_path.clone()));
        // The script of the npm package starts the program of another one.
        let script = write("project/node_modules/deno/bin.cjs");
        std::fs::write(&script, "#!/usr/bin/env node\n").unwrap();
        let link = folder.path().join("linked");
        std::os::unix::fs::symlink(&script, &link).unwrap();
        assert_eq!(find(Some(&link), &[], ""), find(None, &projects, ""));
        std::fs::write(&of_path, "#!/bin/sh\n").unwrap();
        assert_eq!(find(Some(&of_path), &[], ""), Err(NoDeno::NotAsNamed));
        assert_eq!(find(Some(Path::new("/nowhere/deno")), &projects, &path), Err(NoDeno::NotAsNamed));
        assert_eq!(find(None, &[], ""), Err(NoDeno::NotFound));
    }
}

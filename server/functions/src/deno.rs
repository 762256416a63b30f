//! Finds the Deno that functions run on.

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

/// Returns the first Deno in: the npm package of one of `projects` or of its parents, then `path` (as in `PATH`). If
/// `named` is set, only that file is considered.
pub(crate) fn find(named: Option<&Path>, projects: &[PathBuf], path: &str) -> Option<PathBuf> {
    if let Some(named) = named {
        return named.is_file().then(|| named.to_owned());
    }
    let of_package = package().map(|package| Path::new("node_modules/@deno").join(package).join("deno"));
    let packages = of_package.iter().flat_map(|file| {
        projects.iter().flat_map(|project| project.ancestors()).map(move |folder| folder.join(file))
    });
    let on_path = std::env::split_paths(path).map(|folder| folder.join("deno"));
    packages.chain(on_path).find(|file| file.is_file())
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
        assert_eq!(find(None, &projects, &path), Some(of_path.clone()));
        let of_project = write(&format!("project/node_modules/@deno/{}/deno", package().unwrap_or_default()));
        assert_eq!(find(None, &projects, &path), Some(of_project));
        assert_eq!(find(Some(&of_path), &projects, &path), Some(of_path));
        assert_eq!(find(Some(Path::new("/nowhere/deno")), &projects, &path), None);
    }
}

//! How this program was installed, which decides who may replace it.

use std::path::Path;
use std::process::Command;

/// Who replaces the program.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Origin {
    /// This command: the program is of a release archive.
    Archive,
    /// Another tool, with the command that does it.
    Managed(String),
}

impl Origin {
    /// Finds out how `program` was installed.
    pub(super) fn of(program: &Path) -> Self {
        if program.components().any(|part| part.as_os_str() == "node_modules") {
            return Self::by("npm", "`npm install @basalt/cli@latest` (with --global if it is a global one)");
        }
        if program.ancestors().any(|folder| folder.join(".crates.toml").exists()) {
            return Self::by("Cargo", "`cargo install` with --force, as docs/installing.md says");
        }
        if std::fs::read_link("/proc/1/exe").is_ok_and(|first| first == program) {
            return Self::by("a container's image", "a newer image: the container's files are lost with it");
        }
        let owner = Command::new("dpkg").arg("-S").arg(program).output();
        match owner.ok().filter(|output| output.status.success()) {
            Some(output) => {
                let text = String::from_utf8_lossy(&output.stdout).into_owned();
                let package = text.split(':').next().unwrap_or("basalt");
                let command =
                    format!("`apt-get install ./{package}_VERSION.deb`, or `apt-get install {package}`");
                Self::by("a Debian package", &command)
            }
            None => Self::Archive,
        }
    }

    fn by(what: &str, command: &str) -> Self {
        Self::Managed(format!("this program was installed from {what}, which also updates it: {command}"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_package_manager_keeps_its_program() {
        let of = |path: &str| Origin::of(Path::new(path));
        let npm = of("/srv/shop/node_modules/@basalt/cli-linux-x64/bin/basalt");
        assert!(matches!(npm, Origin::Managed(advice) if advice.contains("npm install")));
        assert_eq!(of("/opt/basalt/basalt"), Origin::Archive);
    }
}

//! The platform that this program was compiled for.

/// Returns npm's name of the package for this machine; `None` if there is none.
pub(super) fn name() -> Option<&'static str> {
    match (std::env::consts::OS, std::env::consts::ARCH) {
        ("linux", "x86_64") => Some("linux-x64"),
        ("linux", "aarch64") => Some("linux-arm64"),
        ("linux", "arm") => Some("linux-arm"),
        ("linux", "x86") => Some("linux-ia32"),
        ("linux", "powerpc64") => Some("linux-ppc64"),
        ("macos", "x86_64") => Some("darwin-x64"),
        ("macos", "aarch64") => Some("darwin-arm64"),
        _ => None,
    }
}

//! How much memory this process and what it starts may take.

use std::fs;
use std::path::{Path, PathBuf};

/// Where cgroups are mounted.
const CGROUPS: &str = "/sys/fs/cgroup";

/// Returns the memory of the machine or, if that is less, the limit of the cgroup that this process is in, in bytes.
/// `None` where the system does not say, as elsewhere than on Linux.
pub(crate) fn available() -> Option<u64> {
    let machine = fs::read_to_string("/proc/meminfo").ok().and_then(|text| total(&text));
    let groups = fs::read_to_string("/proc/self/cgroup").unwrap_or_default();
    let limits = limit_files(&groups, Path::new(CGROUPS)).into_iter().filter_map(|file| limit(&file));
    machine.into_iter().chain(limits).min()
}

/// Returns the memory that `meminfo` names, in bytes. Source: proc_meminfo(5).
fn total(meminfo: &str) -> Option<u64> {
    let line = meminfo.lines().find_map(|line| line.strip_prefix("MemTotal:"))?;
    line.trim().strip_suffix(" kB")?.parse::<u64>().ok().map(|kibibytes| kibibytes << 10)
}

/// Returns the files with the limits of the `groups` of a process and of those above them, which are mounted at `root`:
/// version 1 has a hierarchy for memory, version 2 has one for everything. Source: cgroups(7).
fn limit_files(groups: &str, root: &Path) -> Vec<PathBuf> {
    let mut files = Vec::new();
    for line in groups.lines() {
        let mut fields = line.splitn(3, ':').skip(1);
        let (Some(controllers), Some(path)) = (fields.next(), fields.next()) else { continue };
        let (mount, name) = match controllers {
            "" => (root.to_owned(), "memory.max"),
            _ if controllers.split(',').any(|controller| controller == "memory") => {
                (root.join("memory"), "memory.limit_in_bytes")
            }
            _ => continue,
        };
        let group = Path::new(path.trim_start_matches('/'));
        // In a container, the path may be that of the machine, which does not exist here; the container's own is `/`.
        files.extend(group.ancestors().map(|group| mount.join(group).join(name)));
    }
    files
}

/// Returns the limit in `file`; `None` without one.
fn limit(file: &Path) -> Option<u64> {
    fs::read_to_string(file).ok()?.trim().parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_machine_says_how_much_it_has() {
        assert_eq!(total("MemTotal:        1014592 kB\nMemFree: 1 kB\n"), Some(1014592 << 10));
        assert_eq!(total("MemFree: 1 kB\n"), None);
    }

    #[test]
    fn both_versions_of_cgroups_have_limits_and_so_have_those_above() {
        let files = |groups| limit_files(groups, Path::new("/c"));
        let paths = |names: &[&str]| names.iter().map(PathBuf::from).collect::<Vec<_>>();
        let version_2 = ["/c/a/b/memory.max", "/c/a/memory.max", "/c/memory.max"];
        assert_eq!(files("0::/a/b\n"), paths(&version_2));
        let version_1 = ["/c/memory/a/memory.limit_in_bytes", "/c/memory/memory.limit_in_bytes"];
        assert_eq!(files("3:cpu,cpuacct:/x\n2:memory:/a\n"), paths(&version_1));
        assert_eq!(files("1:name=systemd:/\n"), paths(&[]));
    }

    #[test]
    fn only_a_number_is_a_limit() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("memory.max");
        assert_eq!(limit(&file), None);
        fs::write(&file, "max\n").unwrap();
        assert_eq!(limit(&file), None);
        fs::write(&file, "1073741824\n").unwrap();
        assert_eq!(limit(&file), Some(1 << 30));
    }
}

//! Disks that fill.

use std::io;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use futures_util::FutureExt as _;
use futures_util::future::BoxFuture;
use tokio::task::JoinHandle;

use super::time;
use crate::check::Check;
use crate::problem::Finding;
use crate::space::{Space, bytes};
use crate::window::Window;

/// The time over which is measured how fast a disk fills, and the least of it that says something.
const PERIOD: Duration = Duration::from_secs(3600);
const LEAST_PERIOD: Duration = Duration::from_secs(600);

/// A disk that is full before so long is a warning, and critical.
const SOON: Duration = Duration::from_secs(24 * 3600);
const VERY_SOON: Duration = Duration::from_secs(4 * 3600);

/// The parts of a disk that have to be free; beyond these sizes less than that is enough.
const LOW: (u64, u64) = (10, 20 << 30);
const VERY_LOW: (u64, u64) = (5, 5 << 30);

/// Looks at the file systems of some folders.
pub struct Disk {
    folders: Vec<(&'static str, PathBuf)>,
    free: Vec<(u64, Window<u64>)>,
    /// The last look, which may hang with the file system.
    looking: Option<JoinHandle<Spaces>>,
}

/// The spaces by what they are for.
type Spaces = io::Result<Vec<(String, Space)>>;

impl Disk {
    /// Looks at the file systems of `folders`, each given with what it is for; at each file system once.
    pub const fn new(folders: Vec<(&'static str, PathBuf)>) -> Self {
        Self { folders, free: Vec::new(), looking: None }
    }

    fn find(&mut self, spaces: Vec<(String, Space)>, now: Instant) -> Vec<Finding> {
        let mut found = Vec::new();
        let mut seen = Vec::new();
        for (subject, space) in spaces {
            if seen.contains(&space.id) {
                continue;
            }
            seen.push(space.id);
            let known = self.free.iter().position(|(id, _)| *id == space.id);
            let index = known.unwrap_or_else(|| {
                self.free.push((space.id, Window::new(PERIOD)));
                self.free.len() - 1
            });
            let (_, window) = &mut self.free[index];
            window.push(now, space.free);
            let full_in = window.oldest(now).and_then(|(age, before)| full_in(*before, space.free, age));
            found.extend(of_bytes(&subject, space, full_in));
            found.extend(of_files(&subject, space));
        }
        self.free.retain(|(id, _)| seen.contains(id));
        found
    }
}

impl Check for Disk {
    fn name(&self) -> &'static str {
        "the disk"
    }

    fn look(&mut self) -> BoxFuture<'_, Result<Vec<Finding>, String>> {
        async {
            let folders = self.folders.clone();
            let looking = self.looking.get_or_insert_with(|| {
                tokio::task::spawn_blocking(move || {
                    let of = |(what, folder): (&str, PathBuf)| {
                        Ok((format!("{what} ({})", folder.display()), Space::of(&folder)?))
                    };
                    folders.into_iter().map(of).collect()
                })
            });
            let looked = looking.await;
            self.looking = None;
            let spaces = looked.map_err(|error| error.to_string())?.map_err(|error| error.to_string())?;
            Ok(self.find(spaces, Instant::now()))
        }
        .boxed()
    }
}

/// Returns in which time a disk is full of which `before` bytes were free that `age` ago, and `now` are; `None` if it
/// does not fill, or has not been watched for long enough.
fn full_in(before: u64, now: u64, age: Duration) -> Option<Duration> {
    let written = before.checked_sub(now).filter(|written| *written > 0)?;
    let seconds = now as f64 * age.as_secs_f64() / written as f64;
    (age >= LEAST_PERIOD).then(|| Duration::try_from_secs_f64(seconds).ok()).flatten()
}

fn of_bytes(subject: &str, space: Space, full_in: Option<Duration>) -> Option<Finding> {
    let Space { free, total, .. } = space;
    let is_below = |(percent, most): (u64, u64)| free < most && free < total / 100 * percent;
    let is_before = |limit: Duration| full_in.is_some_and(|time| time < limit);
    if !is_below(LOW) && free >= Space::LOW && !is_before(SOON) {
        return None;
    }
    let what = format!("{} of {} are free", bytes(free), bytes(total));
    let what = match full_in.filter(|time| *time < SOON * 30) {
        Some(left) => {
            let rate = free as f64 / left.as_secs_f64() * 3600.0;
            format!("{what}, {} less each hour: it is full in {}", bytes(rate as u64), time(left))
        }
        None => what,
    };
    let remedy =
        "Free space or enlarge the disk. What grows is often pg_wal (see the problems of replication slots \
                  and of backups), the table net._http_response, or objects of storage"
            .to_owned();
    let finding = Finding::warning("disk_fills", subject, [what, remedy]);
    Some(finding.critical_if(is_below(VERY_LOW) || free < Space::LEAST || is_before(VERY_SOON)))
}

fn of_files(subject: &str, Space { free_files, files, .. }: Space) -> Option<Finding> {
    if files == 0 || free_files >= files / 20 {
        return None;
    }
    let what = format!("{free_files} of {files} files can still be created (inodes)");
    let remedy = "Remove small files, or use a file system with more inodes".to_owned();
    let finding = Finding::warning("disk_files_fill", subject, [what, remedy]);
    Some(finding.critical_if(free_files < files / 100))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::problem::Severity::{self, Critical, Warning};

    const GIB: u64 = 1 << 30;

    const ROOMY: Space = Space { free: 80 * GIB, total: 100 * GIB, free_files: 900, files: 1000, id: 1 };

    fn severity(space: Space, full_in: Option<Duration>) -> Option<Severity> {
        of_bytes("data", space, full_in).map(|finding| finding.severity)
    }

    #[test]
    fn little_space_is_a_problem_also_on_small_and_large_disks() {
        for (free, total, expected) in [
            (80 * GIB, 100 * GIB, None),
            (9 * GIB, 100 * GIB, Some(Warning)),
            (4 * GIB, 100 * GIB, Some(Critical)),
            // A hundredth of a large disk is still a lot.
            (30 * GIB, 3000 * GIB, None),
            (4 * GIB, 3000 * GIB, Some(Critical)),
            // Most of a small disk is little.
            (GIB, 3 * GIB / 2, Some(Warning)),
            (GIB / 8, GIB / 4, Some(Critical)),
        ] {
            assert_eq!(severity(Space { free, total, ..ROOMY }, None), expected, "{free} of {total}");
        }
    }

    #[test]
    fn a_disk_that_is_full_soon_is_a_problem_however_much_is_free() {
        let hours = |hours: u64| Some(Duration::from_secs(hours * 3600));
        assert_eq!(severity(ROOMY, hours(30)), None);
        assert_eq!(severity(ROOMY, hours(20)), Some(Warning));
        assert_eq!(severity(ROOMY, hours(3)), Some(Critical));
        let finding = of_bytes("data", ROOMY, hours(20)).unwrap();
        assert!(finding.what.ends_with("4.0 GiB less each hour: it is full in 20 hours"), "{}", finding.what);
    }

    #[test]
    fn the_rate_is_measured_over_the_last_hour() {
        let (mut disk, begin) = (Disk::new(Vec::new()), Instant::now());
        let mut at = |minutes: u64, free: u64| {
            let space = Space { free, ..ROOMY };
            disk.find(vec![("data".to_owned(), space)], begin + Duration::from_secs(minutes * 60))
        };
        // 1 GiB a minute is written, but for a short time only.
        assert_eq!(at(0, 80 * GIB), []);
        assert_eq!(at(5, 75 * GIB), []);
        let found = at(10, 70 * GIB);
        assert_eq!(found[0].severity, Critical);
        assert!(
            found[0].what.contains("60 GiB less each hour: it is full in 70 minutes"),
            "{}",
            found[0].what
        );
        // Then nothing is written, which an hour later says nothing any more.
        assert_eq!(at(60, 70 * GIB)[0].severity, Warning);
        assert_eq!(at(71, 70 * GIB), []);
        // More is free than before.
        assert_eq!(at(140, 79 * GIB), []);
    }

    #[test]
    fn a_file_system_of_two_folders_is_one_problem() {
        let mut disk = Disk::new(Vec::new());
        let full = |id| Space { free: 0, id, ..ROOMY };
        let spaces = vec![("data".to_owned(), full(1)), ("objects".to_owned(), full(1))];
        assert_eq!(disk.find(spaces, Instant::now()).len(), 1);
        let spaces = vec![("data".to_owned(), full(1)), ("objects".to_owned(), full(2))];
        assert_eq!(disk.find(spaces, Instant::now()).len(), 2);
    }

    #[test]
    fn a_file_system_without_free_inodes_is_full() {
        let of = |free_files, files| {
            of_files("data", Space { free_files, files, ..ROOMY }).map(|finding| finding.severity)
        };
        assert_eq!(
            (of(0, 0), of(60, 1000), of(40, 1000), of(5, 1000)),
            (None, None, Some(Warning), Some(Critical))
        );
    }
}

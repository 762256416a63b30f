//! The timelines of the database, as a target knows them.
//!
//! A restore in place begins a new timeline, and so does undoing it. What was written before stays in the target, on the
//! timeline that it was written on. So that a moment is brought back as the database was then, the target has a record of
//! each change: from when on the database was on which timeline, and where that left the earlier ones. A database that
//! was upgraded is another one, whose timelines begin anew. Whoever puts a kept folder back makes a change, too.

use postgres::Database;
use serde::{Deserialize, Serialize};

use crate::catalog::Backup;
use crate::error::Error;
use crate::moment::Moment;
use crate::target::Target;

/// Where the records are in a target. Their names begin with the microseconds since 1970 from which on they are valid.
const FOLDER: &str = "timelines";

/// Returns what identifies the database, the number of its timeline, when its Postgres was started, in microseconds, and the
/// history of the timeline. Each line of a history names an earlier timeline and the position at which it was left.
/// Source: PostgreSQL, `access/transam/timeline.c`.
const PRESENT: &str = "
select c.system_identifier::text, n.name,
  (extract(epoch from pg_catalog.pg_postmaster_start_time()) * 1000000)::bigint,
  coalesce(pg_catalog.pg_read_file('pg_wal/' || n.name || '.history', 0, 1048576, true), '')
from pg_catalog.pg_control_system() c,
  pg_catalog.left(pg_catalog.pg_walfile_name(pg_catalog.pg_current_wal_lsn()), 8) n(name)";

/// A timeline of a database.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Timeline {
    /// What identifies the database.
    system: String,
    /// Its number, from 1 on.
    number: u32,
    /// The timelines that it continues.
    branches: Vec<Branch>,
}

/// An earlier timeline, up to the position at which another one left it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
struct Branch {
    number: u32,
    until: u64,
}

impl Timeline {
    /// Reports whether the database, restored from `backup`, certainly cannot continue on this timeline: the backup is of
    /// another database, or was made after its timeline was left.
    fn excludes(&self, backup: &Backup) -> bool {
        let Some(place) = &backup.place else { return false };
        // What is newer than all records may be on a timeline that could not be recorded.
        if place.system != self.system || place.timeline >= self.number {
            return place.system != self.system;
        }
        !self.branches.iter().any(|branch| branch.number == place.timeline && branch.until >= place.position)
    }
}

/// Where a backup ends in the log of a database.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Place {
    pub(crate) system: String,
    pub(crate) timeline: u32,
    pub(crate) position: u64,
}

/// Reads a position of the write-ahead log, such as `0/3000148`.
pub(crate) fn position(text: &str) -> Option<u64> {
    let (high, low) = text.split_once('/')?;
    Some((u64::from_str_radix(high, 16).ok()? << 32) | u64::from_str_radix(low, 16).ok()?)
}

/// The timeline on which a database is, and when its Postgres was started, in microseconds.
#[derive(Debug, Clone)]
pub struct Present {
    timeline: Timeline,
    began: i64,
}

/// Records the timeline on which `database` is, unless that is the last that `target` knows.
///
/// Errors: those of the target and of the database.
pub(crate) async fn record(target: &Target, database: &Database) -> Result<(), Error> {
    write(target, present(database).await?).await
}

/// Returns the timeline on which `database` is.
///
/// Errors: those of the database.
pub(crate) async fn present(database: &Database) -> Result<Present, Error> {
    let row = database.client().await?.query_one(PRESENT, &[]).await?;
    let (system, name, began, history): (String, String, i64, String) =
        (row.get(0), row.get(1), row.get(2), row.get(3));
    let number = u32::from_str_radix(&name, 16).map_err(|_| Error::Io(format!("{name} is no timeline")))?;
    Ok(Present { timeline: Timeline { system, number, branches: branches(&history) }, began })
}

/// Records `present`, unless it is the last timeline that `target` knows.
///
/// Errors: those of the target.
pub(crate) async fn write(target: &Target, Present { timeline, began }: Present) -> Result<(), Error> {
    let known = Timelines::read(target).await?;
    let Some(began) = known.change_to(&timeline, began) else { return Ok(()) };
    let path = format!("{FOLDER}/{began:016}-{}-{:08X}.json", timeline.system, timeline.number);
    let text = serde_json::to_vec(&timeline).map_err(|error| Error::Io(error.to_string()))?;
    target.write(&path, text).await
}

fn branches(history: &str) -> Vec<Branch> {
    let lines = history.lines().filter_map(|line| {
        let mut words = line.split_whitespace();
        Some(Branch { number: words.next()?.parse().ok()?, until: position(words.next()?)? })
    });
    lines.collect()
}

/// The records of a target, with the microseconds since 1970 from which on they are valid, in this order.
#[derive(Debug, Default)]
pub(crate) struct Timelines(Vec<(i64, Timeline)>);

impl Timelines {
    /// Reads the records of `target`. Those that cannot be read are left out.
    ///
    /// Errors: those of the target.
    pub(crate) async fn read(target: &Target) -> Result<Self, Error> {
        let mut timelines = Vec::new();
        for path in target.list(FOLDER).await? {
            let text = target.read(&path).await?.unwrap_or_default();
            let began = path.rsplit('/').next().and_then(|name| name.split('-').next()?.parse().ok());
            match began.zip(serde_json::from_slice(&text).ok()) {
                Some(read) => timelines.push(read),
                None => tracing::warn!(path, "a record of the target of backups cannot be read"),
            }
        }
        timelines.sort_by_key(|(began, _)| *began);
        Ok(Self(timelines))
    }

    /// Returns from when on `timeline` is the present one, if it is not known to be: since Postgres was `started`, but not
    /// before what is known. Both are in microseconds.
    fn change_to(&self, timeline: &Timeline, started: i64) -> Option<i64> {
        match self.0.last() {
            Some((_, last)) if last == timeline => None,
            Some((began, _)) => Some(started.max(began + 1)),
            None => Some(started),
        }
    }

    /// Returns the backup of `backups`, which are in the order of their ends, with which `moment`, or the end, is brought
    /// back: the last one that ended before it, of those that lead to the timeline on which the database was then. With it
    /// comes the number of that timeline, if Postgres would follow another one by itself.
    ///
    /// Errors: [`Error::Advice`] if there is none.
    pub(crate) fn lead_to(
        &self,
        moment: Option<Moment>,
        backups: Vec<Backup>,
    ) -> Result<(Backup, Option<u32>), Error> {
        let is_before = |began: i64| moment.is_none_or(|moment| began <= moment.microseconds());
        let present = self.0.iter().rfind(|(began, _)| is_before(*began));
        let earliest = backups.first().map(|backup| backup.ended);
        let has_ended = |backup: &Backup| moment.is_none_or(|moment| backup.ended <= moment);
        let mut ended = backups.into_iter().rev().filter(has_ended).peekable();
        if ended.peek().is_none() {
            return Err(Error::Advice(match earliest.zip(moment) {
                Some((earliest, moment)) => format!("the backups begin at {earliest}, after {moment}"),
                None => "there is no backup yet".to_owned(),
            }));
        }
        let found = ended.find(|backup| !present.is_some_and(|(_, timeline)| timeline.excludes(backup)));
        let Some(backup) = found else {
            let (began, _) = present.ok_or_else(|| Error::Io("no backup was found".to_owned()))?;
            let began = Moment::of_microseconds(*began)?;
            return Err(Error::Advice(format!(
                "the database has another history since {began}, of which no backup had ended yet: choose a moment before \
                 {began}, or one after the next backup"
            )));
        };
        let on = match (present, &backup.place) {
            (Some((_, timeline)), Some(place)) if place.system == timeline.system => {
                Some((&*timeline.system, timeline.number.max(place.timeline)))
            }
            (Some((_, timeline)), _) => Some((&*timeline.system, timeline.number)),
            (None, Some(place)) => Some((&*place.system, place.timeline)),
            (None, None) => None,
        };
        // Postgres follows the highest number that continues the backup's timeline.
        let is_left = |(system, number): &(&str, u32)| {
            self.0.iter().any(|(_, other)| other.system == *system && other.number > *number)
        };
        let number = on.filter(is_left).map(|(_, number)| number);
        Ok((backup, number))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SYSTEM: &str = "7391";

    fn at(minute: u32) -> Moment {
        Moment::parse(&format!("2026-11-26 14:{minute:02}:00")).unwrap()
    }

    fn timeline(number: u32, minute: u32, branches: &[(u32, u64)]) -> (i64, Timeline) {
        let branches = branches.iter().map(|&(number, until)| Branch { number, until }).collect();
        (at(minute).microseconds(), Timeline { system: SYSTEM.to_owned(), number, branches })
    }

    fn backup(minute: u32, timeline: u32, position: u64) -> Backup {
        let place = Place { system: SYSTEM.to_owned(), timeline, position };
        let ended = at(minute);
        Backup {
            label: format!("{minute}"),
            is_full: true,
            started: ended,
            ended,
            size: 0,
            stored: 0,
            verified: None,
            place: Some(place),
        }
    }

    /// Backups end in the minutes 5, 15 and 25. At 20 the database went back to 10, at 30 back to where it was at 20.
    fn history() -> (Timelines, Vec<Backup>) {
        let timelines = vec![timeline(1, 0, &[]), timeline(2, 20, &[(1, 100)]), timeline(3, 30, &[(1, 200)])];
        (Timelines(timelines), vec![backup(5, 1, 50), backup(15, 1, 150), backup(25, 2, 120)])
    }

    #[test]
    fn a_moment_is_on_the_timeline_of_its_time() {
        let (timelines, backups) = history();
        let lead = |minute| {
            let (backup, timeline) = timelines.lead_to(Some(at(minute)), backups.clone()).unwrap();
            (backup.label, timeline)
        };
        assert_eq!(lead(7), ("5".to_owned(), Some(1)));
        assert_eq!(lead(18), ("15".to_owned(), Some(1)));
        // The backup of 15 was made after the timeline 2 had left its own.
        assert_eq!(lead(22), ("5".to_owned(), Some(2)));
        assert_eq!(lead(27), ("25".to_owned(), Some(2)));
        assert_eq!(lead(35), ("15".to_owned(), None));
    }

    #[test]
    fn without_records_the_last_backup_leads_to_the_last_timeline() {
        let (_, backups) = history();
        let (backup, timeline) = Timelines::default().lead_to(Some(at(27)), backups).unwrap();
        assert_eq!((&*backup.label, timeline), ("25", None));
    }

    #[test]
    fn a_moment_before_all_records_is_on_the_timeline_of_its_backup() {
        let (mut timelines, backups) = history();
        timelines.0.remove(0);
        let (backup, timeline) = timelines.lead_to(Some(at(18)), backups).unwrap();
        assert_eq!((&*backup.label, timeline), ("15", Some(1)));
    }

    #[test]
    fn a_moment_before_the_first_backup_of_a_database_cannot_be_brought_back() {
        let (mut timelines, backups) = history();
        let before = timelines.lead_to(Some(at(3)), backups.clone()).unwrap_err().to_string();
        assert!(before.contains("begin at 2026-11-26 14:05:00"), "{before}");
        let (began, mut upgraded) = timeline(1, 40, &[]);
        upgraded.system = "7392".to_owned();
        timelines.0.push((began, upgraded));
        assert_eq!(timelines.lead_to(Some(at(35)), backups.clone()).unwrap().1, None);
        let error = timelines.lead_to(Some(at(41)), backups).unwrap_err().to_string();
        assert!(error.contains("another history since"), "{error}");
    }

    #[test]
    fn a_timeline_that_was_tried_and_given_up_hides_nothing() {
        let (_, mut backups) = history();
        let known = Timelines(vec![timeline(1, 0, &[]), timeline(2, 20, &[(1, 100)])]);
        let (_, first) = timeline(1, 0, &[]);
        let started = at(10).microseconds();
        let again = known.change_to(&first, started).unwrap();
        assert_eq!(again, at(20).microseconds() + 1);
        assert_eq!(known.change_to(&known.0[1].1, started), None);
        let mut known = known;
        known.0.push((again, first));
        backups.truncate(2);
        backups.push(backup(25, 1, 180));
        // The end, and a moment after the change; on the first timeline, although there is a second one.
        for moment in [None, Some(at(27))] {
            let (backup, number) = known.lead_to(moment, backups.clone()).unwrap();
            assert_eq!((&*backup.label, number), ("25", Some(1)));
        }
    }

    #[test]
    fn histories_are_read_as_postgres_writes_them() {
        let history =
            "1\t0/3000148\tbefore 2026-11-26 14:10:00+00\n\n2\t1/40\tno recovery target specified\n";
        let read = branches(history);
        assert_eq!(
            read,
            [(1, 0x300_0148), (2, 0x1_0000_0040)].map(|(number, until)| Branch { number, until })
        );
        assert!(branches("").is_empty());
    }
}

//! The backups that a target has.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::error::Error;
use crate::moment::Moment;
use crate::timelines::{self, Place};

/// The annotation with the result of a verification.
pub(crate) const VERIFIED: &str = "verified";

/// A base backup. Between its end and the next one's, and after the last one, every moment can be brought back.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Backup {
    /// Its name.
    pub label: String,
    /// Whether it is a full one, and not the difference from earlier ones.
    pub is_full: bool,
    /// When it began.
    pub started: Moment,
    /// When it ended: the first moment that can be brought back with it.
    pub ended: Moment,
    /// The size of the database in bytes.
    pub size: u64,
    /// What it takes in the target, without what it shares with earlier ones, in bytes.
    pub stored: u64,
    /// The result of the last verification: when, and `ok` or what was wrong; `None` if it was not verified.
    pub verified: Option<String>,
    /// Where it ends in the log of its database, if that is known.
    pub(crate) place: Option<Place>,
}

impl Backup {
    /// Reports whether its last verification found something wrong.
    pub fn is_damaged(&self) -> bool {
        self.verified.as_deref().is_some_and(|result| !result.ends_with(" ok"))
    }
}

/// Returns the newest of `backups` that has been verified, if that is damaged: it stands for those before it, of which
/// nothing else is needed once it is whole.
pub fn damaged(backups: &[Backup]) -> Option<&Backup> {
    backups.iter().rfind(|backup| backup.verified.is_some()).filter(|backup| backup.is_damaged())
}

/// The highest of the codes that mean that there are no backups, or only whole ones. Source: pgBackRest,
/// `command/info/info.c`.
const READABLE: i64 = 3;

#[derive(Deserialize)]
struct Stanza {
    backup: Vec<Entry>,
    #[serde(default)]
    db: Vec<Database>,
    status: Option<Status>,
}

#[derive(Deserialize)]
struct Database {
    id: i64,
    #[serde(rename = "system-id")]
    system: u64,
}

#[derive(Deserialize)]
struct Status {
    code: i64,
    message: String,
}

#[derive(Deserialize)]
struct Entry {
    label: String,
    #[serde(rename = "type")]
    kind: String,
    error: Option<bool>,
    timestamp: Times,
    info: Info,
    archive: Option<Archive>,
    database: Option<DatabaseId>,
    lsn: Option<Positions>,
    annotation: Option<serde_json::Map<String, Value>>,
}

#[derive(Deserialize)]
struct Times {
    start: i64,
    stop: i64,
}

#[derive(Deserialize)]
struct Archive {
    /// The last file of the log that the backup needs. Its name begins with the number of the timeline.
    stop: Option<String>,
}

#[derive(Deserialize)]
struct DatabaseId {
    id: i64,
}

#[derive(Deserialize)]
struct Positions {
    stop: Option<String>,
}

impl Entry {
    fn place(&self, databases: &[Database]) -> Option<Place> {
        let id = self.database.as_ref()?.id;
        let file = self.archive.as_ref()?.stop.as_ref()?;
        Some(Place {
            system: databases.iter().find(|database| database.id == id)?.system.to_string(),
            timeline: u32::from_str_radix(file.get(..8)?, 16).ok()?,
            position: timelines::position(self.lsn.as_ref()?.stop.as_ref()?)?,
        })
    }
}

#[derive(Deserialize)]
struct Info {
    size: u64,
    repository: Sizes,
}

#[derive(Deserialize)]
struct Sizes {
    delta: u64,
}

/// Reads what `pgbackrest info --output=json` printed: the backups, the oldest first.
///
/// Errors: [`Error::Io`] if it is something else.
pub(crate) fn read(printed: &str) -> Result<Vec<Backup>, Error> {
    let stanzas: Vec<Stanza> = serde_json::from_str(printed)
        .map_err(|error| Error::Io(format!("the list of backups cannot be read: {error}")))?;
    let status =
        stanzas.iter().filter_map(|stanza| stanza.status.as_ref()).find(|status| status.code > READABLE);
    if let Some(status) = status {
        return Err(Error::Io(format!("the list of backups cannot be read: {}", status.message)));
    }
    let entries = stanzas.into_iter().flat_map(|Stanza { backup, db, .. }| {
        backup.into_iter().map(move |entry| (entry.place(&db), entry)).collect::<Vec<_>>()
    });
    let backups = entries.map(|(place, entry)| {
        let annotation =
            entry.annotation.as_ref().and_then(|notes| notes.get(VERIFIED)).and_then(Value::as_str);
        let damaged = entry.error.unwrap_or(false).then(|| "pages of the database are damaged".to_owned());
        Ok(Backup {
            is_full: entry.kind == "full",
            started: Moment::of_seconds(entry.timestamp.start)?,
            ended: Moment::of_seconds(entry.timestamp.stop)?,
            size: entry.info.size,
            stored: entry.info.repository.delta,
            verified: damaged.or_else(|| annotation.map(str::to_owned)),
            label: entry.label,
            place,
        })
    });
    let mut backups: Vec<Backup> = backups.collect::<Result<_, Error>>()?;
    backups.sort_by(|a, b| a.ended.cmp(&b.ended).then_with(|| a.label.cmp(&b.label)));
    Ok(backups)
}

/// What is known of the database at a backup, to compare a restore with.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Manifest {
    /// The version of Basalt.
    pub(crate) version: String,
    /// The position of the write-ahead log at which the rows were counted; `None` if they were not.
    pub(crate) position: Option<String>,
    /// The number of rows of each table.
    pub(crate) rows: std::collections::BTreeMap<String, i64>,
}

impl Manifest {
    /// Returns where it is in a target.
    pub(crate) fn path(label: &str) -> String {
        format!("manifests/{label}.age")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_list_has_types_times_and_results() {
        let printed = r#"[{"backup":[
            {"label":"20261129-010354F_20261129-020000I","type":"incr","error":false,
             "timestamp":{"start":1795917600,"stop":1795917601},"info":{"size":5,"repository":{"delta":1,"size":4}},
             "annotation":{"verified":"2026-11-29 03:00:00+00 ok"}},
            {"label":"20261129-010354F","type":"full","error":false,
             "timestamp":{"start":1795914234,"stop":1795914237},"info":{"size":4,"repository":{"delta":3,"size":3}},
             "archive":{"start":"000000020000000000000003","stop":"000000020000000000000004"},
             "database":{"id":2,"repo-key":1},"lsn":{"start":"0/3000028","stop":"0/4000100"}}],
            "db":[{"id":1,"system-id":7391,"version":"15"},{"id":2,"system-id":7392,"version":"17"}],
            "name":"basalt"}]"#;
        let backups = read(printed).unwrap();
        assert_eq!(backups.len(), 2);
        assert!(backups[0].is_full && backups[0].verified.is_none());
        assert!(!backups[1].is_full && !backups[1].is_damaged());
        assert_eq!(backups[1].stored, 1);
        let place = Place { system: "7392".to_owned(), timeline: 2, position: 0x400_0100 };
        assert_eq!(backups[0].place, Some(place));
        assert_eq!(backups[1].place, None);
        assert!(read("[]").unwrap().is_empty());
        assert!(read("no").is_err());
        let unreadable = r#"[{"backup":[],"name":"basalt","status":{"code":99,"message":"other"}}]"#;
        assert!(read(unreadable).unwrap_err().to_string().contains("other"));
    }
}

//! Compares the migrations of a database with the files, without writing anything.

use std::fmt;

use tokio_postgres::Client;

use super::error::Error;
use super::ledger::{self, Record, Records};
use super::platform;
use super::source::{Folder, checksum};

/// The states of the platform's and of a project's migrations.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Status {
    /// The platform's files, in order, then migrations of the database without a file.
    pub platform: Vec<Entry>,
    /// The project's migrations, in order, then migrations of the database without a file.
    pub project: Vec<Entry>,
}

impl Status {
    /// Reports whether nothing is pending and no file was changed.
    pub fn is_current(&self) -> bool {
        self.platform
            .iter()
            .chain(&self.project)
            .all(|entry| !matches!(entry.state, State::Pending | State::Changed))
    }
}

/// One migration and its state.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Entry {
    /// The digits at the beginning of the file's name.
    pub version: String,
    /// The rest of the file's name, without `.sql`.
    pub name: String,
    /// Its state.
    pub state: State,
}

/// The state of a migration.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum State {
    /// Applied, and the file has not changed since.
    Applied,
    /// Not run, since the database had everything that it creates.
    Adopted,
    /// Applied by the Supabase CLI, which keeps no checksum.
    AppliedElsewhere,
    /// Not applied yet.
    Pending,
    /// Applied, and the file has changed since.
    Changed,
    /// Applied, and there is no such file here.
    Unknown,
}

impl fmt::Display for State {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::Applied => "applied",
            Self::Adopted => "adopted",
            Self::AppliedElsewhere => "applied by the Supabase CLI",
            Self::Pending => "pending",
            Self::Changed => "changed since",
            Self::Unknown => "applied, file unknown",
        })
    }
}

pub(super) async fn read(client: &Client, folder: &Folder) -> Result<Status, Error> {
    let platform = match ledger::has_platform_table(client).await? {
        true => ledger::platform(client).await?,
        false => Records::new(),
    };
    let project = ledger::project(client).await?;
    let platform_files = platform::FILES.iter().map(|file| (file.version(), file.name(), file.checksum()));
    let project_files =
        folder.migrations.iter().map(|file| (file.version.as_str(), file.name.as_str(), checksum(&file.sql)));
    Ok(Status { platform: entries(platform_files, platform), project: entries(project_files, project) })
}

fn entries<'a>(files: impl Iterator<Item = (&'a str, &'a str, String)>, mut records: Records) -> Vec<Entry> {
    let mut entries: Vec<Entry> = files
        .map(|(version, name, checksum)| Entry {
            version: version.to_owned(),
            name: name.to_owned(),
            state: state(records.remove(version).as_ref(), &checksum),
        })
        .collect();
    let mut rest: Vec<Entry> = records
        .into_iter()
        .map(|(version, record)| Entry { version, name: record.name, state: State::Unknown })
        .collect();
    rest.sort_by(|a, b| a.version.cmp(&b.version));
    entries.append(&mut rest);
    entries
}

fn state(record: Option<&Record>, checksum: &str) -> State {
    match record {
        None => State::Pending,
        Some(Record { checksum: None, .. }) => State::AppliedElsewhere,
        Some(Record { checksum: Some(recorded), .. }) if recorded != checksum => State::Changed,
        Some(Record { adopted: true, .. }) => State::Adopted,
        Some(_) => State::Applied,
    }
}

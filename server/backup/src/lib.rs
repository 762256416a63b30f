//! Backups of a project: database, objects, keys and settings as one, to any moment within the retention.
//!
//! - **The database** is carried by pgBackRest: base backups, and the write-ahead log as it is written. The crate
//!   `embedded` runs it.
//! - **Objects** are copied once for each version ([`objects`]); the rows of a restored database say which it needs.
//! - **Keys and settings** are small files ([`files`]).
//!
//! All of it is encrypted with the [`key`] of the [`target`]. A [`Repository`] has what reads and writes a target. It is
//! used by the server's own task ([`task`]) and by commands, also while the server runs: [`create`], [`verify`],
//! [`restore`].

mod catalog;
mod counts;
mod create;
mod error;
mod files;
mod key;
mod log_watch;
mod metrics;
mod moment;
mod objects;
mod program;
mod repository;
mod restore;
mod settings;
mod target;
mod task;
mod timelines;
mod verify;
mod watch;

pub use catalog::{Backup, damaged};
pub use create::Running;
pub use error::Error;
pub use key::Unlock;
pub use metrics::{BackupState, Metrics};
pub use moment::Moment;
pub use objects::{Objects, Pieces};
pub use program::Program;
pub use repository::{Repository, adopt, has_key, is_copy, want_backup};
pub use restore::Restored;
pub use settings::Settings;
pub use target::check_place;
pub use task::{Retired, Task};
pub use timelines::Present;
pub use verify::Verification;

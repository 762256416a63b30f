//! The checks, with a rule each.

mod backups;
mod certificates;
mod database;
mod disk;
mod exposure;
mod functions;
mod limits;
mod mails;
mod slots;
mod sql;
mod standbys;
mod wal;

pub use backups::{BackupState, Backups};
pub use certificates::{CertificateState, Certificates};
pub use database::{Ping, UNREACHABLE as DATABASE_UNREACHABLE};
pub use disk::Disk;
pub use exposure::{BackupSetting, Exposed, Exposure, PasswordSetting, is_on_this_machine};
pub use functions::{FunctionState, Functions};
pub use limits::{Limits, RequestState};
pub use mails::{MailState, Mails};
pub use slots::Slots;
pub use standbys::Standbys;
pub use wal::Wal;

use std::time::Duration;

/// What a check asks of another part of the program.
pub type Ask<T> = Box<dyn Fn() -> T + Send>;

/// Returns a duration for people.
fn time(duration: Duration) -> String {
    let seconds = duration.as_secs();
    match seconds {
        0..120 => format!("{seconds} s"),
        120..7200 => format!("{} minutes", seconds / 60),
        7200..172_800 => format!("{} hours", seconds / 3600),
        _ => format!("{} days", seconds / 86_400),
    }
}

/// Returns `number` with the `unit`, in the plural if it is not 1.
fn count(number: u64, unit: &str) -> String {
    let ending = match number {
        1 => "",
        _ if unit.ends_with('s') => "es",
        _ => "s",
    };
    format!("{number} {unit}{ending}")
}

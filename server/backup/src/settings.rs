//! Settings of backups.

use std::path::PathBuf;
use std::time::Duration;

use settings::Secret;
use time::Time;

settings::settings! {
    /// Settings of backups.
    #[derive(Debug, Clone, PartialEq)]
    pub struct Settings {
        /// Where backups go: a folder, or `s3://BUCKET/PREFIX`. Setting it turns backups on. Nobody else may write
        /// there.
        #[setting(variables = ["BASALT_BACKUP_TARGET"], key = "basalt.backup.target")]
        pub target: Option<String> = None,
        /// The file with the passphrase that opens the backups. Keep a copy of it away from this machine.
        #[setting(variables = ["BASALT_BACKUP_PASSPHRASE_FILE"], key = "basalt.backup.passphrase_file")]
        pub passphrase_file: Option<PathBuf> = None,
        /// The passphrase itself.
        #[setting(variables = ["BASALT_BACKUP_PASSPHRASE"])]
        pub passphrase: Option<Secret> = None,
        /// The public key of the operator (`age1…`, made with `age-keygen`) whose private key opens the backups, in
        /// place of a passphrase or beside it.
        #[setting(variables = ["BASALT_BACKUP_RECIPIENT"], key = "basalt.backup.recipient")]
        pub recipient: Option<String> = None,
        /// The time of day at which a backup is made, such as `03:00` (UTC), or `off`: then only `basalt backup create`
        /// makes them, while the write-ahead log and objects are copied all the time.
        #[setting(variables = ["BASALT_BACKUP_SCHEDULE"], key = "basalt.backup.schedule", check = schedule)]
        pub schedule: String = "03:00".to_owned(),
        /// After how many days a backup is a full one again, and not the difference from the one before.
        #[setting(variables = [], key = "basalt.backup.full_every_days")]
        pub full_every_days: u32 = 7,
        /// How many days back the project can be restored to every moment.
        #[setting(variables = ["BASALT_BACKUP_RETENTION_DAYS"], key = "basalt.backup.retention_days")]
        pub retention_days: u32 = 14,
        /// For how long, at most, what was written last may be only on this machine, in seconds; at least one.
        #[setting(variables = ["BASALT_BACKUP_MAX_LOSS"], key = "basalt.backup.max_loss", check = max_loss)]
        pub max_loss: Duration = Duration::from_secs(60),
        /// How much of the write-ahead log may wait on this machine for a target that does not take it, in mebibytes.
        /// Beyond that it is dropped, so that the disk does not fill: no moment between the last backup and the next
        /// one can be restored then, and the next one is made as soon as the target takes it.
        #[setting(variables = ["BASALT_BACKUP_MAX_WAITING_MB"], key = "basalt.backup.max_waiting_mb")]
        pub max_waiting_mb: u32 = 4096,
        /// After how many days a backup is restored into a scratch folder and checked. A full one is checked at once. 0:
        /// never.
        #[setting(variables = ["BASALT_BACKUP_VERIFY_DAYS"], key = "basalt.backup.verify_days")]
        pub verify_days: u32 = 7,
        /// How many processes compress, encrypt and copy at a time.
        #[setting(variables = [], key = "basalt.backup.processes")]
        pub processes: u16 = 2,
        /// The URL of the S3 store, which must begin with `https://`. The default is Amazon's.
        #[setting(variables = ["BASALT_BACKUP_S3_ENDPOINT"], key = "basalt.backup.s3_endpoint")]
        pub s3_endpoint: String = String::new(),
        /// The region of the S3 store.
        #[setting(variables = ["BASALT_BACKUP_S3_REGION"], key = "basalt.backup.s3_region")]
        pub s3_region: String = "us-east-1".to_owned(),
        /// Whether the bucket's name is in the path (`https://host/bucket`) and not in the host's name.
        #[setting(variables = ["BASALT_BACKUP_S3_FORCE_PATH_STYLE"], key = "basalt.backup.s3_force_path_style")]
        pub s3_force_path_style: bool = false,
        /// The access key of the S3 store.
        #[setting(variables = ["BASALT_BACKUP_S3_ACCESS_KEY_ID", "AWS_ACCESS_KEY_ID"])]
        pub s3_access_key_id: String = String::new(),
        /// The secret of the access key.
        #[setting(variables = ["BASALT_BACKUP_S3_SECRET_ACCESS_KEY", "AWS_SECRET_ACCESS_KEY"])]
        pub s3_secret_access_key: Secret = Secret::default(),
        /// The program pgBackRest, 2.54 or newer. The default is the one on `PATH`.
        #[setting(variables = ["BASALT_PGBACKREST"], key = "basalt.backup.pgbackrest")]
        pub program: Option<PathBuf> = None,
        /// The files with settings of the project, which are part of a backup.
        pub files: Vec<PathBuf> = Vec::new(),
    }
}

fn schedule(text: String) -> Result<String, &'static str> {
    match text == "off" || settings::time_of_day(&text).is_some() {
        true => Ok(text),
        false => Err("a time of day such as 03:00, or off"),
    }
}

/// What is copied after a commit is always a little late.
fn max_loss(time: Duration) -> Result<Duration, &'static str> {
    match time >= Duration::from_secs(1) {
        true => Ok(time),
        false => Err("at least a second; without any loss, a synchronous standby keeps what is committed"),
    }
}

impl Settings {
    /// Returns the time of day of backups; `None` if they are made by command only.
    pub fn time(&self) -> Option<Time> {
        let (hour, minute) = settings::time_of_day(&self.schedule)?;
        Time::from_hms(hour, minute, 0).ok()
    }

    /// Returns how much of the log may wait, in mebibytes.
    pub(crate) fn max_waiting_mb(&self) -> u32 {
        self.max_waiting_mb.max(64)
    }

    /// Returns the passphrase, if there is one.
    ///
    /// Errors: if its file cannot be read or is empty.
    pub fn passphrase(&self) -> Result<Option<Secret>, String> {
        if let Some(passphrase) = self.passphrase.clone().filter(|passphrase| !passphrase.is_empty()) {
            return Ok(Some(passphrase));
        }
        let Some(file) = &self.passphrase_file else { return Ok(None) };
        let text = std::fs::read_to_string(file).map_err(|error| {
            format!("the passphrase of backups in {} cannot be read: {error}", file.display())
        })?;
        match text.trim() {
            "" => Err(format!("the file of the passphrase of backups, {}, is empty", file.display())),
            text => Ok(Some(text.to_owned().into())),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_is_copied_at_once() {
        assert!(max_loss(Duration::from_secs(1)).is_ok() && max_loss(Duration::ZERO).is_err());
    }

    #[test]
    fn a_schedule_is_a_time_of_day_or_off() {
        for text in ["03:00", "23:59", "off"] {
            assert!(schedule(text.to_owned()).is_ok(), "{text}");
        }
        for text in ["", "3:00", "24:00", "03:60", "daily", "0 3 * * *"] {
            assert!(schedule(text.to_owned()).is_err(), "{text}");
        }
    }
}

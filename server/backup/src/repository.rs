//! The backups of a project in a target, with everything that is needed to read and write them.

use std::path::{Path, PathBuf};
use std::time::Duration;

use embedded::{Archiver, Engine};
use rand::distr::{Alphanumeric, SampleString as _};
use settings::Secret;

use crate::catalog::{self, Backup};
use crate::error::Error;
use crate::key::{Key, Unlock};
use crate::moment::Moment;
use crate::program::Program;
use crate::settings::Settings;
use crate::target::{Target, check_real_place};
use crate::timelines::Timelines;

/// The file in a target that names it. Its name is random, so that a table of copies belongs to one target.
const NAME: &str = "basalt-backup.txt";

/// The file in the data folder with the key of the target.
const KEY: &str = "backup-key.txt";

/// The file in the data folder of a restored copy, which must not write to the target of the original.
const COPY: &str = "restored-copy";

/// The file in the data folder that says that a backup is due: the log has a gap since the last one.
const DUE: &str = "backup-due";

/// The beginning of the names of scratch folders, in the data folder.
pub(crate) const SCRATCH: &str = "scratch-";

/// The share of the time that may be lost after which Postgres archives an incomplete file of its log, in percent: the
/// rest is for the way to the target.
const ARCHIVE_SHARE: u32 = 60;

/// How long a command that only reads the target may take.
pub(crate) const READ_LIMIT: Duration = Duration::from_secs(300);

/// The backups of a project in a target.
#[derive(Debug, Clone)]
pub struct Repository {
    pub(crate) settings: Settings,
    pub(crate) target: Target,
    pub(crate) key: Key,
    pub(crate) id: String,
    pub(crate) data_dir: PathBuf,
    pub(crate) program: Program,
}

impl Repository {
    /// Opens the backups of the server on `data_dir`, whose key is made at the first time; `None` if `settings` name no
    /// target, or if the folder is a restored copy that has not been [adopted](adopt).
    ///
    /// Errors: [`Error::Advice`] if the program, the passphrase or the target cannot be used.
    pub async fn open(settings: &Settings, data_dir: &Path) -> Result<Option<Self>, Error> {
        let Some(name) = settings.target.as_deref().filter(|_| !is_copy(data_dir)) else { return Ok(None) };
        let program = Program::find(settings.program.as_deref()).await?;
        check_real_place(name, data_dir)?;
        let target = Target::open(settings, name)?;
        let file = data_dir.join(KEY);
        // The target need not be there at each start.
        let (key, id) = match Key::read(&file)?.zip(read_id(data_dir)) {
            Some(known) => known,
            None => {
                let (key, id) = (Self::first_key(settings, &target).await?, name_target(&target).await?);
                keep(&key, &id, data_dir)?;
                (key, id)
            }
        };
        let (settings, data_dir) = (settings.clone(), data_dir.to_owned());
        Ok(Some(Self { settings, target, key, id, data_dir, program }))
    }

    /// Opens the backups of the server on `data_dir` for a command: as [`Self::open`] does, but once the server has
    /// written to the target, it must be there.
    ///
    /// Errors: as for [`Self::open`]; [`Error::Advice`] also if the target is away, or another one is in its place.
    pub async fn open_present(settings: &Settings, data_dir: &Path) -> Result<Option<Self>, Error> {
        if let Some(target) = settings.target.as_deref().filter(|_| has_key(data_dir) && !is_copy(data_dir)) {
            Target::find(settings, target)?;
        }
        let opened = Self::open(settings, data_dir).await?;
        if let Some(repository) = &opened {
            repository.check_target().await?;
        }
        Ok(opened)
    }

    /// Returns the key of `target`, or makes one.
    async fn first_key(settings: &Settings, target: &Target) -> Result<Key, Error> {
        let passphrase = settings.passphrase().map_err(Error::Advice)?;
        if let Some(passphrase) = passphrase.clone()
            && let Some(key) = Key::open(target, &Unlock::Passphrase(passphrase)).await?
        {
            // A server of a data folder that is new would take over what it does not have: perhaps the machine burned.
            if !target.list("database").await?.is_empty() {
                return Err(Error::Advice(
                    "the target has the backups of a project, and this data folder is not that project's: `basalt restore` \
                     brings it back; to begin another one, name another target"
                        .to_owned(),
                ));
            }
            return Ok(key);
        }
        if passphrase.is_none() && settings.recipient.is_none() {
            return Err(Error::Advice(
                "backups have the keys of the project, so that they are always encrypted: set \
                 basalt.backup.passphrase_file (a file with a passphrase, of which you keep a copy elsewhere) or \
                 basalt.backup.recipient (a public key of age)"
                    .to_owned(),
            ));
        }
        if !target.list("database").await?.is_empty() {
            return Err(Error::Advice(
                "the target has backups of another server, whose key this one does not have: name another target, or \
                 begin with `basalt restore`"
                    .to_owned(),
            ));
        }
        Key::create(target, passphrase, settings.recipient.as_deref()).await
    }

    /// Opens the backups in `target` with `unlock`, on a machine that may never have seen them, for a restore into
    /// `data_dir`.
    ///
    /// Errors: [`Error::Advice`] if there are none, or if `unlock` does not open them.
    pub async fn open_with(
        settings: &Settings,
        target: &str,
        unlock: &Unlock,
        data_dir: &Path,
    ) -> Result<Self, Error> {
        let program = Program::find(settings.program.as_deref()).await?;
        check_real_place(target, data_dir)?;
        let opened = Target::find(settings, target)?;
        let key = Key::open(&opened, unlock).await?;
        let key = key.ok_or_else(|| Error::Advice(format!("there are no backups of Basalt in {target}")))?;
        let id = name_target(&opened).await?;
        let settings = Settings { target: Some(target.to_owned()), ..settings.clone() };
        Ok(Self { settings, target: opened, key, id, data_dir: data_dir.to_owned(), program })
    }

    /// Keeps the key and the name of the target in the data folder of a restored project. Unless it is `adopted`, the
    /// folder counts as a copy, which does not write to the target.
    pub(crate) fn keep_in(&self, data_dir: &Path, adopted: bool) -> Result<(), Error> {
        keep(&self.key, &self.id, data_dir)?;
        match adopted {
            true => want_backup(data_dir),
            false => std::fs::write(data_dir.join(COPY), "").map_err(Error::io("mark the restored copy")),
        }
    }

    /// Returns how Postgres archives its log to the target.
    pub fn archiver(&self) -> Archiver {
        let settings = &self.settings;
        let mut options = self.target.options.clone();
        let own = [
            ("repo1-cipher-type", "aes-256-cbc".to_owned()),
            ("repo1-cipher-pass", self.key.text().expose().to_owned()),
            ("repo1-bundle", "y".to_owned()),
            ("repo1-block", "y".to_owned()),
            ("repo1-retention-full-type", "time".to_owned()),
            ("repo1-retention-full", settings.retention_days.max(1).to_string()),
            ("compress-type", "zst".to_owned()),
            ("process-max", settings.processes.max(1).to_string()),
            ("start-fast", "y".to_owned()),
            // `prune` does that, together with objects and settings.
            ("expire-auto", "n".to_owned()),
            // Postgres tries again. While the archiver waits for a target that does not respond, nothing is dropped.
            ("archive-timeout", "60".to_owned()),
            ("log-level-console", "warn".to_owned()),
            ("log-level-stderr", "off".to_owned()),
        ];
        options.extend(own.map(|(name, value)| (name.to_owned(), value)));
        Archiver {
            program: self.program.path.clone(),
            options,
            folder: self.target.folder.clone(),
            waiting_mb: settings.max_waiting_mb(),
            timeout: settings.max_loss * ARCHIVE_SHARE / 100,
        }
    }

    /// Runs `work` with an engine that reads the target, without a running Postgres.
    pub(crate) async fn reading<T>(
        &self,
        work: impl AsyncFnOnce(&Engine) -> Result<T, Error>,
    ) -> Result<T, Error> {
        use std::os::unix::fs::DirBuilderExt as _;
        let name = format!("basalt-backup-{}", Alphanumeric.sample_string(&mut rand::rng(), 12));
        let folder = std::env::temp_dir().join(name);
        std::fs::DirBuilder::new().mode(0o700).create(&folder).map_err(Error::io("create a folder"))?;
        let result = async { work(&Engine::of_repository(&folder, &self.archiver())?).await }.await;
        let _ = std::fs::remove_dir_all(&folder);
        result
    }

    /// Returns the backups in the target, the oldest first.
    ///
    /// Errors: [`Error::Engine`] if it cannot be read.
    pub async fn list(&self) -> Result<Vec<Backup>, Error> {
        self.reading(async |engine| catalog::read(&engine.run("info", &["--output=json"], READ_LIMIT).await?))
            .await
    }

    /// Checks that the target is the one that was written to before: not the folder below which its disk would be mounted.
    pub(crate) async fn check_target(&self) -> Result<(), Error> {
        let found = self.target.read(NAME).await?;
        match found.is_some_and(|name| name.trim_ascii() == self.id.as_bytes()) {
            true => Ok(()),
            false => Err(Error::Advice(format!(
                "the target of backups is not there, or another one is in its place: its file {NAME} says so"
            ))),
        }
    }

    /// Has `passphrase` and the public key of the settings open the target.
    pub(crate) async fn renew_locks(&self, passphrase: Option<Secret>) -> Result<(), Error> {
        self.key.renew_locks(&self.target, passphrase, self.settings.recipient.as_deref()).await
    }

    /// Warns if the database was stopped before all of its log was in the target.
    pub fn warn_of_waiting(&self) {
        let waiting = embedded::waiting_bytes(&self.data_dir);
        if waiting > 0 {
            tracing::warn!(
                waiting_mb = waiting >> 20,
                "the end of the write-ahead log is not in the target of backups: the next start brings it there"
            );
        }
    }

    /// Returns a new name for a scratch folder in the data folder. A server removes such folders when it starts.
    pub fn scratch(&self) -> PathBuf {
        self.data_dir.join(format!("{SCRATCH}{:08x}", rand::random::<u32>()))
    }

    /// Returns the backup with which `moment`, or the end, is brought back, and the number of the timeline on which the
    /// database was then, if Postgres would follow another one by itself.
    ///
    /// Errors: [`Error::Advice`] if there is none.
    pub(crate) async fn before(&self, moment: Option<Moment>) -> Result<(Backup, Option<u32>), Error> {
        let timelines = Timelines::read(&self.target).await?;
        timelines.lead_to(moment, self.list().await?)
    }
}

/// Keeps the key and the name of a target in `data_dir`.
fn keep(key: &Key, id: &str, data_dir: &Path) -> Result<(), Error> {
    use std::os::unix::fs::DirBuilderExt as _;
    let created = std::fs::DirBuilder::new().recursive(true).mode(0o700).create(data_dir);
    created.map_err(Error::io(format!("create {}", data_dir.display())))?;
    key.keep(&data_dir.join(KEY))?;
    std::fs::write(data_dir.join(NAME), id).map_err(Error::io("write the name of the target of backups"))
}

/// Reports whether the server on `data_dir` has the key of a target: it has begun to make backups.
pub fn has_key(data_dir: &Path) -> bool {
    data_dir.join(KEY).exists()
}

/// Reports whether `data_dir` is a restored copy, which does not write to the target of the original.
pub fn is_copy(data_dir: &Path) -> bool {
    data_dir.join(COPY).exists()
}

/// Has the restored copy in `data_dir` write to the target from its next start on. The server that it is a copy of must
/// not do so any more.
pub fn adopt(data_dir: &Path) -> Result<bool, Error> {
    match std::fs::remove_file(data_dir.join(COPY)) {
        Ok(()) => want_backup(data_dir).map(|()| true),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(false),
        Err(error) => Err(Error::io("adopt the restored copy")(error)),
    }
}

/// Has the server on `data_dir` make a backup as soon as it runs: what was written last may not be archived.
pub fn want_backup(data_dir: &Path) -> Result<(), Error> {
    std::fs::write(data_dir.join(DUE), "").map_err(Error::io("note that a backup is due"))
}

/// Reports whether a backup is due at once.
pub(crate) fn is_backup_wanted(data_dir: &Path) -> bool {
    data_dir.join(DUE).exists()
}

/// Takes note that a backup was made.
pub(crate) fn forget_wish(data_dir: &Path) {
    // If it stays, another backup is made.
    let _ = std::fs::remove_file(data_dir.join(DUE));
}

fn read_id(data_dir: &Path) -> Option<String> {
    let text = std::fs::read_to_string(data_dir.join(NAME)).ok()?;
    Some(text.trim().to_owned()).filter(|id| !id.is_empty())
}

/// Returns the name of `target`, which gets one if it has none.
async fn name_target(target: &Target) -> Result<String, Error> {
    let name = Alphanumeric.sample_string(&mut rand::rng(), 20);
    if target.create(NAME, name.clone().into_bytes()).await? {
        return Ok(name);
    }
    let found = target.read(NAME).await?.unwrap_or_default();
    Ok(String::from_utf8_lossy(&found).trim().to_owned())
}

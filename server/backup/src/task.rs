//! The task of a running server: copies what is new, makes backups when they are due, verifies them, and says when
//! something is wrong.

use std::os::unix::fs::MetadataExt as _;
use std::pin::pin;
use std::sync::atomic::Ordering;
use std::time::Duration;

use embedded::{Engine, Options};
use postgres::{Database, Lead};
use settings::Secret;
use tokio::sync::mpsc;
use tokio::task::JoinHandle;
use tokio::time::{Instant, sleep};
use tokio_util::sync::CancellationToken;
use uuid::Uuid;

use crate::catalog::{Backup, damaged};
use crate::create::Running;
use crate::error::Error;
use crate::log_watch::LogWatch;
use crate::metrics::{Metrics, Part};
use crate::moment::Moment;
use crate::repository::{Repository, SCRATCH, is_backup_wanted};
use crate::timelines;
use crate::watch::Watch;

/// How many versions may wait to be retired. The sweeper of storage finds those that do not fit in.
const QUEUE: usize = 10_000;

/// The longest and the shortest pause between two looks for new objects.
const LONGEST_PAUSE: Duration = Duration::from_secs(5);
const SHORTEST_PAUSE: Duration = Duration::from_secs(1);

/// How often keys and settings are compared with those in the target, and all objects with the table of copies and the
/// timeline with the last record.
const FILES_PERIOD: Duration = Duration::from_secs(60);
const OBJECTS_PERIOD: Duration = Duration::from_secs(600);

/// How often the backups are listed anew: commands make some, too.
const LIST_PERIOD: Duration = Duration::from_secs(3600);

/// How long after a failed backup the next one is tried: sooner while the log has a gap.
const RETRY: Duration = Duration::from_secs(300);
const RETRY_GAP: Duration = Duration::from_secs(30);

/// How often the log is shortened while the disk is about to be full.
const ROOM_PERIOD: Duration = Duration::from_secs(10);

/// What is said of a target with a reason.
const REFUSED: &str = "the target does not take the write-ahead log: ";

/// How often a problem that stays is logged again.
const REMINDER: Duration = Duration::from_secs(600);

/// The number of the lock that only one of several servers on a database holds, which is the one that makes backups.
const LEADER: i64 = 0x6261_636b_7570;

/// Takes versions that no object has any more, whose bytes are removed once they are in the target. Cheap to clone.
#[derive(Debug, Clone)]
pub struct Retired(mpsc::Sender<Uuid>);

impl Retired {
    /// Takes `versions`. Those that do not fit in are dropped, which leaves their bytes in the store.
    pub fn push(&self, versions: &[Uuid]) {
        for version in versions {
            if self.0.try_send(*version).is_err() {
                return;
            }
        }
    }
}

/// The task.
pub struct Task {
    repository: Repository,
    running: Running,
    /// Says where Postgres is, for the scratch folder.
    options: Options,
    metrics: Metrics,
    retired: mpsc::Receiver<Uuid>,
    /// Versions that could not be retired yet.
    pending: Vec<Uuid>,
    /// How many changes of objects Postgres had counted at the last look.
    seen: Option<i64>,
    files_at: Option<Instant>,
    objects_at: Option<Instant>,
    /// When it was last seen to that the target has the record of the timeline.
    timeline_at: Option<Instant>,
    /// What is known to open the target, once that has been looked at.
    unlock: Option<Option<Secret>>,
    /// The last time at which everything was in the target.
    safe_at: Instant,
    /// What does not work now, and when it was logged last.
    problem: Option<(String, Instant)>,
    log: LogWatch,
    /// When archiving was last begun anew, so that the log is dropped.
    dropped_at: Option<Instant>,
    /// When the log was last shortened because the disk is about to be full.
    room_made_at: Option<Instant>,
    /// The folder of the target when the task began.
    place: Option<(u64, u64)>,
    job: Option<JoinHandle<Result<Vec<Backup>, Error>>>,
    /// The backups that there were when the last job ended.
    known: Vec<Backup>,
    /// When the next job begins, even if nothing is known to be due.
    next_job: Instant,
    /// Whether the last job failed, so that the next one waits.
    retries: bool,
}

impl Task {
    /// Returns the task that backs `running` up, and where storage tells it what it removes.
    pub fn new(
        repository: Repository,
        running: Running,
        options: Options,
        metrics: Metrics,
    ) -> (Self, Retired) {
        let (sender, retired) = mpsc::channel(QUEUE);
        let now = Instant::now();
        let task = Self {
            place: place(&repository),
            log: LogWatch::default(),
            repository,
            running,
            options,
            metrics,
            retired,
            pending: Vec::new(),
            seen: None,
            files_at: None,
            objects_at: None,
            timeline_at: None,
            unlock: None,
            safe_at: now,
            problem: None,
            dropped_at: None,
            room_made_at: None,
            job: None,
            known: Vec::new(),
            next_job: now,
            retries: false,
        };
        (task, Retired(sender))
    }

    /// Works until `stop`. A backup that is being made then is given up.
    pub async fn run(mut self, stop: CancellationToken) {
        self.remove_scratch();
        let pause = (self.repository.settings.max_loss / 6).clamp(SHORTEST_PAUSE, LONGEST_PAUSE);
        let mut lead = Lead::new(self.running.database.clone(), LEADER);
        while stop.run_until_cancelled(sleep(pause)).await.is_some() {
            if lead.take().await && stop.run_until_cancelled(self.round()).await.is_none() {
                break;
            }
        }
        if let Some(job) = self.job {
            job.abort();
            let _ = job.await;
        }
    }

    async fn round(&mut self) {
        let looked = self.look_at_log().await;
        let mut watch = Watch {
            metrics: self.metrics.clone(),
            repository: self.repository.clone(),
            engine: self.running.engine.clone(),
            safe_at: self.safe_at,
            dropped_at: self.dropped_at,
        };
        let copied = {
            let mut copying = pin!(self.copy());
            loop {
                // A target that does not respond must not hide that it does not.
                tokio::select! {
                    copied = &mut copying => break copied,
                    () = sleep(LONGEST_PAUSE) => drop(watch.look(false)),
                }
            }
        };
        let replaced = self.place != place(&self.repository);
        let copied = copied.and(looked);
        // What follows a part of the log that was dropped cannot be brought back before there is a new backup.
        let has_gap = self.running.engine.is_some() && is_backup_wanted(&self.repository.data_dir);
        let unsafe_since = copied.as_ref().ok().filter(|_| !replaced && !has_gap);
        if let Some(unsafe_since) = unsafe_since {
            self.safe_at = unsafe_since.unwrap_or_else(Instant::now);
        }
        watch.safe_at = self.safe_at;
        let (waiting, is_late) = watch.look(unsafe_since.is_some_and(Option::is_none));
        self.dropped_at = watch.dropped_at;
        if has_gap && watch.is_disk_short() {
            self.make_room().await;
        }
        match copied {
            Err(error) => self.report("objects", &error.to_string(), 0),
            Ok(_) if replaced => {
                let text = "the folder of the target has been replaced: start the server anew";
                self.report("target", text, 0);
            }
            Ok(_) if is_late => {
                let text = match has_gap {
                    true => "the write-ahead log has a gap until the next backup is made".to_owned(),
                    false => self.why_log_waits(),
                };
                self.report("log", &text, waiting >> 20);
            }
            Ok(_) => {
                if self.problem.take().is_some() {
                    tracing::info!("backups work again");
                }
            }
        }
        self.work().await;
    }

    /// Returns since when the log of the embedded Postgres is not completely in the target, if it is so.
    async fn look_at_log(&mut self) -> Result<Option<Instant>, Error> {
        match self.running.engine {
            Some(_) => {
                let patience = self.repository.archiver().timeout;
                self.log.look(&self.running.database, patience).await
            }
            None => Ok(None),
        }
    }

    /// Has Postgres remove files of its log that it no longer needs.
    async fn make_room(&mut self) {
        if self.room_made_at.is_some_and(|at| at.elapsed() < ROOM_PERIOD) {
            return;
        }
        self.room_made_at = Some(Instant::now());
        let made = async {
            Ok::<_, Error>(self.running.database.client().await?.batch_execute("checkpoint").await?)
        };
        if let Err(error) = made.await {
            tracing::warn!(%error, "the write-ahead log cannot be shortened");
        }
    }

    fn why_log_waits(&self) -> String {
        match self.running.engine.as_ref().and_then(Engine::refusal) {
            Some(reason) => format!("{REFUSED}{reason}"),
            // Between two tries there is no reason.
            None => match &self.problem {
                Some((known, _)) if known.starts_with(REFUSED) => known.clone(),
                _ => "the write-ahead log waits for the target".to_owned(),
            },
        }
    }

    /// Logs a problem, once and then from time to time, with how much of the log waits.
    fn report(&mut self, part: &'static str, text: &str, waiting_mb: u64) {
        self.metrics.failures.get_or_create(&Part { part }).inc();
        let is_known =
            self.problem.as_ref().is_some_and(|(known, at)| known == text && at.elapsed() < REMINDER);
        if !is_known {
            tracing::error!(
                part,
                waiting_mb,
                reason = text,
                "backups do not work: what is written now may be lost with this machine"
            );
            self.problem = Some((text.to_owned(), Instant::now()));
        }
    }

    /// Copies what is new: objects, then keys and settings.
    async fn copy(&mut self) -> Result<(), Error> {
        self.repository.check_target().await?;
        self.renew_locks().await?;
        while self.pending.len() < QUEUE
            && let Ok(version) = self.retired.try_recv()
        {
            self.pending.push(version);
        }
        if let Some(copies) = self.repository.copies(&self.running) {
            let changes = changes(&self.running.database).await?;
            let is_due = self.objects_at.is_none_or(|at| at.elapsed() > OBJECTS_PERIOD);
            if is_due || changes != self.seen {
                let copied = copies.copy_new(&self.running.database).await?;
                self.metrics.objects.inc_by(copied.count);
                (self.seen, self.objects_at) = (changes, Some(Instant::now()));
            }
            if !self.pending.is_empty() {
                copies.retire(&self.pending, &self.running.database).await?;
                self.pending.clear();
            }
        }
        if self.files_at.is_none_or(|at| at.elapsed() > FILES_PERIOD) {
            self.repository.store_files().await?;
            self.files_at = Some(Instant::now());
        }
        self.record_timeline().await
    }

    /// Has the target know the timeline of the database, also if a copy that was adopted has made itself known since.
    async fn record_timeline(&mut self) -> Result<(), Error> {
        let is_due = self.timeline_at.is_none_or(|at| at.elapsed() > OBJECTS_PERIOD);
        if self.running.engine.is_some() && is_due {
            timelines::record(&self.repository.target, &self.running.database).await?;
            self.timeline_at = Some(Instant::now());
        }
        Ok(())
    }

    /// Has the passphrase of the settings open the target: at the start, and when its file has changed since.
    async fn renew_locks(&mut self) -> Result<(), Error> {
        let passphrase = match (self.repository.settings.passphrase(), &self.unlock) {
            (Ok(passphrase), _) => passphrase,
            // Perhaps it is being written. What opened the target before still does.
            (Err(_), Some(_)) => return Ok(()),
            (Err(reason), None) => return Err(Error::Advice(reason)),
        };
        if self.unlock.as_ref() != Some(&passphrase) {
            self.repository.renew_locks(passphrase.clone()).await?;
            self.unlock = Some(passphrase);
        }
        Ok(())
    }

    /// Starts what is due, unless something is being done, and takes note of what has ended.
    async fn work(&mut self) {
        if let Some(job) = self.job.take_if(|job| job.is_finished()) {
            match job.await.unwrap_or_else(|error| Err(Error::Io(error.to_string()))) {
                Ok(backups) => {
                    self.metrics.has_failed.store(false, Ordering::Relaxed);
                    self.known = backups;
                    // A verification may have found that some copies have to be made again.
                    self.objects_at = None;
                    self.next_job = Instant::now() + LIST_PERIOD;
                }
                Err(error) => {
                    let pause = match is_backup_wanted(&self.repository.data_dir) {
                        true => RETRY_GAP,
                        false => RETRY,
                    };
                    self.next_job = Instant::now() + pause;
                    self.retries = true;
                    self.metrics.failures.get_or_create(&Part { part: "backup" }).inc();
                    self.metrics.has_failed.store(true, Ordering::Relaxed);
                    let seconds = pause.as_secs();
                    tracing::error!(%error, "a backup could not be made or verified; it is tried again in {seconds} s");
                }
            }
        }
        if self.retries && is_backup_wanted(&self.repository.data_dir) {
            // The log may have been dropped after the last job failed.
            self.next_job = self.next_job.min(Instant::now() + RETRY_GAP);
        }
        if self.job.is_some() || (Instant::now() < self.next_job && (self.retries || !self.is_due())) {
            return;
        }
        self.retries = false;
        let (repository, running, options) =
            (self.repository.clone(), self.running.clone(), self.options.clone());
        let metrics = self.metrics.clone();
        self.job =
            Some(tokio::spawn(async move { make_due(&repository, &running, options, &metrics).await }));
    }

    /// Reports whether a backup has to be made or verified, by the backups that are known.
    fn is_due(&self) -> bool {
        let settings = &self.repository.settings;
        self.running.engine.is_some()
            && (due(&self.known, settings, is_backup_wanted(&self.repository.data_dir)).is_some()
                || to_verify(&self.known, settings.verify_days).is_some())
    }

    /// Removes what a process that was killed has left.
    fn remove_scratch(&self) {
        let Ok(entries) = std::fs::read_dir(&self.repository.data_dir) else { return };
        for entry in entries.flatten() {
            if entry.file_name().to_string_lossy().starts_with(SCRATCH) {
                let _ = std::fs::remove_dir_all(entry.path());
            }
        }
    }
}

/// Returns what identifies the folder into which pgBackRest writes. Postgres keeps it open: another folder of the same
/// name is not the target.
fn place(repository: &Repository) -> Option<(u64, u64)> {
    let metadata = std::fs::metadata(repository.target.folder.as_ref()?).ok()?;
    Some((metadata.dev(), metadata.ino()))
}

/// Makes the backup that is due, and verifies the one that has to be. Returns the backups that there are then.
async fn make_due(
    repository: &Repository,
    running: &Running,
    options: Options,
    metrics: &Metrics,
) -> Result<Vec<Backup>, Error> {
    repository.check_target().await?;
    if running.engine.is_none() {
        repository.prune(running).await?;
        return Ok(Vec::new());
    }
    let mut backups = repository.list().await?;
    note(metrics, &backups);
    let is_wanted = is_backup_wanted(&repository.data_dir);
    if let Some(is_full) = due(&backups, &repository.settings, is_wanted) {
        tracing::info!(is_full, "a backup is being made");
        let backup = repository.create(running, is_full).await?;
        if let Some(backup) = backup {
            tracing::info!(label = backup.label, bytes = backup.stored, "a backup has been made");
        }
        backups = repository.list().await?;
        note(metrics, &backups);
    }
    if let Some(backup) = to_verify(&backups, repository.settings.verify_days).cloned() {
        let found = repository.verify(&backup, &repository.scratch(), options).await?;
        backups = repository.list().await?;
        metrics.last_verification.set(Moment::now().seconds());
        note(metrics, &backups);
        match found.problems.is_empty() {
            true => {
                tracing::info!(label = backup.label, objects = found.objects, "a backup has been verified")
            }
            false => tracing::error!(label = backup.label, problems = ?found.problems, "a backup is damaged"),
        }
        repository.forget_copies(&running.database, &found.copies).await?;
    }
    Ok(backups)
}

fn note(metrics: &Metrics, backups: &[Backup]) {
    if let Some(last) = backups.last() {
        metrics.last_backup.set(last.ended.seconds());
    }
    metrics.damaged.set(i64::from(damaged(backups).is_some()));
}

/// Reports whether a backup is due, and if so, whether it is a full one.
fn due(backups: &[Backup], settings: &crate::Settings, is_wanted: bool) -> Option<bool> {
    let now = Moment::now();
    let Some(last) = backups.last() else { return Some(true) };
    let last_full = backups.iter().rfind(|backup| backup.is_full);
    let full_after = i64::from(settings.full_every_days.max(1)) * 24 * 3600;
    // A little earlier, since a daily backup begins a little later each day.
    let is_full = last_full.is_none_or(|full| now.seconds_after(full.started) > full_after - 3600);
    let is_scheduled = settings.time().is_some_and(|time| last.started < now.last(time));
    (is_scheduled || is_wanted).then_some(is_full)
}

/// Returns the backup that has to be verified: the last full one at once, the last one after so many days.
fn to_verify(backups: &[Backup], days: u32) -> Option<&Backup> {
    if days == 0 {
        return None;
    }
    let full = backups.iter().rfind(|backup| backup.is_full)?;
    if full.verified.is_none() {
        return Some(full);
    }
    let last = backups.last()?;
    let is_recent = |backup: &Backup| {
        let result = backup.verified.as_deref().unwrap_or_default();
        let at = result.get(..22).and_then(|text| Moment::parse(text).ok());
        at.is_some_and(|at| Moment::now().seconds_after(at) < i64::from(days) * 24 * 3600)
    };
    (!backups.iter().any(is_recent)).then_some(last)
}

/// Returns how many changes of objects Postgres has counted.
async fn changes(database: &Database) -> Result<Option<i64>, Error> {
    let sql = "select n_tup_ins + n_tup_upd from pg_catalog.pg_stat_all_tables \
               where schemaname = 'storage' and relname = 'objects'";
    Ok(database.client().await?.query_opt(sql, &[]).await?.map(|row| row.get(0)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Settings;

    fn backup(days: u32, is_full: bool, verified: Option<&str>) -> Backup {
        let at = Moment::now().days_before(days);
        let verified = verified.map(str::to_owned);
        Backup {
            label: String::new(),
            is_full,
            started: at,
            ended: at,
            size: 0,
            stored: 0,
            verified,
            place: None,
        }
    }

    #[test]
    fn the_first_backup_is_due_at_once_and_full() {
        let settings = Settings::default();
        assert_eq!(due(&[], &settings, false), Some(true));
        assert_eq!(due(&[backup(0, true, None)], &settings, true), Some(false));
        assert_eq!(due(&[backup(2, true, None)], &settings, false), Some(false));
        assert_eq!(due(&[backup(7, true, None), backup(2, false, None)], &settings, false), Some(true));
        let off = Settings { schedule: "off".to_owned(), ..settings };
        assert_eq!(due(&[backup(2, true, None)], &off, false), None);
    }

    #[test]
    fn the_newest_backup_that_was_verified_says_whether_they_are_damaged() {
        let (ok, wrong) = (Some("2026-11-29 03:00:00+00 ok"), Some("2026-11-29 03:00:00+00 a is damaged"));
        let metrics = Metrics::default();
        for (verified, is_damaged) in
            [([None, None], false), ([wrong, None], true), ([wrong, ok], false), ([ok, wrong], true)]
        {
            let [first, second] = verified;
            note(&metrics, &[backup(2, true, first), backup(1, true, second), backup(0, false, None)]);
            assert_eq!(metrics.state().is_damaged, is_damaged, "{verified:?}");
        }
    }

    #[test]
    fn full_backups_are_verified_at_once_and_others_weekly() {
        let ok =
            |days| format!("{} ok", Moment::of_seconds(Moment::now().days_before(days).seconds()).unwrap());
        let (old, new) = (ok(8), ok(1));
        assert!(to_verify(&[backup(1, true, None)], 7).unwrap().is_full);
        assert!(to_verify(&[backup(1, true, None)], 0).is_none());
        assert!(to_verify(&[backup(1, true, Some(&new)), backup(0, false, None)], 7).is_none());
        let old = [backup(8, true, Some(&old)), backup(0, false, None)];
        assert!(!to_verify(&old, 7).unwrap().is_full);
    }
}

//! Keeps a certificate for as long as the server runs.

use std::path::Path;
use std::time::SystemTime;

use instant_acme::ChallengeType;
use tokens::now;
use tokio::time::{Instant, sleep, timeout};

use crate::order::{Failure, order};
use crate::renewal::{LOOK_INTERVAL, ORDER_LIMIT, SHORTEST_WAIT, due, wait_after};
use crate::storage::{Item, Storage, load_own};
use crate::{Certificates, Settings};

/// Reads the operator's certificate of the port `of` again whenever one of its files has changed, and never returns. The
/// first version was read before. One that cannot be used is logged as an error, and the last good one stays in use.
pub async fn keep_own(of: &str, chain: &Path, key: &Path, certificates: &Certificates) {
    let changes = |path: &Path| std::fs::metadata(path).and_then(|file| file.modified()).ok();
    let state = || -> [Option<SystemTime>; 2] { [changes(chain), changes(key)] };
    let mut seen = None;
    loop {
        let current = state();
        if seen != Some(current) {
            match load_own(chain, key) {
                Ok(certificate) => {
                    if seen.is_some() {
                        tracing::info!("the certificate of {of} was read again");
                    }
                    certificates.replace(certificate);
                }
                Err(error) => {
                    tracing::error!(%error, "the certificate of {of} stays as it is");
                    certificates.fail(error);
                }
            }
            seen = Some(current);
        }
        sleep(LOOK_INTERVAL).await;
    }
}

/// Keeps the certificate that an ACME server issues for `settings` in `certificates` and in `storage`, and never returns.
/// A failure is logged as an error, and the last good certificate stays in use.
pub async fn keep_issued(settings: &Settings, mut storage: Storage, certificates: &Certificates) {
    let mut schedule = Schedule { failures: 0, next: Instant::now() };
    let mut known_problem = None;
    loop {
        let problem = storage.refresh(settings, certificates).await.err();
        if let Some(error) = problem.as_ref().filter(|_| problem != known_problem) {
            tracing::error!(%error, "the certificate of HTTPS stays as it is");
            certificates.fail(error.clone());
        }
        known_problem = problem;
        let due = certificates.current().map_or(0, |current| due(current.begin, current.end));
        if due <= now() && schedule.next <= Instant::now() {
            try_to_renew(settings, &storage, certificates, &mut schedule).await;
        }
        sleep(LOOK_INTERVAL).await;
    }
}

/// When the next order may be tried.
struct Schedule {
    /// How many orders have failed in a row.
    failures: u32,
    next: Instant,
}

/// Orders a certificate if no other node does, and plans the next attempt.
async fn try_to_renew(
    settings: &Settings,
    storage: &Storage,
    certificates: &Certificates,
    schedule: &mut Schedule,
) {
    match storage.claim().await {
        Ok(Some(failures)) => schedule.failures = schedule.failures.max(failures),
        // Another node orders, or the database is away, which the caller notices, too.
        Ok(None) | Err(_) => return,
    }
    // What a firewall lets through is not known: the two kinds of challenges take turns until one works.
    let kind =
        if schedule.failures.is_multiple_of(2) { ChallengeType::TlsAlpn01 } else { ChallengeType::Http01 };
    let renewed = timeout(ORDER_LIMIT, renew(settings, storage, certificates, kind)).await;
    let renewed = renewed.unwrap_or_else(|_| Err(Failure::Other("the order took too long".to_owned())));
    let wait = match &renewed {
        Ok(()) => {
            schedule.failures = 0;
            tracing::info!(domains = ?settings.domains, "there is a new certificate of HTTPS");
            SHORTEST_WAIT
        }
        Err(error) => {
            schedule.failures += 1;
            let wait = wait_after(schedule.failures, error.is_limit(), rand::random());
            let (seconds_left, next_attempt) = (certificates.seconds_left(), wait.as_secs());
            tracing::error!(%error, seconds_left, next_attempt, "there is no new certificate of HTTPS");
            certificates.fail(error.to_string());
            wait
        }
    };
    schedule.next = Instant::now() + wait;
    let cleared = storage.answer(&[], certificates).await;
    let released = storage.release(wait, schedule.failures).await;
    if let Err(error) = cleared.and(released) {
        // The claim ends by itself.
        tracing::warn!(%error, "other nodes are not told that an order has ended");
    }
}

/// Orders a certificate, stores it and uses it.
async fn renew(
    settings: &Settings,
    storage: &Storage,
    certificates: &Certificates,
    kind: ChallengeType,
) -> Result<(), Failure> {
    let issued = order(settings, storage, certificates, kind).await?;
    certificates.use_issued(&issued)?;
    Ok(storage.write(Item::Certificate, &issued).await?)
}

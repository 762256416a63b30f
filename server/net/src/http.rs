//! The worker of the extension http: sends the requests of calls that wait, and hands them the responses.
//!
//! A call puts its request into a queue by a second session and is notified of nothing: it looks for the response
//! (`schema/extensions`). Several nodes may work on one queue: each request is taken once.

mod exchange;
mod queue;

use std::time::Duration;

use postgres::{Database, Error, Settings};
use tokio::task::JoinSet;
use tokio::time::{Instant, sleep};
use tokio_util::sync::CancellationToken;

use exchange::Client;

/// The channel in which calls notify of new requests.
const CHANNEL: &str = "basalt_http";

/// The maximum number of concurrent requests; the login that queues them may have as many sessions.
const MAX_CONCURRENT: usize = 8;

/// The pause between checks whether the extension exists, and after a failure.
const CHECK_PAUSE: Duration = Duration::from_secs(1);

/// How often requests and responses that nobody waits for are removed.
const EXPIRY_PAUSE: Duration = Duration::from_secs(60);

/// Responds to the calls of the database of `admin`, whose login must be a superuser's, until `stop`. `settings` are
/// those of a pool with the same login, which exists while the extension does. `api` is the URL of this server, which
/// replaces the gateway of the Supabase CLI's containers.
///
/// Errors: a sentence when TLS cannot be set up.
pub async fn work(
    admin: Database,
    settings: Settings,
    api: &str,
    stop: CancellationToken,
) -> Result<(), String> {
    let client = Client::new(api)?;
    let settings = Settings { channel: Some(CHANNEL.to_owned()), ..settings };
    let mut failures = Failures::default();
    while !stop.is_cancelled() {
        let round = match queue::is_ours(&admin).await {
            Ok(true) => serve(&admin, settings.clone(), &client, &mut failures, &stop).await,
            Ok(false) => Ok(()),
            Err(error) => Err(error),
        };
        failures.note(&round);
        stop.run_until_cancelled(sleep(CHECK_PAUSE)).await;
    }
    Ok(())
}

/// Logs a failure once: a database that cannot be reached fails every attempt.
#[derive(Default)]
struct Failures {
    has_failed: bool,
}

impl Failures {
    fn note<T>(&mut self, attempt: &Result<T, Error>) {
        if let Err(error) = attempt
            && !self.has_failed
        {
            tracing::warn!(%error, "calls of the extension http get no response; trying on");
        }
        self.has_failed = attempt.is_err();
    }
}

/// Responds to calls until the extension is dropped, or `stop`. Requests that are under way outlive failures of the
/// database.
async fn serve(
    admin: &Database,
    settings: Settings,
    client: &Client,
    failures: &mut Failures,
    stop: &CancellationToken,
) -> Result<(), Error> {
    queue::prepare(admin).await?;
    let database = Database::connect(settings).await?;
    let mut under_way = JoinSet::new();
    while !stop.is_cancelled() {
        let outcome = serve_calls(admin, &database, client, &mut under_way, stop).await;
        failures.note(&outcome);
        if outcome.is_ok() {
            break;
        }
        stop.run_until_cancelled(sleep(CHECK_PAUSE)).await;
    }
    under_way.shutdown().await;
    database.close().await;
    Ok(())
}

/// Responds to calls until the extension is dropped, `stop`, or a statement fails. `under_way` are the requests that
/// are sent.
async fn serve_calls(
    admin: &Database,
    database: &Database,
    client: &Client,
    under_way: &mut JoinSet<()>,
    stop: &CancellationToken,
) -> Result<(), Error> {
    let mut notifications = database.notifications();
    let mut expired = Instant::now();
    while !stop.is_cancelled() {
        // Before the read, so that a request that arrives during it is noticed.
        notifications.mark_unchanged();
        let room = MAX_CONCURRENT.saturating_sub(under_way.len());
        for call in queue::take(database, room).await? {
            let (database, client) = (database.clone(), client.clone());
            under_way.spawn(async move {
                let response = client.response(&call.request, call.timeout_milliseconds).await;
                if let Err(error) = queue::record(&database, &call.id, &response).await {
                    tracing::warn!(%error, "the response to a call of the extension http was not written down");
                }
            });
        }
        let has_changed = tokio::select! {
            () = stop.cancelled() => return Ok(()),
            changed = notifications.changed() => changed.is_ok(),
            Some(_) = under_way.join_next() => true,
            () = sleep(CHECK_PAUSE) => false,
        };
        if !has_changed && !queue::is_ours(admin).await? {
            return Ok(());
        }
        if expired.elapsed() >= EXPIRY_PAUSE {
            queue::expire(database).await?;
            expired = Instant::now();
        }
    }
    Ok(())
}

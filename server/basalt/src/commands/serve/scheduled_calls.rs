//! Decides which of several nodes makes a scheduled call of a function: the one that first records it in the database.

use std::sync::Arc;
use std::time::Duration;

use functions::TakeCall;
use postgres::{Database, Transaction, text};

/// How long the statement may take.
const TIME_LIMIT: Duration = Duration::from_secs(10);
/// The maximum time by which a call may be early: timers are not exact.
const MAX_TOLERANCE: Duration = Duration::from_secs(1);

/// Returns a function that claims calls in `database`, whose login owns the schema `basalt`.
pub(super) fn take_from(database: Database) -> TakeCall {
    Arc::new(move |function, interval| {
        let database = database.clone();
        Box::pin(async move { take(&database, &function, interval).await.map_err(|error| error.to_string()) })
    })
}

/// Returns a function that claims no call.
pub(super) fn take_none() -> TakeCall {
    Arc::new(|_, _| Box::pin(async { Ok(false) }))
}

/// Claims the call of `function` that is due every `interval`, for this node. Returns `false` if another node has
/// claimed it.
///
/// Errors: those of the database.
async fn take(database: &Database, function: &str, interval: Duration) -> Result<bool, postgres::Error> {
    let least = interval - MAX_TOLERANCE.min(interval / 10);
    let milliseconds = least.as_millis().to_string();
    let sql = "insert into basalt.scheduled_calls as s (function, called_at) values ($1, now()) \
               on conflict (function) do update set called_at = now() \
               where s.called_at <= now() - $2::double precision * interval '1 millisecond' returning 1";
    let transaction = Transaction::anonymous().statement(sql, vec![text(function), text(&milliseconds)]);
    let reply = database.run(&transaction.leaves_session_unchanged().timeout(TIME_LIMIT)).await?;
    Ok(reply.row().is_some())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_call_is_claimed_once_per_interval() {
        let database = testkit::Database::create().await;
        let connect = || async {
            let settings = postgres::Settings::new(database.uri().parse().unwrap());
            Database::connect(settings).await.unwrap()
        };
        let (one, other) = (connect().await, connect().await);
        let interval = Duration::from_millis(500);
        let both = || async {
            let taken = tokio::join!(take(&one, "timed", interval), take(&other, "timed", interval));
            (taken.0.unwrap(), taken.1.unwrap())
        };
        let (first, second) = both().await;
        assert!(first != second, "one of two that ask at the same time");
        assert_eq!(both().await, (false, false), "before the next is due");
        assert!(take(&one, "another", interval).await.unwrap());
        tokio::time::sleep(interval).await;
        let (first, second) = both().await;
        assert!(first != second);
    }
}

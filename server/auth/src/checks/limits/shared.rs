//! Rate limits that all nodes count together, in the table `basalt.rate_limits`.

use std::borrow::Cow;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use data_encoding::HEXLOWER;
use gateway::Network;
use postgres::{Database, Isolation, Transaction};
use sha2::{Digest as _, Sha256};

use super::Allowance;
use crate::Error;
use crate::store::{Executor, Parameter, Work, owned, text};

/// Takes one token from a bucket, after adding those since its last update. Returns a row only if there was a token.
const TAKE: &str = "insert into basalt.rate_limits as l (bucket, client, tokens, updated_at, full_at)
   select $1, $2, $3::float8 - 1, clock_timestamp(),
     case when $4::float8 > 0 then clock_timestamp() + make_interval(secs => least(1 / $4::float8, 1e8)) else 'infinity' end
   where $3::float8 >= 1
   on conflict (bucket, client) do update set
     tokens = least($3::float8, l.tokens + greatest(0, extract(epoch from clock_timestamp() - l.updated_at)) * $4::float8) - 1,
     updated_at = clock_timestamp(),
     full_at = case when $4::float8 > 0 then clock_timestamp() + make_interval(secs => least(1e8, (
       $3::float8 + 1 - least($3::float8, l.tokens + greatest(0, extract(epoch from clock_timestamp() - l.updated_at)) * $4::float8)
     ) / $4::float8)) else 'infinity' end
   where least($3::float8, l.tokens + greatest(0, extract(epoch from clock_timestamp() - l.updated_at)) * $4::float8) >= 1
   returning 1";

/// Takes one of a number that holds for a window of time, counted from the first that is taken in it.
const COUNT: &str = "insert into basalt.rate_limits as l (bucket, client, tokens, updated_at, full_at)
   select $1, $4, $2::float8 - 1, clock_timestamp(), clock_timestamp() + $3::interval where $2::float8 >= 1
   on conflict (bucket, client) do update set
     tokens = case when l.full_at <= clock_timestamp() then $2::float8 else least($2::float8, l.tokens) end - 1,
     updated_at = clock_timestamp(),
     full_at = case when l.full_at <= clock_timestamp() then clock_timestamp() + $3::interval else l.full_at end
   where l.full_at <= clock_timestamp() or least($2::float8, l.tokens) >= 1
   returning 1";

/// Locks the counters of everybody and of those whose share is counted, in the same order for all. Creates those that
/// are missing, full.
const LOCK_SHARES: &str = "insert into basalt.rate_limits as l (bucket, client, tokens, updated_at, full_at)
   select $1, client, $2::float8, clock_timestamp(), clock_timestamp()
   from (values (1, ''), (2, $3::text), (3, $4::text)) as v (place, client) where client is not null order by place
   on conflict (bucket, client) do update set tokens = l.tokens";

/// Takes one of a number that everybody has together, from all of the counters that [`LOCK_SHARES`] has locked or from
/// none. The number flows back, or holds for an hour if nothing flows. Shares are of whole ones.
const TAKE_SHARE: &str = "with left_now as (
     select client, case when full_at <= clock_timestamp() then $2::float8 else least($2::float8,
       tokens + greatest(0, extract(epoch from clock_timestamp() - updated_at)) * $5::float8) end as tokens
     from basalt.rate_limits where bucket = $1 and client in ('', $3::text, $4::text)
   ), everybody as (select tokens from left_now where client = '')
   update basalt.rate_limits l set tokens = own.tokens - 1, updated_at = clock_timestamp(),
     full_at = case
       when $5::float8 > 0 then clock_timestamp() + make_interval(secs => least(1e8, ($2::float8 + 1 - own.tokens) / $5::float8))
       when l.full_at <= clock_timestamp() then clock_timestamp() + interval '1 hour'
       else l.full_at end
   from left_now own, everybody
   where l.bucket = $1 and l.client = own.client and everybody.tokens >= 1 and not exists (
     select from left_now one where one.client <> '' and ceil($2::float8 - one.tokens) >= greatest($6::float8,
       floor(everybody.tokens) * case one.client when $3::text then 1 else $7::float8 end))
   returning 1";

/// How many a network and a site get before their share counts: a developer alone may use up a small number.
const FIRST: u32 = 4;
/// How many times as many as are left a site may have had: seven eighths of all if it is alone. A network may have had
/// as many as are left, half of all.
const SITE_THRESHOLD: u32 = 7;

/// Deletes buckets that are full again, since an unknown bucket counts as full. Those that somebody takes from stay for
/// now: who waited for them might hold others that are wanted in turn.
const SWEEP: &str = "delete from basalt.rate_limits where ctid = any (array(
     select ctid from basalt.rate_limits where full_at < clock_timestamp() for update skip locked))";

/// How many are taken between two sweeps of this node.
const SWEEP_EVERY: u32 = 500;
/// Longest name of a client that is stored as it is.
const LONGEST_NAME: usize = 64;

/// The table.
pub(super) struct SharedCounters {
    database: Database,
    taken: AtomicU32,
}

impl SharedCounters {
    pub(super) fn new(database: Database) -> Self {
        Self { database, taken: AtomicU32::new(0) }
    }

    /// Takes one token of `client`. Returns whether there was one.
    pub(super) async fn take(&self, bucket: &str, client: &str, allowance: Allowance) -> Result<bool, Error> {
        let client = client_key(client);
        let parameters = vec![text(bucket), text(&client), owned(allowance.burst), owned(allowance.rate)];
        self.run(transaction().statement(TAKE, parameters)).await
    }

    /// Takes one of what everybody may do together; for `network` and its site only while they have had less than their
    /// share of it. Returns whether there was one. Without a flow, what is taken is there again an hour after the
    /// first.
    pub(super) async fn take_of_all(
        &self,
        bucket: &str,
        allowance: Allowance,
        network: Option<Network>,
    ) -> Result<bool, Error> {
        let site = network.and_then(Network::site).and_then(owned);
        let network = network.and_then(owned);
        let counters = vec![text(bucket), owned(allowance.burst), network, site];
        let mut parameters = counters.clone();
        parameters.extend([owned(allowance.rate), owned(FIRST), owned(SITE_THRESHOLD)]);
        self.run(transaction().statement(LOCK_SHARES, counters).statement(TAKE_SHARE, parameters)).await
    }

    /// Takes one of `number` that `client` may do within `window`. Returns whether there was one.
    pub(super) async fn count_for(
        &self,
        bucket: &str,
        client: &str,
        number: f64,
        window: Duration,
    ) -> Result<bool, Error> {
        let client = client_key(client);
        self.run(transaction().statement(COUNT, count(bucket, &client, number, window))).await
    }

    /// As [`count_for`](Self::count_for), in the transaction `work`.
    pub(super) async fn count_within(
        &self,
        work: &Work,
        bucket: &str,
        client: &str,
        number: f64,
        window: Duration,
    ) -> Result<bool, Error> {
        let client = client_key(client);
        let taken = work.change(COUNT, count(bucket, &client, number, window)).await?;
        self.sweep_now_and_then();
        Ok(taken == 1)
    }

    /// Forgets the counter of `client`, which is full then, in the transaction `work`.
    pub(super) async fn forget_within(&self, work: &Work, bucket: &str, client: &str) -> Result<(), Error> {
        let sql = "delete from basalt.rate_limits where bucket = $1 and client = $2";
        let client = client_key(client);
        work.change(sql, vec![text(bucket), text(&client)]).await.map(drop)
    }

    async fn run(&self, transaction: Transaction<'_>) -> Result<bool, Error> {
        let result = self.database.run(&transaction).await?;
        self.sweep_now_and_then();
        Ok(result.row().is_some())
    }

    /// Sweeps, if it is time, in a task of its own, so that the request does not wait.
    fn sweep_now_and_then(&self) {
        if self.taken.fetch_add(1, Ordering::Relaxed) % SWEEP_EVERY != SWEEP_EVERY - 1 {
            return;
        }
        let database = self.database.clone();
        tokio::spawn(async move {
            let swept = database.run(&transaction().statement(SWEEP, Vec::new())).await;
            if let Err(error) = swept {
                tracing::warn!(%error, "old counters stay where they are");
            }
        });
    }
}

/// Returns the parameters of [`COUNT`].
fn count<'a>(bucket: &'a str, client: &'a str, number: f64, window: Duration) -> Vec<Parameter<'a>> {
    let window = owned(format!("{} seconds", window.as_secs()));
    vec![text(bucket), owned(number.floor()), window, text(client)]
}

/// Returns a transaction in which no code but the service's own can run.
fn transaction<'a>() -> Transaction<'a> {
    Transaction::anonymous().isolation(Isolation::ReadCommitted).leaves_session_unchanged()
}

/// Returns the text that the counters know `client` by: its hash if it is long, because a header may be of any length.
fn client_key(client: &str) -> Cow<'_, str> {
    if client.len() <= LONGEST_NAME && !client.contains('\0') {
        return Cow::Borrowed(client);
    }
    Cow::Owned(HEXLOWER.encode(&Sha256::digest(client)))
}

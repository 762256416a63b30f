//! Broadcasts that the database keeps: the rows of `realtime.messages`.

use std::time::Duration;

use data_encoding::HEXLOWER;
use postgres::{Database, Row, Transaction, text};

use crate::broadcast::{Broadcast, Origin};
use crate::persistence::Lifetime;
use crate::protocol::Encoding;

/// How long reading messages may take.
const TIME_LIMIT: Duration = Duration::from_secs(5);

/// Bytes of stored broadcasts that are sent to one channel: its queue must hold them.
const MAX_REPLAY_SIZE: usize = 16 << 20;

/// How often the partitions are maintained, and how soon again where that fails.
const PARTITION_INTERVAL: Duration = Duration::from_secs(4 * 3600);
const PARTITION_RETRY: Duration = Duration::from_secs(60);

/// Which broadcasts to send again.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Replay {
    /// Unix milliseconds.
    pub(crate) since: i64,
    /// From 1 to 25.
    pub(crate) limit: u32,
}

/// A row of `realtime.messages`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct StoredMessage {
    pub(crate) id: Box<str>,
    pub(crate) event: Box<str>,
    pub(crate) encoding: Encoding,
    /// JSON text or bytes.
    pub(crate) payload: Vec<u8>,
}

impl StoredMessage {
    /// Returns the message with this id, event, and JSON or bytes (in Postgres' text form); `None` if it has neither,
    /// or both.
    pub(crate) fn new(id: &str, event: &str, json: Option<&str>, bytes: Option<&str>) -> Option<Self> {
        let (encoding, payload) = match (json, bytes) {
            (Some(json), None) => (Encoding::Json, json.as_bytes().to_vec()),
            (None, Some(bytes)) => {
                (Encoding::Bytes, HEXLOWER.decode(bytes.strip_prefix("\\x")?.as_bytes()).ok()?)
            }
            _ => return None,
        };
        Some(Self { id: id.into(), event: event.into(), encoding, payload })
    }

    fn of(row: &Row) -> Option<Self> {
        Self::new(row.text(0)?, row.text(1)?, row.text(2), row.text(3))
    }

    /// Returns the message as the broadcast that channels get when it is committed.
    pub(crate) fn as_broadcast(&self) -> Broadcast<'_> {
        self.with_origin(Origin::Database(&self.id))
    }

    /// Returns the message as the broadcast that a channel gets again.
    pub(crate) fn as_replay(&self) -> Broadcast<'_> {
        self.with_origin(Origin::Replay(&self.id))
    }

    fn with_origin<'a>(&'a self, origin: Origin<'a>) -> Broadcast<'a> {
        Broadcast::User { event: &self.event, encoding: self.encoding, payload: &self.payload, origin }
    }
}

/// Returns the newest broadcasts of private topic `name` that `replay` asks for, as far as they fit; the oldest first.
/// Where the table of another server has no column `expires_at`, that of `without_end` is meant.
///
/// Errors: those of the database.
pub(crate) async fn stored(
    database: &Database,
    name: &str,
    replay: Replay,
) -> Result<Vec<StoredMessage>, postgres::Error> {
    let (since, limit, size) =
        (replay.since.to_string(), replay.limit.to_string(), MAX_REPLAY_SIZE.to_string());
    let transaction = Transaction::anonymous().read_only().on_primary().timeout(TIME_LIMIT).statement(
        "select id, event, payload, binary_payload from ( \
           select newest.*, sum(size) over (order by inserted_at desc, id) as total \
           from (select null::timestamp as expires_at) without_end cross join lateral ( \
             select *, coalesce(octet_length(payload::text), octet_length(binary_payload)) as size \
             from realtime.messages where topic = $1 and private and extension = 'broadcast' \
               and inserted_at >= to_timestamp($2::bigint / 1000.0) at time zone 'utc' \
               and (expires_at is null or expires_at > now() at time zone 'utc') \
               and event is not null and (payload is not null or binary_payload is not null) \
             order by inserted_at desc, id limit $3::bigint) newest) fitting \
         where total <= $4::bigint order by inserted_at, id desc",
        vec![text(name), text(&since), text(&limit), text(&size)],
    );
    let reply = database.run(&transaction).await?;
    Ok(reply.rows().iter().filter_map(StoredMessage::of).collect())
}

/// Stores a broadcast that the channels of private topic `name` have got, so that it can be replayed for `lifetime`.
/// Returns its id; `None` if it cannot be stored, which is logged.
pub(crate) async fn store(
    database: &Database,
    name: &str,
    broadcast: &Broadcast<'_>,
    lifetime: Lifetime,
) -> Option<String> {
    let Broadcast::User { event, encoding, payload, .. } = broadcast else { return None };
    let (column, value) = match encoding {
        Encoding::Json => ("payload", String::from_utf8_lossy(payload).into_owned()),
        Encoding::Bytes => ("binary_payload", format!("\\x{}", HEXLOWER.encode(payload))),
    };
    let sql = format!(
        "insert into realtime.messages (topic, extension, event, private, skip_broadcast, expires_at, {column}) \
         values ($1, 'broadcast', $2, true, true, now() at time zone 'utc' + make_interval(secs => $3::int), \
           $4::text::{}) returning id",
        if *encoding == Encoding::Json { "jsonb" } else { "bytea" }
    );
    let seconds = lifetime.0.to_string();
    let parameters = vec![text(name), text(event), text(&seconds), text(&value)];
    let transaction = Transaction::anonymous().timeout(TIME_LIMIT).statement(sql, parameters);
    match database.run(&transaction).await {
        Ok(reply) => reply.row().and_then(|row| row.text(0)).map(str::to_owned),
        Err(error) => {
            tracing::error!(code = "UnableToPersistMessage", %error, "a broadcast cannot be stored");
            None
        }
    }
}

/// Makes the partitions of the coming days and drops old ones, now and every few hours.
pub(crate) async fn keep_partitions(database: &Database) {
    loop {
        let transaction = Transaction::anonymous().timeout(Duration::from_secs(60));
        let kept =
            database.run(&transaction.statement("select basalt.keep_message_partitions()", Vec::new())).await;
        let pause = match kept {
            Ok(_) => PARTITION_INTERVAL,
            Err(error) => {
                tracing::warn!(%error, "the partitions of realtime.messages could not be kept");
                PARTITION_RETRY
            }
        };
        tokio::time::sleep(pause).await;
    }
}

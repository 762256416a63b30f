//! Carries out the lifecycles of buckets: removes the versions of objects that a rule lets expire.
//!
//! One node at a time does it. Nothing is removed that is not due when it is removed: what has been found is looked at
//! again while nobody can write the same objects.

use std::time::Duration;

use tokio_util::sync::CancellationToken;
use uuid::Uuid;

use crate::buckets::lifecycle::{self, Rule};
use crate::caller::service_transaction;
use crate::error::Error;
use crate::handles::Handles;
use crate::objects::versions::LOCK_MANY;
use crate::row::{self, display, names, text};
use crate::store::{Blobs, Rows};

/// The time from the start to the first pass, so that starting is not slowed down.
const FIRST_PASS: Duration = Duration::from_secs(90);
/// The time from one pass to the next.
const PERIOD: Duration = Duration::from_secs(3600);
/// Versions that one transaction looks at.
const BATCH: u64 = 500;

/// The condition that the rules of bucket 1 are still those that were read (parameter 4).
const IS_RULED: &str = "exists (select from storage.buckets b \
     where b.id = $1 and b.lifecycle_configuration_generation = $4::uuid)";

/// The condition of a version of bucket 1 that is due: it stopped being current so many days ago (parameter 2), and so
/// many later ones of the object (parameter 3) have, too.
const IS_DUE: &str = "o.bucket_id = $1 and o.archived_at <= now() - make_interval(days => $2::integer) \
     and (select count(*) from (select from storage.objects n \
       where n.bucket_id = o.bucket_id and n.name collate \"C\" = o.name and n.archived_at is not null \
         and (n.archived_at, n.id) > (o.archived_at, o.id) limit $3::bigint) newer) >= $3::bigint";

/// The rules of a bucket as they were read.
#[derive(Debug)]
struct Ruled<'a> {
    bucket: &'a str,
    generation: &'a str,
    rules: Vec<Rule>,
}

/// Where a pass through the versions of a bucket is: the time and the id of the last one.
type Place = Option<(String, String)>;

/// Removes versions that have expired.
#[derive(Debug)]
pub struct Expiry {
    rows: Rows,
    blobs: Blobs,
}

impl Expiry {
    /// Returns what removes expired versions.
    pub fn new(handles: &Handles) -> Self {
        Self { rows: handles.rows.clone(), blobs: handles.blobs.clone() }
    }

    /// Removes what has expired soon after the start and every hour, until `stop` is cancelled, unless another node
    /// does.
    pub async fn run(self, stop: CancellationToken) {
        let mut pause = FIRST_PASS;
        while stop.run_until_cancelled(tokio::time::sleep(pause)).await.is_some() {
            match stop.run_until_cancelled(self.take_turn()).await {
                None => return,
                Some(Ok(None | Some(0))) => {}
                Some(Ok(Some(removed))) => tracing::info!(removed, "versions of objects have expired"),
                Some(Err(error)) => tracing::warn!(%error, "versions of objects could not be expired"),
            }
            pause = PERIOD;
        }
    }

    /// Does what [`Self::expire`] does, unless a node has begun to do so in this period: returns `None` then.
    ///
    /// Errors: [`Error::Database`].
    pub async fn take_turn(&self) -> Result<Option<usize>, Error> {
        let turn = service_transaction("storage.lifecycle.expire").statement(
            "insert into basalt.lifecycle_turns (begun_at) values (now()) \
             on conflict (is_only) do update set begun_at = now() \
             where lifecycle_turns.begun_at <= now() - make_interval(secs => $1::integer) returning begun_at",
            // A node that keeps the period must find its own turn over.
            vec![display(PERIOD.as_secs() - 60)],
        );
        match self.rows.run(&turn).await?.row() {
            Some(_) => self.expire().await.map(Some),
            None => Ok(None),
        }
    }

    /// Removes what has expired in all buckets, and returns how many versions that were. What fails in one bucket, as
    /// by a trigger of the users, is logged, and the others are looked at all the same.
    ///
    /// Errors: [`Error::Database`] if there is no connection.
    pub async fn expire(&self) -> Result<usize, Error> {
        let sql = "select id, lifecycle_configuration_generation, lifecycle_configuration from storage.buckets \
             where lifecycle_configuration is not null order by id";
        let reply = self.rows.look_up(sql, Vec::new()).await?;
        let mut removed = 0;
        for row in reply.rows() {
            let (Some(bucket), Some(generation), Some(json)) = (row.text(0), row.text(1), row.get(2)) else {
                continue;
            };
            let rules = match lifecycle::stored(json) {
                Ok(configuration) => configuration.rules,
                Err(error) => {
                    tracing::warn!(bucket, error, "the bucket's lifecycle cannot be read");
                    continue;
                }
            };
            match self.expire_bucket(&Ruled { bucket, generation, rules }, &mut removed).await {
                Err(Error::Database(error)) if !is_of_bucket(&error) => return Err(error.into()),
                Err(error) => {
                    tracing::warn!(bucket, %error, "versions of the bucket's objects could not be expired")
                }
                Ok(()) => {}
            }
        }
        Ok(removed)
    }

    /// Removes what has expired in a bucket, and adds how many versions that were.
    async fn expire_bucket(&self, ruled: &Ruled<'_>, removed: &mut usize) -> Result<(), Error> {
        for rule in ruled.rules.iter().filter(|rule| rule.is_enabled) {
            let mut place = None;
            loop {
                let due;
                (due, place) = self.find(ruled, rule, place).await?;
                if !due.is_empty() {
                    *removed += self.remove(ruled, rule, &due).await?;
                }
                if place.is_none() {
                    break;
                }
            }
        }
        Ok(())
    }

    /// Looks at the versions behind `place`, and returns the ids and names of those that are due, and the next place if
    /// there may be more.
    async fn find(
        &self,
        ruled: &Ruled<'_>,
        rule: &Rule,
        place: Place,
    ) -> Result<(Vec<(String, String)>, Place), Error> {
        let sql = format!(
            "with looked_at as (select o.* from storage.objects o \
               where o.bucket_id = $1 and o.archived_at <= now() - make_interval(days => $2::integer) and {IS_RULED} \
                 and ($5::timestamptz is null or (o.archived_at, o.id) > ($5, $6::uuid)) \
               order by o.archived_at, o.id limit $7::bigint) \
             select o.id, o.name, o.archived_at, {IS_DUE} from looked_at o order by o.archived_at, o.id"
        );
        let (time, id) = place.unzip();
        let mut parameters = rule_parameters(ruled, rule);
        parameters.extend([time.and_then(display), id.and_then(display), display(BATCH)]);
        let reply = self.rows.look_up(sql, parameters).await?;
        let rows = reply.rows();
        let owned = |row: &postgres::Row, index| row.text(index).unwrap_or_default().to_owned();
        let due = rows.iter().filter(|row| row.get(3) == Some(b"t"));
        let due = due.map(|row| (owned(row, 0), owned(row, 1))).collect();
        let is_full = rows.len() as u64 == BATCH;
        Ok((due, rows.last().filter(|_| is_full).map(|row| (owned(row, 2), owned(row, 0)))))
    }

    /// Removes those of the versions `due`, by id and name, that are due while nobody else writes the objects.
    async fn remove(&self, ruled: &Ruled<'_>, rule: &Rule, due: &[(String, String)]) -> Result<usize, Error> {
        let sql = format!(
            "delete from storage.objects o where {IS_DUE} and {IS_RULED} \
               and o.id in (select id::uuid from jsonb_array_elements_text($5::jsonb) ids (id)) \
             returning o.version, o.is_delete_marker"
        );
        let mut parameters = rule_parameters(ruled, rule);
        parameters.push(names(due.iter().map(|(id, _)| &**id)));
        let removal = service_transaction("storage.lifecycle.expire")
            .statement(LOCK_MANY, vec![text(ruled.bucket), names(due.iter().map(|(_, name)| &**name))])
            .statement(sql, parameters);
        let reply = self.rows.change(&removal).await?;
        let with_bytes = reply.rows().iter().filter(|row| row.get(1) != Some(b"t"));
        let freed: Vec<Uuid> = with_bytes.filter_map(|row| row::uuid(row, 0)).collect();
        self.blobs.retire(&freed).await;
        Ok(reply.rows().len())
    }
}

/// Reports whether an error may be due to what a bucket has, and not to the connection.
const fn is_of_bucket(error: &postgres::Error) -> bool {
    matches!(error, postgres::Error::Postgres(_) | postgres::Error::Timeout(_))
}

/// Returns the parameters of [`IS_DUE`] and [`IS_RULED`].
fn rule_parameters<'a>(ruled: &Ruled<'a>, rule: &Rule) -> Vec<row::Parameter<'a>> {
    vec![text(ruled.bucket), display(rule.days), display(rule.kept.unwrap_or(0)), text(ruled.generation)]
}

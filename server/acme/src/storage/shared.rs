//! What nodes share through the database: schema `basalt_platform`, tables `certificates` and `certificate_orders`.

use std::collections::BTreeMap;
use std::time::Duration;

use data_encoding::HEXLOWER;
use postgres::{Database, Parameter, Reply, Transaction, text};
use serde::Serialize;
use serde::de::DeserializeOwned;
use tokens::ValueSeal;

use super::{Issued, Item};
use crate::answer::Answer;
use crate::renewal::{LOOK_INTERVAL, ORDER_LIMIT};
use crate::{Certificates, Settings};

/// How long a statement may take.
const TIME_LIMIT: Duration = Duration::from_secs(10);
/// How long no other node orders. If the one that does dies meanwhile, another one begins after that time.
const CLAIM: Duration = ORDER_LIMIT.saturating_add(Duration::from_secs(60));
/// How long nodes take to know answers: twice the time between two looks.
const SPREAD: Duration = LOOK_INTERVAL.saturating_mul(2);

/// The rows of nodes that have the same domains and ACME server.
pub(crate) struct Shared {
    database: Database,
    seal: ValueSeal,
    /// The name of this node among those that order.
    holder: String,
    account: String,
    certificate: String,
    answers: String,
    /// The known rows, and when they were changed.
    versions: BTreeMap<String, String>,
    /// The answers of all nodes, by the names of their rows.
    all_answers: BTreeMap<String, Vec<Answer>>,
}

impl Shared {
    pub(super) fn new(database: Database, seal: ValueSeal, settings: &Settings) -> Self {
        let directory = &settings.acme_directory;
        let order = format!("{directory} {}", settings.domains.join(" "));
        Self {
            database,
            seal,
            holder: HEXLOWER.encode(&rand::random::<[u8; 16]>()),
            account: format!("account {directory}"),
            certificate: format!("certificate {order}"),
            answers: format!("answers {order}"),
            versions: BTreeMap::new(),
            all_answers: BTreeMap::new(),
        }
    }

    /// Gives the answers of all nodes, and returns the certificate if it has changed since the last call.
    pub(super) async fn refresh(&mut self, certificates: &Certificates) -> Result<Option<Issued>, String> {
        let sql = "select name, changed_at::text, \
                     pg_catalog.translate(pg_catalog.encode(sealed, 'base64'), E'\\n', '') \
                   from basalt_platform.certificates \
                   where (name = $1 or pg_catalog.starts_with(name, 'answers ')) \
                     and changed_at::text is distinct from ($2::jsonb ->> name)";
        let known = json(&self.versions)?;
        let reply = self.run(sql, vec![text(&self.certificate), text(&known)]).await?;
        let (mut issued, mut has_answers) = (None, false);
        for row in reply.rows().iter() {
            let [Some(name), Some(version), Some(sealed)] = [0, 1, 2].map(|column| row.text(column)) else {
                continue;
            };
            self.versions.insert(name.to_owned(), version.to_owned());
            if name == self.certificate {
                issued = Some(self.open(name, sealed)?);
            } else {
                let answers = self.open(name, sealed)?;
                self.all_answers.insert(name.to_owned(), answers);
                has_answers = true;
            }
        }
        if has_answers {
            let all: Vec<Answer> = self.all_answers.values().flatten().cloned().collect();
            certificates.answer(&all)?;
        }
        Ok(issued)
    }

    pub(super) async fn claim(&self) -> Result<Option<u32>, String> {
        let sql = "insert into basalt_platform.certificate_orders as o (name, holder, held_until) \
                   values ($1, $2, pg_catalog.clock_timestamp() + $3::interval) \
                   on conflict (name) do update \
                     set holder = excluded.holder, held_until = excluded.held_until \
                     where o.held_until <= pg_catalog.clock_timestamp() \
                   returning failures";
        let limit = interval(CLAIM);
        let reply = self.run(sql, vec![text(&self.certificate), text(&self.holder), text(&limit)]).await?;
        let failures = reply.row().and_then(|row| row.text(0));
        Ok(failures.and_then(|failures| failures.parse().ok()))
    }

    pub(super) async fn release(&self, wait: Duration, failures: u32) -> Result<(), String> {
        let sql = "update basalt_platform.certificate_orders \
                      set held_until = pg_catalog.clock_timestamp() + $3::interval, failures = $4 \
                    where name = $1 and holder = $2";
        let (wait, failures) = (interval(wait), failures.to_string());
        let parameters = vec![text(&self.certificate), text(&self.holder), text(&wait), text(&failures)];
        self.run(sql, parameters).await.map(drop)
    }

    pub(super) async fn read<T: DeserializeOwned>(&self, item: Item) -> Result<Option<T>, String> {
        let sql = "select pg_catalog.translate(pg_catalog.encode(sealed, 'base64'), E'\\n', '') \
                   from basalt_platform.certificates where name = $1";
        let name = self.name(item);
        let reply = self.run(sql, vec![text(name)]).await?;
        reply.row().and_then(|row| row.text(0)).map(|sealed| self.open(name, sealed)).transpose()
    }

    pub(super) async fn write(&self, item: Item, value: &impl Serialize) -> Result<(), String> {
        self.put(self.name(item), value).await
    }

    pub(super) async fn answer(&self, answers: &[Answer]) -> Result<(), String> {
        self.put(&self.answers, &answers).await?;
        if !answers.is_empty() {
            tokio::time::sleep(SPREAD).await;
        }
        Ok(())
    }

    async fn put(&self, name: &str, value: &impl Serialize) -> Result<(), String> {
        let sql = "insert into basalt_platform.certificates (name, sealed) \
                   values ($1, pg_catalog.decode($2, 'hex')) \
                   on conflict (name) do update \
                     set sealed = excluded.sealed, changed_at = pg_catalog.clock_timestamp()";
        let sealed = self.seal.seal(&json(value)?, name).ok_or("a certificate is too long to be sealed")?;
        self.run(sql, vec![text(name), text(&HEXLOWER.encode(&sealed))]).await.map(drop)
    }

    fn name(&self, item: Item) -> &str {
        match item {
            Item::Account => &self.account,
            Item::Certificate => &self.certificate,
        }
    }

    fn open<T: DeserializeOwned>(&self, name: &str, sealed: &str) -> Result<T, String> {
        let opened = self.seal.open_base64(sealed, name);
        let opened = opened.ok_or_else(|| format!("{name:?} was sealed by a node with another secret"))?;
        serde_json::from_str(&opened).map_err(|error| format!("{name:?} in the database: {error}"))
    }

    async fn run(&self, sql: &str, parameters: Vec<Parameter<'_>>) -> Result<Reply, String> {
        let transaction = Transaction::anonymous().statement(sql, parameters).leaves_session_unchanged();
        let reply = self.database.run(&transaction.timeout(TIME_LIMIT)).await;
        reply.map_err(|error| format!("what nodes share for HTTPS: {error}"))
    }
}

fn json(value: &impl Serialize) -> Result<String, String> {
    serde_json::to_string(value).map_err(|error| error.to_string())
}

fn interval(time: Duration) -> String {
    format!("{} seconds", time.as_secs())
}

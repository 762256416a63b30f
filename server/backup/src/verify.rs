//! Verifies a backup: reads every file of it, brings the database back into a scratch folder, and looks at what it has.

use std::collections::HashSet;
use std::path::Path;
use std::time::Duration;

use embedded::{Cluster, Options, Recovery, RecoveryTarget};
use postgres::{Client, Database};
use uuid::Uuid;

use crate::catalog::{Backup, Manifest, VERIFIED};
use crate::error::Error;
use crate::moment::Moment;
use crate::repository::Repository;
use crate::target::Target;
use crate::{counts, files, objects};

/// How long reading all files may take.
const LIMIT: Duration = Duration::from_secs(24 * 3600);

/// How many problems of one kind are named.
const NAMED: usize = 20;

/// Checks all indexes and tables of a database, and returns what is wrong with them.
const CHECK_PAGES: &str = "
create schema if not exists basalt_checks;
create extension if not exists amcheck schema basalt_checks;
create temporary table problems (problem text);
do $$
declare
  item record;
  -- The project may have the extension in a schema of its choice.
  place regnamespace := (select extnamespace from pg_catalog.pg_extension where extname = 'amcheck');
begin
  for item in
    select c.oid::regclass as index
    from pg_catalog.pg_index i
    join pg_catalog.pg_class c on c.oid = i.indexrelid
    join pg_catalog.pg_am a on a.oid = c.relam
    where a.amname = 'btree' and c.relkind = 'i' and c.relpersistence = 'p' and i.indisready and i.indisvalid
  loop
    begin
      execute format('select %s.bt_index_check($1, true)', place) using item.index;
    exception when others then
      insert into problems values (item.index || ': ' || sqlerrm);
    end;
  end loop;
  for item in
    select c.oid::regclass as relation
    from pg_catalog.pg_class c
    where c.relkind in ('r', 'm', 't') and c.relpersistence = 'p'
  loop
    begin
      execute format(
        'insert into problems
         select $1 || '', block '' || blkno || '': '' || msg from %s.verify_heapam($1) limit 5', place
      ) using item.relation;
    exception when others then
      insert into problems values (item.relation || ': ' || sqlerrm);
    end;
  end loop;
end $$";

/// What a verification found.
#[derive(Debug, Clone, Default)]
pub struct Verification {
    /// What is wrong; empty if nothing is.
    pub problems: Vec<String>,
    /// How many objects were read.
    pub objects: usize,
    /// The versions of objects whose copies in the target are damaged or missing.
    pub copies: Vec<Uuid>,
    /// How many tables have the number of rows that they had.
    pub tables: usize,
}

impl Repository {
    /// Verifies `backup`, and everything beside the database, in the folder `scratch`, which must not exist. `options`
    /// say where Postgres is. The result is kept in the target.
    ///
    /// Errors: if it cannot be verified. What is wrong with the backup is no error, but in the result.
    pub async fn verify(
        &self,
        backup: &Backup,
        scratch: &Path,
        options: Options,
    ) -> Result<Verification, Error> {
        let mut found = Verification::default();
        self.check_database_files(&mut found).await?;
        let (mut versions, damaged) = objects::check_all(&self.target, &self.key).await?;
        found.objects = versions.len();
        found.copies = damaged.iter().filter_map(|path| objects::version_of(path)).collect();
        // They are named already.
        versions.extend(&found.copies);
        found.problems.extend(damaged.into_iter().take(NAMED).map(|path| format!("{path} is damaged")));
        match files::read(&self.target, &self.key, Moment::now()).await {
            Ok(kept) if files::have_keys(&kept) => {
                let restored =
                    self.check_restored(backup, scratch, options, &kept, &versions, &mut found).await;
                let _ = std::fs::remove_dir_all(scratch);
                match restored {
                    Err(Error::Engine(error)) => {
                        found.problems.push(format!("it cannot be restored: {error}"))
                    }
                    restored => restored?,
                }
            }
            Ok(_) => found.problems.push("the keys of the project are not in it".to_owned()),
            Err(Error::Damaged(path)) => found.problems.push(format!("{path} is damaged")),
            Err(error) => return Err(error),
        }
        let result = match found.problems.first() {
            None => "ok".to_owned(),
            Some(first) => first.replace(['\n', '"'], " "),
        };
        let annotation = format!("--annotation={VERIFIED}={} {result}", Moment::now());
        let set = format!("--set={}", backup.label);
        self.reading(async |engine| Ok(engine.run("annotate", &[&set, &annotation], LIMIT).await?)).await?;
        Ok(found)
    }

    /// Has the next copying of the objects of `database` write those of `versions` again that the store has: a
    /// [verification](Self::verify) found that their copies are damaged or missing.
    pub async fn forget_copies(&self, database: &Database, versions: &[Uuid]) -> Result<(), Error> {
        objects::forget(&self.id, versions, database).await
    }

    /// Has pgBackRest read all of its files.
    async fn check_database_files(&self, found: &mut Verification) -> Result<(), Error> {
        let options = ["--output=text", "--verbose", "--log-level-console=detail", "--log-timestamp=n"];
        let printed = self.reading(async |engine| Ok(engine.run("verify", &options, LIMIT).await?)).await?;
        let lines = printed.lines().map(str::trim);
        let named = lines.clone().filter(|line| line.contains("invalid ") || line.contains("missing file"));
        let named: Vec<String> = named.take(NAMED).map(str::to_owned).collect();
        let is_wrong = lines.clone().any(|line| line == "status: error");
        match (is_wrong, named.is_empty()) {
            (true, true) => found.problems.push(lines.collect::<Vec<_>>().join("; ")),
            (true, false) => found.problems.extend(named),
            (false, _) => {}
        }
        Ok(())
    }

    /// Brings the database back and compares it with what it was.
    async fn check_restored(
        &self,
        backup: &Backup,
        scratch: &Path,
        options: Options,
        kept: &[files::File],
        versions: &HashSet<Uuid>,
        found: &mut Verification,
    ) -> Result<(), Error> {
        use std::os::unix::fs::DirBuilderExt as _;
        let manifest = self.manifest(&backup.label).await?;
        let created = std::fs::DirBuilder::new().mode(0o700).create(scratch);
        created.map_err(Error::io(format!("create {}", scratch.display())))?;
        files::put(scratch, kept)?;
        let target = manifest.position.clone().map_or(RecoveryTarget::Consistent, RecoveryTarget::Position);
        // The database may have left it since.
        let timeline = backup.place.as_ref().map(|place| place.timeline);
        let recovery = Recovery { backup: backup.label.clone(), target, timeline };
        let options = Options {
            data_dir: scratch.to_owned(),
            port: None,
            password: embedded::Password::Random,
            archiver: Some(self.archiver()),
            recovery: Some(recovery),
            ..options
        };
        let cluster = Cluster::start(options).await?;
        let checked = check_cluster(&cluster, &self.target, &manifest, versions, found).await;
        cluster.stop().await;
        checked
    }
}

async fn check_cluster(
    cluster: &Cluster,
    target: &Target,
    manifest: &Manifest,
    versions: &HashSet<Uuid>,
    found: &mut Verification,
) -> Result<(), Error> {
    let database = Database::connect(postgres::Settings::new(cluster.login())).await?;
    let checked = check(&database, target, manifest, versions, found).await;
    database.close().await;
    checked
}

async fn check(
    database: &Database,
    target: &Target,
    manifest: &Manifest,
    versions: &HashSet<Uuid>,
    found: &mut Verification,
) -> Result<(), Error> {
    let client = database.client().await?;
    if manifest.position.is_some() {
        let rows = counts::count(&client).await?;
        for (table, expected) in &manifest.rows {
            match rows.get(table) {
                Some(count) if count == expected => found.tables += 1,
                Some(count) => found.problems.push(format!("{table} has {count} rows, and had {expected}")),
                None => found.problems.push(format!("{table} is missing")),
            }
        }
    }
    let sql = "select pg_catalog.to_regclass('storage.objects') is not null, \
                      pg_catalog.to_regclass('vault.decrypted_secrets') is not null";
    let row = client.query_one(sql, &[]).await?;
    if row.get(0) {
        let mut needed = objects::versions(database).await?;
        needed.retain(|version| !versions.contains(version));
        // An object of the restored rows may be newer than what was read.
        let missing = objects::still_missing(target, needed).await?;
        let named = missing.iter().take(NAMED);
        found.problems.extend(named.map(|version| format!("the object of version {version} is missing")));
        found.copies.extend(missing);
    }
    if row.get(1) {
        let opened = client.query("select decrypted_secret from vault.decrypted_secrets", &[]).await;
        if let Err(error) = opened {
            found.problems.push(format!("the secrets of the vault cannot be opened: {error}"));
        }
    }
    check_pages(&client, found).await
}

async fn check_pages(client: &Client, found: &mut Verification) -> Result<(), Error> {
    let available = "select from pg_catalog.pg_available_extensions where name = 'amcheck'";
    if client.query_opt(available, &[]).await?.is_none() {
        return Ok(());
    }
    client.batch_execute("set statement_timeout = 0; set search_path = public, pg_catalog").await?;
    client.batch_execute(CHECK_PAGES).await?;
    let rows = client.query("select problem from problems limit 20", &[]).await?;
    found.problems.extend(rows.iter().map(|row| row.get(0)));
    Ok(())
}

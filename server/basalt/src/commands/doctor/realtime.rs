//! The requirements of realtime on the database.

use std::fmt::Write as _;

use postgres::{Database, Transaction};

use super::Verdict;

const SQL: &str = "select current_setting('wal_level'), current_setting('max_replication_slots')::int, \
    (select count(*) from pg_catalog.pg_replication_slots), \
    (select rolreplication or rolsuper from pg_catalog.pg_roles where rolname = current_user), \
    (select count(*) from pg_catalog.pg_publication where pubname = 'supabase_realtime'), \
    (select count(*) from pg_catalog.pg_publication_tables where pubname = 'supabase_realtime'), \
    (select coalesce(json_agg(json_build_object('name', slot_name, 'active', active, 'status', wal_status, \
       'kept', pg_catalog.pg_size_pretty(pg_catalog.pg_wal_lsn_diff(pg_catalog.pg_current_wal_lsn(), restart_lsn)))), '[]') \
     from pg_catalog.pg_replication_slots where starts_with(slot_name, 'basalt_realtime'))";

/// Checks that row changes can be read: the write-ahead log's level, a free slot, the role's right, the publication.
/// Returns `None` if the database cannot be queried.
pub(super) async fn check(admin: &Database) -> Option<Verdict> {
    let transaction = Transaction::anonymous().read_only().on_primary().statement(SQL, Vec::new());
    let reply = admin.run(&transaction).await.ok()?;
    let row = reply.row()?;
    let number = |index: usize| row.text(index)?.parse::<i64>().ok();
    let (level, slots, used) = (row.text(0)?, number(1)?, number(2)?);
    let own: Vec<serde_json::Value> = serde_json::from_slice(row.get(6)?).ok()?;
    let rest = "everything of realtime works but row changes and broadcasts of the database";
    if level != "logical" {
        return Some(Verdict::Note(format!(
            "wal_level is {level}: {rest}.\nSet wal_level = logical in postgresql.conf and restart Postgres"
        )));
    }
    if own.is_empty() && used >= slots {
        return Some(Verdict::Note(format!(
            "all {slots} replication slots are in use: {rest}.\n\
             Drop one that nobody needs (pg_replication_slots), or raise max_replication_slots and restart Postgres"
        )));
    }
    if row.text(3) != Some("t") {
        return Some(Verdict::Note(format!(
            "the role that Basalt logs in as may not replicate: {rest}.\nAs a superuser: alter role … replication"
        )));
    }
    if number(4)? == 0 {
        return Some(Verdict::Note(
            "the publication supabase_realtime is missing: create publication supabase_realtime".to_owned(),
        ));
    }
    let mut text = format!("wal_level is logical; {} tables are published", number(5)?);
    for slot in own {
        let of = |name: &str| {
            slot.get(name).map(|value| value.as_str().map_or_else(|| value.to_string(), str::to_owned))
        };
        let (name, active, status, kept) = (of("name")?, of("active")?, of("status")?, of("kept")?);
        let reader = if active == "true" { "is read" } else { "is not read by anybody now" };
        let _ =
            write!(text, "\nslot {name} {reader}; {kept} of the write-ahead log are kept for it ({status})");
    }
    Some(Verdict::Fine(text))
}

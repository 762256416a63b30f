//! The moments to which an operator may want to go back.

use postgres::{Database, Transaction, text};

use crate::Error;

/// The longest name of a restore point, in characters.
pub(crate) const LONGEST_NAME: usize = 20;

/// A moment with a name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RestorePoint {
    /// What it is called.
    pub name: String,
    /// When it was made, as JSON has it.
    pub(crate) created_at: String,
    /// The same in microseconds since 1970.
    pub microseconds: i64,
}

const COLUMNS: &str = "name, to_char(created_at at time zone 'utc', 'YYYY-MM-DD\"T\"HH24:MI:SS.MS\"Z\"'), \
     (extract(epoch from created_at) * 1000000)::bigint";

/// Gives the present moment a name, which it takes from an earlier one.
pub(crate) async fn create(store: &Database, name: &str) -> Result<RestorePoint, Error> {
    let sql = format!(
        "insert into basalt_platform.restore_points (name) values ($1) \
         on conflict (name) do update set created_at = clock_timestamp() returning {COLUMNS}"
    );
    let transaction = Transaction::anonymous().statement(sql, vec![text(name)]);
    let reply = store.run(&transaction).await?;
    read(&reply).ok_or_else(|| Error::invalid("the restore point could not be made"))
}

/// Returns the restore point `name`, or the last one without a name; `None` if there is none.
pub(crate) async fn find(store: &Database, name: Option<&str>) -> Result<Option<RestorePoint>, Error> {
    let sql = format!(
        "select {COLUMNS} from basalt_platform.restore_points \
         where name = coalesce($1, name) order by created_at desc limit 1"
    );
    let transaction = Transaction::anonymous().read_only().statement(sql, vec![name.and_then(text)]);
    Ok(read(&store.run(&transaction).await?))
}

fn read(reply: &postgres::Reply) -> Option<RestorePoint> {
    let row = reply.row()?;
    let owned = |index| row.text(index).map(str::to_owned);
    Some(RestorePoint { name: owned(0)?, created_at: owned(1)?, microseconds: owned(2)?.parse().ok()? })
}

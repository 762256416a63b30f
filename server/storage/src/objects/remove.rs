//! Removing objects: the rows as the caller, then the bytes that no row names any more.

use std::collections::HashSet;

use uuid::Uuid;

use crate::caller::Caller;
use crate::row::{self, json_array, names, text, times};
use crate::{Error, Storage};

use super::discard;

/// Names that one transaction removes. Source: upstream's `MAX_OBJECTS_PER_DELETE_BATCH`.
const BATCH: usize = 500;

/// Removes object `key` of `bucket` as `caller`.
///
/// Errors: [`Error::NoSuchKey`]; [`Error::AccessDenied`] when row-level security keeps the object.
pub(crate) async fn one(
    storage: &Storage,
    caller: &Caller,
    (bucket, key): (&str, &str),
    operation: &'static str,
) -> Result<(), Error> {
    let removal = caller.transaction(operation).statement(
        "delete from storage.objects where bucket_id = $1 and name = $2 returning version",
        vec![text(bucket), text(key)],
    );
    let answer = storage.change(&removal).await.map_err(|error| caller.refusal(error))?;
    if let Some(row) = answer.row() {
        discard(storage, row::uuid(row, 0).as_slice()).await;
        return Ok(());
    }
    let sql = "select from storage.objects where bucket_id = $1 and name = $2";
    let answer = storage.look_up(sql, vec![text(bucket), text(key)]).await?;
    let exists = answer.row().is_some();
    Err(if exists { Error::AccessDenied("Access denied".to_owned()) } else { Error::NoSuchKey })
}

/// Removes the objects of `bucket` that `keys` name, as far as `caller` may, and returns their rows as a JSON array.
pub(crate) async fn many(
    storage: &Storage,
    caller: &Caller,
    bucket: &str,
    keys: &[&str],
    operation: &'static str,
) -> Result<String, Error> {
    const DELETE: &str = concat!(
        "with removed as (delete from storage.objects where bucket_id = $1 \
         and name in (select jsonb_array_elements_text($2::jsonb)) returning *) \
         select row_to_json(r), r.version from (select name, bucket_id, owner, owner_id, version, id, ",
        times!(),
        ", metadata, user_metadata from removed) r"
    );
    let mut arrays = Vec::new();
    for batch in keys.chunks(BATCH) {
        let parameters = vec![text(bucket), names(batch.iter().copied())];
        let removal = caller.transaction(operation).statement(DELETE, parameters);
        let answer = storage.change(&removal).await.map_err(|error| caller.refusal(error))?;
        let rows = answer.rows();
        if rows.is_empty() {
            continue;
        }
        let versions: Vec<Uuid> = rows.iter().filter_map(|row| row::uuid(row, 1)).collect();
        discard(storage, &versions).await;
        arrays.push(json_array(rows));
    }
    let rows: Vec<&str> = arrays.iter().map(|array| array[1..array.len() - 1].trim()).collect();
    Ok(format!("[{}]", rows.join(",")))
}

/// Returns those of `keys` that objects of `bucket` have, whether or not the caller may see them.
pub(crate) async fn existing(
    storage: &Storage,
    bucket: &str,
    keys: &[&str],
) -> Result<HashSet<String>, Error> {
    let sql = "select name from storage.objects where bucket_id = $1 \
         and name in (select jsonb_array_elements_text($2::jsonb))";
    let answer = storage.look_up(sql, vec![text(bucket), names(keys.iter().copied())]).await?;
    Ok(answer.rows().iter().filter_map(|row| row.text(0)).map(str::to_owned).collect())
}

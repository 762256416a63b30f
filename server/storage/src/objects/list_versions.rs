//! Lists that also show older versions of objects, or delete markers. Other lists are in `list.rs`.

use std::fmt::Write as _;

use serde_json::Value;

use super::list::{
    Column, Cursor, FolderListing, MAX_KEYS, Page, PrefixListing, cursor_at, name_folder, order, successor,
};
use crate::caller::Caller;
use crate::error::Error;
use crate::row::{display, iso, json_array, optional, text, times};
use crate::store::Rows;

::settings::words! {
    /// Whether a list shows what it would not show by itself.
    #[derive(Default)]
    pub(crate) enum Inclusion {
        #[default]
        Exclude = "exclude",
        Include = "include",
        /// Nothing else is shown.
        Only = "only",
    }
}

/// Which versions of which objects a list shows.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Filter {
    /// Versions that are not the current one.
    pub(crate) noncurrent: Inclusion,
    pub(crate) delete_markers: Inclusion,
    /// Whether the list's prefix is the whole name.
    pub(crate) is_exact: bool,
}

impl Filter {
    /// Reports whether the list shows the current versions of objects by their prefix, as lists do by themselves.
    pub(crate) fn is_plain(self) -> bool {
        self == Self::default()
    }

    /// Returns the conditions of the versions that are shown, which others precede.
    fn condition(self) -> String {
        let mut condition = String::new();
        for (inclusion, column) in
            [(self.noncurrent, "o.archived_at is not null"), (self.delete_markers, "o.is_delete_marker")]
        {
            match inclusion {
                Inclusion::Exclude => drop(write!(condition, " and not ({column})")),
                Inclusion::Include => {}
                Inclusion::Only => drop(write!(condition, " and ({column})")),
            }
        }
        condition
    }
}

/// The columns of an entry of a list.
macro_rules! shown {
    () => {
        concat!(
            "name, id, metadata, ",
            times!(),
            ", version, ",
            iso!("archived_at"),
            " as archived_at, is_delete_marker, is_versioned"
        )
    };
}

/// The columns that a folder has in the place of those of an object, after its name.
const FOLDER: &str = "null::uuid as id, null::jsonb as metadata, null::timestamptz as last_accessed_at, \
     null::text as version, null::timestamptz as archived_at, null::boolean as is_delete_marker, \
     null::boolean as is_versioned";
/// The same columns of an object.
const OBJECT: &str = "id, metadata, last_accessed_at, version, archived_at, is_delete_marker, is_versioned";

/// Returns the versions and folders of a folder that `caller` may see as a JSON array.
pub(crate) async fn folder(
    rows: &Rows,
    caller: &Caller,
    bucket: &str,
    listing: &FolderListing<'_>,
) -> Result<String, Error> {
    let wanted = format!("{}{}", listing.folder, listing.search).to_lowercase();
    let (range, relative) = match listing.filter.is_exact {
        true => ("o.name collate \"C\" = $1 and ($2::text is null or true)", "o.name"),
        false => (
            "lower(o.name) collate \"C\" >= $1 and ($2::text is null or lower(o.name) collate \"C\" < $2)",
            "substr(o.name, $3::integer)",
        ),
    };
    let (wanted, beyond) = match listing.filter.is_exact {
        true => (listing.folder.to_owned(), None),
        false => (wanted.clone(), successor(&wanted)),
    };
    let delimiter = if listing.filter.is_exact { "" } else { "/" };
    let direction = order(listing.descending);
    let sql = format!(
        "with matching as (select o.*, {relative} as entry from storage.objects o \
           where ({range}) and $3::integer > 0 and o.bucket_id = $4 {condition}), \
         entries as (select split_part(entry, '/', 1) as name, {FOLDER}, null::timestamptz as updated_at, \
             null::timestamptz as created_at from matching \
             where $7 <> '' and position('/' in entry) > 0 group by 1 \
           union all select entry, {OBJECT}, updated_at, created_at from matching \
             where $7 = '' or position('/' in entry) = 0) \
         select row_to_json(r) from (select {shown} from entries \
           order by {folders} {column} {direction}, name collate \"C\" {direction}, created_at desc, version \
           limit $5::bigint offset $6::bigint) r",
        condition = listing.filter.condition(),
        shown = shown!(),
        folders = if listing.column == Column::Name { "" } else { "id is not null," },
        column =
            if listing.column == Column::Name { "lower(name) collate \"C\"" } else { listing.column.name() },
    );
    let parameters = vec![
        text(&wanted),
        optional(beyond.as_deref()),
        display(listing.folder.chars().count() + 1),
        text(bucket),
        display(listing.limit.min(i32::MAX as u64)),
        display(listing.offset.min(i32::MAX as u64)),
        text(delimiter),
    ];
    let reply = rows.look_up_as(caller, "storage.object.list", sql, parameters).await?;
    Ok(json_array(reply.rows()))
}

/// Returns the condition of the entries behind the cursor of a page, and the order of a list.
fn keyset(listing: &PrefixListing<'_>) -> (String, String) {
    let (direction, beyond) = if listing.descending { ("desc", "<") } else { ("asc", ">") };
    let unused = "($7::timestamptz is null or true) and ($8::timestamptz is null or true) and ($9::text is null or true)";
    let (after, order_by) = match listing.column {
        Column::Name => (
            // The first comparison is a range of the index over names.
            format!(
                "name collate \"C\" {beyond}= $6 and (name collate \"C\" {beyond} $6 \
                 or (created_at, coalesce(version, '')) < ($8::timestamptz, $9::text))"
            ),
            format!("name collate \"C\" {direction}, created_at desc, coalesce(version, '') desc"),
        ),
        column => {
            let time = format!("date_trunc('milliseconds', {})", column.name());
            (
                format!(
                    "({time}, name collate \"C\", coalesce(version, '')) {beyond} \
                     (coalesce($7::timestamptz, 'epoch'), $6, coalesce($9::text, ''))"
                ),
                format!(
                    "{time} {direction}, name collate \"C\" {direction}, coalesce(version, '') {direction}"
                ),
            )
        }
    };
    let after = if listing.start.after.is_empty() { "$6 = ''".to_owned() } else { after };
    (format!("{after} and {unused}"), order_by)
}

/// Returns the statement that reads a page; without `has_folders` from a range of the index over names.
fn page_statement(listing: &PrefixListing<'_>, has_folders: bool) -> String {
    let (after, order_by) = keyset(listing);
    let range = if listing.filter.is_exact {
        "o.name collate \"C\" = $2 and ($3::text is null or true)"
    } else {
        "o.name collate \"C\" >= $2 and ($3::text is null or o.name collate \"C\" < $3)"
    };
    let matching =
        format!("storage.objects o where o.bucket_id = $1 and {range} {}", listing.filter.condition());
    let entries = if has_folders {
        format!(
            "matching as (select o.*, left(o.name, length($2) + length($5) - 1 \
               + nullif(position($5 in substr(o.name, length($2) + 1)), 0)) as folder from {matching}), \
             entries as (select folder as name, {FOLDER}, min(updated_at) as updated_at, \
                 min(created_at) as created_at from matching where folder is not null group by folder \
               union all select name, {OBJECT}, updated_at, created_at from matching where folder is null)"
        )
    } else {
        format!(
            "entries as (select name, {OBJECT}, updated_at, created_at from {matching} and $5::text = '')"
        )
    };
    format!(
        "with {entries} select (select row_to_json(r) from (select {shown}) r), \
           to_char(created_at at time zone 'utc', 'YYYY-MM-DD\"T\"HH24:MI:SS.US\"Z\"') \
         from entries where {after} order by {order_by} limit $4::bigint",
        shown = shown!(),
    )
}

/// Returns a page of the versions that `caller` may see, those of one object one after the other from the current one
/// on, unless the list is ordered by time. They are ordered by their creation, which stays as it is when others are
/// removed: clients that remove what a page shows find the rest on the next.
pub(crate) async fn page(
    rows: &Rows,
    caller: &Caller,
    bucket: &str,
    listing: &PrefixListing<'_>,
    operation: &'static str,
) -> Result<Page, Error> {
    let limit = listing.limit.min(MAX_KEYS);
    let delimiter = listing.delimiter.filter(|_| !listing.filter.is_exact).unwrap_or_default();
    let (creation, version) = listing.start.after_version.as_ref().map(|(time, id)| (&**time, &**id)).unzip();
    let end = successor(listing.prefix);
    let parameters = vec![
        text(bucket),
        text(listing.prefix),
        optional(end.as_deref()),
        display(limit + 1),
        text(delimiter),
        text(&listing.start.after),
        optional(listing.start.after_time.as_deref()),
        optional(creation),
        optional(version),
    ];
    let sql = page_statement(listing, !delimiter.is_empty());
    let reply = rows.look_up_as(caller, operation, sql, parameters).await?;
    let mut entries: Vec<(Value, Option<String>)> = reply
        .rows()
        .iter()
        .filter_map(|row| Some((serde_json::from_slice(row.get(0)?).ok()?, row.text(1).map(str::to_owned))))
        .collect();
    entries.iter_mut().for_each(|(entry, _)| name_folder(entry, listing.delimiter.unwrap_or("/")));
    let page_size = usize::try_from(limit).unwrap_or(usize::MAX);
    let next =
        (entries.len() > page_size).then(|| page_size.checked_sub(1).and_then(|last| entries.get(last)));
    let next = next.flatten().map(|(entry, creation)| {
        let version = entry["version"].as_str().map(str::to_owned);
        Cursor { after_version: creation.clone().zip(version), ..cursor_at(entry, listing) }
    });
    entries.truncate(page_size);
    Ok(Page { entries: entries.into_iter().map(|(entry, _)| entry).collect(), next })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_list_shows_what_its_filter_says() {
        let condition =
            |noncurrent, delete_markers| Filter { noncurrent, delete_markers, is_exact: false }.condition();
        assert_eq!(
            condition(Inclusion::Exclude, Inclusion::Only),
            " and not (o.archived_at is not null) and (o.is_delete_marker)"
        );
        assert_eq!(condition(Inclusion::Include, Inclusion::Include), "");
        assert!(Filter::default().is_plain());
        assert!(!Filter { is_exact: true, ..Filter::default() }.is_plain());
    }
}

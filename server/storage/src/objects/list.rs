//! Lists of objects: by folder (version 1), and by prefix with a cursor (version 2).

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};
use time::OffsetDateTime;
use time::format_description::well_known::Rfc3339;

use super::list_versions::{self, Filter};
use crate::caller::Caller;
use crate::error::Error;
use crate::lenient_base64;
use crate::row::{self, display, json_array, optional, text, times};
use crate::store::Rows;

/// Names that a list of version 2 shows at most.
pub(crate) const MAX_KEYS: u64 = 1000;

::settings::words! {
    /// Columns that lists are ordered by.
    #[derive(Default)]
    pub(crate) enum Column {
        #[default]
        Name = "name",
        CreatedAt = "created_at",
        UpdatedAt = "updated_at",
        LastAccessedAt = "last_accessed_at",
    }
}

/// What a list of version 1 shows: one folder.
#[derive(Debug)]
pub(crate) struct FolderListing<'a> {
    /// The folder's name with its slash; empty for the bucket itself.
    pub(crate) folder: &'a str,
    /// How names in the folder begin.
    pub(crate) search: &'a str,
    pub(crate) limit: u64,
    pub(crate) offset: u64,
    pub(crate) column: Column,
    pub(crate) descending: bool,
    pub(crate) filter: Filter,
}

/// Returns the objects and folders that `caller` may see as a JSON array.
pub(crate) async fn folder(
    rows: &Rows,
    caller: &Caller,
    bucket: &str,
    listing: &FolderListing<'_>,
) -> Result<String, Error> {
    const SQL: &str = concat!(
        "select row_to_json(r) from (select name, id, ",
        times!(),
        ", metadata \
          from storage.search($1, $2, $3::integer, $4::integer, $5::integer, $6, $7, $8)) r"
    );
    if !listing.filter.is_plain() {
        return list_versions::folder(rows, caller, bucket, listing).await;
    }
    let parameters = vec![
        text(listing.folder),
        text(bucket),
        display(listing.limit.min(i32::MAX as u64)),
        display(listing.folder.split('/').count()),
        display(listing.offset.min(i32::MAX as u64)),
        text(listing.search),
        text(listing.column.name()),
        text(order(listing.descending)),
    ];
    let reply = rows.look_up_as(caller, "storage.object.list", SQL, parameters).await?;
    Ok(json_array(reply.rows()))
}

/// What a list of version 2 shows.
#[derive(Debug, Clone, Default)]
pub(crate) struct PrefixListing<'a> {
    /// How names begin, byte for byte.
    pub(crate) prefix: &'a str,
    /// Names that contain this after the prefix are grouped into a folder, whose name ends with it. Where the order is
    /// one of time, it has to be a slash.
    pub(crate) delimiter: Option<&'a str>,
    /// The most objects and folders to return, up to [`MAX_KEYS`].
    pub(crate) limit: u64,
    pub(crate) column: Column,
    pub(crate) descending: bool,
    pub(crate) filter: Filter,
    /// Where the list goes on.
    pub(crate) start: Cursor,
}

/// The last entry of a page: the next page begins behind it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Cursor {
    /// The entry's name, that of a folder with its slash; empty for the first page.
    pub(crate) after: String,
    /// The entry's time in the column that orders the list, if that is not the name.
    pub(crate) after_time: Option<String>,
    /// When the entry was made, to the microsecond, and its version; in lists of versions.
    pub(crate) after_version: Option<(String, String)>,
}

/// A page of a list.
#[derive(Debug, Default)]
pub(crate) struct Page {
    /// Folders, whose `id` is null and whose name ends with the delimiter, and objects, in the order of the list.
    pub(crate) entries: Vec<Value>,
    /// Where the next page begins, if there is one.
    pub(crate) next: Option<Cursor>,
}

/// Returns a page of the objects that `caller` may see. `operation` is what `storage.operation()` tells policies.
pub(crate) async fn page(
    rows: &Rows,
    caller: &Caller,
    bucket: &str,
    listing: &PrefixListing<'_>,
    operation: &'static str,
) -> Result<Page, Error> {
    if !listing.filter.is_plain() {
        return list_versions::page(rows, caller, bucket, listing, operation).await;
    }
    let limit = listing.limit.min(MAX_KEYS);
    let common = "name, id, metadata, updated_at, created_at, last_accessed_at";
    let (source, order_by) = match listing.delimiter {
        None => plain_list(listing, common),
        Some("/") => {
            let call = "storage.search_v2($1, $2, $3::integer, $4::integer, $5, $6, $7, coalesce($8, ''))";
            (format!("select key, {common} from {call}"), String::new())
        }
        Some(_) => (delimited_list(common), String::new()),
    };
    let sql = format!(
        "select row_to_json(r) from (select {key} name, id, metadata, {times} from ({source}) s {order_by}) r",
        key = if listing.delimiter == Some("/") { "key," } else { "" },
        times = times!(),
    );
    let (start, after_time) = match listing.delimiter {
        Some("/") => start_of(listing),
        _ => (listing.start.after.clone(), listing.start.after_time.clone()),
    };
    let beyond = successor(listing.prefix);
    let mut parameters = vec![
        text(listing.prefix),
        text(bucket),
        display(limit + 1),
        display(listing.prefix.split('/').count()),
        text(&start),
        text(order(listing.descending)),
        text(listing.column.name()),
        optional(after_time.as_deref()),
    ];
    match listing.delimiter {
        None => parameters.push(optional(beyond.as_deref())),
        Some("/") => {}
        Some(delimiter) => parameters.push(text(delimiter)),
    }
    let reply = rows.look_up_as(caller, operation, sql, parameters).await?;
    let rows = reply.rows().iter();
    let mut entries: Vec<Value> =
        rows.filter_map(|row| row.get(0)).filter_map(|json| serde_json::from_slice(json).ok()).collect();
    entries.iter_mut().for_each(|entry| name_folder(entry, listing.delimiter.unwrap_or("/")));
    let page_size = usize::try_from(limit).unwrap_or(usize::MAX);
    let next = (entries.len() > page_size).then(|| cursor_at(&entries[page_size - 1], listing));
    entries.truncate(page_size);
    Ok(Page { entries, next })
}

/// Mentions the parameters that only other forms of the list use, since all forms have the same parameters.
const UNUSED: &str = "$4::integer is not null and $6::text is not null and $7::text is not null";

/// Returns the query of a list with folders whose names end with another text than a slash.
fn delimited_list(columns: &str) -> String {
    format!(
        "select {columns} from storage.list_objects_with_delimiter($2, $1, $9, $3::integer, $5, '', $6) \
         where {UNUSED} and ($8::text is null or true)"
    )
}

/// Returns the query of a list without folders, and its order: a range of the index over names, or all of the prefix by
/// time.
fn plain_list(listing: &PrefixListing<'_>, columns: &str) -> (String, String) {
    let (direction, beyond) = if listing.descending { ("desc", "<") } else { ("asc", ">") };
    let range = "bucket_id = $2 and archived_at is null and not is_delete_marker \
         and name collate \"C\" >= $1 and ($9::text is null or name collate \"C\" < $9)";
    let (after, order_by) = match listing.column {
        Column::Name => (
            format!("($5 = '' or name collate \"C\" {beyond} $5) and ($8::text is null or true)"),
            format!("order by name collate \"C\" {direction}"),
        ),
        column => {
            let time = format!("date_trunc('milliseconds', {})", column.name());
            (
                format!(
                    "($5 = '' or ({time}, name collate \"C\") {beyond} \
                     (coalesce($8::timestamptz, 'epoch'), $5))"
                ),
                format!("order by {time} {direction}, name collate \"C\" {direction}"),
            )
        }
    };
    let source = format!(
        "select {columns} from storage.objects where {range} and {after} and {UNUSED} {order_by} limit $3::integer"
    );
    (source, order_by)
}

/// Appends the delimiter to the name of a folder, which the database's functions leave out.
pub(super) fn name_folder(entry: &mut Value, delimiter: &str) {
    if entry["id"].is_null()
        && let Some(name) = entry["name"].as_str().filter(|name| !name.ends_with(delimiter))
    {
        entry["name"] = format!("{name}{delimiter}").into();
    }
}

/// Returns the cursor behind `entry`.
pub(super) fn cursor_at(entry: &Value, listing: &PrefixListing<'_>) -> Cursor {
    let text = |name: &str| entry.get(name).and_then(Value::as_str).map(str::to_owned);
    let after_time = if listing.column == Column::Name { None } else { text(listing.column.name()) };
    Cursor { after: text("name").unwrap_or_default(), after_time, after_version: None }
}

/// Returns the name and the time after which the database's functions are to go on with a list with folders. They take
/// a name that is also a folder's for the folder, in ascending order without its slash; no name has control characters.
fn start_of(listing: &PrefixListing<'_>) -> (String, Option<String>) {
    let (after, time) = (&*listing.start.after, listing.start.after_time.clone());
    let folder = after.strip_suffix('/').filter(|_| after != listing.prefix);
    let name = match (folder, listing.column, listing.descending) {
        _ if after.is_empty() => String::new(),
        // The folder of names that begin with a slash: its own name, which is empty, would be the list's beginning.
        (Some(""), Column::Name, false) => "/\u{10ffff}".to_owned(),
        (Some(""), column, false) if column != Column::Name => "\u{1}".to_owned(),
        (Some(""), column, true) if column != Column::Name => {
            // It is the last of its time.
            let time = time.and_then(|time| OffsetDateTime::parse(&time, &Rfc3339).ok());
            let earlier = time.map(|time| row::iso_milliseconds(time - time::Duration::MILLISECOND));
            return ("\u{10ffff}".to_owned(), earlier);
        }
        (Some(folder), Column::Name, false) => folder.to_owned(),
        (None, Column::Name, false) => format!("{after}\u{1}"),
        (_, Column::Name, true) => after.to_owned(),
        (folder, _, _) => folder.unwrap_or(after).to_owned(),
    };
    (name, time)
}

/// Returns the first text, byte by byte, that comes after all that begin with `prefix`; `None` if there is none.
pub(super) fn successor(prefix: &str) -> Option<String> {
    let last = prefix.chars().next_back()?;
    // The range leaves out the surrogates, which are no characters.
    let next = (last..=char::MAX).nth(1)?;
    Some(format!("{}{next}", &prefix[..prefix.len() - last.len_utf8()]))
}

pub(super) const fn order(descending: bool) -> &'static str {
    if descending { "desc" } else { "asc" }
}

/// Returns the opaque text by which a client asks for the page behind `cursor`. Its form is upstream's: lines `l:`
/// (last name), `o:` (order), `c:` (column), `a:` (time) and `v:` (version), as base64.
pub(crate) fn encode_cursor(cursor: &Cursor, column: Column, descending: bool) -> String {
    let mut lines = format!("l:{}\no:{}\nc:{}", cursor.after, order(descending), column.name());
    if let Some(time) = &cursor.after_time {
        lines.push_str("\na:");
        lines.push_str(time);
    }
    if let Some((creation, version)) = &cursor.after_version {
        lines.push_str(&format!("\nv:{version}.{creation}"));
    }
    STANDARD.encode(lines)
}

/// Reads what [`encode_cursor`] wrote: the cursor, and the order that it belongs to.
///
/// Errors: [`Error::InvalidParameter`].
pub(crate) fn decode_cursor(token: &str) -> Result<(Cursor, Column, bool), Error> {
    let refused = || Error::InvalidParameter("continuation token");
    let bytes = lenient_base64::decode(token).ok_or_else(refused)?;
    let lines = String::from_utf8(bytes).map_err(|_| refused())?;
    let (mut cursor, mut column, mut descending) = (Cursor::default(), Column::Name, false);
    for line in lines.split('\n') {
        match line.split_once(':').ok_or_else(refused)? {
            ("l", name) => name.clone_into(&mut cursor.after),
            ("o", order) => descending = order.eq_ignore_ascii_case("desc"),
            ("c", name) => column = Column::of_name(name).ok_or_else(refused)?,
            ("a", time) => cursor.after_time = Some(time.to_owned()),
            ("v", place) => {
                let (version, creation) = place.split_once('.').ok_or_else(refused)?;
                cursor.after_version = Some((creation.to_owned(), version.to_owned()));
            }
            _ => return Err(refused()),
        }
    }
    Ok((cursor, column, descending))
}

/// Returns a page as version 2 of the interface has it.
pub(crate) fn page_as_json(page: Page, column: Column, descending: bool) -> Value {
    let (folders, objects): (Vec<_>, Vec<_>) =
        page.entries.into_iter().partition(|entry| entry["id"].is_null());
    let mut json = json!({ "hasNext": page.next.is_some(), "folders": folders, "objects": objects });
    if let Some(next) = page.next {
        json["nextCursor"] = encode_cursor(&next, column, descending).into();
        json["nextCursorKey"] = next.after.into();
    }
    json
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_prefix_ends_before_its_successor() {
        assert_eq!(successor("a/").as_deref(), Some("a0"));
        assert_eq!(successor("\u{d7ff}").as_deref(), Some("\u{e000}"));
        assert_eq!(successor("a\u{10ffff}"), None);
        assert_eq!(successor(""), None);
    }

    #[test]
    fn lists_go_on_after_folders_and_after_objects_of_the_same_name() {
        let start = |after: &str, column, descending| {
            let start = Cursor { after: after.to_owned(), ..Cursor::default() };
            start_of(&PrefixListing { prefix: "p/", column, descending, start, ..PrefixListing::default() }).0
        };
        assert_eq!(start("", Column::Name, false), "");
        assert_eq!(start("p/dir/", Column::Name, false), "p/dir");
        assert_eq!(start("p/dir/", Column::Name, true), "p/dir/");
        assert_eq!(start("p/dir/", Column::CreatedAt, true), "p/dir");
        assert_eq!(start("p/dir", Column::Name, false), "p/dir\u{1}");
        assert_eq!(start("p/", Column::Name, false), "p/\u{1}", "the object that is called like the prefix");
    }

    #[test]
    fn cursors_survive_the_way_to_the_client_and_back() {
        let version = ("2026-01-31T12:00:00.000001Z".to_owned(), "version".to_owned());
        let cursor = Cursor {
            after: "a/b:c".to_owned(),
            after_time: Some("2026-01-31T12:00:00.000Z".to_owned()),
            after_version: Some(version),
        };
        let token = encode_cursor(&cursor, Column::CreatedAt, true);
        assert_eq!(decode_cursor(&token).unwrap(), (cursor, Column::CreatedAt, true));
        let upstreams = STANDARD.encode("l:name\no:asc");
        assert_eq!(decode_cursor(&upstreams).unwrap().0.after, "name");
        for token in ["!", "bm9uc2Vuc2U=", &STANDARD.encode("c:password")] {
            assert!(matches!(decode_cursor(token), Err(Error::InvalidParameter(_))), "{token}");
        }
    }
}

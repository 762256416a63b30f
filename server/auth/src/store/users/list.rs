//! Pages of users.

use serde::Deserialize;
use uuid::Uuid;

use crate::Error;
use crate::store::documents;
use crate::store::model::user::User;
use crate::store::{Executor, owned, text};

/// Which users are listed, and in which order.
pub(crate) struct Selection<'a> {
    pub(crate) audience: &'a str,
    /// What addresses or full names contain; empty for all users.
    pub(crate) filter: &'a str,
    /// Oldest first instead of newest first.
    pub(crate) ascending: bool,
}

/// The condition of [`Selection`], whose parameters are the audience and the pattern.
const SELECTED: &str = "u.aud = $1 and
  ($2::text is null or u.email like $2::text or u.raw_user_meta_data ->> 'full_name' ilike $2::text)";

impl Selection<'_> {
    /// Returns the pattern of the filter, in which wildcards keep their meaning, as upstream's do.
    fn pattern(&self) -> Option<String> {
        (!self.filter.is_empty()).then(|| format!("%{}%", self.filter))
    }

    const fn direction(&self) -> &'static str {
        if self.ascending { "asc" } else { "desc" }
    }
}

/// Users of one page, and how many there are on all pages.
#[derive(Deserialize)]
pub(crate) struct Page {
    /// Without their identities and factors.
    pub(crate) users: Vec<User>,
    pub(crate) total: u64,
}

/// Returns at most `limit` users after the first `offset`.
pub(crate) async fn page(
    executor: &impl Executor,
    selection: &Selection<'_>,
    limit: i64,
    offset: i64,
) -> Result<Page, Error> {
    let sql = format!(
        "select jsonb_build_object(
           'total', (select count(*) from auth.users u where {SELECTED}),
           'users', coalesce((
             select jsonb_agg({document} order by p.created_at {direction}, p.id {direction}) from (
               select u.* from auth.users u where {SELECTED}
               order by u.created_at {direction}, u.id {direction} limit $3::bigint offset $4::bigint
             ) p
           ), '[]')
         )",
        document = documents::bare_user("p"),
        direction = selection.direction(),
    );
    let pattern = selection.pattern();
    let parameters = vec![text(selection.audience), pattern.and_then(owned), owned(limit), owned(offset)];
    let page = executor.read(&sql, parameters).await?;
    page.ok_or_else(|| Error::Internal("a page of users was not returned".to_owned()))
}

/// Returns at most `limit` users, without their identities and factors, after the one who was created at that time and
/// has that id, if one is given.
pub(crate) async fn after(
    executor: &impl Executor,
    selection: &Selection<'_>,
    limit: i64,
    last: Option<(&str, Uuid)>,
) -> Result<Vec<User>, Error> {
    // Rows that other programs have inserted may lack the time.
    let since = "coalesce(u.created_at, '-infinity')";
    let sql = format!(
        "select coalesce(jsonb_agg({document} order by p.since {direction}, p.id {direction}), '[]') from (
           select u.*, {since} as since from auth.users u
           where {SELECTED} and ($4::timestamptz is null or ({since}, u.id) {beyond} ($4::timestamptz, $5::uuid))
           order by since {direction}, u.id {direction} limit $3::bigint
         ) p",
        document = documents::bare_user("p"),
        direction = selection.direction(),
        beyond = if selection.ascending { ">" } else { "<" },
    );
    let (since, id) = last.unzip();
    let parameters = vec![
        text(selection.audience),
        selection.pattern().and_then(owned),
        owned(limit),
        since.and_then(text),
        id.and_then(owned),
    ];
    Ok(executor.read(&sql, parameters).await?.unwrap_or_default())
}

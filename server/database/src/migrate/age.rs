//! How old the schemas `auth` and `storage` are that a database came with. `0012_older_schemas.sql` brings them up to date
//! from October 2022 on, if whoever migrates may do so.

use tokio_postgres::Client;

use super::error::Error;

/// One row: whether there is a schema `auth`, whether it has second factors (October 2022); then for `auth` and for
/// `storage`, whether it is up to date, who owns it, and whether the current role may become that; the current role.
///
/// It reads catalogs alone, which every role may.
const LOOK: &str = "with t as (
    select n.nspname || '.' || c.relname as name, c.oid, pg_get_userbyid(c.relowner)::text as owner
    from pg_class c join pg_namespace n on n.oid = c.relnamespace
    where n.nspname in ('auth', 'storage') and c.relkind in ('r', 'p')
  ), owners as (
    select (select owner from t where name = 'auth.users') as auth,
      (select owner from t where name = 'storage.objects') as storage
  ), newest as (
    select t.name from t join pg_attribute a on a.attrelid = t.oid
    where (t.name, a.attname) in (
      ('auth.custom_oauth_providers', 'custom_claims_allowlist'), ('storage.objects', 'user_metadata'))
  )
  select exists (select from t where name = 'auth.users'),
    (select count(*) = 2 from t where name in ('auth.sessions', 'auth.mfa_factors')),
    exists (select from newest where name like 'auth.%'), auth, coalesce(pg_has_role(auth, 'member'), false),
    exists (select from newest where name like 'storage.%'), storage, coalesce(pg_has_role(storage, 'member'), false),
    current_user::text
  from owners";

/// As [`Migrator::obstacle`](super::Migrator::obstacle).
pub(super) async fn obstacle(client: &Client) -> Result<Option<String>, Error> {
    let rows = client.query_typed(LOOK, &[]).await;
    let rows = rows.map_err(Error::database("see how old the schemas auth and storage are"))?;
    let Some(row) = rows.first() else { return Ok(None) };
    let (there, has_factors): (bool, bool) = (row.get(0), row.get(1));
    if there && !has_factors {
        return Ok(Some(
            "schema \"auth\" of this database is older than October 2022, and only Supabase Auth itself can bring it up \
             to date. Let a current release of it (GoTrue, `auth migrate`) migrate this database once, then start again"
                .to_owned(),
        ));
    }
    let stands = |column: usize| -> (bool, Option<String>, bool) {
        (row.get(column), row.get(column + 1), row.get(column + 2))
    };
    let role: String = row.get(8);
    for (schema, service, (is_current, owner, may)) in
        [("auth", "Supabase Auth (GoTrue)", stands(2)), ("storage", "Supabase Storage", stands(5))]
    {
        if let (false, Some(owner), false) = (is_current, owner, may) {
            return Ok(Some(format!(
                "schema {schema:?} of this database is older than this release needs, and role {role:?} may not change it, \
                 since it belongs to {owner:?}. Let a current release of {service} migrate this database once, or start \
                 once with a DATABASE_URL of a superuser or of a member of {owner:?}"
            )));
        }
    }
    Ok(None)
}

//! The age of the schemas `auth` and `storage` of a database that Supabase's own services have set up.
//! `0012_older_schemas.sql` and `0028_auth_recovery_codes.sql` bring them up to date from October 2022 on, if the
//! migrating role has the right to do so.

use tokio_postgres::{GenericClient, Row};

use super::error::Error;

/// Returns one row: whether schema `auth` has accounts, sessions and second factors (October 2022); then for `auth` and
/// for `storage`, whether it is up to date, who owns it, and whether the current role is a member of the owner; the
/// current role.
///
/// It reads only catalogs, which every role may read.
const QUERY: &str = "with t as (
    select n.nspname || '.' || c.relname as name, c.oid, pg_get_userbyid(c.relowner)::text as owner
    from pg_class c join pg_namespace n on n.oid = c.relnamespace
    where n.nspname in ('auth', 'storage') and c.relkind in ('r', 'p')
  ), owners as (
    select (select owner from t where name = 'auth.users') as auth,
      (select owner from t where name = 'storage.objects') as storage
  ), newest as (
    select t.name from t join pg_attribute a on a.attrelid = t.oid
    where (t.name, a.attname) in (
      ('auth.mfa_recovery_codes', 'consumed_at'), ('storage.objects', 'user_metadata'))
  )
  select exists (select from t where name = 'auth.users'), exists (select from t where name = 'auth.sessions'),
    exists (select from t where name = 'auth.mfa_factors'),
    exists (select from newest where name like 'auth.%'), auth, coalesce(pg_has_role(auth, 'member'), false),
    exists (select from newest where name like 'storage.%'), storage, coalesce(pg_has_role(storage, 'member'), false),
    current_user::text
  from owners";

/// How far the schemas of a database are up to date.
pub(super) struct Age {
    /// Whether there are accounts.
    pub(super) has_users: bool,
    /// Whether there are sessions, which Supabase's database image ships without.
    pub(super) has_sessions: bool,
    has_factors: bool,
    pub(super) auth: Schema,
    storage: Schema,
    /// The current role.
    role: String,
}

/// How far one schema is up to date.
pub(super) struct Schema {
    /// Whether it has the newest column that this release needs.
    pub(super) is_current: bool,
    /// The owner of its main table, if that exists.
    owner: Option<String>,
    /// Whether the current role may act as the owner.
    may_change: bool,
}

impl Age {
    /// Reads it from the database.
    pub(super) async fn read(client: &impl GenericClient) -> Result<Self, Error> {
        let row = client.query_typed_one(QUERY, &[]).await;
        let row = row.map_err(Error::database("read the age of the schemas auth and storage"))?;
        Ok(Self {
            has_users: row.get(0),
            has_sessions: row.get(1),
            has_factors: row.get(2),
            auth: Schema::from_row(&row, 3),
            storage: Schema::from_row(&row, 6),
            role: row.get(9),
        })
    }

    /// Says why the schemas cannot be brought up to date, and what to do; `None` if they can.
    pub(super) fn obstacle(&self) -> Option<String> {
        self.obstacle_of_auth().or_else(|| self.obstacle_of(&self.storage, "storage", "Supabase Storage"))
    }

    /// Returns the same as [`Self::obstacle`] for schema `auth` only.
    pub(super) fn obstacle_of_auth(&self) -> Option<String> {
        if self.has_users && !(self.has_sessions && self.has_factors) {
            return Some(too_old());
        }
        self.obstacle_of(&self.auth, "auth", "Supabase Auth (GoTrue)")
    }

    fn obstacle_of(&self, schema: &Schema, name: &str, service: &str) -> Option<String> {
        let owner = schema.owner.as_ref().filter(|_| !schema.is_current && !schema.may_change)?;
        Some(format!(
            "schema {name:?} of this database is older than this release needs, and role {:?} may not change it, \
             since it belongs to {owner:?}. Let a current release of {service} migrate this database once, or start \
             once with a DATABASE_URL of a superuser or of a member of {owner:?}",
            self.role
        ))
    }
}

impl Schema {
    /// Reads three columns of `row`, beginning with `column`.
    fn from_row(row: &Row, column: usize) -> Self {
        Self { is_current: row.get(column), owner: row.get(column + 1), may_change: row.get(column + 2) }
    }
}

/// Returns the message about a schema `auth` that only Supabase Auth itself can bring up to date.
pub(super) fn too_old() -> String {
    "schema \"auth\" of this database is older than October 2022, and only Supabase Auth itself can bring it up to date. \
     Let a current release of it (GoTrue, `auth migrate`) migrate this database once, then start again"
        .to_owned()
}

//! Lookup of the accounts that a provider's user may belong to.

use serde::Deserialize;
use uuid::Uuid;

use super::{Executor, Work, documents, owned, text};
use crate::Error;
use crate::store::model::user::Identity;

/// A user's identity that has one of the addresses looked for.
#[derive(Debug, Clone, Deserialize)]
pub(crate) struct Owner {
    pub(crate) user_id: Uuid,
    pub(crate) provider: String,
    /// The audience of the user.
    pub(crate) aud: Option<String>,
}

/// What is known of those who may be the user that a provider describes.
#[derive(Deserialize)]
pub(crate) struct Candidates {
    /// The identity itself, if the user has been here before.
    pub(crate) identity: Option<Identity>,
    /// The identities with one of the verified addresses.
    pub(crate) owners: Vec<Owner>,
    /// The users with one of the verified addresses, without those of single sign-on.
    pub(crate) users: Vec<Uuid>,
    /// The identities with the address that a new user would get.
    pub(crate) address_owners: Vec<Owner>,
    /// Whether a user of the audience, other than of single sign-on, has that address.
    pub(crate) address_taken: bool,
}

/// Lets others who decide about the same `subject` of `provider`, or about one of the same `addresses`, wait until the
/// transaction ends, so that two first logins at the same moment make one account.
pub(crate) async fn lock(
    work: &Work,
    (provider, subject): (&str, &str),
    addresses: &[&str],
) -> Result<(), Error> {
    let mut names: Vec<String> = addresses.iter().map(|address| format!("auth address {address}")).collect();
    names.push(format!("auth identity {provider} {subject}"));
    // All transactions take the locks in one order, which avoids deadlocks.
    let sql = "select pg_advisory_xact_lock(hashtextextended(name, 0))
      from (select distinct name from jsonb_array_elements_text($1::jsonb) as name order by name) as names";
    work.change(sql, vec![owned(serde_json::Value::from(names))]).await.map(drop)
}

/// Looks for those who may be `subject` of `provider`, whose `verified` addresses are lowercase, and who would get
/// `address` (empty for none) in `audience` as a new user.
pub(crate) async fn find(
    executor: &impl Executor,
    (provider, subject): (&str, &str),
    verified: &[String],
    address: &str,
    audience: &str,
) -> Result<Candidates, Error> {
    let owners = |emails: &str| {
        format!(
            "coalesce((
               select jsonb_agg(jsonb_build_object('user_id', i.user_id, 'provider', i.provider, 'aud', u.aud))
               from auth.identities i join auth.users u on u.id = i.user_id where i.email = {emails}
             ), '[]')"
        )
    };
    let sql = format!(
        "with verified as (
           select array(select jsonb_array_elements_text($3::jsonb)) as addresses
         )
         select jsonb_build_object(
           'identity', (select {identity} from auth.identities i where i.provider = $1 and i.provider_id = $2),
           'owners', {owners},
           'users', coalesce((
             select jsonb_agg(u.id) from auth.users u
             where u.email = any ((select addresses from verified)::text[]) and not u.is_sso_user
           ), '[]'),
           'address_owners', {address_owners},
           'address_taken', exists (
             select from auth.users u where u.email = nullif($4, '') and u.aud = $5 and not u.is_sso_user
           )
         )",
        identity = documents::identity("i"),
        owners = owners("any ((select addresses from verified)::text[])"),
        address_owners = owners("nullif($4, '')"),
    );
    let verified = serde_json::Value::from(verified);
    let parameters = vec![text(provider), text(subject), owned(verified), text(address), text(audience)];
    let found = executor.read(&sql, parameters).await?;
    found.ok_or_else(|| Error::Internal("a query without conditions returned nothing".to_owned()))
}

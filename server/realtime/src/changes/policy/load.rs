//! The policies of a table in the catalog.

use postgres::{Database, Error, Row, Transaction, text};
use serde_json::{Map, Value, json};
use uuid::Uuid;

use super::claim::{Claim, ClaimValue, Kind};
use super::{Requirement, RowValues, expression};
use crate::authorize::BECOME;
use crate::changes::queries::is_temporary;
use crate::changes::table::{TIME_LIMIT, Table};

/// Returns what the policies of `table` require of users of `role`; `None` if nothing is understood.
///
/// Errors: temporary ones of the database.
pub(in crate::changes) async fn load(
    database: &Database,
    role: &str,
    table: &Table,
) -> Result<Option<Requirement>, Error> {
    match try_to_load(database, role, table).await {
        Err(error) if !is_temporary(&error) => Ok(None),
        loaded => loaded,
    }
}

/// As [`load`], with all errors.
async fn try_to_load(database: &Database, role: &str, table: &Table) -> Result<Option<Requirement>, Error> {
    let number = table.oid.to_string();
    // With an empty path, Postgres writes the schemas of all names but its own.
    let transaction = Transaction::anonymous()
        .setting("search_path", "")
        .read_only()
        .on_primary()
        .timeout(TIME_LIMIT)
        .statement(
            "select p.polpermissive, pg_catalog.pg_get_expr(p.polqual, p.polrelid) from pg_catalog.pg_policy p \
             where p.polrelid = $1::oid and p.polcmd in ('r', '*') and exists ( \
               select from pg_catalog.unnest(p.polroles) as r(oid) \
               where r.oid = 0 or pg_catalog.pg_has_role($2, r.oid, 'usage'))",
            vec![text(&number), text(role)],
        );
    let reply = database.run(&transaction).await?;
    let Some(requirement) = of_policies(reply.rows(), table) else { return Ok(None) };
    for alternative in &requirement.0 {
        if let RowValues::Related(related) = &alternative.values
            && !related.can_be_read(database, &alternative.claim, table).await?
        {
            return Ok(None);
        }
    }
    let claims: Vec<&Claim> = requirement.0.iter().map(|alternative| &alternative.claim).collect();
    Ok(are_as_expected(database, role, &claims).await?.then_some(requirement))
}

/// Returns what policies require together: one of the permissive ones, and all restrictive ones.
fn of_policies(policies: &[Row], table: &Table) -> Option<Requirement> {
    let mut permissive = Some(Requirement(Vec::new()));
    let mut restrictive = None;
    for policy in policies {
        let required = policy.text(1).and_then(|condition| expression::requirement(condition, table));
        if policy.text(0) == Some("t") {
            permissive = permissive.zip(required).and_then(|(one, other)| one.either(other));
        } else {
            restrictive = Requirement::both(restrictive, required);
        }
    }
    Requirement::both(permissive, restrictive)
}

/// Reports whether the SQL of `claims` returns, for an example of a token, what is read from it here: somebody may have
/// written another `auth.uid()`.
async fn are_as_expected(database: &Database, role: &str, claims: &[&Claim]) -> Result<bool, Error> {
    if claims.is_empty() {
        return Ok(true);
    }
    let Some(example) = example(role, claims) else { return Ok(false) };
    let selected: Vec<String> = claims.iter().map(|claim| format!("({})::text", claim.sql)).collect();
    let token = Value::Object(example.clone()).to_string();
    let transaction = Transaction::anonymous()
        .setting("search_path", "")
        .on_primary()
        .timeout(TIME_LIMIT)
        .statement(BECOME, vec![text(role), text(&token)])
        .statement(format!("select {}", selected.join(", ")), Vec::new())
        .rollback();
    let reply = database.run(&transaction).await?;
    let Some(row) = reply.row() else { return Ok(false) };
    let is_as_expected = |(index, claim): (usize, &&Claim)| match claim.value(&example) {
        ClaimValue::Text(expected) => row.text(index) == Some(&*expected),
        ClaimValue::Absent | ClaimValue::Unknown => false,
    };
    Ok(claims.iter().enumerate().all(is_as_expected))
}

/// Returns the claims of a token that has all of `claims`, with values that no other token has; `None` if no token can
/// have all of them.
fn example(role: &str, claims: &[&Claim]) -> Option<Map<String, Value>> {
    let mut example = json!({ "role": role });
    // Those that are read as text only can have any value.
    let mut claims = claims.to_vec();
    claims.sort_by_key(|claim| claim.kind == Kind::Text);
    for claim in claims {
        let (key, parents) = claim.path.split_last()?;
        let parent = parents.iter().try_fold(&mut example, |value, key| {
            let object = value.as_object_mut()?;
            Some(object.entry(key.as_str()).or_insert_with(|| json!({})))
        })?;
        let value = match claim.kind {
            Kind::Uuid => Uuid::new_v4().to_string(),
            Kind::Integer => rand::random_range(1_000..30_000).to_string(),
            Kind::Text => Uuid::new_v4().simple().to_string(),
        };
        parent.as_object_mut()?.entry(key.as_str()).or_insert_with(|| value.into());
    }
    match example {
        Value::Object(example) => Some(example),
        _ => None,
    }
}

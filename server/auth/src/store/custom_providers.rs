//! Rows of `auth.custom_oauth_providers`: providers that administrators define.

use serde_json::{Value, json};

use super::{Executor, documents, owned, text};
use crate::Error;
use crate::providers::{CustomProvider, ProviderType};

/// Returns the provider `identifier`, with its secret.
pub(crate) async fn find(
    executor: &impl Executor,
    identifier: &str,
) -> Result<Option<CustomProvider>, Error> {
    let sql = "select to_jsonb(p) from auth.custom_oauth_providers p where p.identifier = $1";
    executor.read(sql, vec![text(identifier)]).await
}

/// Returns the provider `identifier` as administrators see it.
pub(crate) async fn view(executor: &impl Executor, identifier: &str) -> Result<Option<Value>, Error> {
    let view = documents::custom_provider("p");
    let sql = format!("select {view} from auth.custom_oauth_providers p where p.identifier = $1");
    executor.read(&sql, vec![text(identifier)]).await
}

/// Returns all providers, or those of one kind, as administrators see them, newest first.
pub(crate) async fn list(executor: &impl Executor, kind: Option<ProviderType>) -> Result<Vec<Value>, Error> {
    let sql = format!(
        "select coalesce(jsonb_agg({view} order by p.created_at desc, p.identifier), '[]')
         from auth.custom_oauth_providers p where $1::text is null or p.provider_type = $1",
        view = documents::custom_provider("p"),
    );
    let listed = executor.read(&sql, vec![kind.and_then(|kind| text(kind.name()))]).await?;
    Ok(listed.unwrap_or_default())
}

/// Returns how many providers there are.
pub(crate) async fn count(executor: &impl Executor) -> Result<usize, Error> {
    let sql = "select to_jsonb(count(*)) from auth.custom_oauth_providers";
    Ok(executor.read(sql, Vec::new()).await?.unwrap_or_default())
}

/// Returns the row as JSON, for [`create`] and [`update`].
fn row(provider: &CustomProvider) -> Value {
    json!({
        "id": provider.id,
        "provider_type": provider.provider_type,
        "identifier": provider.identifier,
        "name": provider.name,
        "client_id": provider.client_id,
        "client_secret": provider.client_secret.expose(),
        "acceptable_client_ids": provider.acceptable_client_ids,
        "scopes": provider.scopes,
        "pkce_enabled": provider.pkce_enabled,
        "attribute_mapping": provider.attribute_mapping,
        "custom_claims_allowlist": provider.custom_claims_allowlist,
        "authorization_params": provider.authorization_params,
        "enabled": provider.enabled,
        "email_optional": provider.email_optional,
        "issuer": provider.issuer,
        "discovery_url": provider.discovery_url,
        "skip_nonce_check": provider.skip_nonce_check,
        "cached_discovery": provider.cached_discovery,
        "authorization_url": provider.authorization_url,
        "token_url": provider.token_url,
        "userinfo_url": provider.userinfo_url,
        "jwks_uri": provider.jwks_uri,
    })
}

/// The columns that [`row`] fills.
const COLUMNS: &str = "id, provider_type, identifier, name, client_id, client_secret, acceptable_client_ids, scopes,
  pkce_enabled, attribute_mapping, custom_claims_allowlist, authorization_params, enabled, email_optional, issuer,
  discovery_url, skip_nonce_check, cached_discovery, authorization_url, token_url, userinfo_url, jwks_uri";

const FROM_ROW: &str = "jsonb_populate_record(null::auth.custom_oauth_providers, $1::jsonb)";

/// Stores a new provider; returns what administrators see of it.
///
/// Errors: a unique violation of `custom_oauth_providers_identifier_key`; check violations for identifiers, names and
/// addresses of a wrong form.
pub(crate) async fn create(executor: &impl Executor, provider: &CustomProvider) -> Result<Value, Error> {
    let sql = format!(
        "insert into auth.custom_oauth_providers as p ({COLUMNS}, discovery_cached_at)
         select {COLUMNS}, case when r.cached_discovery is not null then now() end from {FROM_ROW} r
         returning {view}",
        view = documents::custom_provider("p"),
    );
    let created = executor.change_returning(&sql, vec![owned(row(provider))]).await?;
    created.ok_or_else(|| Error::Internal("a custom provider was not stored".to_owned()))
}

/// Replaces all that is known of a provider; returns what administrators see of it, `None` if it is gone.
///
/// Errors: as [`create`].
pub(crate) async fn update(
    executor: &impl Executor,
    provider: &CustomProvider,
) -> Result<Option<Value>, Error> {
    let sql = format!(
        "update auth.custom_oauth_providers p
         set ({COLUMNS}, discovery_cached_at, updated_at) = (
           select {COLUMNS}, case when r.cached_discovery = p.cached_discovery then p.discovery_cached_at
             when r.cached_discovery is not null then now() end, now()
           from {FROM_ROW} r
         )
         where p.identifier = $1::jsonb ->> 'identifier' returning {view}",
        view = documents::custom_provider("p"),
    );
    executor.change_returning(&sql, vec![owned(row(provider))]).await
}

/// Removes the provider `identifier`; returns whether there was one.
pub(crate) async fn delete(executor: &impl Executor, identifier: &str) -> Result<bool, Error> {
    let sql = "delete from auth.custom_oauth_providers where identifier = $1";
    Ok(executor.change(sql, vec![text(identifier)]).await? > 0)
}

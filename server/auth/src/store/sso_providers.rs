//! Rows of `auth.sso_providers`, `auth.saml_providers` and `auth.sso_domains`: identity providers of single sign-on.

use poem_openapi::Object;
use serde::{Deserialize, Serialize};
use serde_json::json;
use uuid::Uuid;

use super::{Executor, Work, documents, owned, text, text_unless_empty};
use crate::Error;
use crate::sso::AttributeMapping;
use crate::store::model::nullable::Nullable;

/// An identity provider.
#[derive(Debug, Clone, Object, Deserialize)]
pub(crate) struct SsoProvider {
    pub(crate) id: Uuid,
    /// The id that an administrator has chosen.
    #[oai(skip_serializing_if_is_none)]
    pub(crate) resource_id: Option<String>,
    /// Whether sign-in with it is disabled.
    #[serde(deserialize_with = "nullable")]
    pub(crate) disabled: Nullable<bool>,
    pub(crate) saml: SamlProvider,
    /// E-mail domains whose users sign in there.
    domains: Vec<SsoDomain>,
    created_at: Option<String>,
    updated_at: Option<String>,
}

/// The data of a SAML 2.0 identity provider.
#[derive(Debug, Clone, Object, Deserialize)]
#[oai(skip_serializing_if_is_none)]
pub(crate) struct SamlProvider {
    pub(crate) entity_id: String,
    /// Its metadata; only returned for a single provider.
    pub(crate) metadata_xml: Option<String>,
    /// The URL of its metadata.
    pub(crate) metadata_url: Option<String>,
    pub(crate) attribute_mapping: AttributeMapping,
    /// The requested kind of name.
    pub(crate) name_id_format: Option<String>,
    /// Seconds since its metadata was stored.
    #[oai(skip)]
    pub(crate) age: Option<f64>,
}

/// An e-mail domain whose users sign in with a provider.
#[derive(Debug, Clone, Object, Deserialize)]
pub(crate) struct SsoDomain {
    domain: String,
}

impl SsoProvider {
    pub(crate) fn is_disabled(&self) -> bool {
        self.disabled.0.unwrap_or_default()
    }
}

fn nullable<'de, D: serde::Deserializer<'de>>(deserializer: D) -> Result<Nullable<bool>, D::Error> {
    Option::deserialize(deserializer).map(Nullable)
}

/// What a provider is looked up by.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Lookup<'a> {
    Id(Uuid),
    ResourceId(&'a str),
    /// Upper and lower case are the same.
    Domain(&'a str),
    EntityId(&'a str),
}

const ROWS: &str = "auth.sso_providers p join auth.saml_providers s on s.sso_provider_id = p.id";

/// Returns the provider that is looked up.
pub(crate) async fn find(executor: &impl Executor, lookup: Lookup<'_>) -> Result<Option<SsoProvider>, Error> {
    let (condition, parameter) = match lookup {
        Lookup::Id(id) => ("p.id = $1::uuid", owned(id)),
        Lookup::ResourceId(name) => ("p.resource_id = $1", text(name)),
        Lookup::Domain(domain) => (
            "p.id = (select d.sso_provider_id from auth.sso_domains d where lower(d.domain) = lower($1))",
            text(domain),
        ),
        Lookup::EntityId(id) => ("s.entity_id = $1", text(id)),
    };
    // No text in Postgres contains a NUL.
    if parameter.as_ref().is_some_and(|value| value.contains(&0)) {
        return Ok(None);
    }
    let sql = format!("select {} from {ROWS} where {condition}", documents::sso_provider("auth.sso_domains"));
    executor.read(&sql, vec![parameter]).await
}

/// Returns all providers without their metadata, or those whose resource id is, or else begins with, what is asked for;
/// oldest first.
pub(crate) async fn list(
    executor: &impl Executor,
    resource_id: &str,
    prefix: &str,
) -> Result<Vec<SsoProvider>, Error> {
    let sql = format!(
        "select coalesce(jsonb_agg({} #- '{{saml,metadata_xml}}' order by p.created_at, p.id), '[]') from {ROWS}
         where case when $1::text is not null then p.resource_id = $1
           when $2::text is not null then starts_with(p.resource_id, $2) else true end",
        documents::sso_provider("auth.sso_domains")
    );
    let parameters = vec![text_unless_empty(resource_id), text_unless_empty(prefix)];
    if parameters.iter().flatten().any(|value| value.contains(&0)) {
        return Ok(Vec::new());
    }
    Ok(executor.read(&sql, parameters).await?.unwrap_or_default())
}

/// Returns the first of `domains` that belongs to another provider than `own`, and that provider.
pub(crate) async fn taken_domain(
    executor: &impl Executor,
    domains: &[String],
    own: Option<Uuid>,
) -> Result<Option<(String, Uuid)>, Error> {
    let sql = "select jsonb_build_array(d.domain, d.sso_provider_id) from auth.sso_domains d
      where lower(d.domain) in (select lower(x) from jsonb_array_elements_text($1::jsonb) x)
        and d.sso_provider_id is distinct from $2::uuid
      limit 1";
    executor.read(sql, vec![owned(json!(domains)), own.and_then(owned)]).await
}

/// A provider as it is to be stored.
#[derive(Serialize)]
pub(crate) struct Row<'a> {
    pub(crate) id: Uuid,
    pub(crate) resource_id: Option<&'a str>,
    pub(crate) disabled: Option<bool>,
    pub(crate) entity_id: &'a str,
    /// `None` leaves the metadata that is there.
    pub(crate) metadata_xml: Option<&'a str>,
    pub(crate) metadata_url: Option<&'a str>,
    pub(crate) attribute_mapping: &'a AttributeMapping,
    pub(crate) name_id_format: Option<&'a str>,
}

/// A [`Row`] in JSON, as a row named `r`.
const RECORD: &str =
    "jsonb_to_record($1::jsonb) as r (id uuid, resource_id text, disabled boolean, entity_id text,
  metadata_xml text, metadata_url text, attribute_mapping jsonb, name_id_format text)";

/// Stores a new provider with its `domains`.
///
/// Errors: unique violations of `saml_providers_entity_id_key`, `sso_domains_domain_idx` and
/// `sso_providers_resource_id_idx`.
pub(crate) async fn create(
    executor: &impl Executor,
    row: &Row<'_>,
    domains: &[String],
) -> Result<SsoProvider, Error> {
    let sql = format!(
        "with r as (select * from {RECORD}), p as (
           insert into auth.sso_providers (id, resource_id, disabled, created_at, updated_at)
           select r.id, r.resource_id, r.disabled, now(), now() from r returning *
         ), s as (
           insert into auth.saml_providers (id, sso_provider_id, entity_id, metadata_xml, metadata_url,
             attribute_mapping, name_id_format, created_at, updated_at)
           select gen_random_uuid(), p.id, r.entity_id, r.metadata_xml, r.metadata_url, r.attribute_mapping,
             r.name_id_format, now(), now() from r, p returning *
         ), added as (
           insert into auth.sso_domains (id, sso_provider_id, domain, created_at, updated_at)
           select gen_random_uuid(), p.id, x, now(), now() from p, jsonb_array_elements_text($2::jsonb) x returning *
         )
         select {} from p, s",
        documents::sso_provider("added")
    );
    let created = executor.change_returning(&sql, vec![owned(json!(row)), owned(json!(domains))]).await?;
    created.ok_or_else(|| Error::Internal("an SSO provider was not stored".to_owned()))
}

/// Replaces what is known of a provider, and its domains if there are `domains`. Metadata that is stored counts as new.
///
/// Errors: as [`create`].
pub(crate) async fn update(
    work: &Work,
    row: &Row<'_>,
    domains: Option<&[String]>,
) -> Result<Option<SsoProvider>, Error> {
    let sql = format!(
        "with r as (select * from {RECORD}), p as (
           update auth.sso_providers p set resource_id = r.resource_id, disabled = r.disabled, updated_at = now()
           from r where p.id = r.id returning p.*
         )
         update auth.saml_providers s set metadata_xml = coalesce(r.metadata_xml, s.metadata_xml),
           metadata_url = r.metadata_url, attribute_mapping = r.attribute_mapping, name_id_format = r.name_id_format,
           updated_at = case when r.metadata_xml is null then s.updated_at else now() end
         from r, p where s.sso_provider_id = p.id"
    );
    work.change(&sql, vec![owned(json!(row))]).await?;
    if let Some(domains) = domains {
        let kept = "select lower(x) from jsonb_array_elements_text($2::jsonb) x";
        let delete = format!(
            "delete from auth.sso_domains where sso_provider_id = $1::uuid and lower(domain) not in ({kept})"
        );
        let insert = "insert into auth.sso_domains (id, sso_provider_id, domain, created_at, updated_at)
          select gen_random_uuid(), $1::uuid, x, now(), now() from jsonb_array_elements_text($2::jsonb) x
          where not exists (
            select from auth.sso_domains d where d.sso_provider_id = $1::uuid and lower(d.domain) = lower(x)
          )";
        for sql in [delete.as_str(), insert] {
            let parameters = vec![owned(row.id), owned(json!(domains))];
            work.change(sql, parameters).await?;
        }
    }
    find(work, Lookup::Id(row.id)).await
}

/// Removes the provider `id`, and returns what it was.
pub(crate) async fn delete(executor: &impl Executor, id: Uuid) -> Result<Option<SsoProvider>, Error> {
    let sql = format!(
        "delete from auth.sso_providers p using auth.saml_providers s
         where s.sso_provider_id = p.id and p.id = $1::uuid returning {}",
        documents::sso_provider("auth.sso_domains")
    );
    executor.change_returning(&sql, vec![owned(id)]).await
}

/// Stores metadata that was fetched again.
pub(crate) async fn renew_metadata(executor: &impl Executor, id: Uuid, xml: &str) -> Result<(), Error> {
    let sql = "update auth.saml_providers set metadata_xml = $2, updated_at = now() where sso_provider_id = $1::uuid";
    executor.change(sql, vec![owned(id), text(xml)]).await.map(drop)
}

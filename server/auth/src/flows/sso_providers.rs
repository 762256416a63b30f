//! Identity providers of single sign-on: what is checked before one is stored.

use postgres::Database;
use uuid::Uuid;

use crate::sso::{self, AttributeMapping, IdentityProvider, IdentityProviderClient, NAME_ID_FORMATS};
use crate::store;
use crate::store::sso_providers::{self, Lookup, Row, SsoProvider};
use crate::{Code, Error, Settings};

/// What begins the path of a provider that is named by its resource id.
const RESOURCE: &str = "resource_";

/// What an administrator sends; absent texts are empty.
#[derive(Debug, Default)]
pub(crate) struct Definition {
    pub(crate) kind: String,
    pub(crate) metadata_url: String,
    pub(crate) metadata_xml: String,
    pub(crate) domains: Option<Vec<String>>,
    pub(crate) attribute_mapping: AttributeMapping,
    pub(crate) name_id_format: String,
    pub(crate) resource_id: Option<String>,
    pub(crate) disabled: Option<bool>,
}

impl Definition {
    /// Checks the fields.
    ///
    /// Errors: `validation_failed`.
    fn check(&self, settings: &Settings, is_new: bool) -> Result<(), Error> {
        if is_new && self.kind != "saml" {
            return Err(Error::validation("Only 'saml' supported for SSO provider type"));
        }
        match (self.metadata_url.as_str(), self.metadata_xml.as_str()) {
            ("", "") if is_new => {
                return Err(Error::validation("Either metadata_xml or metadata_url must be set"));
            }
            ("", _) => {}
            (url, "") => sso::check_url(settings, url)?,
            _ => return Err(Error::validation("Only one of metadata_xml or metadata_url needs to be set")),
        }
        if !self.name_id_format.is_empty() && !NAME_ID_FORMATS.contains(&self.name_id_format.as_str()) {
            let known = NAME_ID_FORMATS.join(", ");
            return Err(Error::validation(format!("name_id_format must be unspecified or one of {known}")));
        }
        if self.domains.iter().flatten().any(String::is_empty) {
            return Err(Error::validation("domains must not be empty"));
        }
        Ok(())
    }

    /// Returns the metadata that was sent, or that the URL leads to which was sent; `None` if there is neither.
    ///
    /// Errors: `saml_metadata_fetch_failed`, `validation_failed`.
    async fn metadata(
        &self,
        remote: &IdentityProviderClient,
    ) -> Result<Option<(String, IdentityProvider)>, Error> {
        let text = match (self.metadata_xml.as_str(), self.metadata_url.as_str()) {
            ("", "") => return Ok(None),
            ("", url) => remote.fetch(url).await?,
            (text, _) => text.to_owned(),
        };
        let provider = sso::parse_metadata(&text)?;
        Ok(Some((text, provider)))
    }

    /// Checks that no other provider has one of the domains.
    ///
    /// Errors: `sso_domain_already_exists`.
    async fn check_domains(&self, database: &Database, own: Option<Uuid>) -> Result<(), Error> {
        let Some(domains) = self.domains.as_deref().filter(|domains| !domains.is_empty()) else {
            return Ok(());
        };
        let Some((domain, other)) = sso_providers::taken_domain(database, domains, own).await? else {
            return Ok(());
        };
        let message =
            format!("SSO Domain '{domain}' is already assigned to an SSO identity provider ({other})");
        Err(Code::SsoDomainAlreadyExists.because(message))
    }
}

/// Checks the metadata of a new provider and stores it.
///
/// Errors: `validation_failed`, `saml_metadata_fetch_failed`, `saml_idp_already_exists`, `sso_domain_already_exists`,
/// `conflict` (422) for a resource id that is taken.
pub(crate) async fn create(
    database: &Database,
    settings: &Settings,
    remote: &IdentityProviderClient,
    definition: Definition,
) -> Result<SsoProvider, Error> {
    definition.check(settings, true)?;
    let found = definition.metadata(remote).await?;
    let (xml, provider) = found.ok_or_else(|| Error::validation("SAML Metadata is missing"))?;
    let entity_id = provider.entity_id();
    if sso_providers::find(database, Lookup::EntityId(entity_id)).await?.is_some() {
        return Err(saml_idp_exists(entity_id));
    }
    definition.check_domains(database, None).await?;
    let row = Row {
        id: Uuid::new_v4(),
        resource_id: non_empty(definition.resource_id.as_deref()),
        disabled: definition.disabled,
        entity_id,
        metadata_xml: Some(&xml),
        metadata_url: non_empty(Some(&definition.metadata_url)),
        attribute_mapping: &definition.attribute_mapping,
        name_id_format: non_empty(Some(&definition.name_id_format)),
    };
    let domains = definition.domains.as_deref().unwrap_or_default();
    sso_providers::create(database, &row, domains).await.map_err(|error| as_conflict(error, entity_id))
}

/// Returns the provider that a path names by its id or, with a prefix, by its resource id.
///
/// Errors: `sso_provider_not_found`.
pub(crate) async fn find(database: &Database, name: &str) -> Result<SsoProvider, Error> {
    let lookup = match name.strip_prefix(RESOURCE) {
        Some(resource_id) => Lookup::ResourceId(resource_id),
        None => Lookup::Id(Uuid::parse_str(name).map_err(|_| not_found())?),
    };
    sso_providers::find(database, lookup).await?.ok_or_else(not_found)
}

/// Changes a provider. Absent fields stay unchanged, except the format of names, which is then removed, as by upstream;
/// an empty resource id removes the resource id.
///
/// Errors: those of [`find`] and [`create`]; `saml_entity_id_mismatch` for metadata of another identity provider.
pub(crate) async fn update(
    database: &Database,
    settings: &Settings,
    remote: &IdentityProviderClient,
    name: &str,
    definition: Definition,
) -> Result<SsoProvider, Error> {
    let known = find(database, name).await?;
    definition.check(settings, false)?;
    let metadata = definition.metadata(remote).await?;
    let entity_id = known.saml.entity_id.as_str();
    if let Some((_, provider)) = &metadata
        && provider.entity_id() != entity_id
    {
        let message = format!(
            "SAML Metadata can be updated only if the EntityID matches for the provider; expected '{entity_id}' but got '{}'",
            provider.entity_id()
        );
        return Err(Code::SamlEntityIdMismatch.because(message));
    }
    definition.check_domains(database, Some(known.id)).await?;
    let mapping = Some(&definition.attribute_mapping).filter(|mapping| mapping.keys.is_some());
    let row = Row {
        id: known.id,
        resource_id: non_empty(definition.resource_id.as_deref().or(known.resource_id.as_deref())),
        disabled: definition.disabled.or(known.disabled.0),
        entity_id,
        metadata_xml: metadata.as_ref().map(|(xml, _)| xml.as_str()),
        metadata_url: non_empty(Some(&definition.metadata_url)).or(known.saml.metadata_url.as_deref()),
        attribute_mapping: mapping.unwrap_or(&known.saml.attribute_mapping),
        name_id_format: non_empty(Some(&definition.name_id_format)),
    };
    let work = store::begin(database).await?;
    let updated = sso_providers::update(&work, &row, definition.domains.as_deref()).await;
    let updated = updated.map_err(|error| as_conflict(error, entity_id))?.ok_or_else(not_found)?;
    work.commit().await?;
    Ok(updated)
}

/// Removes a provider and returns what it was. Its users keep their accounts, and cannot sign in.
///
/// Errors: `sso_provider_not_found`.
pub(crate) async fn delete(database: &Database, name: &str) -> Result<SsoProvider, Error> {
    let known = find(database, name).await?;
    sso_providers::delete(database, known.id).await?.ok_or_else(not_found)
}

fn non_empty(text: Option<&str>) -> Option<&str> {
    text.filter(|text| !text.is_empty())
}

fn not_found() -> Error {
    Code::SsoProviderNotFound.because("SSO Identity Provider not found")
}

fn saml_idp_exists(entity_id: &str) -> Error {
    let message = format!("SAML Identity Provider with this EntityID ({entity_id}) already exists");
    Code::SamlIdpAlreadyExists.because(message)
}

/// Converts a unique violation, caused by a concurrent request, into the matching refusal.
fn as_conflict(error: Error, entity_id: &str) -> Error {
    if error.violates("saml_providers_entity_id_key") {
        return saml_idp_exists(entity_id);
    }
    if error.violates("sso_domains_domain_idx") {
        return Code::SsoDomainAlreadyExists
            .because("SSO Domain is already assigned to an SSO identity provider");
    }
    if error.violates("sso_providers_resource_id_idx") {
        let message = "An SSO identity provider with this resource_id already exists";
        return Code::Conflict.at(http::StatusCode::UNPROCESSABLE_ENTITY, message);
    }
    error
}

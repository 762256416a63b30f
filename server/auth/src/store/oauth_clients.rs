//! Rows of `auth.oauth_clients`: applications that users may sign in to with their accounts here.

use serde::{Deserialize, Serialize};
use serde_json::json;
use uuid::Uuid;

use super::{Executor, documents, owned};
use crate::Error;
use crate::store::model::user::timestamp;

::settings::words! {
    /// Whether a client can keep a secret (RFC 6749, section 2.1).
    #[derive(Serialize, Deserialize)]
    #[serde(rename_all = "lowercase")]
    pub(crate) enum ClientType {
        Public = "public",
        Confidential = "confidential",
    }
}

::settings::words! {
    /// How a client proves who it is to the token endpoint (RFC 7591, section 2).
    #[derive(Serialize, Deserialize)]
    #[serde(rename_all = "snake_case")]
    pub(crate) enum AuthMethod {
        None = "none",
        ClientSecretBasic = "client_secret_basic",
        ClientSecretPost = "client_secret_post",
    }
}

impl AuthMethod {
    /// Returns the only type of client that proves itself like this.
    pub(crate) const fn client_type(self) -> ClientType {
        match self {
            Self::None => ClientType::Public,
            Self::ClientSecretBasic | Self::ClientSecretPost => ClientType::Confidential,
        }
    }
}

/// A client that was not deleted.
#[derive(Debug, Clone, Deserialize)]
pub(crate) struct OauthClient {
    pub(crate) id: Uuid,
    /// `None` or empty for public clients.
    pub(crate) client_secret_hash: Option<String>,
    /// `manual` or `dynamic`.
    pub(crate) registration_type: String,
    pub(crate) client_type: ClientType,
    pub(crate) token_endpoint_auth_method: AuthMethod,
    /// Separated by commas.
    pub(crate) redirect_uris: String,
    /// Separated by commas.
    pub(crate) grant_types: String,
    pub(crate) client_name: Option<String>,
    pub(crate) client_uri: Option<String>,
    pub(crate) logo_uri: Option<String>,
    #[serde(deserialize_with = "timestamp")]
    pub(crate) created_at: Option<String>,
    #[serde(deserialize_with = "timestamp")]
    pub(crate) updated_at: Option<String>,
}

impl OauthClient {
    pub(crate) fn redirect_uris(&self) -> impl Iterator<Item = &str> {
        items(&self.redirect_uris)
    }

    pub(crate) fn grant_types(&self) -> impl Iterator<Item = &str> {
        items(&self.grant_types)
    }
}

fn items(list: &str) -> impl Iterator<Item = &str> {
    list.split(',').filter(|item| !item.is_empty())
}

/// A client that is to be stored.
#[derive(Debug, Serialize)]
pub(crate) struct NewOauthClient {
    pub(crate) id: Uuid,
    /// Empty for public clients: upstream cannot read null here.
    pub(crate) client_secret_hash: String,
    /// `manual` or `dynamic`.
    pub(crate) registration_type: &'static str,
    pub(crate) client_type: ClientType,
    pub(crate) token_endpoint_auth_method: AuthMethod,
    /// Separated by commas.
    pub(crate) redirect_uris: String,
    /// Separated by commas.
    pub(crate) grant_types: String,
    pub(crate) client_name: Option<String>,
    pub(crate) client_uri: Option<String>,
    pub(crate) logo_uri: Option<String>,
}

/// What is to change of a client; what is `None` stays.
#[derive(Debug, Default, Serialize)]
pub(crate) struct Changes {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) client_secret_hash: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) token_endpoint_auth_method: Option<AuthMethod>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) redirect_uris: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) grant_types: Option<String>,
    /// `Some(`None`)` takes it away; likewise below.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) client_name: Option<Option<String>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) client_uri: Option<Option<String>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) logo_uri: Option<Option<String>>,
}

/// Returns the client `id`.
pub(crate) async fn find(executor: &impl Executor, id: Uuid) -> Result<Option<OauthClient>, Error> {
    let document = documents::oauth_client("c");
    let sql =
        format!("select {document} from auth.oauth_clients c where c.id = $1::uuid and c.deleted_at is null");
    executor.read(&sql, vec![owned(id)]).await
}

/// The columns that both [`create`] and [`update`] fill.
const COLUMNS: &str =
    "client_secret_hash, token_endpoint_auth_method, redirect_uris, grant_types, client_name,
  client_uri, logo_uri";

/// Stores a new client.
pub(crate) async fn create(executor: &impl Executor, client: &NewOauthClient) -> Result<OauthClient, Error> {
    let sql = format!(
        "insert into auth.oauth_clients as c (id, registration_type, client_type, {COLUMNS})
         select id, registration_type, client_type, {COLUMNS}
         from jsonb_populate_record(null::auth.oauth_clients, $1::jsonb)
         returning {document}",
        document = documents::oauth_client("c"),
    );
    let created = executor.change_returning(&sql, vec![owned(json!(client))]).await?;
    created.ok_or_else(|| Error::Internal("an OAuth client was not stored".to_owned()))
}

/// Changes the client `id`; returns what it is then, `None` if it is gone.
pub(crate) async fn update(
    executor: &impl Executor,
    id: Uuid,
    changes: &Changes,
) -> Result<Option<OauthClient>, Error> {
    let sql = format!(
        "update auth.oauth_clients c set ({COLUMNS}, updated_at) = (
           select {COLUMNS}, now() from jsonb_populate_record(c, $2::jsonb)
         )
         where c.id = $1::uuid and c.deleted_at is null returning {document}",
        document = documents::oauth_client("c"),
    );
    executor.change_returning(&sql, vec![owned(id), owned(json!(changes))]).await
}

/// Deletes the client `id`; its row stays, since users' grants refer to it.
pub(crate) async fn delete(executor: &impl Executor, id: Uuid) -> Result<(), Error> {
    let sql = "update auth.oauth_clients set deleted_at = now(), updated_at = now()
       where id = $1::uuid and deleted_at is null";
    executor.change(sql, vec![owned(id)]).await.map(drop)
}

/// Clients of one page, and how many there are on all pages.
#[derive(Deserialize)]
pub(crate) struct Page {
    pub(crate) clients: Vec<OauthClient>,
    pub(crate) total: u64,
}

/// Returns clients, newest first: all, or at most `limit` after the first `offset`.
pub(crate) async fn page(executor: &impl Executor, part: Option<(i64, i64)>) -> Result<Page, Error> {
    let sql = format!(
        "select jsonb_build_object(
           'total', (select count(*) from auth.oauth_clients where deleted_at is null),
           'clients', coalesce((
             select jsonb_agg({document} order by p.created_at desc, p.id) from (
               select * from auth.oauth_clients where deleted_at is null
               order by created_at desc, id limit $1::bigint offset $2::bigint
             ) p
           ), '[]')
         )",
        document = documents::oauth_client("p"),
    );
    let (limit, offset) = part.unzip();
    let page = executor.read(&sql, vec![limit.and_then(owned), offset.and_then(owned)]).await?;
    page.ok_or_else(|| Error::Internal("a page of OAuth clients was not returned".to_owned()))
}

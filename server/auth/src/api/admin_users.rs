//! Administration of users.

use poem::Request;
use poem_openapi::param::{Path, Query};
use poem_openapi::payload::{Json, Response};
use poem_openapi::{Object, OpenApi};
use serde::Deserialize;
use serde_json::Value;

use super::body::Body;
use super::callers::Callers;
use super::contexts::Contexts;
use super::fields::object;
use super::listed_user::ListedUser;
use super::paging::{self, Cursor, Page, non_empty};
use super::shared_responses::Empty;
use crate::Error;
use crate::flows::admin;
use crate::flows::admin::UserFields;
use crate::flows::services::Accounts;
use crate::store::model::user::User;
use crate::store::users::{self, Selection};

pub(super) struct AdminUsersApi {
    pub(super) callers: Callers,
    pub(super) contexts: Contexts,
    pub(super) accounts: Accounts,
}

/// The fields of a user that administrators can set; missing and empty fields are not changed, or get their defaults.
#[derive(Object, Deserialize)]
struct AdminUserFields {
    /// Only for new users.
    id: Option<String>,
    /// Only for new users.
    aud: Option<String>,
    /// The Postgres role of the user's requests.
    role: Option<String>,
    email: Option<String>,
    /// The phone number, with its country code.
    phone: Option<String>,
    password: Option<String>,
    /// Only for new users, in place of the password: its hash, of bcrypt, argon2i, argon2id or fbscrypt.
    password_hash: Option<String>,
    /// Whether the e-mail address is confirmed.
    email_confirm: Option<bool>,
    /// Whether the phone number is confirmed.
    phone_confirm: Option<bool>,
    /// An object that is merged into the user's own metadata; members that are null are removed.
    user_metadata: Option<Value>,
    /// An object that is merged into the service's metadata; members that are null are removed.
    app_metadata: Option<Value>,
    /// How long the user is banned from signing in, such as `24h`; `none` ends the ban.
    ban_duration: Option<String>,
}

impl AdminUserFields {
    fn parse(self) -> Result<UserFields, Error> {
        let data = |name, value: Option<Value>| value.map(|value| object(name, Some(value))).transpose();
        Ok(UserFields {
            id: self.id.unwrap_or_default(),
            audience: self.aud.unwrap_or_default(),
            role: self.role.unwrap_or_default(),
            email: self.email.unwrap_or_default(),
            phone: self.phone.unwrap_or_default(),
            password: self.password,
            password_hash: self.password_hash.unwrap_or_default(),
            confirm_email: self.email_confirm.unwrap_or_default(),
            confirm_phone: self.phone_confirm.unwrap_or_default(),
            user_metadata: data("user_metadata", self.user_metadata)?,
            app_metadata: data("app_metadata", self.app_metadata)?,
            ban: self.ban_duration.unwrap_or_default(),
        })
    }
}

/// Options of a deletion.
#[derive(Object, Deserialize, Default)]
struct DeleteFields {
    /// Whether the row is kept, without any personal data.
    should_soft_delete: Option<bool>,
}

/// Users of one audience.
#[derive(Object)]
#[oai(skip_serializing_if_is_none)]
struct Users {
    users: Vec<ListedUser>,
    aud: String,
    /// Only with pages by cursor.
    pagination: Option<Pagination>,
}

/// The position of the next page.
#[derive(Object)]
#[oai(skip_serializing_if_is_none)]
struct Pagination {
    /// The cursor of the next page, if there is one.
    next_cursor: Option<String>,
    has_more: bool,
}

#[OpenApi]
impl AdminUsersApi {
    /// Returns users, newest first, without their identities and factors.
    #[oai(path = "/admin/users", method = "get")]
    #[expect(clippy::too_many_arguments, reason = "the parameters of the interface")]
    async fn list(
        &self,
        request: &Request,
        /// The number of the page, from 1.
        page: Query<Option<String>>,
        /// Users on a page. Default: 50.
        per_page: Query<Option<String>>,
        /// `created_at`, optionally followed by a blank and `asc` or `desc`.
        sort: Query<Option<String>>,
        /// Returns only users whose address or full name contains this text.
        filter: Query<Option<String>>,
        /// If the settings enable cursors: users on a page, at most 1000. Default: 50.
        limit: Query<Option<String>>,
        /// If the settings enable cursors: the cursor that the previous page has returned.
        cursor: Query<Option<String>>,
    ) -> Result<Response<Json<Users>>, Error> {
        self.callers.admin(request).await?;
        let filter = filter.0.unwrap_or_default();
        if filter.contains('\0') {
            return Err(Error::validation("filter must not contain NUL characters"));
        }
        let selection = Selection {
            audience: self.contexts.audience(request, None),
            filter: &filter,
            ascending: is_ascending(sort.0.as_deref())?,
        };
        if self.accounts.settings.cursor_pagination
            && non_empty(&page).is_none()
            && non_empty(&per_page).is_none()
        {
            return self.list_after(request, &selection, non_empty(&limit), non_empty(&cursor)).await;
        }
        let page = Page::parse(non_empty(&page), non_empty(&per_page))?;
        let found = users::page(&self.accounts.database, &selection, page.limit(), page.offset()).await?;
        let links = page.links(request, found.total);
        Ok(list_response(found.users, &selection, None)
            .header("link", links)
            .header("x-total-count", found.total.to_string()))
    }

    /// Creates a user. No mail is sent.
    #[oai(path = "/admin/users", method = "post")]
    async fn create(&self, request: &Request, body: Body<AdminUserFields>) -> Result<Json<User>, Error> {
        let admin = self.callers.admin(request).await?;
        let fields = body.read()?.parse()?;
        let context = self.contexts.of(&self.accounts, request, None)?;
        admin::create(&context, &admin, fields).await.map(Json)
    }

    /// Returns a user.
    #[oai(path = "/admin/users/:user_id", method = "get")]
    async fn get(&self, request: &Request, user_id: Path<String>) -> Result<Json<User>, Error> {
        self.callers.admin(request).await?;
        Ok(Json(admin::find(&self.accounts.database, &user_id).await?.user))
    }

    /// Changes a user. Nothing has to be confirmed. A new password ends all sessions.
    #[oai(path = "/admin/users/:user_id", method = "put")]
    async fn update(
        &self,
        request: &Request,
        user_id: Path<String>,
        body: Body<AdminUserFields>,
    ) -> Result<Json<User>, Error> {
        let admin = self.callers.admin(request).await?;
        let id = admin::find(&self.accounts.database, &user_id).await?.id();
        let fields = body.read()?.parse()?;
        let context = self.contexts.of(&self.accounts, request, None)?;
        admin::update(&context, &admin, id, fields).await.map(Json)
    }

    /// Deletes a user.
    #[oai(path = "/admin/users/:user_id", method = "delete")]
    async fn delete(
        &self,
        request: &Request,
        user_id: Path<String>,
        body: Body<DeleteFields>,
    ) -> Result<Json<Empty>, Error> {
        let admin = self.callers.admin(request).await?;
        let account = admin::find(&self.accounts.database, &user_id).await?;
        let soft = body.read_or_default()?.should_soft_delete.unwrap_or_default();
        let context = self.contexts.of(&self.accounts, request, None)?;
        admin::delete(&context, &admin, &account, soft).await?;
        Ok(Json(Empty {}))
    }
}

impl AdminUsersApi {
    async fn list_after(
        &self,
        request: &Request,
        selection: &Selection<'_>,
        limit: Option<&str>,
        cursor: Option<&str>,
    ) -> Result<Response<Json<Users>>, Error> {
        let limit = paging::cursor_limit(limit)?;
        let cursor = cursor.map(Cursor::parse).transpose()?;
        let last = cursor.as_ref().map(Cursor::position);
        // One more user shows whether there is another page.
        let more = i64::try_from(limit + 1).map_err(|error| Error::Internal(error.to_string()))?;
        let mut found = users::after(&self.accounts.database, selection, more, last).await?;
        let has_more = found.len() > limit;
        found.truncate(limit);
        let last = found.last().filter(|_| has_more);
        let next = last.map(|user| Cursor::new(user.created_at.as_deref(), user.id).encode()).transpose()?;
        let link = next.as_deref().map(|cursor| paging::cursor_link(request, cursor));
        let response = list_response(found, selection, Some(Pagination { next_cursor: next, has_more }));
        Ok(match link {
            Some(link) => response.header("link", link),
            None => response,
        })
    }
}

fn list_response(
    users: Vec<User>,
    selection: &Selection<'_>,
    pagination: Option<Pagination>,
) -> Response<Json<Users>> {
    let users = users.into_iter().map(ListedUser).collect();
    Response::new(Json(Users { users, aud: selection.audience.to_owned(), pagination }))
}

/// Returns the direction in query parameter `sort`; descending if it contains none.
///
/// Errors: `validation_failed` for another field than `created_at` and an unknown direction.
fn is_ascending(sort: Option<&str>) -> Result<bool, Error> {
    let Some(sort) = sort else { return Ok(false) };
    let (field, direction) = sort.split_once(' ').unwrap_or((sort, "desc"));
    if field != "created_at" {
        return Err(Error::validation(format!(
            "Bad Sort Parameters: bad field for sort {field:?}, only created_at is allowed"
        )));
    }
    match direction.to_ascii_lowercase().as_str() {
        "asc" => Ok(true),
        "desc" => Ok(false),
        _ => Err(Error::validation(format!(
            "Bad Sort Parameters: bad direction for sort {direction:?}, only asc and desc are allowed"
        ))),
    }
}

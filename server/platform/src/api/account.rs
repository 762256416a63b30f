//! Who the operator is, and the organization that the project belongs to.

use std::sync::Arc;

use poem::Request;
use poem_openapi::param::{Path, Query};
use poem_openapi::payload::Json;
use poem_openapi::{Object, OpenApi};

use super::Context;
use crate::Error;
use crate::access::Scope;
use crate::project::{ORGANIZATION, REGION};

pub(super) struct AccountApi(pub(super) Arc<Context>);

/// The operator.
#[derive(Object)]
struct Profile {
    /// The id of the access token.
    gotrue_id: String,
    primary_email: String,
    /// The name of the access token.
    username: String,
}

/// An organization in a list.
#[derive(Object)]
struct Organization {
    /// The same as `slug`.
    id: String,
    slug: String,
    name: String,
}

/// An organization.
#[derive(Object)]
struct OrganizationDetails {
    id: String,
    slug: String,
    name: String,
    plan: String,
    opt_in_tags: Vec<String>,
    allowed_release_channels: Vec<String>,
}

/// A member of an organization.
#[derive(Object)]
struct Member {
    user_id: String,
    user_name: String,
    role_name: String,
    mfa_enabled: bool,
}

/// A page of an organization's projects.
#[derive(Object)]
struct ProjectPage {
    projects: Vec<ListedProject>,
    pagination: Pagination,
}

/// A project in a list.
#[derive(Object)]
struct ListedProject {
    #[oai(rename = "ref")]
    reference: String,
    name: String,
    cloud_provider: String,
    region: String,
    is_branch: bool,
    status: String,
    inserted_at: String,
    databases: Vec<ListedDatabase>,
}

/// A database in a list.
#[derive(Object)]
struct ListedDatabase {
    region: String,
    status: String,
    cloud_provider: String,
    identifier: String,
    #[oai(rename = "type")]
    kind: String,
}

/// Which part of a list a page is.
#[derive(Object)]
struct Pagination {
    /// The number of all.
    count: usize,
    limit: usize,
    offset: usize,
}

#[OpenApi]
impl AccountApi {
    /// Returns who the access token is for.
    #[oai(path = "/profile", method = "get")]
    async fn profile(&self, request: &Request) -> Result<Json<Profile>, Error> {
        let operator = self.0.sender(request)?;
        Ok(Json(Profile {
            gotrue_id: operator.id().to_string(),
            primary_email: "operator@localhost".to_owned(),
            username: operator.name().to_owned(),
        }))
    }

    /// Returns the organizations: the one of this server.
    #[oai(path = "/organizations", method = "get")]
    async fn organizations(&self, request: &Request) -> Result<Json<Vec<Organization>>, Error> {
        self.0.operator(request, Scope::OrganizationsRead)?;
        let name = self.0.settings.organization.clone();
        Ok(Json(vec![Organization { id: ORGANIZATION.to_owned(), slug: ORGANIZATION.to_owned(), name }]))
    }

    /// Returns an organization.
    #[oai(path = "/organizations/:slug", method = "get")]
    async fn organization(
        &self,
        request: &Request,
        slug: Path<String>,
    ) -> Result<Json<OrganizationDetails>, Error> {
        self.0.operator(request, Scope::OrganizationAdminRead)?;
        check(&slug)?;
        Ok(Json(OrganizationDetails {
            id: ORGANIZATION.to_owned(),
            slug: ORGANIZATION.to_owned(),
            name: self.0.settings.organization.clone(),
            plan: "free".to_owned(),
            opt_in_tags: Vec::new(),
            allowed_release_channels: vec!["ga".to_owned()],
        }))
    }

    /// Returns the members of an organization: the operator who asks.
    #[oai(path = "/organizations/:slug/members", method = "get")]
    async fn members(&self, request: &Request, slug: Path<String>) -> Result<Json<Vec<Member>>, Error> {
        let operator = self.0.operator(request, Scope::MembersRead)?;
        check(&slug)?;
        Ok(Json(vec![Member {
            user_id: operator.id().to_string(),
            user_name: operator.name().to_owned(),
            role_name: "Owner".to_owned(),
            mfa_enabled: false,
        }]))
    }

    /// Returns the projects of an organization: the one of this server.
    #[oai(path = "/organizations/:slug/projects", method = "get")]
    async fn projects(
        &self,
        request: &Request,
        slug: Path<String>,
        /// How many projects are passed over. Default: 0.
        offset: Query<Option<usize>>,
        /// How many projects are returned at most. Default: 100.
        limit: Query<Option<usize>>,
        /// Returns only projects whose name or reference contains this text.
        search: Query<Option<String>>,
    ) -> Result<Json<ProjectPage>, Error> {
        self.0.operator(request, Scope::OrganizationProjectsRead)?;
        check(&slug)?;
        let (offset, limit) = (offset.unwrap_or(0), limit.unwrap_or(100));
        let body = super::projects::described(&self.0).await?;
        let (reference, name, created_at) = body.identity();
        let matches = search.as_deref().is_none_or(|text| name.contains(text) || reference.contains(text));
        let cloud_provider = "LOCAL".to_owned();
        let project = ListedProject {
            reference: reference.to_owned(),
            name: name.to_owned(),
            cloud_provider: cloud_provider.clone(),
            region: REGION.to_owned(),
            is_branch: false,
            status: "ACTIVE_HEALTHY".to_owned(),
            inserted_at: created_at.to_owned(),
            databases: vec![ListedDatabase {
                region: REGION.to_owned(),
                status: "ACTIVE_HEALTHY".to_owned(),
                cloud_provider,
                identifier: reference.to_owned(),
                kind: "PRIMARY".to_owned(),
            }],
        };
        let all: Vec<_> = matches.then_some(project).into_iter().collect();
        let count = all.len();
        let projects = all.into_iter().skip(offset).take(limit).collect();
        Ok(Json(ProjectPage { projects, pagination: Pagination { count, limit, offset } }))
    }
}

/// Checks that `slug` is that of the organization. Errors: 404.
fn check(slug: &str) -> Result<(), Error> {
    if slug == ORGANIZATION { Ok(()) } else { Err(Error::missing("Organization not found")) }
}

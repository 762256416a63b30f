//! The root: a document that describes the schema.

use super::{Plan, Planner};
use crate::error::Error;
use crate::request::MediaType;
use crate::settings::OpenApiMode;

/// A document that describes a schema.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DescribePlan {
    /// The schema.
    pub schema: String,
    /// Whether only what the caller's role may use is listed.
    pub follows_privileges: bool,
}

impl Planner<'_> {
    /// Plans the document of the schema.
    ///
    /// Errors: `PGRST107` for a client that takes neither OpenAPI nor JSON.
    pub(super) fn describe(&self) -> Result<Plan, Error> {
        let accept = &self.request.accept;
        if !accept.iter().any(is_given) {
            return Err(Error::NotAcceptable(accept.iter().map(|media| media.name().into_owned()).collect()));
        }
        Ok(Plan::Describe(DescribePlan {
            schema: self.request.schema.clone(),
            follows_privileges: self.settings.openapi_mode == OpenApiMode::FollowPrivileges,
        }))
    }
}

const fn is_given(media: &MediaType) -> bool {
    matches!(media, MediaType::Any | MediaType::Json | MediaType::OpenApi)
}

//! What flows need to know of a request besides its fields: the client, the audience, and where the user is redirected
//! to.

use std::sync::Arc;

use http::HeaderName;
use http::header::REFERER;
use poem::Request;

use super::request::{client, header, parameter};
use crate::checks::redirects::Redirects;
use crate::flows::Context;
use crate::flows::bearer::Bearer;
use crate::{Error, Settings};

const AUDIENCE: HeaderName = HeaderName::from_static("x-jwt-aud");
/// The maximum number of characters in the column of `auth.users`.
const LONGEST_AUDIENCE: usize = 255;
const REDIRECT_TO: &str = "redirect_to";

/// Makes contexts of requests.
#[derive(Clone)]
pub(super) struct Contexts {
    pub(super) settings: Arc<Settings>,
    pub(super) redirects: Arc<Redirects>,
}

impl Contexts {
    /// Returns the data of the request that flows need, for a family that works with `services`.
    ///
    /// Errors: `validation_failed` for an audience that no user can have.
    pub(super) fn of<'a, S>(
        &'a self,
        services: &'a S,
        request: &'a Request,
        bearer: Option<&'a Bearer>,
    ) -> Result<Context<'a, S>, Error> {
        let audience = self.audience(request, bearer);
        if audience.chars().count() > LONGEST_AUDIENCE {
            return Err(Error::validation(format!(
                "The audience must not be longer than {LONGEST_AUDIENCE} characters"
            )));
        }
        Ok(Context {
            services,
            settings: &self.settings,
            client: client(request)?,
            audience: audience.into(),
            redirect_to: self.redirect_to(request).into(),
        })
    }

    /// Returns the audience of the request: header `X-JWT-AUD`, else that of the caller's token unless it is an
    /// administrator's, else the configured one.
    pub(super) fn audience<'a>(&'a self, request: &'a Request, bearer: Option<&'a Bearer>) -> &'a str {
        let header = header(request.headers(), &AUDIENCE);
        let token = || bearer.filter(|bearer| !bearer.is_admin(&self.settings)).and_then(Bearer::audience);
        let named = header.or_else(|| token().filter(|name| !name.is_empty()));
        named.unwrap_or(&self.settings.token.audience)
    }

    /// Returns the URL to redirect the user to: that of the header `redirect_to`, else of the query parameter of this
    /// name, if it is allowed; else the referring page, if that is allowed; else the site.
    fn redirect_to(&self, request: &Request) -> String {
        let parameter = parameter(request, REDIRECT_TO);
        let from_header = header(request.headers(), &HeaderName::from_static(REDIRECT_TO));
        let wanted = from_header.unwrap_or(&parameter);
        let referrer = header(request.headers(), &REFERER).unwrap_or_default();
        self.redirects.resolve([wanted, referrer])
    }
}

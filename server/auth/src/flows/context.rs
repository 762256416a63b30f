use crate::Auth;
use crate::store::sessions::Client;

/// What flows want to know of a request besides its fields.
pub(crate) struct Context<'a> {
    pub(crate) auth: &'a Auth,
    pub(crate) client: Client<'a>,
    /// The audience that the request is about.
    pub(crate) audience: String,
    /// Where links and redirects lead in the end: what the request asks for if it is allowed, else the site.
    pub(crate) redirect_to: String,
}

//! The caller of a request, and the settings that row-level security and users' triggers see.

use std::sync::Arc;
use std::time::Duration;

use poem::Request;
use poem::http::HeaderMap;
use postgres::Transaction;
use tokens::Verified;
use uuid::Uuid;

use crate::error::Error;

/// How long a transaction of this service may take.
pub(crate) const TIME_LIMIT: Duration = Duration::from_secs(30);

/// Where names in triggers and policies are looked for. Source: upstream's search path.
const SEARCH_PATH: &str = "storage, public, extensions";

/// The role that the service itself acts as.
pub(crate) const SERVICE_ROLE: &str = "service_role";
const ANONYMOUS_ROLE: &str = "anon";
const ANONYMOUS_CLAIMS: &str = "{\"role\":\"anon\"}";
const SERVICE_CLAIMS: &str = "{\"role\":\"service_role\"}";

/// The caller of a request.
#[derive(Debug, Clone)]
pub(crate) struct Caller {
    identity: Identity,
    token: String,
    headers: String,
    method: String,
    path: String,
}

/// The rights that a request has.
#[derive(Debug, Clone)]
pub(crate) enum Identity {
    /// Those of an anonymous caller.
    Anonymous,
    /// Those of a verified token's holder.
    Verified(Arc<Verified>),
    /// The service's own, since a signed URL stands for them.
    Service,
}

impl Caller {
    /// Returns the caller of `request`, whose token was `token`.
    pub(crate) fn new(request: &Request, token: &str, identity: Identity) -> Self {
        Self {
            identity,
            token: token.to_owned(),
            headers: headers_as_json(request.headers()),
            method: request.method().to_string(),
            path: request.uri().path().to_owned(),
        }
    }

    fn verified(&self) -> Option<&Verified> {
        match &self.identity {
            Identity::Verified(verified) => Some(verified),
            Identity::Anonymous | Identity::Service => None,
        }
    }

    /// Reports whether the caller is not anonymous.
    pub(crate) fn is_authenticated(&self) -> bool {
        !matches!(self.identity, Identity::Anonymous)
    }

    /// Returns the Postgres role that the caller acts as.
    pub(crate) fn role(&self) -> &str {
        match &self.identity {
            Identity::Service => SERVICE_ROLE,
            Identity::Anonymous => ANONYMOUS_ROLE,
            Identity::Verified(verified) => verified.role().unwrap_or(ANONYMOUS_ROLE),
        }
    }

    /// Reports whether the caller has every right on buckets and objects.
    pub(crate) fn is_service(&self) -> bool {
        self.role() == SERVICE_ROLE
    }

    /// Returns claim `sub`, which becomes the owner of what the caller writes.
    pub(crate) fn subject(&self) -> Option<&str> {
        self.verified().and_then(Verified::subject)
    }

    /// Returns a transaction to which row-level security applies as to the caller. `operation` is what
    /// `storage.operation()` tells policies.
    pub(crate) fn transaction<'a>(&'a self, operation: &'static str) -> Transaction<'a> {
        let claims = match &self.identity {
            Identity::Service => SERVICE_CLAIMS,
            Identity::Anonymous => ANONYMOUS_CLAIMS,
            Identity::Verified(verified) => &verified.json,
        };
        self.with_request(transaction(self.role(), claims, operation))
            .setting("request.jwt", &*self.token)
            .setting("request.jwt.claim.sub", self.subject().unwrap_or_default())
    }

    /// Returns a transaction of the service itself, which no policy restricts, on behalf of the caller.
    pub(crate) fn service_transaction<'a>(&'a self, operation: &'static str) -> Transaction<'a> {
        self.with_request(service_transaction(operation))
    }

    fn with_request<'a>(&'a self, transaction: Transaction<'a>) -> Transaction<'a> {
        transaction
            .setting("request.headers", &*self.headers)
            .setting("request.method", &*self.method)
            .setting("request.path", &*self.path)
    }

    /// Returns the error for the caller: a token may name a role that this database does not have, or
    /// that callers may not become.
    pub(crate) fn refusal(&self, error: postgres::Error) -> Error {
        match error.server() {
            Some(server) if matches!(&*server.code, "22023" | "42704") && self.is_authenticated() => {
                Error::AccessDenied(format!("role \"{}\" does not exist", self.role()))
            }
            _ => error.into(),
        }
    }
}

/// Returns a transaction of the service itself, for work that no request has caused.
pub(crate) fn service_transaction(operation: &'static str) -> Transaction<'static> {
    transaction(SERVICE_ROLE, SERVICE_CLAIMS, operation)
}

/// Returns a transaction of the service that reads on the primary and runs none of the users' code.
pub(crate) fn lookup() -> Transaction<'static> {
    Transaction::new(SERVICE_ROLE).read_only().on_primary().leaves_session_unchanged().timeout(TIME_LIMIT)
}

fn transaction<'a>(role: &'a str, claims: &'a str, operation: &'static str) -> Transaction<'a> {
    Transaction::new(role)
        .setting("search_path", SEARCH_PATH)
        .setting("request.jwt.claims", claims)
        .setting("request.jwt.claim.role", role)
        .setting("storage.operation", operation)
        .setting("storage.allow_delete_query", "true")
        .timeout(TIME_LIMIT)
}

/// Returns the owner as column `owner` can hold it, which is a UUID; `owner_id` holds any subject.
pub(crate) fn owner_uuid(subject: Option<&str>) -> Option<&str> {
    subject.filter(|subject| Uuid::try_parse(subject).is_ok())
}

fn headers_as_json(headers: &HeaderMap) -> String {
    let texts = headers.iter().filter_map(|(name, value)| {
        Some((name.as_str().to_owned(), serde_json::Value::from(value.to_str().ok()?)))
    });
    serde_json::Value::Object(texts.collect()).to_string()
}

//! What hosted Supabase can do to a project, and this server leaves to who owns its machine: refused with a sentence.

use http::StatusCode;
use poem::Request;

use super::Context;
use crate::Error;
use crate::access::Scope;

const PAUSE: &str = "The project runs as long as the server: stop and start that on its machine";
const NAME: &str = "The server has the name that its DNS gives it (api.external_url)";
const ACCESS: &str = "This server has no just-in-time access: make a login role, or a role of your own";
const DISK: &str = "The disk is the machine's: this server neither chooses nor changes it";
const STANDBY: &str = "Standbys are set up on their own machines, and named in the server's settings";
const REGION: &str = "This server is one project on its owner's machine: it has no regions to choose from";

/// The operations: method, path (a star stands for one part), and why there is none.
const REFUSED: [(&str, &str, &str); 22] = [
    ("GET", "/projects/available-regions", REGION),
    ("POST", "/projects/*/pause", PAUSE),
    ("POST", "/projects/*/restore", PAUSE),
    ("POST", "/projects/*/restore/cancel", PAUSE),
    ("DELETE", "/projects/*/vanity-subdomain", NAME),
    ("POST", "/projects/*/vanity-subdomain/activate", NAME),
    ("POST", "/projects/*/vanity-subdomain/check-availability", NAME),
    ("DELETE", "/projects/*/custom-hostname", NAME),
    ("POST", "/projects/*/custom-hostname/activate", NAME),
    ("POST", "/projects/*/custom-hostname/initialize", NAME),
    ("POST", "/projects/*/custom-hostname/reverify", NAME),
    (
        "POST",
        "/projects/*/readonly/temporary-disable",
        "This server never makes the database read-only: there is nothing to disable",
    ),
    ("PUT", "/projects/*/jit-access", ACCESS),
    ("POST", "/projects/*/database/jit", ACCESS),
    ("PUT", "/projects/*/database/jit", ACCESS),
    ("DELETE", "/projects/*/database/jit/*", ACCESS),
    ("POST", "/projects/*/config/disk", DISK),
    ("GET", "/projects/*/config/disk/autoscale", DISK),
    ("GET", "/projects/*/config/disk/util", DISK),
    ("POST", "/projects/*/read-replicas/setup", STANDBY),
    ("POST", "/projects/*/read-replicas/remove", STANDBY),
    (
        "PUT",
        "/projects/*/pgsodium",
        "This server has no extension pgsodium; the key of the vault stays on it",
    ),
];

/// Returns the refusal (501) of `request`, or why its sender may not even know; `None` if it asks for something else.
pub(super) fn refusal(context: &Context, request: &Request) -> Option<Error> {
    let (method, path) = (request.method().as_str(), request.uri().path());
    let is_it = |(known, pattern, _): &&(&str, &str, &str)| *known == method && fits(path, pattern);
    let (_, _, why) = REFUSED.iter().find(is_it)?;
    let entered = match path.split('/').nth(2).filter(|part| *part != "available-regions") {
        None => context.operator(request, Scope::OrganizationsRead),
        Some(project) if method == "GET" => context.enter(request, project, Scope::ProjectAdminRead),
        Some(project) => context.enter(request, project, Scope::ProjectAdminWrite),
    };
    Some(match entered {
        Ok(_) => Error::Refused(StatusCode::NOT_IMPLEMENTED, (*why).into()),
        Err(error) => error,
    })
}

/// Reports whether the parts of `path` are those of `pattern`.
fn fits(path: &str, pattern: &str) -> bool {
    let (mut parts, mut known) = (path.split('/'), pattern.split('/'));
    loop {
        match (parts.next(), known.next()) {
            (None, None) => return true,
            (Some(part), Some(one)) if one == part || one == "*" && !part.is_empty() => {}
            _ => return false,
        }
    }
}

//! Names of requests for traces and the table of slow statements.

use std::borrow::Cow;

use gateway::Names;

/// Families of routes: below them are names of buckets and objects.
const FAMILIES: [&str; 9] =
    ["object", "bucket", "render", "upload", "s3", "vector", "cdn", "status", "version"];
/// Words that follow the family and are no buckets.
const KINDS: [&str; 9] =
    ["public", "authenticated", "sign", "info", "list", "list-v2", "copy", "move", "upload"];

/// Returns the names of requests, by the family of routes.
pub fn names() -> Names {
    Names { route, ..Names::default() }
}

fn route(path: &str) -> Cow<'static, str> {
    let mut segments = path.split('/').filter(|segment| !segment.is_empty());
    let Some(family) = segments.next() else { return "/".into() };
    let Some(family) = FAMILIES.iter().find(|known| **known == family) else { return "/*".into() };
    let kind = segments.next();
    let known = kind.and_then(|kind| KINDS.iter().find(|known| **known == kind));
    match (*family, kind, known) {
        (_, None, _) => format!("/{family}").into(),
        ("object", Some(_), Some(kind)) => format!("/object/{kind}/*").into(),
        (_, Some(_), _) => format!("/{family}/*").into(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn routes_name_no_buckets_and_objects() {
        for (path, expected) in [
            ("/object/avatars/me.png", "/object/*"),
            ("/object/public/avatars/me.png", "/object/public/*"),
            ("/bucket", "/bucket"),
            ("/bucket/avatars", "/bucket/*"),
            ("/render/image/public/avatars/me.png", "/render/*"),
            ("/else/where", "/*"),
            ("/", "/"),
        ] {
            assert_eq!(route(path), expected, "{path}");
        }
    }
}

//! Names of requests for traces and the table of slow statements.

use std::borrow::Cow;

use gateway::Names;

use crate::plan_cache::Parameter;

/// Parameters that name columns and have no values of rows.
const STRUCTURE: [&str; 4] = ["select", "columns", "on_conflict", "order"];

/// Returns the names of requests: by the kind of path, and by their parameters without values.
pub fn names() -> Names {
    Names { route, query }
}

fn route(path: &str) -> Cow<'static, str> {
    Cow::Borrowed(match path.trim_matches('/') {
        "" => "/",
        path if path.starts_with("rpc/") => "/rpc/{function}",
        _ => "/{relation}",
    })
}

fn query(query: &str) -> String {
    query.split('&').map(parameter).collect::<Vec<_>>().join("&")
}

fn parameter(text: &str) -> String {
    if let Parameter::Comparison { before, .. } = Parameter::of(text) {
        return format!("{before}?");
    }
    let Some((name, _)) = text.split_once('=') else { return "?".to_owned() };
    let last = name.rsplit_once('.').map_or(name, |(_, last)| last);
    if STRUCTURE.contains(&last) { text.to_owned() } else { format!("{name}=?") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn routes_are_few() {
        for (path, expected) in [
            ("/", "/"),
            ("/players", "/{relation}"),
            ("/rpc/add", "/rpc/{function}"),
            ("/rpc", "/{relation}"),
        ] {
            assert_eq!(route(path), expected);
        }
    }

    #[test]
    fn values_are_left_out() {
        let text = "select=id,clubs(name)&clubs.order=id.desc&id=not.eq.hunter2&name=like.hunter2*&limit=2\
                    &or=(id.eq.hunter2,id.is.null)&id=in.(hunter2)&a=hunter2&hunter2";
        assert_eq!(
            query(text),
            "select=id,clubs(name)&clubs.order=id.desc&id=not.eq.?&name=?&limit=?&or=?&id=?&a=?&?"
        );
    }
}

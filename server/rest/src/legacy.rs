//! Embeds that are addressed by their relation's name though they have an alias: still understood, but warned of.
//!
//! Source: PostgREST's documentation, "url-use-legacy-target-names".

use crate::plan::{Embed, Node, Plan};
use crate::request::Request;

/// Returns the value of the `Warning` header (RFC 7234, section 5.5), if `request` has such names in it.
pub(crate) fn warning(request: &Request, plan: &Plan) -> Option<String> {
    let root = match plan {
        Plan::Read(read) => &read.tree,
        Plan::Mutate(mutation) => &mutation.tree,
        Plan::Call(call) => &call.tree,
        Plan::Describe(_) | Plan::Info(_) => return None,
    };
    let query = &request.query;
    let paths = (query.filters.iter().map(|item| &item.path))
        .chain(query.logic.iter().map(|item| &item.path))
        .chain(query.order.iter().map(|item| &item.path))
        .chain(query.ranges.iter().map(|item| &item.path));
    let mut changes: Vec<String> = Vec::new();
    for path in paths {
        for embed in embeds_by_target(root, path) {
            let change = format!("`{}` to `{}`", embed.target, embed.key);
            if !changes.contains(&change) {
                changes.push(change);
            }
        }
    }
    (!changes.is_empty()).then(|| {
        format!(
            "299 Basalt \"Embedded resource was referenced by relation name even though it has an alias. This is \
             deprecated and will stop working in a future release. Update {} in query string filters, orders or \
             limits.\"",
            changes.join(", ")
        )
    })
}

/// Returns the embeds on the way along `path` that it names by their relation.
fn embeds_by_target<'p>(root: &'p Node, path: &[String]) -> Vec<&'p Embed> {
    let mut found = Vec::new();
    let mut node = root;
    for name in path {
        let by_either = |embed: &&Embed| embed.key == *name || embed.target == *name;
        let Some(embed) = node.embeds.iter().find(by_either) else { break };
        if embed.key != *name {
            found.push(embed);
        }
        node = &embed.node;
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::schema_cache::fixture;

    fn warning_of(url: &str) -> Option<String> {
        let request = fixture::request("GET", url, &[], "").unwrap();
        warning(&request, &fixture::plan(&request).unwrap())
    }

    #[test]
    fn names_that_an_alias_hides_are_warned_of() {
        let url = "/clubs?select=name,sides:teams(name,squad:players(id))";
        let found = warning_of(&format!("{url}&teams.order=name&teams.players.limit=1")).unwrap();
        assert!(found.contains("Update `teams` to `sides`, `players` to `squad` in"), "{found}");
        assert_eq!(warning_of(&format!("{url}&sides.order=name&sides.squad.limit=1")), None);
        assert_eq!(warning_of("/clubs?select=name,teams(name)&teams.order=name"), None);
    }
}

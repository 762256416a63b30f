//! Query strings without their values, for the table of slow statements.

use crate::plan_cache::Parameter;

/// Parameters that name columns and have no values of rows.
const STRUCTURE: [&str; 4] = ["select", "columns", "on_conflict", "order"];

/// Returns `query` with `?` in place of the values of rows. For [`gateway::Layered::shaping_queries_by`].
pub fn query_shape(query: &str) -> String {
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
    fn values_are_left_out() {
        let text = "select=id,clubs(name)&clubs.order=id.desc&id=not.eq.hunter2&name=like.hunter2*&limit=2\
                    &or=(id.eq.hunter2,id.is.null)&id=in.(hunter2)&a=hunter2&hunter2";
        assert_eq!(
            query_shape(text),
            "select=id,clubs(name)&clubs.order=id.desc&id=not.eq.?&name=?&limit=?&or=?&id=?&a=?&?"
        );
    }
}

//! `search_docs`: a search in the documents of this server, which are part of the program.

use serde_json::{Value, json};

/// The documents, by the names of their files.
const DOCUMENTS: [(&str, &str); 9] = [
    ("deploying.md", include_str!("../../../../docs/deploying.md")),
    ("extensions.md", include_str!("../../../../docs/extensions.md")),
    ("hidden-rows.md", include_str!("../../../../docs/hidden-rows.md")),
    ("installing.md", include_str!("../../../../docs/installing.md")),
    ("managing.md", include_str!("../../../../docs/managing.md")),
    ("operating.md", include_str!("../../../../docs/operating.md")),
    ("scaling.md", include_str!("../../../../docs/scaling.md")),
    ("settings.md", include_str!("../../../../docs/settings.md")),
    ("supabase-cli.md", include_str!("../../../../docs/supabase-cli.md")),
];

/// The most sections that a search returns, and how many without a limit.
const MOST: usize = 20;
const DEFAULT: usize = 5;

/// A section of a document.
struct Section<'d> {
    title: String,
    href: String,
    content: &'d str,
}

/// Returns the sections that match the field `searchDocs(query: …, limit: …)` of a GraphQL query.
///
/// Errors: it has no such field.
pub(super) fn search(graphql: &str) -> Result<Value, String> {
    let arguments = graphql
        .split_once("searchDocs")
        .and_then(|(_, rest)| rest.trim_start().strip_prefix('('))
        .ok_or("Invalid GraphQL query: expected the field searchDocs(query: String!, limit: Int)")?;
    let query = argument(arguments, "query")
        .and_then(string)
        .ok_or("Invalid GraphQL query: the argument query of searchDocs is missing")?;
    let limit = argument(arguments, "limit").and_then(|rest| {
        rest.split(|c: char| !c.is_ascii_digit()).next().and_then(|digits| digits.parse::<usize>().ok())
    });
    let nodes: Vec<Value> = best(&query, limit.unwrap_or(DEFAULT).min(MOST))
        .into_iter()
        .map(|section| json!({ "title": section.title, "href": section.href, "content": section.content }))
        .collect();
    Ok(json!({ "result": { "searchDocs": { "nodes": nodes } } }))
}

/// Returns the text behind the name of an argument and its colon.
fn argument<'q>(arguments: &'q str, name: &str) -> Option<&'q str> {
    let (_, rest) = arguments.split_once(name)?;
    Some(rest.trim_start().strip_prefix(':')?.trim_start())
}

/// Reads a string of GraphQL, whose escapes are those of JSON.
fn string(text: &str) -> Option<String> {
    serde_json::Deserializer::from_str(text).into_iter::<String>().next()?.ok()
}

/// Returns the sections that have most of the words of `query`, best first.
fn best(query: &str, limit: usize) -> Vec<Section<'static>> {
    let words: Vec<String> = query
        .split(|c: char| !c.is_alphanumeric() && c != '_')
        .filter(|word| word.len() > 1)
        .map(str::to_lowercase)
        .collect();
    let mut scored: Vec<(usize, Section<'static>)> = DOCUMENTS
        .iter()
        .flat_map(|(file, text)| sections(file, text))
        .map(|section| (score(&section, &words), section))
        .filter(|(score, _)| *score > 0)
        .collect();
    scored.sort_by_key(|(score, _)| std::cmp::Reverse(*score));
    scored.into_iter().take(limit).map(|(_, section)| section).collect()
}

/// Returns how well a section matches: above all by how many of the words it has, then by how often, and whether in its
/// title.
fn score(section: &Section<'_>, words: &[String]) -> usize {
    let (title, content) = (section.title.to_lowercase(), section.content.to_lowercase());
    words
        .iter()
        .map(|word| match content.matches(word.as_str()).count() {
            0 => 0,
            often => 10 + often.min(5) + if title.contains(word.as_str()) { 5 } else { 0 },
        })
        .sum()
}

/// Cuts a document at its headings.
fn sections<'d>(file: &str, text: &'d str) -> Vec<Section<'d>> {
    let heads: Vec<usize> = std::iter::once(0)
        .chain(text.match_indices("\n#").map(|(index, _)| index + 1))
        .filter(|index| text[*index..].starts_with('#'))
        .collect();
    let document = text.lines().next().unwrap_or_default().trim_start_matches(['#', ' ']);
    let ends = heads.iter().skip(1).copied().chain([text.len()]);
    heads
        .iter()
        .zip(ends)
        .map(|(begin, end)| {
            let content = text[*begin..end].trim();
            let heading = content.lines().next().unwrap_or_default().trim_start_matches(['#', ' ']);
            let title =
                if heading == document { document.to_owned() } else { format!("{document}: {heading}") };
            Section { title, href: format!("docs/{file}#{}", anchor(heading)), content }
        })
        .collect()
}

/// Returns the anchor of a heading, as GitHub makes it.
fn anchor(heading: &str) -> String {
    let kept = heading.to_lowercase();
    kept.chars()
        .filter(|c| c.is_alphanumeric() || matches!(c, ' ' | '-' | '_'))
        .map(|c| if c == ' ' { '-' } else { c })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_best_section_comes_first() {
        let query =
            r#"{ searchDocs(query: "access token \"sbp\"", limit: 2) { nodes { title href content } } }"#;
        let found = search(query).unwrap();
        let nodes = found["result"]["searchDocs"]["nodes"].as_array().unwrap();
        assert_eq!(nodes.len(), 2);
        assert!(nodes[0]["href"].as_str().unwrap().starts_with("docs/managing.md"), "{found}");
        assert!(search("{ other }").is_err());
        assert!(search("{ searchDocs(limit: 1) { nodes { title } } }").is_err());
    }
}

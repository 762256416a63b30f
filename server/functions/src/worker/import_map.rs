//! An import map that adds to the project's own that the types of the hosted runtime are an empty module: they declare
//! types alone, and would have to be downloaded.
//!
//! Source: the import maps of the HTML standard, and Deno's documentation of `deno.json`.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use serde_json::{Map, Value, json};

use super::process::{file_url, is_configuration};

/// A module without content.
const EMPTY: &str = "data:application/javascript,";
/// The names of Deno's configuration.
const CONFIGURATIONS: [&str; 2] = ["deno.json", "deno.jsonc"];

/// Returns the import map at `own`, which may be a configuration of Deno, with `empty` in addition: specifiers that are
/// an empty module, by the modules that import them. `None` if `own` cannot be read: Deno then says why.
pub(super) fn with_empty(own: Option<&Path>, empty: &BTreeMap<String, BTreeSet<String>>) -> Option<Value> {
    let (imports, mut scopes) = match own {
        Some(path) => read(path)?,
        None => (Map::new(), Map::new()),
    };
    for (module, specifiers) in empty {
        // A scope of its own precedes whatever the project maps for this module.
        let scope = scopes.entry(module.clone()).or_insert_with(|| json!({}));
        let scope = scope.as_object_mut()?;
        scope.extend(specifiers.iter().map(|specifier| (specifier.clone(), json!(EMPTY))));
    }
    Some(json!({ "imports": imports, "scopes": scopes }))
}

/// Returns the imports and the scopes at `path`, with absolute addresses.
fn read(path: &Path) -> Option<(Map<String, Value>, Map<String, Value>)> {
    let mut path = path.to_owned();
    let mut found = parse(&path)?;
    let mut is_of_deno = is_configuration(&path);
    if is_of_deno {
        // Deno itself adds what the members of a workspace map, but not what its root maps.
        if let Some((root, workspace)) = workspace(&path) {
            (path, found) = (root, workspace);
        }
        if let Some(named) = found.get("importMap").and_then(Value::as_str) {
            path = path.parent()?.join(named);
            found = parse(&path)?;
            is_of_deno = false;
        }
    }
    let folder = path.parent()?;
    let imports = mapped(found.get("imports"), folder, is_of_deno);
    let scopes = found.get("scopes").and_then(Value::as_object).into_iter().flatten();
    let scopes = scopes.map(|(scope, mapping)| {
        (absolute(scope, folder), Value::Object(mapped(Some(mapping), folder, is_of_deno)))
    });
    Some((imports, scopes.collect()))
}

/// Returns the mapping `value` of a file in `folder` with absolute addresses. In a configuration of Deno, a name for a
/// package is also one for its modules.
fn mapped(value: Option<&Value>, folder: &Path, is_of_deno: bool) -> Map<String, Value> {
    let mut all = Map::new();
    for (name, target) in value.and_then(Value::as_object).into_iter().flatten() {
        let Some(target) = target.as_str() else {
            all.insert(name.clone(), target.clone());
            continue;
        };
        all.insert(absolute(name, folder), json!(absolute(target, folder)));
        let package =
            ["jsr:", "npm:"].into_iter().find_map(|scheme| Some((scheme, target.strip_prefix(scheme)?)));
        if let Some((scheme, package)) = package
            && is_of_deno
            && !name.ends_with('/')
        {
            let modules = format!("{scheme}/{}/", package.trim_matches('/'));
            all.entry(format!("{name}/")).or_insert_with(|| json!(modules));
        }
    }
    all
}

/// Returns `address` as a URL if it is relative to `folder`, else `address` itself.
fn absolute(address: &str, folder: &Path) -> String {
    let is_relative = ["./", "../", "/"].iter().any(|start| address.starts_with(start));
    if !is_relative && !matches!(address, "." | "..") {
        return address.to_owned();
    }
    let mut path = PathBuf::new();
    for part in folder.join(address).components() {
        match part {
            std::path::Component::ParentDir => drop(path.pop()),
            std::path::Component::CurDir => {}
            part => path.push(part),
        }
    }
    let slash = if address.ends_with('/') && path.parent().is_some() { "/" } else { "" };
    format!("{}{slash}", file_url(&path))
}

/// Returns the configuration of the workspace that the configuration at `path` is in, and its path.
fn workspace(path: &Path) -> Option<(PathBuf, Value)> {
    let folders = path.parent()?.ancestors().skip(1);
    let files = folders.flat_map(|folder| CONFIGURATIONS.map(|name| folder.join(name)));
    let read = |file: PathBuf| parse(&file).map(|found| (file, found));
    files.filter(|file| file.is_file()).filter_map(read).find(|(_, found)| found.get("workspace").is_some())
}

/// Reads the JSON at `path`, which may have comments and commas before closing brackets.
fn parse(path: &Path) -> Option<Value> {
    serde_json::from_str(&without_comments(&std::fs::read_to_string(path).ok()?)).ok()
}

/// Returns `text` without what JSON with comments allows beyond JSON.
fn without_comments(text: &str) -> String {
    let mut json = String::with_capacity(text.len());
    let mut rest = text.trim_start_matches('\u{feff}');
    while let Some(first) = rest.chars().next() {
        let length = match first {
            '"' => string_length(rest),
            '/' if rest.starts_with("//") => {
                rest = rest.find('\n').map_or("", |end| &rest[end..]);
                continue;
            }
            '/' if rest.starts_with("/*") => {
                rest = rest.find("*/").map_or("", |end| &rest[end + 2..]);
                continue;
            }
            ']' | '}' => {
                let end = json.trim_end();
                if let Some(end) = end.strip_suffix(',') {
                    json.truncate(end.len());
                }
                1
            }
            first => first.len_utf8(),
        };
        json.push_str(&rest[..length]);
        rest = &rest[length..];
    }
    json
}

/// Returns the number of bytes of the string at the start of `text`, with its quotes.
fn string_length(text: &str) -> usize {
    let mut is_escaped = false;
    for (position, byte) in text.bytes().enumerate().skip(1) {
        match byte {
            b'"' if !is_escaped => return position + 1,
            byte => is_escaped = byte == b'\\' && !is_escaped,
        }
    }
    text.len()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn empty() -> BTreeMap<String, BTreeSet<String>> {
        [("file:///p/a.ts".to_owned(), ["types".to_owned()].into())].into()
    }

    #[test]
    fn a_configuration_keeps_its_meaning() {
        let folder = tempfile::tempdir().unwrap();
        let write = |name: &str, text: &str| {
            let path = folder.path().join(name);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(&path, text).unwrap();
            path
        };
        let text = r#"{
          // A comment with "quotes"
          "imports": { "x": "./x.ts", "up/": "../up/", "std": "jsr:@std/fs@1", "url": "https://a.example//b" /* , */, },
          "scopes": { "./deep/": { "x": "./y.ts" } },
        }"#;
        let at = |name: &str| file_url(&folder.path().join(name));
        let map = with_empty(Some(&write("f/deno.json", text)), &empty()).unwrap();
        assert_eq!(
            map["imports"],
            json!({ "x": at("f/x.ts"), "up/": format!("{}/", at("up")), "std": "jsr:@std/fs@1",
                    "std/": "jsr:/@std/fs@1/", "url": "https://a.example//b" })
        );
        assert_eq!(map["scopes"][format!("{}/", at("f/deep"))], json!({ "x": at("f/y.ts") }));
        assert_eq!(map["scopes"]["file:///p/a.ts"], json!({ "types": EMPTY }));
        let plain =
            with_empty(Some(&write("f/map.json", r#"{ "imports": { "std": "jsr:@std/fs@1" } }"#)), &empty());
        assert_eq!(plain.unwrap()["imports"], json!({ "std": "jsr:@std/fs@1" }));
        write("deno.jsonc", r#"{ "workspace": ["./f"], "imports": { "of-root": "./r.ts" } }"#);
        let member = with_empty(Some(&folder.path().join("f/deno.json")), &empty()).unwrap();
        assert_eq!(member["imports"], json!({ "of-root": at("r.ts") }));
        assert_eq!(with_empty(Some(&write("f/broken.json", "{")), &empty()), None);
    }
}

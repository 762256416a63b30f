//! The files of the project that a function imports, so that its process may read these and no others.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Component, Path, PathBuf};
use std::time::Duration;

use percent_encoding::percent_decode_str;
use serde::Deserialize;
use tokio::time::timeout;

use super::process::Launch;

/// How long Deno may take to read the sources.
const LIMIT: Duration = Duration::from_secs(10);

/// What a function imports.
#[derive(Debug, Default)]
pub(super) struct Imports {
    /// The local files of its import graph, and those that it names although they do not exist.
    pub(super) files: BTreeSet<PathBuf>,
    /// Those of them that its process may read in addition.
    pub(super) readable: Vec<PathBuf>,
    /// The spellings of [`is_runtime_types`], by the URLs of the modules that import them.
    pub(super) runtime_types: BTreeMap<String, BTreeSet<String>>,
}

/// The part of `deno info --json` that is used.
#[derive(Debug, Deserialize)]
struct Graph {
    roots: Vec<String>,
    modules: Vec<Module>,
}

#[derive(Debug, Deserialize)]
struct Module {
    specifier: String,
    #[serde(default)]
    dependencies: Vec<Dependency>,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Dependency {
    specifier: String,
    /// `None` if only types are imported, which nothing reads when the function runs.
    code: Option<Target>,
    /// What declares the types.
    #[serde(rename = "type")]
    types: Option<Target>,
    #[serde(default)]
    is_dynamic: bool,
}

#[derive(Debug, Deserialize)]
struct Target {
    /// `None` if it cannot be resolved.
    specifier: Option<String>,
}

/// Reads the import graph of the function. What cannot be read is left out: Deno then says why when it runs the
/// function.
pub(super) async fn read(launch: &Launch<'_>) -> Imports {
    let Some(graph) = graph(launch).await else { return Imports::default() };
    let own = launch.readable();
    let settings = launch.settings;
    let project = match &launch.deployed.deployment {
        // All of its folder may be read, and nothing else.
        Some(deployment) => Project::new(&[&deployment.folder], &deployment.lock),
        // The functions folder may be elsewhere.
        None => Project::new(&[&settings.root, &settings.folder], &settings.data_dir),
    };
    let (imports, refused) = choose(&graph, &own, &project);
    for refusal in refused {
        tracing::error!(target: "function", function = launch.deployed.name, "{refusal}");
    }
    imports
}

/// Returns what a deployment imports, whose files are in `folder`: no other local file. When Deno downloads modules it reads
/// whatever an import names, and shows lines of it in its messages.
///
/// Errors: what to tell the person who deploys it.
pub(super) async fn read_own(launch: &Launch<'_>, folder: &Path) -> Result<Imports, String> {
    let graph = graph(launch).await;
    let graph = graph.ok_or_else(|| "Deno cannot say what the function imports".to_owned())?;
    match foreign_import(&graph, folder) {
        Some(import) => Err(format!("{import}, which is not among the files of the function")),
        None => Ok(choose(&graph, &[folder.to_owned()], &Project::new(&[folder], folder)).0),
    }
}

/// Returns the import graph of the function; `None` if Deno does not say it in time.
async fn graph(launch: &Launch<'_>) -> Option<Graph> {
    let output = timeout(LIMIT, launch.graph_command().output()).await.ok()?.ok()?;
    serde_json::from_slice(&output.stdout).ok()
}

/// Returns which import leads to a local file outside `folder`, in words; `None` if none does.
fn foreign_import(graph: &Graph, folder: &Path) -> Option<String> {
    // Deno decodes the parts of a path only after it has resolved `..` between slashes.
    let is_own =
        |path: &Path| path.starts_with(folder) && !path.components().any(|part| part == Component::ParentDir);
    let is_foreign = |url: &str| file(url).is_some_and(|path| !is_own(&path));
    let leads_out = |target: &Option<Target>| {
        target.as_ref().and_then(|target| target.specifier.as_deref()).is_some_and(is_foreign)
    };
    for module in &graph.modules {
        let Some(dependency) =
            module.dependencies.iter().find(|one| leads_out(&one.code) || leads_out(&one.types))
        else {
            continue;
        };
        let importer = file(&module.specifier);
        let importer = importer.as_deref().and_then(|path| path.strip_prefix(folder).ok());
        let importer = importer.map_or_else(|| "a module".to_owned(), |path| path.display().to_string());
        return Some(format!("{importer} imports {:?}", dependency.specifier));
    }
    let is_there = graph.modules.iter().map(|module| &module.specifier).chain(&graph.roots);
    is_there.into_iter().any(|url| is_foreign(url)).then(|| "it imports a file".to_owned())
}

/// Returns the imports in `graph`, of which `own` may be read anyway, and a message for each that is refused.
fn choose(graph: &Graph, own: &[PathBuf], project: &Project) -> (Imports, Vec<String>) {
    let modules: HashMap<&str, &Module> =
        graph.modules.iter().map(|module| (module.specifier.as_str(), module)).collect();
    let (mut imports, mut refused) = (Imports::default(), Vec::new());
    let mut seen: HashSet<&str> = graph.roots.iter().map(String::as_str).collect();
    let mut rest: Vec<&str> = seen.iter().copied().collect();
    while let Some(url) = rest.pop() {
        imports.files.extend(file(url));
        for dependency in modules.get(url).into_iter().flat_map(|module| &module.dependencies) {
            let target = dependency.code.as_ref().and_then(|target| target.specifier.as_deref());
            let Some(target) = target else { continue };
            if is_runtime_types(target) {
                let spellings = imports.runtime_types.entry(url.to_owned()).or_default();
                spellings.insert(dependency.specifier.clone());
            }
            let Some(path) = file(target).filter(|_| seen.insert(target)) else { continue };
            if own.iter().any(|folder| path.starts_with(folder)) {
                rest.push(target);
                continue;
            }
            match project.refusal(&path) {
                None => {
                    imports.readable.push(path);
                    rest.push(target);
                }
                Some(reason) => refused.push(format!(
                    "{} imports {}, which {reason}{}",
                    file(url).unwrap_or_default().display(),
                    path.display(),
                    if dependency.is_dynamic { "; this will fail if it is reached" } else { "" }
                )),
            }
        }
    }
    (imports, refused)
}

/// The folders from which functions may import.
struct Project {
    roots: Vec<PathBuf>,
    data_dir: Option<PathBuf>,
}

impl Project {
    fn new(roots: &[&Path], data_dir: &Path) -> Self {
        let roots = roots.iter().filter_map(|root| root.canonicalize().ok()).collect();
        Self { roots, data_dir: data_dir.canonicalize().ok() }
    }

    /// Returns why a function may not import the file at `path`; `None` if it may. Links count as what they lead to.
    fn refusal(&self, path: &Path) -> Option<String> {
        // Deno says best that a file does not exist, for which it has to be allowed to look.
        let real = path.canonicalize().or_else(|_| {
            let (folder, name) = (path.parent().unwrap_or(path), path.file_name().unwrap_or_default());
            folder.canonicalize().map(|folder| folder.join(name))
        });
        let Ok(real) = real else { return Some("is in a folder that does not exist".to_owned()) };
        let Some(within) = self.roots.iter().find_map(|root| real.strip_prefix(root).ok()) else {
            let roots: Vec<_> = self.roots.iter().map(|root| root.display().to_string()).collect();
            return Some(format!("is outside the project's folder ({})", roots.join(", ")));
        };
        if self.data_dir.as_ref().is_some_and(|folder| real.starts_with(folder)) {
            return Some("is in the data folder".to_owned());
        }
        let is_hidden = within.components().any(|part| part.as_os_str().as_bytes().starts_with(b"."));
        is_hidden.then(|| "is hidden: a part of its path begins with a dot".to_owned())
    }
}

/// Returns the path of a file's URL; `None` for a module that is no local file.
fn file(url: &str) -> Option<PathBuf> {
    let path = url.strip_prefix("file://")?.split(['?', '#']).next()?;
    let path: Vec<u8> = percent_decode_str(path).collect();
    Some(PathBuf::from(OsStr::from_bytes(&path)))
}

/// Reports whether `url` is the module that only declares the types of the hosted runtime, in any version. Every
/// function that the CLI creates imports it first.
fn is_runtime_types(url: &str) -> bool {
    let Some(package) = url.strip_prefix("jsr:") else { return false };
    let package = package.trim_start_matches('/').strip_prefix("@supabase/functions-js");
    package.and_then(|rest| rest.split_once('/')).is_some_and(|(version, module)| {
        (version.is_empty() || version.starts_with('@')) && module == "edge-runtime.d.ts"
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_types_of_the_runtime_are_known_in_every_version() {
        for (url, expected) in [
            ("jsr:@supabase/functions-js/edge-runtime.d.ts", true),
            ("jsr:/@supabase/functions-js@^2.4.1/edge-runtime.d.ts", true),
            ("jsr:@supabase/functions-js@2/edge-runtime.d.ts", true),
            ("npm:@supabase/functions-js/edge-runtime.d.ts", false),
            ("jsr:@supabase/functions-js-other/edge-runtime.d.ts", false),
            ("jsr:@supabase/functions-js@2", false),
            ("jsr:@supabase/functions-js@2/other.ts", false),
        ] {
            assert_eq!(is_runtime_types(url), expected, "{url}");
        }
    }

    #[test]
    fn imports_that_leave_a_deployment_are_found() {
        let folder = Path::new("/data/functions/a/1/source");
        let found = |kind: &str, url: &str| {
            let graph = serde_json::json!({
                "roots": ["file:///data/functions/a/1/source/index.ts"],
                "modules": [
                    { "specifier": "file:///data/functions/a/1/source/index.ts", "dependencies": [
                        { "specifier": "npm:x", "code": { "specifier": "npm:x" } },
                        { "specifier": "./other", kind: { "specifier": url } },
                    ] },
                ],
            });
            foreign_import(&serde_json::from_value(graph).unwrap(), folder)
        };
        for own in
            ["file:///data/functions/a/1/source/_shared/b%20c.ts", "https://example.org/x.ts", "jsr:@a/b"]
        {
            assert_eq!(found("code", own), None, "{own}");
        }
        for foreign in [
            "file:///data/pgpass",
            "file:///data/functions/a/1/source/..%2f..%2f..%2f..%2fpgpass",
            "file:///data/functions/a/1/source-of-another/index.ts",
            "file:///",
        ] {
            for kind in ["code", "type"] {
                assert_eq!(
                    found(kind, foreign).as_deref(),
                    Some("index.ts imports \"./other\""),
                    "{foreign}"
                );
            }
        }
        let elsewhere =
            serde_json::json!({ "roots": [], "modules": [{ "specifier": "file:///etc/passwd" }] });
        assert!(foreign_import(&serde_json::from_value(elsewhere).unwrap(), folder).is_some());
    }

    #[test]
    fn only_what_code_imports_of_the_project_is_readable() {
        let folder = tempfile::tempdir().unwrap();
        let top = folder.path().canonicalize().unwrap();
        let (root, outside) = (top.join("project"), top.join("outside.ts"));
        for name in
            ["shared/x.ts", "shared/y.ts", "shared/types.ts", ".env", ".basalt/keys.json", "data/keys.json"]
        {
            let path = root.join(name);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, "").unwrap();
        }
        std::fs::write(&outside, "").unwrap();
        std::os::unix::fs::symlink(&outside, root.join("shared/link.ts")).unwrap();
        std::os::unix::fs::symlink(root.join(".env"), root.join("shared/env.ts")).unwrap();
        let url = |name: &str| format!("file://{}", root.join(name).display());
        let import =
            |name: &str| serde_json::json!({ "specifier": name, "code": { "specifier": url(name) } });
        let own = root.join("functions/a");
        let graph = serde_json::json!({
            "roots": [url("functions/a/index.ts")],
            "modules": [
                { "specifier": url("functions/a/index.ts"), "dependencies": [
                    import("shared/x.ts"),
                    import("functions/a/own.ts"),
                    { "specifier": "t", "type": { "specifier": url("shared/types.ts") } },
                    { "specifier": "jsr:@supabase/functions-js/edge-runtime.d.ts",
                      "code": { "specifier": "jsr:@supabase/functions-js/edge-runtime.d.ts" } },
                    { "specifier": "bare", "code": { "error": "not in the import map" } },
                ] },
                { "specifier": url("shared/x.ts"), "dependencies": [
                    import("shared/y.ts"), import("shared/missing.ts"), import("shared/link.ts"),
                    import("shared/env.ts"), import(".env"), import(".basalt/keys.json"), import("data/keys.json"),
                    import("../outside.ts"),
                ] },
            ],
        });
        let graph: Graph = serde_json::from_value(graph).unwrap();
        let project = Project::new(&[&root], &root.join("data"));
        let (mut imports, refused) = choose(&graph, &[own], &project);
        imports.readable.sort();
        let readable = ["shared/missing.ts", "shared/x.ts", "shared/y.ts"].map(|name| root.join(name));
        assert_eq!(imports.readable, readable);
        assert!(imports.files.contains(&root.join("functions/a/own.ts")));
        assert_eq!(imports.runtime_types.keys().collect::<Vec<_>>(), [&url("functions/a/index.ts")]);
        assert_eq!(refused.len(), 6, "{refused:?}");
        for (name, reason) in [
            ("shared/link.ts", "is outside the project's folder"),
            ("shared/env.ts", "is hidden"),
            (".basalt/keys.json", "is hidden"),
            ("data/keys.json", "is in the data folder"),
        ] {
            let message = format!("imports {}, which {reason}", root.join(name).display());
            assert!(refused.iter().any(|refusal| refusal.contains(&message)), "{refused:?}");
        }
    }
}

//! What functions import from outside their folders, and what they cannot read.

use functions::Function;
use tokio::time::timeout;

use crate::harness::{PATIENCE, Project};

const RESPONSE: &str = "\nDeno.serve(() => new Response(String(text)))";

#[tokio::test]
async fn files_of_the_project_are_imported_from_outside_the_folder() {
    let project = Project::with(
        &[
            ("shared/index.ts", &format!("import {{ text }} from '../../shared/x.ts'{RESPONSE}")),
            ("other/index.ts", &format!("import {{ text }} from '../shared/words.ts'{RESPONSE}")),
            ("mapped/index.ts", &format!("import {{ text }} from 'lib/mod.ts'{RESPONSE}")),
            ("named/index.ts", &format!("import {{ text }} from 'lib'{RESPONSE}")),
            (
                "data/index.ts",
                &format!("import data from '../../shared/data.json' with {{ type: 'json' }}\nconst {{ text }} = data{RESPONSE}"),
            ),
            ("later/index.ts", &format!("const {{ text }} = await import('../../shared/x.ts'){RESPONSE}")),
            ("mapped/deno.json", r#"{ "imports": { "lib/": "../../packages/lib/" } }"#),
            ("shared/words.ts", "export const text = 'words'"),
            ("../shared/x.ts", "export * from './y.ts'"),
            ("../shared/y.ts", "export const text: string = 'x'"),
            ("../shared/data.json", r#"{ "text": "data" }"#),
            ("../packages/lib/mod.ts", "export { text } from '../../shared/y.ts'"),
            ("../maps/all.json", r#"{ "imports": { "lib": "../packages/lib/mod.ts" } }"#),
        ],
        |settings| {
            let map = settings.root.join("maps/all.json");
            settings.functions.get_mut("named").unwrap().import_map = Some(map);
        },
    )
    .await;
    for (name, text) in [
        ("shared", "x"),
        ("other", "words"),
        ("mapped", "x"),
        ("named", "x"),
        ("data", "data"),
        ("later", "x"),
    ] {
        let response = project.get(&format!("/{name}")).await;
        assert_eq!((response.status.as_u16(), response.text.as_str()), (200, text), "{name}");
    }
    project.functions.stop().await;
}

#[tokio::test]
async fn the_functions_folder_may_be_outside_the_project() {
    let elsewhere = tempfile::tempdir().unwrap();
    let files = [
        ("one/index.ts", &*format!("import {{ text }} from '../two/words.ts'{RESPONSE}")),
        ("two/words.ts", "export const text = 'words'"),
    ];
    let root = elsewhere.path().to_owned();
    let project = Project::with(&files, |settings| settings.root = root).await;
    assert_eq!(project.get("/one").await.text, "words");
    project.functions.stop().await;
}

#[tokio::test]
async fn members_of_a_workspace_import_each_other() {
    let project = Project::new(&[
        (
            "member/index.ts",
            "import { text } from '@project/lib'\nimport { more } from 'of-root'\nimport 'types'\n\
             import '@supabase/functions-js/edge-runtime.d.ts'\n\
             Deno.serve(() => new Response(text + more))",
        ),
        (
            "member/deno.json",
            r#"{ "imports": { "types": "./types.ts", "@supabase/functions-js": "jsr:@supabase/functions-js@^2" } }"#,
        ),
        ("member/types.ts", ""),
        ("../deno.json", r#"{ "workspace": ["./functions/member", "./packages/lib"], "imports": { "of-root": "./more.ts" } }"#),
        ("../more.ts", "export const more = ' and more'"),
        ("../packages/lib/deno.json", r#"{ "name": "@project/lib", "version": "1.0.0", "exports": "./mod.ts" }"#),
        ("../packages/lib/mod.ts", "export const text = 'lib'"),
    ])
    .await;
    let response = project.get("/member").await;
    assert_eq!((response.status.as_u16(), response.text.as_str()), (200, "lib and more"));
    project.functions.stop().await;
}

#[tokio::test]
async fn secrets_and_what_is_outside_the_project_stay_unreadable() {
    let elsewhere = tempfile::tempdir().unwrap();
    std::fs::write(elsewhere.path().join("x.ts"), "export const text = 'outside'").unwrap();
    let outside = format!("import {{ text }} from 'file://{}/x.ts'{RESPONSE}", elsewhere.path().display());
    let prying = r"
import '../../shared/x.ts'
const tried = async (path) => {
  try { return [path, await Deno.readTextFile(path)] } catch (error) { return [path, error.name] }
}
Deno.serve(async (request) => Response.json(Object.fromEntries(await Promise.all((await request.json()).map(tried)))))";
    let json = "with { type: 'json' }";
    let project = Project::with(
        &[
            ("prying/index.ts", prying),
            ("outside/index.ts", &outside),
            ("keys/index.ts", &format!("import text from '../../.basalt/keys.json' {json}{RESPONSE}")),
            ("linked/index.ts", &format!("import text from '../../shared/linked.json' {json}{RESPONSE}")),
            ("variables/index.ts", &format!("import text from '../../.env' {json}{RESPONSE}")),
            ("other/.env", "SECRET=1"),
            ("../shared/x.ts", ""),
            ("../shared/.env", "SECRET=1"),
            ("../shared/other.ts", "SECRET"),
            ("../.env", r#""SECRET""#),
            ("../.basalt/keys.json", r#""SECRET""#),
            ("../top.ts", prying.replace("../../", "./").as_str()),
            ("common.ts", prying.replace("../../", "../").as_str()),
            ("../apps/beside.ts", prying.replace("../../", "../").as_str()),
            ("../apps/.env", "SECRET=1"),
        ],
        |settings| {
            std::os::unix::fs::symlink(
                settings.root.join(".basalt/keys.json"),
                settings.root.join("shared/linked.json"),
            )
            .unwrap();
            for (name, file) in
                [("top", "top.ts"), ("common", "functions/common.ts"), ("beside", "apps/beside.ts")]
            {
                let entry_point = Some(settings.root.join(file));
                let function = Function { verify_jwt: false, entry_point, ..Function::default() };
                settings.functions.insert(name.to_owned(), function);
            }
        },
    )
    .await;
    let paths = |from: &str| {
        let names = [
            ".env",
            ".basalt/keys.json",
            "shared/.env",
            "shared/other.ts",
            "functions/other/.env",
            "apps/.env",
        ];
        names.into_iter().map(|name| format!("{from}{name}")).collect::<Vec<_>>()
    };
    for (function, from) in [("prying", "../../"), ("top", "./"), ("common", "../"), ("beside", "../")] {
        let body = serde_json::to_string(&paths(from)).unwrap();
        let seen = project.post(&format!("/{function}"), body).await.json();
        for path in paths(from) {
            assert_eq!(seen[&path], "NotCapable", "{function}: {seen}");
        }
    }
    for name in ["outside", "keys", "linked", "variables"] {
        let response = project.get(&format!("/{name}")).await;
        assert_eq!(response.refusal(), (503, "BOOT_ERROR".to_owned()), "{name}");
    }
    project.functions.stop().await;
}

#[tokio::test]
async fn a_change_of_an_imported_file_shows_at_the_next_call() {
    let files = [
        ("one/index.ts", &*format!("import {{ text }} from '../../shared/x.ts'{RESPONSE}")),
        ("two/index.ts", &format!("import {{ text }} from '../one/words.ts'{RESPONSE}")),
        ("three/index.ts", &format!("import {{ text }} from '../../shared/missing.ts'{RESPONSE}")),
        ("one/words.ts", "export const text = 'old'"),
        ("../shared/x.ts", "export const text = 'old'"),
    ];
    let project = Project::with(&files, |settings| settings.watch = true).await;
    for name in ["/one", "/two"] {
        assert_eq!(project.get(name).await.text, "old");
    }
    assert_eq!(project.get("/three").await.refusal(), (503, "BOOT_ERROR".to_owned()));
    for (file, name) in
        [("../shared/x.ts", "/one"), ("one/words.ts", "/two"), ("../shared/missing.ts", "/three")]
    {
        project.write(file, "export const text = 'new'");
        let changed = async { while project.get(name).await.text != "new" {} };
        timeout(PATIENCE, changed).await.expect("the change to show");
    }
    project.functions.stop().await;
}

#[tokio::test]
async fn the_types_of_the_runtime_need_no_network() {
    let project = Project::with(
        &[
            ("plain/index.ts", &format!("import 'jsr:@supabase/functions-js/edge-runtime.d.ts'\nconst text = 1{RESPONSE}")),
            (
                "versioned/index.ts",
                &format!("import \"jsr:@supabase/functions-js@^2.4.1/edge-runtime.d.ts\"\nimport {{ text }} from './x.ts'{RESPONSE}"),
            ),
            ("versioned/x.ts", "import 'jsr:@supabase/functions-js@2/edge-runtime.d.ts'\nexport const text = 1"),
            (
                "named/index.ts",
                &format!("import '@supabase/functions-js/edge-runtime.d.ts'\nimport {{ text }} from 'x'{RESPONSE}"),
            ),
            (
                "named/deno.json",
                "{\n  // Created by the CLI\n  \"imports\": { \"x\": \"./x.ts\", \"@supabase/functions-js\": \"jsr:@supabase/functions-js@^2\" },\n}",
            ),
            ("named/x.ts", "export const text = 1"),
            (
                "mapped/index.ts",
                &format!("import 'types'\nimport {{ text }} from 'x'{RESPONSE}"),
            ),
            (
                "mapped/map.json",
                r#"{ "imports": { "x": "../named/x.ts", "types": "jsr:@supabase/functions-js@2/edge-runtime.d.ts" } }"#,
            ),
        ],
        |settings| {
            let map = settings.folder.join("mapped/map.json");
            settings.functions.get_mut("mapped").unwrap().import_map = Some(map);
        },
    )
    .await;
    for name in ["plain", "versioned", "named", "mapped"] {
        let response = project.get(&format!("/{name}")).await;
        assert_eq!((response.status.as_u16(), response.text.as_str()), (200, "1"), "{name}");
    }
    assert!(!project.folder().join("cache/remote").exists(), "something was downloaded");
    project.functions.stop().await;
}

//! When processes start, end, restart and share code.

use std::time::Duration;

use functions::{Limits, Secrets};
use tokio::time::timeout;

use crate::harness::{Listener, PATIENCE, Project};

const PID: &str = "Deno.serve(() => new Response(String(Deno.pid)))";

#[tokio::test]
async fn a_function_that_fails_to_start_reports_it_and_is_started_again() {
    let project = Project::with(
        &[
            ("broken/index.ts", "this is no program"),
            ("silent/index.ts", "Deno.exit(0)"),
            // As with an import from a registry that cannot be reached: nothing listens on that port.
            ("far/index.ts", "import { serve } from 'http://127.0.0.1:1/std@0.168.0/http/server.ts'\nserve(() => new Response())"),
        ],
        |settings| {
            settings.watch = true;
        },
    )
    .await;
    for path in ["/broken", "/silent", "/far"] {
        let response = project.get(path).await;
        assert_eq!(response.refusal(), (503, "BOOT_ERROR".to_owned()));
        assert_eq!(response.json()["message"], "Function failed to start (please check logs)");
    }
    project.write("broken/index.ts", "Deno.serve(() => new Response('fixed'))");
    let started = async { while project.get("/broken").await.text != "fixed" {} };
    timeout(PATIENCE, started).await.expect("the corrected function to start");
    project.functions.stop().await;
}

#[tokio::test]
async fn without_deno_the_response_says_why() {
    let project = Project::with(&[("hello/index.ts", PID)], |settings| {
        settings.deno = Some("/nowhere/deno".into());
    })
    .await;
    let response = project.get("/hello").await;
    assert_eq!(response.refusal(), (503, "BOOT_ERROR".to_owned()));
    assert!(
        response.text.contains("the file that the variable DENO names is not there"),
        "{}",
        response.text
    );
    assert!(!response.text.contains("/nowhere"), "{}", response.text);
    project.functions.stop().await;
}

#[tokio::test]
async fn changes_apply_to_the_next_call_and_running_calls_are_finished() {
    // A call in this function ends when the file that it waits for has its text: a file that is just being written is
    // empty.
    let held = r"
Deno.serve(async (request) => {
  if (!request.url.endsWith('/held')) return new Response('old')
  for (;;) {
    const text = await Deno.readTextFile('./released').catch(() => '')
    if (text) return new Response(text)
    await new Promise((resolve) => setTimeout(resolve, 20))
  }
})";
    let project = Project::with(&[("changing/index.ts", held), ("_shared/words.ts", "")], |settings| {
        settings.watch = true;
    })
    .await;
    assert_eq!(project.get("/changing").await.text, "old");
    let changed = async {
        project.write("changing/index.ts", "Deno.serve(() => new Response('new'))");
        while project.get("/changing").await.text != "new" {}
        project.write("changing/released", "by the old one");
    };
    let (held, changed) = tokio::join!(project.get("/changing/held"), timeout(PATIENCE, changed));
    changed.expect("the change to show");
    assert_eq!(held.text, "by the old one");
    project.functions.stop().await;
}

#[tokio::test]
async fn idle_processes_end_after_their_background_work() {
    // Sends its process id to the port that the call names, after the idle timeout.
    let source = r"
Deno.serve((request) => {
  const port = Number(new URL(request.url).searchParams.get('tell'))
  const tell = async () => {
    await new Promise((resolve) => setTimeout(resolve, 1000))
    const connection = await Deno.connect({ port })
    await connection.write(new TextEncoder().encode(String(Deno.pid)))
    connection.close()
  }
  EdgeRuntime.waitUntil(tell())
  return new Response(String(Deno.pid))
})";
    let project = Project::with(&[("idle/index.ts", source)], |settings| {
        settings.limits = Limits { idle: Duration::from_millis(50), boot: PATIENCE, ..Limits::default() };
    })
    .await;
    let listener = Listener::open().await;
    let path = format!("/idle?tell={}", listener.port());
    let first = project.get(&path).await.text;
    assert_eq!(listener.read().await, first);
    // The process is idle now, and ends. Calls and background work before that are still completed.
    let other = async {
        loop {
            let pid = project.get(&path).await.text;
            assert_eq!(listener.read().await, pid);
            if pid != first {
                break;
            }
        }
    };
    timeout(PATIENCE, other).await.expect("another process");
    project.functions.stop().await;
}

#[tokio::test]
async fn processes_without_calls_make_room_for_others_where_their_number_is_limited() {
    let held = r"
Deno.serve(async (request) => {
  const port = Number(new URL(request.url).searchParams.get('tell'))
  const connection = await Deno.connect({ port })
  await connection.write(new TextEncoder().encode('begun'))
  while (!await Deno.readTextFile('./released').catch(() => '')) {
    await new Promise((resolve) => setTimeout(resolve, 20))
  }
  return new Response('released')
})";
    let files = [("one/index.ts", PID), ("two/index.ts", PID), ("held/index.ts", held)];
    let project = Project::with(&files, |settings| {
        settings.limits = Limits { processes: 1, boot: PATIENCE, ..Limits::default() };
    })
    .await;
    let first = project.get("/one").await.text;
    assert_eq!(project.get("/one").await.text, first);
    assert_ne!(project.get("/two").await.text, first);
    assert_ne!(project.get("/one").await.text, first, "the first process has made room");
    let listener = Listener::open().await;
    let others = async {
        assert_eq!(listener.read().await, "begun");
        let refused = project.get("/one").await;
        project.write("held/released", "now");
        refused
    };
    let path = format!("/held?tell={}", listener.port());
    let (released, refused) = tokio::join!(project.get(&path), others);
    assert_eq!(released.text, "released", "a process with a call stays");
    assert_eq!(refused.refusal(), (546, "WORKER_LIMIT".to_owned()));
    assert_eq!(refused.header("retry-after"), "1");
    assert_eq!(project.get("/two").await.status, 200);
    project.functions.stop().await;
}

#[tokio::test]
async fn a_function_sees_its_environment_and_nothing_else() {
    let prying = r"
const tried = async (name, attempt) => {
  try { return [name, await attempt()] } catch (error) { return [name, 'refused: ' + error.name] }
}
Deno.serve(async () => Response.json(Object.fromEntries([
  await tried('environment', () => Object.keys(Deno.env.toObject()).sort()),
  await tried('secret', () => Deno.env.get('MY_SECRET')),
  await tried('slug', () => Deno.env.get('SUPABASE_FUNCTION_SLUG')),
  await tried('own', () => Deno.readTextFile('./own.txt')),
  await tried('other', () => Deno.readTextFile('../other/.env')),
  await tried('common', () => Deno.readTextFile('../.env')),
  await tried('proc', () => Deno.readTextFile('/proc/self/environ')),
  await tried('parent', () => Deno.readTextFile(`/proc/${Deno.ppid}/environ`)),
  await tried('write', () => Deno.writeTextFile('./own.txt', 'changed')),
  await tried('run', () => new Deno.Command('id').output()),
  await tried('calls', () => Deno.connect({ transport: 'unix', path: JSON.parse(Deno.args[0]).calls })),
  await tried('orders', () => Deno.connect({ transport: 'unix', path: JSON.parse(Deno.args[0]).orders })),
])))";
    let project = Project::with(
        &[("prying/index.ts", prying), ("prying/own.txt", "mine"), ("other/.env", "THEIRS=1")],
        |settings| {
            settings.secrets = Secrets([("MY_SECRET".to_owned(), "hunter2".to_owned())].into());
        },
    )
    .await;
    project.write(".env", "MY_SECRET=hunter2");
    let seen = project.get("/prying").await.json();
    assert_eq!((seen["secret"].as_str(), seen["own"].as_str()), (Some("hunter2"), Some("mine")));
    assert_eq!(seen["slug"], "prying");
    for name in ["other", "common", "proc", "parent", "write", "run", "calls", "orders"] {
        let outcome = seen[name].as_str().unwrap_or_default();
        assert!(outcome.starts_with("refused: "), "{name}: {}", seen[name]);
    }
    let allowed = ["MY_SECRET", "SUPABASE_FUNCTION_SLUG", "SUPABASE_URL"];
    // Variables for the network, and those that Deno itself adds.
    let of_machine =
        ["DENO_NODE_SHIM_ACTIVE", "NODE_EXTRA_CA_CERTS", "PATH", "SSL_CERT_DIR", "SSL_CERT_FILE"];
    for name in seen["environment"].as_array().unwrap().iter().map(|name| name.as_str().unwrap()) {
        let is_proxy = name.to_ascii_uppercase().ends_with("_PROXY");
        assert!(allowed.contains(&name) || of_machine.contains(&name) || is_proxy, "{name}");
    }
    project.functions.stop().await;
}

#[tokio::test]
async fn functions_start_ahead_and_run_on_schedule() {
    let source = r"
const bodies = []
let wake
const called = new Promise((resolve) => (wake = resolve))
Deno.serve(async (request) => {
  if (request.method === 'GET') { await called; return Response.json(bodies) }
  bodies.push(await request.json())
  wake()
  return new Response()
})";
    let project = Project::with(&[("timed/index.ts", source)], |settings| {
        settings.ahead = vec!["timed".to_owned()];
        settings.schedules = [("timed".to_owned(), Duration::from_secs(1))].into();
    })
    .await;
    assert_eq!(project.get("/timed").await.json()[0]["type"], "scheduled");
    project.functions.stop().await;
    assert_eq!(project.get("/timed").await.refusal(), (503, "BOOT_ERROR".to_owned()));
}

#[tokio::test]
async fn functions_cannot_see_each_others_data() {
    let source = r"
Deno.serve(async (request) => {
  const cache = await caches.open('mine')
  const key = 'http://key.example/'
  if (request.method === 'POST') await cache.put(key, new Response(request.body))
  const globals = ['localStorage', 'sessionStorage'].map((name) => typeof globalThis[name])
  return Response.json({ kept: await (await cache.match(key))?.text(), globals })
})";
    // With the same configuration for all, since Deno has separate storage for each configuration.
    let files = [("deno.json", "{}"), ("one/index.ts", source), ("other/index.ts", source)];
    let project = Project::new(&files).await;
    assert_eq!(project.post("/one", "a secret").await.json()["kept"], "a secret");
    assert_eq!(project.get("/one").await.json()["kept"], "a secret");
    let other = project.get("/other").await.json();
    assert!(other["kept"].is_null(), "{other}");
    assert_eq!(other["globals"], serde_json::json!(["undefined", "undefined"]));
    project.functions.stop().await;
}

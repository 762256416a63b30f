//! Errors that a function does not catch.

use std::io;
use std::time::Duration;

use bytes::Bytes;
use functions::Limits;
use futures_util::{StreamExt as _, stream};
use http::Method;
use poem::{Body, Request};
use tokio::time::timeout;

use crate::harness::{Listener, PATIENCE, Project, Response};

/// Says before it blocks its process, which fails when there is the file that the call names. Other calls get a
/// response with the process and their body.
const FAILING: &str = r"
const sleep = new Int32Array(new SharedArrayBuffer(4))
const exists = (path) => { try { return Deno.statSync(path).isFile } catch { return false } }
Deno.serve(async (request) => {
  const url = new URL(request.url)
  if (!url.searchParams.has('tell')) return new Response(`${Deno.pid} ${await request.text()}`)
  const way = url.pathname.split('/').at(-1)
  const connection = await Deno.connect({ port: Number(url.searchParams.get('tell')) })
  const tell = (text) => connection.write(new TextEncoder().encode(text))
  if (way === 'held') tell('held')
  else setTimeout(() => {
    tell('blocked')
    while (!exists(`./${way}`)) Atomics.wait(sleep, 0, 0, 10)
    if (way === 'reject') Promise.reject(new Error('nobody catches this'))
    else throw new Error('nobody catches this')
  })
  return new Promise(() => {})
})";

fn worker_error() -> (u16, String) {
    (500, "WORKER_ERROR".to_owned())
}

/// Returns a call with this body, of which `length` bytes are announced.
fn post(length: usize, body: impl Into<Body>) -> Request {
    let request = Request::builder().method(Method::POST).uri("/failing".parse().unwrap());
    request.header("content-length", length).body(body)
}

#[tokio::test]
async fn calls_that_a_failing_process_has_not_begun_get_the_next_one() {
    let project = Project::with(&[("failing/index.ts", FAILING)], |settings| {
        // Longer than the test blocks the process.
        settings.limits = Limits { cpu: PATIENCE, boot: PATIENCE, ..Limits::default() };
    })
    .await;
    let listener = Listener::open().await;
    let send = async |request| Response::read(project.send(request).await).await;
    for way in ["throw", "reject"] {
        let first = project.get("/failing").await.text;
        let [held, failing] = ["held", way].map(|name| format!("/failing/{name}?tell={}", listener.port()));
        let others = async {
            assert_eq!(listener.read().await, "blocked");
            // Its process is another one.
            let long = send(post(300 << 10, vec![b'x'; 300 << 10])).await;
            let fail = async {
                let arrived = async {
                    while project.calls_under_way("failing") < 5 {
                        tokio::task::yield_now().await
                    }
                };
                timeout(PATIENCE, arrived).await.expect("the calls of all");
                // They are on their way to the process.
                tokio::time::sleep(Duration::from_millis(500)).await;
                project.write(&format!("failing/{way}"), "");
            };
            let begun = stream::iter([Ok::<_, io::Error>(Bytes::from_static(b"he"))]);
            let unfinished = post(5, Body::from_bytes_stream(begun.chain(stream::pending())));
            let (get, short) = (project.get("/failing"), send(post(5, "short")));
            let (get, short, unfinished, ()) = tokio::join!(get, short, send(unfinished), fail);
            (long, get, short, unfinished)
        };
        let rest = async {
            assert_eq!(listener.read().await, "held");
            tokio::join!(project.get(&failing), others)
        };
        let (held, (failed, (long, get, short, unfinished))) = tokio::join!(project.get(&held), rest);
        // Their handlers had begun.
        assert_eq!((failed.refusal(), held.refusal()), (worker_error(), worker_error()), "{way}");
        let statuses = [&long, &get, &short].map(|response| response.status.as_u16());
        assert_eq!(statuses, [200; 3], "{way} {} {}", get.text, short.text);
        let (pid, body) = short.text.split_once(' ').unwrap();
        assert_eq!((format!("{pid} "), body), (get.text, "short"));
        assert_ne!(format!("{pid} "), first);
        assert_eq!(long.text.len() - long.text.find('x').unwrap(), 300 << 10);
        // What has arrived of it is not kept.
        assert_eq!(unfinished.refusal(), worker_error());
        assert_eq!(unfinished.header("x-basalt-not-begun"), "");
    }
    project.functions.stop().await;
}

#[tokio::test]
async fn errors_that_a_function_handles_itself_end_nothing() {
    let source = |first: &str, later: &str| {
        format!(
            "{first}
Deno.serve(async () => {{
  {later}
  Promise.reject(new Error('handled'))
  setTimeout(() => {{ throw new Error('handled, too') }})
  await new Promise((resolve) => setTimeout(resolve, 400))
  return new Response(String(Deno.pid))
}})"
        )
    };
    let listen = "for (const type of ['error', 'unhandledrejection'])\n\
                  globalThis.addEventListener(type, (event) => event.preventDefault())";
    let of_node = "process.on('uncaughtException', () => {})\nprocess.on('unhandledRejection', () => {})";
    let [early, late, node] =
        [(listen, ""), ("", listen), (of_node, "")].map(|(first, later)| source(first, later));
    let files = [("early/index.ts", &*early), ("late/index.ts", &late), ("node/index.js", &node)];
    let project = Project::new(&files).await;
    for name in ["/early", "/late", "/node"] {
        let first = project.get(name).await;
        assert_eq!(first.status, 200, "{name} {}", first.text);
        assert_eq!(project.get(name).await.text, first.text);
    }
    project.functions.stop().await;
}

//! Errors that a function does not catch.

use bytes::Bytes;
use http::Method;
use poem::Request;

use crate::harness::{Answer, Listener, Project};

/// Says before it blocks its process, which then fails. Other calls are answered with the process and their body.
const FAILING: &str = r"
Deno.serve(async (request) => {
  const url = new URL(request.url)
  if (url.pathname.endsWith('/held')) return new Promise(() => {})
  if (!url.searchParams.has('tell')) return new Response(`${Deno.pid} ${await request.text()}`)
  const connection = await Deno.connect({ port: Number(url.searchParams.get('tell')) })
  setTimeout(() => {
    connection.write(new TextEncoder().encode('blocked'))
    for (const end = Date.now() + 1000; Date.now() < end; );
    if (url.pathname.endsWith('/reject')) Promise.reject(new Error('nobody catches this'))
    else throw new Error('nobody catches this')
  })
  return new Promise(() => {})
})";

fn worker_error() -> (u16, String) {
    (500, "WORKER_ERROR".to_owned())
}

#[tokio::test]
async fn calls_that_a_failing_process_has_not_begun_get_the_next_one() {
    let project = Project::new(&[("failing/index.ts", FAILING)]).await;
    let listener = Listener::open().await;
    for way in ["throw", "reject"] {
        let first = project.get("/failing").await.text;
        let failing = format!("/failing/{way}?tell={}", listener.port());
        let others = async {
            assert_eq!(listener.read().await, "blocked");
            let long = Request::builder()
                .method(Method::POST)
                .uri("/failing".parse().unwrap())
                .body(Bytes::from(vec![b'x'; 300 << 10]));
            let long = async { Answer::read(project.send(long).await).await };
            tokio::join!(project.get("/failing"), project.post("/failing", "short"), long)
        };
        let (failed, held, (get, post, long)) =
            tokio::join!(project.get(&failing), project.get("/failing/held"), others);
        // Their handlers had begun.
        assert_eq!((failed.refusal(), held.refusal()), (worker_error(), worker_error()), "{way}");
        assert_eq!(
            (get.status.as_u16(), post.status.as_u16()),
            (200, 200),
            "{way} {} {}",
            get.text,
            post.text
        );
        let (pid, body) = post.text.split_once(' ').unwrap();
        assert_eq!((format!("{pid} "), body), (get.text, "short"));
        assert_ne!(format!("{pid} "), first);
        // Too long to be kept for another process.
        assert_eq!(long.refusal(), worker_error());
        assert_eq!(long.header("x-basalt-not-begun"), "");
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

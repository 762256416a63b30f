//! What functions receive of a call, and what callers receive of a response.

use bytes::Bytes;
use futures_util::{StreamExt as _, stream};
use http::Method;
use poem::{Body, Request};

use crate::harness::Project;

const ECHO: &str = r"
Deno.serve(async (request, info) => {
  const url = new URL(request.url)
  return Response.json({
    method: request.method,
    origin: url.origin,
    path: url.pathname,
    query: url.search,
    header: request.headers.get('x-mine'),
    hop: request.headers.get('x-hop'),
    id: request.headers.get('x-request-id'),
    address: info.remoteAddr.hostname,
    body: await request.text(),
  }, { status: 201, headers: { 'x-response': 'yes', 'access-control-allow-origin': 'https://a.example' } })
})";

#[tokio::test]
async fn calls_and_responses_pass_unchanged() {
    let project = Project::new(&[("echo/index.ts", ECHO)]).await;
    let request = Request::builder()
        .method(Method::PATCH)
        .uri("/echo/deep/er?x=%2F&y".parse().unwrap())
        .header("host", "api.example:8443")
        .header("x-mine", "é")
        .header("connection", "x-hop")
        .header("x-hop", "1")
        .header("x-request-id", "mine-1")
        .header("content-length", "5")
        .body("hello");
    let response = crate::harness::Response::read(project.send(request).await).await;
    assert_eq!(response.status, 201);
    assert_eq!(response.header("x-response"), "yes");
    assert_eq!(response.header("access-control-allow-origin"), "https://a.example");
    assert_eq!(response.header("sb-request-id"), "mine-1");
    let seen = response.json();
    for (field, value) in [
        ("method", "PATCH"),
        ("origin", "http://api.example:8443"),
        ("path", "/echo/deep/er"),
        ("query", "?x=%2F&y"),
        ("id", "mine-1"),
        ("address", "0.0.0.0"),
        ("body", "hello"),
    ] {
        assert_eq!(seen[field], value, "{field}");
    }
    assert!(seen["hop"].is_null(), "{seen}");
    project.functions.stop().await;
}

#[tokio::test]
async fn functions_may_be_written_in_any_of_the_three_ways() {
    let older = r"
async function serve(handler) {
  const listener = Deno.listen({ port: 8000 })
  for (;;) {
    const http = Deno.serveHttp(await listener.accept())
    ;(async () => {
      for (let event; (event = await http.nextRequest()) !== null; ) event.respondWith(await handler(event.request))
    })()
  }
}
serve((request) => new Response('older ' + new URL(request.url).pathname))";
    let project = Project::new(&[
        ("options/index.ts", "Deno.serve({ port: 8000, handler: () => new Response('options') })"),
        ("exported/index.js", "export default { fetch: () => new Response('exported') }"),
        ("older/index.ts", older),
        (
            "shared/index.ts",
            "import { text } from '../_shared/text.ts'\nDeno.serve(() => new Response(text))",
        ),
        ("_shared/text.ts", "export const text: string = 'shared'"),
        ("mapped/deno.json", r#"{ "imports": { "words": "./words.ts" } }"#),
        ("mapped/words.ts", "export default 'mapped'"),
        ("mapped/index.ts", "import words from 'words'\nDeno.serve(() => new Response(words))"),
    ])
    .await;
    for (name, text) in [
        ("options", "options"),
        ("exported", "exported"),
        ("older", "older /older"),
        ("shared", "shared"),
        ("mapped", "mapped"),
    ] {
        let response = project.get(&format!("/{name}")).await;
        assert_eq!((response.status.as_u16(), response.text.as_str()), (200, text));
    }
    // A function in the older style responds to more than one call.
    assert_eq!(project.get("/older/again").await.text, "older /older/again");
    assert_eq!(project.get("/_shared").await.refusal(), (404, "NOT_FOUND".to_owned()));
    project.functions.stop().await;
}

#[tokio::test]
async fn bodies_stream_both_ways() {
    // Sends each part back before the next one arrives.
    let source = "Deno.serve((request) => new Response(request.body, { headers: { 'content-type': 'text/event-stream' } }))";
    let project = Project::new(&[("mirror/index.ts", source)]).await;
    let (sender, receiver) = tokio::sync::mpsc::channel::<Bytes>(1);
    let parts = stream::unfold(receiver, |mut receiver| async {
        let part = receiver.recv().await?;
        Some((Ok::<_, std::io::Error>(part), receiver))
    });
    let request = Request::builder()
        .method(Method::POST)
        .uri("/mirror".parse().unwrap())
        .header("transfer-encoding", "chunked")
        .body(Body::from_bytes_stream(parts));
    let (response, _) = tokio::join!(project.send(request), sender.send(Bytes::from_static(b"data: 1\n\n")));
    assert_eq!(response.header("content-type"), Some("text/event-stream"));
    let mut body = Box::pin(response.into_body().into_bytes_stream());
    assert_eq!(body.next().await.unwrap().unwrap(), "data: 1\n\n");
    let binary = Bytes::from_static(&[0, 255, 10, 13]);
    sender.send(binary.clone()).await.unwrap();
    assert_eq!(body.next().await.unwrap().unwrap(), binary);
    drop(sender);
    assert!(body.next().await.is_none());
    project.functions.stop().await;
}

#[tokio::test]
async fn large_bodies_arrive_completely_in_both_directions() {
    let source = r"
Deno.serve(async (request) => {
  const bytes = new Uint8Array(await request.arrayBuffer())
  if (request.url.endsWith('/stream')) return new Response(new Blob([bytes]).stream())
  return new Response(bytes, { headers: { 'x-length': request.headers.get('content-length') ?? 'none' } })
})";
    let project = Project::new(&[("large/index.ts", source)]).await;
    let bytes: Vec<u8> = (0..5_000_000_u32).map(|number| (number % 251) as u8).collect();
    for (path, name, value) in [
        ("/large", "content-length", bytes.len().to_string()),
        ("/large", "transfer-encoding", "chunked".to_owned()),
        ("/large/stream", "transfer-encoding", "chunked".to_owned()),
    ] {
        let request = Request::builder()
            .method(Method::POST)
            .uri(path.parse().unwrap())
            .header(name, &value)
            .body(bytes.clone());
        let response = project.send(request).await;
        if name == "content-length" {
            assert_eq!(response.header("x-length"), Some(value.as_str()));
        }
        assert!(response.into_body().into_bytes().await.unwrap() == bytes, "{path} {name}");
    }
    project.functions.stop().await;
}

#[tokio::test]
async fn a_response_may_arrive_before_the_call_has_ended() {
    let source = "Deno.serve((request) => new Response(request.method))";
    let project = Project::new(&[("hasty/index.ts", source)]).await;
    let endless = stream::repeat_with(|| Ok::<_, std::io::Error>(Bytes::from_static(&[0; 4096])));
    let request = Request::builder()
        .method(Method::POST)
        .uri("/hasty".parse().unwrap())
        .header("transfer-encoding", "chunked")
        .body(Body::from_bytes_stream(endless));
    assert_eq!(project.send(request).await.into_body().into_string().await.unwrap(), "POST");
    assert_eq!(project.get("/hasty").await.text, "GET");
    project.functions.stop().await;
}

#[tokio::test]
async fn responses_without_a_body_end_with_their_head() {
    let source = r"
Deno.serve((request) => {
  if (request.method === 'HEAD') return new Response('never sent', { headers: { 'x-response': 'head' } })
  return new Response(null, { status: request.url.endsWith('/same') ? 304 : 204, headers: { 'x-response': 'none' } })
})";
    let project = Project::new(&[("bodiless/index.ts", source)]).await;
    for _ in 0..2 {
        let head = Request::builder().method(Method::HEAD).uri("/bodiless".parse().unwrap()).finish();
        let response = crate::harness::Response::read(project.send(head).await).await;
        assert_eq!(
            (response.status.as_u16(), response.header("x-response"), response.text.as_str()),
            (200, "head", "")
        );
        for (path, status) in [("/bodiless", 204), ("/bodiless/same", 304)] {
            let response = project.get(path).await;
            assert_eq!((response.status.as_u16(), response.header("x-response")), (status, "none"));
        }
    }
    project.functions.stop().await;
}

#[tokio::test]
async fn a_function_notices_that_its_caller_has_gone() {
    let source = r"
let gone
const left = new Promise((resolve) => (gone = resolve))
Deno.serve(async (request) => {
  if (new URL(request.url).pathname.endsWith('/left')) return new Response(await left)
  const body = new ReadableStream({
    start: (controller) => controller.enqueue(new TextEncoder().encode('first')),
    cancel: () => gone('left'),
  })
  return new Response(body)
})";
    let project = Project::new(&[("slow/index.ts", source)]).await;
    let response = project.send(Request::builder().uri("/slow".parse().unwrap()).finish()).await;
    let mut body = Box::pin(response.into_body().into_bytes_stream());
    assert_eq!(body.next().await.unwrap().unwrap(), "first");
    drop(body);
    assert_eq!(project.get("/slow/left").await.text, "left");
    project.functions.stop().await;
}

#[tokio::test]
async fn redirects_preflights_and_failures_are_the_functions_own() {
    let source = r"
Deno.serve((request) => {
  if (request.method === 'OPTIONS') return new Response('ok', { headers: { 'access-control-allow-headers': 'x-own' } })
  const { pathname } = new URL(request.url)
  if (pathname.endsWith('/moved')) return Response.redirect('https://elsewhere.example/', 303)
  if (pathname.endsWith('/teapot')) return new Response('short and stout', { status: 418 })
  if (pathname.endsWith('/failed')) return new Response('my own words', { status: 503 })
  throw new Error('nobody catches this')
})";
    // This function requires a token, which preflights do not have.
    let project = Project::with(&[("own/index.ts", source)], |_| {}).await;
    let moved = project.get("/own/moved").await;
    assert_eq!((moved.status.as_u16(), moved.header("location")), (303, "https://elsewhere.example/"));
    let failed = project.get("/own/failed").await;
    assert_eq!((failed.status.as_u16(), failed.text.as_str()), (503, "my own words"));
    assert_eq!(failed.header("sb-error-code"), "EDGE_FUNCTION_ERROR");
    assert_eq!(failed.header("x-relay-error"), "");
    let thrown = project.get("/own").await;
    assert_eq!((thrown.status.as_u16(), thrown.text.as_str()), (500, "Internal Server Error"));
    assert_eq!(project.get("/own/teapot").await.status, 418);
    let preflight = Request::builder()
        .method(Method::OPTIONS)
        .uri("/own".parse().unwrap())
        .header("origin", "https://a.example")
        .header("access-control-request-method", "POST")
        .finish();
    let response = project.send(preflight).await;
    assert_eq!(response.header("access-control-allow-headers"), Some("x-own"));
    assert_eq!(response.header("access-control-allow-origin"), None);
    project.functions.stop().await;
}

#[tokio::test]
async fn an_invalid_host_does_not_change_the_url() {
    let source = "Deno.serve((request) => new Response(new URL(request.url).href))";
    let project = Project::new(&[("where/index.ts", source)]).await;
    for (hosts, url) in [
        (&["fans.example:8443"][..], "http://fans.example:8443/where/deep"),
        (&["[::1]:54321"], "http://[::1]:54321/where/deep"),
        (&["fans.example/other?"], "http://localhost/where/deep"),
        (&["fans.example#"], "http://localhost/where/deep"),
        (&["two words"], "http://localhost/where/deep"),
        (&[""], "http://localhost/where/deep"),
        (&["fans.example", "other.example"], "http://localhost/where/deep"),
        (&[], "http://localhost/where/deep"),
    ] {
        let mut request = Request::builder().uri("/where/deep".parse().unwrap());
        for host in hosts {
            request = request.header("host", *host);
        }
        let response = crate::harness::Response::read(project.send(request.finish()).await).await;
        assert_eq!(response.text, url, "{hosts:?}");
    }
    project.functions.stop().await;
}

#[cfg(target_os = "linux")]
#[tokio::test]
async fn a_connection_carries_one_call_after_the_other() {
    let source = "Deno.serve(() => new Response(JSON.parse(Deno.args[0]).calls))";
    let project = Project::new(&[("where/index.ts", source)]).await;
    // Source: proc_net(5); the sixth field is the state, of which 3 is connected, the seventh names the socket.
    let connections = |socket: &str| -> Vec<String> {
        let sockets = std::fs::read_to_string("/proc/net/unix").unwrap();
        let fields = sockets.lines().map(|line| line.split_whitespace().collect::<Vec<_>>());
        let connected =
            fields.filter(|fields| fields.get(5) == Some(&"03") && fields.get(7) == Some(&socket));
        connected.map(|fields| fields[6].to_owned()).collect()
    };
    let socket = project.get("/where").await.text;
    let before = connections(&socket);
    assert_eq!(before.len(), 1, "{socket}");
    for _ in 0..3 {
        assert_eq!(project.get("/where").await.text, socket);
    }
    assert_eq!(connections(&socket), before);
    project.functions.stop().await;
}

#[tokio::test]
async fn two_hundred_calls_at_once_all_get_a_response() {
    let source = r"
let inside = 0, most = 0
Deno.serve(async (request) => {
  most = Math.max(most, ++inside)
  const text = await request.text()
  inside--
  return Response.json({ text, most })
})";
    let project = Project::new(&[("many/index.ts", source)]).await;
    let calls = (0..200).map(|number| project.post("/many", number.to_string()));
    let responses = futures_util::future::join_all(calls).await;
    for (number, response) in responses.iter().enumerate() {
        assert_eq!(response.status, 200);
        assert_eq!(response.json()["text"], number.to_string());
    }
    project.functions.stop().await;
}

//! Limits of memory, processor time, time and number of calls.

use std::time::Duration;

use functions::Limits;
use futures_util::StreamExt as _;
use poem::Request;
use tokio::net::TcpListener;
use tokio::time::timeout;

use crate::harness::{PATIENCE, Project};

const HEALTHY: (&str, &str) = ("healthy/index.ts", "Deno.serve(() => new Response('well'))");

fn resources() -> (u16, String) {
    (546, "WORKER_RESOURCE_LIMIT".to_owned())
}

#[tokio::test]
async fn a_crash_only_affects_the_calls_of_its_process() {
    let crashing = r"
Deno.serve((request) => {
  if (!request.url.endsWith('/crash')) return new Response('in order')
  setTimeout(() => { throw new Error('nobody catches this') })
  return new Promise(() => {})
})";
    let project = Project::new(&[HEALTHY, ("crashing/index.ts", crashing)]).await;
    assert_eq!(project.get("/crashing").await.text, "in order");
    let (crashed, healthy) = tokio::join!(project.get("/crashing/crash"), project.get("/healthy"));
    assert_eq!(crashed.refusal(), (500, "WORKER_ERROR".to_owned()));
    assert_eq!(crashed.header("x-relay-error"), "true");
    assert_eq!(healthy.text, "well");
    assert_eq!(project.get("/crashing").await.text, "in order");
    project.functions.stop().await;
}

#[tokio::test]
async fn callers_that_end_processes_only_make_others_wait() {
    let crashing = r"
Deno.serve((request) => {
  if (!request.url.endsWith('/crash')) return new Response('in order')
  Deno.exit(1)
})";
    let project = Project::new(&[("crashing/index.ts", crashing)]).await;
    // None of these processes responds to a call.
    for _ in 0..8 {
        let (code, name) = project.get("/crashing/crash").await.refusal();
        assert_eq!((code, name.as_str()), (500, "WORKER_ERROR"));
    }
    for _ in 0..3 {
        assert_eq!(project.get("/crashing").await.text, "in order");
        project.get("/crashing/crash").await;
    }
    project.functions.stop().await;
}

#[tokio::test]
async fn a_loop_is_ended_while_others_stay_fast() {
    let looping =
        "Deno.serve((request) => { if (request.url.endsWith('/loop')) for (;;); return new Response('ok') })";
    let project = Project::with(&[HEALTHY, ("looping/index.ts", looping)], |settings| {
        settings.limits = Limits { cpu: Duration::from_millis(500), boot: PATIENCE, ..Limits::default() };
    })
    .await;
    assert_eq!(project.get("/healthy").await.text, "well");
    let (looped, _) = tokio::join!(project.get("/looping/loop"), async {
        for _ in 0..20 {
            assert_eq!(project.get("/healthy").await.text, "well");
        }
    });
    assert_eq!(looped.refusal(), resources());
    assert_eq!(project.get("/looping").await.text, "ok");
    project.functions.stop().await;
}

#[tokio::test]
async fn memory_is_limited_on_the_heap_and_outside() {
    let eating = r"
const kept = []
Deno.serve(async (request) => {
  if (request.url.endsWith('/heap')) for (;;) kept.push(new Array(10_000).fill(Math.random()))
  if (request.url.endsWith('/buffers')) {
    for (;;) {
      kept.push(new Uint8Array(8_000_000).fill(1))
      await new Promise((resolve) => setTimeout(resolve, 5))
    }
  }
  return new Response('ok')
})";
    let project = Project::with(&[HEALTHY, ("eating/index.ts", eating)], |settings| {
        settings.limits = Limits { memory: settings::Bytes(64 << 20), boot: PATIENCE, ..Limits::default() };
    })
    .await;
    for path in ["/eating/heap", "/eating/buffers"] {
        let (eaten, healthy) = tokio::join!(project.get(path), project.get("/healthy"));
        assert_eq!((eaten.refusal(), healthy.text.as_str()), (resources(), "well"), "{path}");
    }
    assert_eq!(project.get("/eating").await.text, "ok");
    project.functions.stop().await;
}

#[tokio::test]
async fn a_response_that_does_not_begin_is_given_up() {
    let slow = "Deno.serve((request) => request.url.endsWith('/never') ? new Promise(() => {}) : new Response('ok'))";
    let project = Project::with(&[HEALTHY, ("slow/index.ts", slow)], |settings| {
        settings.limits = Limits { request: Duration::from_secs(5), boot: PATIENCE, ..Limits::default() };
    })
    .await;
    // Started beforehand, so that the five seconds do not include the start.
    while project.get("/slow").await.status != 200 {}
    let (never, healthy) = tokio::join!(project.get("/slow/never"), project.get("/healthy"));
    assert_eq!(healthy.text, "well");
    assert_eq!(never.refusal(), (504, "IDLE_TIMEOUT".to_owned()));
    assert_eq!(never.json()["message"], "Request idle timeout limit (5s) reached");
    assert_eq!(project.get("/slow").await.text, "ok");
    project.functions.stop().await;
}

#[tokio::test]
async fn more_calls_than_may_wait_are_refused_at_once() {
    let held = r"
let release
const released = new Promise((resolve) => (release = resolve))
Deno.serve(async (request) => {
  if (request.url.endsWith('/open')) release()
  await released
  return new Response('ok')
})";
    let project = Project::with(&[("held/index.ts", held)], |settings| {
        settings.limits = Limits { concurrency: 1, queue: 1, boot: PATIENCE, ..Limits::default() };
    })
    .await;
    // The first call starts the process and is inside, the second waits, and for the third the queue is full.
    let (first, second, third) =
        tokio::join!(project.get("/held/open"), project.get("/held"), project.get("/held"));
    let responses = [first, second, third];
    let busy: Vec<_> = responses.iter().filter(|response| response.status == 546).collect();
    assert_eq!(busy.len(), 1);
    assert_eq!(busy[0].refusal(), (546, "WORKER_LIMIT".to_owned()));
    assert_eq!(busy[0].header("retry-after"), "1");
    project.functions.stop().await;
}

#[tokio::test]
async fn extremely_large_numbers_mean_no_limit() {
    let project = Project::with(&[HEALTHY], |settings| {
        settings.limits =
            Limits { concurrency: usize::MAX, queue: usize::MAX, boot: PATIENCE, ..Limits::default() };
    })
    .await;
    assert_eq!(project.get("/healthy").await.text, "well");
    project.functions.stop().await;
}

#[tokio::test]
async fn a_response_that_is_not_read_is_dropped_in_time() {
    let source = r"
Deno.serve((request) => {
  if (!request.url.endsWith('/endless')) return new Response('ok')
  return new Response(new ReadableStream({ pull: (controller) => controller.enqueue(new Uint8Array(65_536)) }))
})";
    let project = Project::with(&[("giving/index.ts", source)], |settings| {
        let wall_clock = Duration::from_secs(2);
        settings.limits = Limits { concurrency: 1, wall_clock, boot: PATIENCE, ..Limits::default() };
    })
    .await;
    let request = Request::builder().uri("/giving/endless".parse().unwrap()).finish();
    // This call has the only permit, and its body is not read.
    let untaken = project.send(request).await.into_body();
    assert_eq!(project.get("/giving").await.text, "ok");
    let mut parts = Box::pin(untaken.into_bytes_stream());
    let rest = async { while parts.next().await.expect("no end that looks like one").is_ok() {} };
    timeout(PATIENCE, rest).await.expect("an error in time");
    project.functions.stop().await;
}

#[tokio::test]
async fn a_blocked_process_is_ended() {
    // Blocks its only thread without using processor time.
    let source = r"
Deno.serve((request) => {
  if (request.url.endsWith('/stuck')) Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0)
  return new Response('ok')
})";
    let project = Project::with(&[HEALTHY, ("waiting/index.ts", source)], |settings| {
        settings.limits = Limits { request: Duration::from_secs(2), boot: PATIENCE, ..Limits::default() };
    })
    .await;
    assert_eq!(project.get("/healthy").await.text, "well");
    // The time limits of the call and of its process are reached at about the same time.
    let (status, _) = project.get("/waiting/stuck").await.refusal();
    assert!(matches!(status, 504 | 546), "{status}");
    let another = async { while project.get("/waiting").await.text != "ok" {} };
    timeout(PATIENCE, another).await.expect("another process");
    project.functions.stop().await;
}

#[tokio::test]
async fn calls_that_wait_for_a_failed_start_do_not_wait_for_the_next() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    // Connects when it runs, but never becomes ready.
    let source = format!(
        "await Deno.connect({{ port: {} }})\nawait new Promise((resolve) => setTimeout(resolve, 1_000_000))",
        listener.local_addr().unwrap().port()
    );
    let project = Project::with(&[("late/index.ts", &source)], |settings| {
        settings.limits = Limits { boot: Duration::from_secs(4), ..Limits::default() };
    })
    .await;
    let responses = futures_util::future::join_all((0..4).map(|_| project.get("/late"))).await;
    for response in responses {
        assert_eq!(response.refusal(), (503, "BOOT_ERROR".to_owned()));
    }
    let started = async {
        for _ in 0..2 {
            listener.accept().await.unwrap();
        }
    };
    // At most one process: on a busy machine it may be ended after its four seconds before it has connected.
    assert!(timeout(Duration::ZERO, started).await.is_err(), "it was started again");
    project.functions.stop().await;
}

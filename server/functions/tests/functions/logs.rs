//! Lines of the log that functions write.

use std::io;

use http::Method;
use poem::Request;
use serde_json::Value;
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};
use tokio::time::timeout;

use crate::harness::{PATIENCE, Project};

/// Passes lines of the log on.
struct Lines(UnboundedSender<Value>);

impl io::Write for Lines {
    fn write(&mut self, line: &[u8]) -> io::Result<usize> {
        // Once the test has seen enough, nothing receives the lines.
        let _ = self.0.send(serde_json::from_slice(line)?);
        Ok(line.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Returns a receiver of the lines of the whole process's log from here on.
fn listen() -> UnboundedReceiver<Value> {
    let (sender, receiver) = unbounded_channel();
    let writer = move || Lines(sender.clone());
    let log = tracing_subscriber::fmt().json().flatten_event(true).with_writer(writer).finish();
    tracing::subscriber::set_global_default(log).unwrap();
    receiver
}

#[tokio::test]
async fn log_lines_of_a_function_have_the_id_of_its_request() {
    let source = r"
const { promise: released, resolve: release } = Promise.withResolvers()
Deno.serve(async (request) => {
  const name = request.headers.get('x-name')
  console.log('%s begins', name)
  if (name === 'first') {
    await released
    EdgeRuntime.waitUntil(new Promise((resolve) => setTimeout(resolve, 50)).then(() => console.error('first goes on')))
  }
  release()
  console.warn(`${name} ends`)
  return new Response()
})";
    let mut lines = listen();
    let project = Project::new(&[("talking/index.ts", source)]).await;
    let call = |name: &'static str| {
        let request = Request::builder()
            .method(Method::POST)
            .uri("/talking".parse().unwrap())
            .header("x-name", name)
            .finish();
        project.send(request)
    };
    let (first, second) = tokio::join!(call("first"), call("second"));
    let [first, second] =
        [&first, &second].map(|response| response.header("sb-request-id").unwrap_or_default().to_owned());
    assert_ne!(first, second);
    let expected = [
        ("INFO", "first begins", &first),
        ("WARN", "first ends", &first),
        ("ERROR", "first goes on", &first),
        ("INFO", "second begins", &second),
        ("WARN", "second ends", &second),
    ];
    let mut seen = 0;
    let (mut accessed, all) = (0, expected.len());
    while seen < all || accessed < 2 {
        let line = timeout(PATIENCE, lines.recv()).await.expect("a line in time").unwrap();
        if line["target"] == "access" && (line["request_id"] == first || line["request_id"] == second) {
            accessed += 1;
        }
        for (level, text, id) in expected.iter().filter(|(_, text, _)| line["message"] == *text) {
            assert_eq!(
                (&line["request_id"], &line["level"]),
                (&Value::from(id.as_str()), &Value::from(*level))
            );
            assert_eq!(
                (&line["target"], &line["function"]),
                (&"function".into(), &"talking".into()),
                "{text}"
            );
            seen += 1;
        }
    }
    project.functions.stop().await;
}

//! A load generator: keep-alive HTTP/1.1 connections, each of which waits for a response before its next request.
//!
//! It runs on one thread and parses only as much HTTP as is needed to find the end of a response, so that it takes as
//! little processor time as possible from the measured server. Prints one JSON object: requests, failures (responses
//! with another status than the expected one), seconds, requests per second, and latencies in microseconds.

mod request;
mod response;
mod tally;
mod template;

use std::cell::Cell;
use std::io;
use std::path::PathBuf;
use std::process::ExitCode;
use std::rc::Rc;
use std::time::{Duration, Instant};

use clap::Parser;
use rand::rngs::SmallRng;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;
use tokio::task::{JoinSet, LocalSet};

use request::{Base, Requests};
use response::Response;
use tally::Tally;
use template::Source;

/// How long responses may arrive after the end of the measured time.
const GRACE: Duration = Duration::from_secs(30);
/// The maximum number of bytes of a failed response that are printed.
const MAX_SHOWN: usize = 400;

/// Sends requests over several connections for a while and prints how fast the responses came.
///
/// The requests are a JSON array of objects: method (GET), path, headers, body, status (the expected one; any of
/// 2xx), weight (1). In path, headers and body, {1..9} stands for a random integer, {uuid} for a random UUID, {seq}
/// for the next number of a sequence that begins with 1.
#[derive(Parser)]
struct Arguments {
    /// http://host:port/path that the requests' paths are below
    url: Base,
    /// File of the requests; standard input when absent
    requests: Option<PathBuf>,
    /// Connections, each with one request under way
    #[arg(short, long, default_value_t = 16, value_parser = clap::value_parser!(u16).range(1..))]
    connections: u16,
    /// How long to send requests
    #[arg(short, long, default_value_t = 5.0, value_parser = positive)]
    seconds: f64,
    /// Time before that which is not counted, in seconds
    #[arg(short, long, default_value_t = 1.0, value_parser = positive)]
    warmup: f64,
}

fn positive(text: &str) -> Result<f64, String> {
    let seconds: f64 = text.parse().map_err(|_| format!("expected a number of seconds, found {text}"))?;
    if (0.0..=86_400.0).contains(&seconds) {
        Ok(seconds)
    } else {
        Err("expected 0 to 86400 seconds".to_owned())
    }
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> ExitCode {
    match LocalSet::new().run_until(run(Arguments::parse())).await {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            let _ = io::Write::write_all(&mut io::stderr(), format!("load: {error}\n").as_bytes());
            ExitCode::FAILURE
        }
    }
}

async fn run(arguments: Arguments) -> io::Result<()> {
    let json = match &arguments.requests {
        Some(path) => std::fs::read_to_string(path)?,
        None => io::read_to_string(io::stdin())?,
    };
    let requests = Rc::new(Requests::parse(&json, &arguments.url)?);
    let sequence = Rc::new(Cell::new(1));
    let counted = Instant::now() + Duration::from_secs_f64(arguments.warmup);
    let end = counted + Duration::from_secs_f64(arguments.seconds);
    let mut tasks = JoinSet::new();
    for _ in 0..arguments.connections {
        let stream = TcpStream::connect(&arguments.url.authority).await?;
        tasks.spawn_local(send_requests(stream, Rc::clone(&requests), Rc::clone(&sequence), counted, end));
    }
    let all = async {
        let mut all = Tally::default();
        while let Some(tally) = tasks.join_next().await {
            all.add(tally.map_err(io::Error::other)??);
        }
        Ok::<_, io::Error>(all)
    };
    let all = tokio::time::timeout_at((end + GRACE).into(), all).await.map_err(|_| {
        io::Error::new(io::ErrorKind::TimedOut, format!("no response for {} s", GRACE.as_secs()))
    })??;
    let line = serde_json::to_string(&all.report(arguments.seconds))?;
    io::Write::write_all(&mut io::stdout(), format!("{line}\n").as_bytes())
}

/// Sends requests on `stream` until `end`, one after another; those before `counted` are warm-up.
async fn send_requests(
    mut stream: TcpStream,
    requests: Rc<Requests>,
    sequence: Rc<Cell<u64>>,
    counted: Instant,
    end: Instant,
) -> io::Result<Tally> {
    stream.set_nodelay(true)?;
    let mut source = Source { random: rand::make_rng::<SmallRng>(), sequence: &sequence };
    let mut tally = Tally::default();
    let mut response = Response::with_capacity(64 * 1024);
    let (mut bytes, mut scratch) = (Vec::new(), Vec::new());
    loop {
        let request = requests.choose(&mut source);
        request.render(&mut source, &mut bytes, &mut scratch);
        let start = Instant::now();
        if start >= end {
            return Ok(tally);
        }
        stream.write_all(&bytes).await?;
        response.restart(request.is_head);
        let status = read(&mut stream, &mut response).await?;
        tally.count((start >= counted).then(|| start.elapsed()));
        if !request.expects(status) {
            tally.fail(|| {
                let beginning = &response.bytes[..response.bytes.len().min(MAX_SHOWN)];
                String::from_utf8_lossy(beginning).into_owned()
            });
        }
    }
}

/// Reads a response to its end and returns the status.
async fn read(stream: &mut TcpStream, response: &mut Response) -> io::Result<u16> {
    loop {
        if stream.read_buf(&mut response.bytes).await? == 0 {
            return Err(io::Error::new(io::ErrorKind::UnexpectedEof, "the server closed the connection"));
        }
        if let Some(status) = response.complete()? {
            return Ok(status);
        }
    }
}

//! A load generator: keep-alive HTTP/1.1 connections that each wait for an answer before they ask again.
//!
//! It knows just enough HTTP to find the end of an answer, so that it costs the measured server as little of the
//! shared processor as can be. Prints one JSON object: requests, failures (answers outside 2xx), seconds,
//! requests per second, and latencies in microseconds.

mod answer;

use std::io;
use std::process::ExitCode;
use std::time::{Duration, Instant};

use clap::Parser;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;

/// Asks one URL again and again over several connections and prints how fast it was answered.
#[derive(Parser)]
struct Arguments {
    /// http://host:port/path?query
    url: String,
    /// Connections, each with one request under way.
    #[arg(short, long, default_value_t = 16)]
    connections: usize,
    /// How long to ask.
    #[arg(short, long, default_value_t = 5.0)]
    seconds: f64,
    /// Time before that which is not counted.
    #[arg(short, long, default_value_t = 1.0)]
    warmup: f64,
    /// A header, `Name: value`; may be repeated.
    #[arg(short = 'H', long = "header")]
    headers: Vec<String>,
    /// The method; POST by default when there is a body.
    #[arg(short = 'X', long)]
    method: Option<String>,
    /// A body to send.
    #[arg(short, long)]
    data: Option<String>,
}

/// What one connection saw.
#[derive(Default)]
struct Tally {
    latencies: Vec<u32>,
    failures: u64,
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> ExitCode {
    match run(&Arguments::parse()).await {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            let _ = io::Write::write_all(&mut io::stderr(), format!("load: {error}\n").as_bytes());
            ExitCode::FAILURE
        }
    }
}

async fn run(arguments: &Arguments) -> io::Result<()> {
    let (host, request) = request(arguments)?;
    let warm = Instant::now() + Duration::from_secs_f64(arguments.warmup);
    let end = warm + Duration::from_secs_f64(arguments.seconds);
    let mut tasks = tokio::task::JoinSet::new();
    for _ in 0..arguments.connections.max(1) {
        tasks.spawn(ask(host.clone(), request.clone(), warm, end));
    }
    let mut all = Tally::default();
    while let Some(tally) = tasks.join_next().await {
        let tally = tally.map_err(io::Error::other)??;
        all.latencies.extend(tally.latencies);
        all.failures += tally.failures;
    }
    report(all, arguments.seconds)
}

fn request(arguments: &Arguments) -> io::Result<(String, Vec<u8>)> {
    let bad = |what: &str| io::Error::new(io::ErrorKind::InvalidInput, format!("{}: {what}", arguments.url));
    let rest = arguments.url.strip_prefix("http://").ok_or_else(|| bad("expected http://host:port/path"))?;
    let (host, path) = rest.split_once('/').ok_or_else(|| bad("expected a path"))?;
    let method = arguments.method.as_deref().unwrap_or(if arguments.data.is_some() { "POST" } else { "GET" });
    let mut text = format!("{method} /{path} HTTP/1.1\r\nHost: {host}\r\n");
    for header in &arguments.headers {
        text.push_str(header);
        text.push_str("\r\n");
    }
    if let Some(data) = &arguments.data {
        text.push_str(&format!("Content-Length: {}\r\n", data.len()));
    }
    text.push_str("\r\n");
    text.push_str(arguments.data.as_deref().unwrap_or_default());
    Ok((host.to_owned(), text.into_bytes()))
}

async fn ask(host: String, request: Vec<u8>, warm: Instant, end: Instant) -> io::Result<Tally> {
    let mut stream = TcpStream::connect(&host).await?;
    stream.set_nodelay(true)?;
    let mut tally = Tally::default();
    let mut buffer = Vec::with_capacity(64 * 1024);
    loop {
        let start = Instant::now();
        if start >= end {
            return Ok(tally);
        }
        stream.write_all(&request).await?;
        buffer.clear();
        let status = loop {
            if stream.read_buf(&mut buffer).await? == 0 {
                return Err(io::Error::new(io::ErrorKind::UnexpectedEof, "the server closed the connection"));
            }
            if let Some(status) = answer::complete(&buffer) {
                break status;
            }
        };
        if start >= warm {
            tally.latencies.push(u32::try_from(start.elapsed().as_micros()).unwrap_or(u32::MAX));
            tally.failures += u64::from(!(200..300).contains(&status));
        }
    }
}

fn report(mut tally: Tally, seconds: f64) -> io::Result<()> {
    tally.latencies.sort_unstable();
    let count = tally.latencies.len();
    let at = |share: f64| {
        let index = ((count as f64 * share) as usize).min(count.saturating_sub(1));
        tally.latencies.get(index).copied().unwrap_or_default()
    };
    let line = serde_json::json!({
        "requests": count,
        "failures": tally.failures,
        "seconds": seconds,
        "per_second": (count as f64 / seconds).round(),
        "p50_us": at(0.50),
        "p99_us": at(0.99),
        "max_us": at(1.0),
    });
    io::Write::write_all(&mut io::stdout(), format!("{line}\n").as_bytes())
}

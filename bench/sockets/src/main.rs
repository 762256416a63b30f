//! A load generator for WebSockets: many sockets that receive, one that sends.
//!
//! It parses only as much as is needed to find the ends of frames, so that it takes as little processor time as
//! possible from the measured server. Prints one JSON object.

mod socket;

use std::cell::{Cell, RefCell};
use std::io;
use std::path::PathBuf;
use std::process::ExitCode;
use std::rc::Rc;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use clap::Parser;
use serde::Serialize;
use tokio::task::{JoinSet, LocalSet};

use socket::{Address, Reader, Writer};

/// The number of messages that are in transit when messages are sent as fast as possible.
const WINDOW: u64 = 8;
/// The number of sockets that are opened at the same time.
const OPENING: usize = 64;
/// How often a socket that listens shows that it lives. Realtime closes one that is silent for a minute.
const SIGN_OF_LIFE: Duration = Duration::from_secs(20);
/// How long messages may arrive after the end of the measured time.
const GRACE: Duration = Duration::from_secs(10);

/// Opens sockets, sends messages from one of them, and counts what all others receive.
#[derive(Parser)]
struct Arguments {
    /// ws://host:port/path?query
    url: Address,
    /// Where the socket that sends is opened, if elsewhere
    #[arg(long)]
    sender: Option<Address>,
    /// Sockets that listen
    #[arg(short = 'n', long, default_value_t = 1000)]
    sockets: u64,
    /// A frame that each socket sends first, and whose reply it waits for
    #[arg(long)]
    join: Option<String>,
    /// A file with a token in each line; each socket has the next one, for which {token} stands in its first frame
    #[arg(long)]
    tokens: Option<PathBuf>,
    /// The message; {t} stands for the time, {pad} for what makes the message as long as it should be
    #[arg(long, default_value = "{t} {pad}")]
    message: String,
    /// Bytes of a message
    #[arg(long, default_value_t = 128)]
    bytes: usize,
    /// Messages per second; 0 sends as fast as they arrive
    #[arg(long, default_value_t = 0)]
    rate: u32,
    /// How long to send
    #[arg(short, long, default_value_t = 5)]
    seconds: u64,
    /// Sends nothing: prints how fast the sockets were opened, and for each line of the standard input what came since
    #[arg(long)]
    listen: bool,
}

/// The messages that all sockets have received.
#[derive(Default)]
struct Receipts {
    messages: Cell<u64>,
    /// Microseconds from sending to receiving, for some of the messages.
    latencies: RefCell<Vec<u32>>,
}

impl Receipts {
    /// Counts a message.
    fn add(&self, payload: &[u8]) {
        self.messages.set(self.messages.get() + 1);
        // One message in sixteen is enough for percentiles.
        if self.messages.get().is_multiple_of(16)
            && let Some(sent) = time_in(payload)
        {
            self.latencies.borrow_mut().push(now().saturating_sub(sent) as u32);
        }
    }

    /// Returns percentiles in milliseconds of the latencies since the last call.
    fn percentiles(&self) -> [f64; 2] {
        let mut latencies = self.latencies.take();
        latencies.sort_unstable();
        [0.5, 0.99].map(|share| {
            let index = (latencies.len() as f64 * share) as usize;
            let latency = latencies.get(index.min(latencies.len().saturating_sub(1)));
            latency.map_or(0.0, |micros| f64::from(*micros) / 1000.0)
        })
    }
}

#[derive(Serialize)]
struct Report {
    joins_per_second: f64,
    sent: u64,
    expected: u64,
    received: u64,
    deliveries_per_second: f64,
    p50_milliseconds: f64,
    p99_milliseconds: f64,
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> ExitCode {
    match LocalSet::new().run_until(run(Arguments::parse())).await {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            let _ = io::Write::write_all(&mut io::stderr(), format!("sockets: {error}\n").as_bytes());
            ExitCode::FAILURE
        }
    }
}

async fn run(arguments: Arguments) -> io::Result<()> {
    let begun = Instant::now();
    let readers = open(&arguments).await?;
    let joins_per_second = readers.len() as f64 / begun.elapsed().as_secs_f64();
    let receipts = Rc::new(Receipts::default());
    // The sockets stay open until their writers are dropped.
    let mut writers = Vec::new();
    for (reader, writer) in readers {
        let receipts = Rc::clone(&receipts);
        writers.push(writer);
        tokio::task::spawn_local(async move { reader.count(|payload| receipts.add(payload)).await });
    }
    if arguments.listen {
        tokio::task::spawn_local(show_life(writers));
        listen(joins_per_second, &receipts).await
    } else {
        send(&arguments, joins_per_second, &receipts).await
    }
}

/// Keeps sockets open that send nothing else.
async fn show_life(mut writers: Vec<Writer>) -> io::Result<()> {
    loop {
        tokio::time::sleep(SIGN_OF_LIFE).await;
        for writer in &mut writers {
            writer.pong().await?;
        }
    }
}

/// Prints, for each line of the standard input, what was received since the previous line.
async fn listen(joins_per_second: f64, receipts: &Receipts) -> io::Result<()> {
    print(&serde_json::json!({ "joins_per_second": joins_per_second }))?;
    while tokio::task::spawn_blocking(read_line).await.map_err(io::Error::other)?? {
        let [p50, p99] = receipts.percentiles();
        let received = receipts.messages.get();
        print(
            &serde_json::json!({ "received": received, "p50_milliseconds": p50, "p99_milliseconds": p99 }),
        )?;
    }
    Ok(())
}

/// Sends messages, waits for those that have not arrived yet, and prints the report.
async fn send(arguments: &Arguments, joins_per_second: f64, receipts: &Receipts) -> io::Result<()> {
    let url = arguments.sender.as_ref().unwrap_or(&arguments.url);
    let (_, mut sender) = socket::open(url, arguments.join.as_deref()).await?;
    let (mut sent, end) = (0, Duration::from_secs(arguments.seconds));
    let started = Instant::now();
    while started.elapsed() < end {
        let missing = || sent * arguments.sockets - receipts.messages.get();
        match arguments.rate {
            0 => {
                while missing() > WINDOW * arguments.sockets {
                    tokio::time::sleep(Duration::from_micros(100)).await;
                }
            }
            rate => {
                let due = started + Duration::from_secs_f64(sent as f64 / f64::from(rate));
                tokio::time::sleep_until(due.into()).await;
            }
        }
        sender.send(message(arguments).as_bytes()).await?;
        sent += 1;
        tokio::task::yield_now().await;
    }
    let expected = sent * arguments.sockets;
    let grace = Instant::now();
    while receipts.messages.get() < expected && grace.elapsed() < GRACE {
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    let seconds = started.elapsed().as_secs_f64();
    let [p50_milliseconds, p99_milliseconds] = receipts.percentiles();
    print(&Report {
        joins_per_second,
        sent,
        expected,
        received: receipts.messages.get(),
        deliveries_per_second: receipts.messages.get() as f64 / seconds,
        p50_milliseconds,
        p99_milliseconds,
    })
}

/// Returns the message with the current time.
fn message(arguments: &Arguments) -> String {
    let text = arguments.message.replace("{t}", &format!("{:016}", now()));
    let pad = arguments.bytes.saturating_sub(text.len() - "{pad}".len());
    text.replace("{pad}", &"x".repeat(pad))
}

/// Opens the receiving sockets, several at the same time.
async fn open(arguments: &Arguments) -> io::Result<Vec<(Reader, Writer)>> {
    let (mut opened, mut opening) = (Vec::new(), JoinSet::new());
    let tokens = arguments.tokens.as_ref().map_or(Ok(String::new()), std::fs::read_to_string)?;
    let mut tokens = tokens.lines().cycle();
    for _ in 0..arguments.sockets {
        if opening.len() >= OPENING
            && let Some(socket) = opening.join_next().await
        {
            opened.push(socket.map_err(io::Error::other)??);
        }
        let token = tokens.next().unwrap_or_default();
        let join = arguments.join.as_ref().map(|join| join.replace("{token}", token));
        let url = arguments.url.clone();
        opening.spawn_local(async move { socket::open(&url, join.as_deref()).await });
    }
    while let Some(socket) = opening.join_next().await {
        opened.push(socket.map_err(io::Error::other)??);
    }
    Ok(opened)
}

/// Reads a line of the standard input; reports whether there was one.
fn read_line() -> io::Result<bool> {
    Ok(io::stdin().read_line(&mut String::new())? > 0)
}

/// Returns the time in microseconds since 1970.
fn now() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |elapsed| elapsed.as_micros() as u64)
}

/// Returns the time in a message: the first sixteen consecutive digits.
fn time_in(payload: &[u8]) -> Option<u64> {
    let digits = payload.windows(16).find(|window| window.iter().all(u8::is_ascii_digit))?;
    std::str::from_utf8(digits).ok()?.parse().ok()
}

fn print(report: &impl Serialize) -> io::Result<()> {
    let line = serde_json::to_string(report)?;
    io::Write::write_all(&mut io::stdout(), format!("{line}\n").as_bytes())
}

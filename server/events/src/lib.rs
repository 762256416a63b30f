//! What has happened on this node recently: requests, and messages of services and functions, in memory.
//!
//! Recording is for the path of every request: it copies texts, and holds a lock for the time of a push. What an event
//! looks like to somebody who reads it is decided when somebody does.

mod ring;

use std::net::IpAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::time::{Duration, SystemTime};

use bytes::Bytes;
use http::Method;

use ring::Ring;

/// How many bytes events may take together until [`Events::limit`] says otherwise.
const MEMORY: usize = 16 << 20;
/// The longest text of an event in bytes: the rest of a longer one is left out.
const LONGEST: usize = 8 << 10;
/// The longest user agent in bytes.
const LONGEST_AGENT: usize = 256;

/// Where an event comes from. Each has a share of the memory of its own, so that many events of one do not displace the
/// few of another.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Source {
    /// Requests to all services except functions.
    Requests,
    /// Calls of functions.
    Calls,
    /// What functions write.
    Functions,
    /// Messages of auth.
    Auth,
    /// Messages of storage.
    Storage,
    /// Messages of realtime.
    Realtime,
    /// Messages of REST.
    Rest,
    /// Messages of everything else.
    Server,
}

/// The number of [`Source`]s.
const SOURCES: usize = 8;

/// How serious a message is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Level {
    /// For those who look for a mistake.
    Debug,
    /// As it should be.
    Info,
    /// Something may be wrong.
    Warning,
    /// Something is wrong.
    Error,
}

impl Level {
    /// Returns its name.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Debug => "debug",
            Self::Info => "info",
            Self::Warning => "warning",
            Self::Error => "error",
        }
    }
}

/// Something that has happened.
#[derive(Debug, Clone)]
pub struct Event {
    /// The number of the event on this node: later ones have larger numbers.
    pub number: u64,
    /// When it happened.
    pub time: SystemTime,
    /// What it was.
    pub what: What,
}

/// What has happened.
#[derive(Debug, Clone)]
pub enum What {
    /// A request was answered.
    Request(Request),
    /// A service or a function said something.
    Message(Message),
}

/// A request that was answered.
#[derive(Debug, Clone)]
pub struct Request {
    /// The service's name in the access log.
    pub service: &'static str,
    /// Its method.
    pub method: Method,
    /// The status of the response.
    pub status: u16,
    /// The time from its first byte to the head of the response.
    pub took: Duration,
    /// The client's address.
    pub address: IpAddr,
    /// Its path, its id and its user agent.
    pub texts: RequestTexts,
}

/// The texts of a request, in one allocation.
#[derive(Debug, Clone)]
pub struct RequestTexts {
    /// UTF-8. Copies of the event share it, but it is made without a second allocation for that.
    all: Bytes,
    path: usize,
    id: usize,
}

impl RequestTexts {
    /// Copies the path, the id and the user agent. The path has no query string: that may hold keys and tokens.
    pub fn new(path: &str, id: &str, agent: &str) -> Self {
        let (path, agent) = (shortened(path, LONGEST), shortened(agent, LONGEST_AGENT));
        let mut all = String::with_capacity(path.len() + id.len() + agent.len());
        all.extend([path, id, agent]);
        Self { all: all.into_bytes().into(), path: path.len(), id: path.len() + id.len() }
    }

    /// Returns the path.
    pub fn path(&self) -> &str {
        text(&self.all[..self.path])
    }

    /// Returns the id of the request.
    pub fn id(&self) -> &str {
        text(&self.all[self.path..self.id])
    }

    /// Returns the user agent; empty without one.
    pub fn agent(&self) -> &str {
        text(&self.all[self.id..])
    }
}

/// Returns bytes that were a text as one.
fn text(bytes: &[u8]) -> &str {
    std::str::from_utf8(bytes).unwrap_or_default()
}

/// What a service or a function says.
#[derive(Debug, Clone)]
pub struct Message {
    /// Who says it.
    pub source: Source,
    /// How serious it is.
    pub level: Level,
    /// What it says.
    pub text: Arc<str>,
    /// Values that belong to it.
    pub fields: Arc<[(&'static str, String)]>,
}

impl Message {
    /// Returns a message, whose texts may be shortened.
    pub fn new(source: Source, level: Level, text: &str, mut fields: Vec<(&'static str, String)>) -> Self {
        for (_, value) in &mut fields {
            value.truncate(shortened(value, LONGEST).len());
        }
        Self { source, level, text: shortened(text, LONGEST).into(), fields: fields.into() }
    }
}

/// Returns the first bytes of `text` that fit into `longest`.
fn shortened(text: &str, longest: usize) -> &str {
    &text[..text.floor_char_boundary(longest)]
}

impl What {
    fn source(&self) -> Source {
        match self {
            Self::Request(request) if request.service == "functions" => Source::Calls,
            Self::Request(_) => Source::Requests,
            Self::Message(message) => message.source,
        }
    }

    /// Returns about how many bytes it takes.
    fn size(&self) -> usize {
        let texts = match self {
            Self::Request(request) => request.texts.all.len(),
            Self::Message(message) => {
                let fields = message.fields.iter();
                message.text.len() + fields.map(|field| size_of_val(field) + field.1.len()).sum::<usize>()
            }
        };
        // An allocation has about 32 bytes beside its content.
        size_of::<Event>() + 32 + texts
    }
}

/// The recent events of this node.
#[derive(Debug)]
pub struct Events {
    rings: [Ring; SOURCES],
    /// How many bytes all events may take together.
    memory: AtomicUsize,
    next: AtomicU64,
}

impl Default for Events {
    fn default() -> Self {
        Self { rings: Default::default(), memory: AtomicUsize::new(MEMORY), next: AtomicU64::new(0) }
    }
}

impl Events {
    /// Sets how many bytes events may take together. With 0, nothing is kept.
    pub fn limit(&self, memory: usize) {
        self.memory.store(memory, Ordering::Relaxed);
        if memory == 0 {
            self.rings.iter().for_each(Ring::clear);
        }
    }

    /// Reports whether events are kept.
    pub fn are_kept(&self) -> bool {
        self.memory.load(Ordering::Relaxed) > 0
    }

    /// Keeps what has happened just now, and forgets the oldest of its source if there is no more room.
    pub fn push(&self, what: What) {
        let share = self.memory.load(Ordering::Relaxed) / SOURCES;
        if share == 0 {
            return;
        }
        let (source, size) = (what.source(), what.size());
        let event =
            Event { number: self.next.fetch_add(1, Ordering::Relaxed), time: SystemTime::now(), what };
        self.rings[source as usize].push(event, size, share);
    }

    /// Returns the events from `begin` to `end`, in no particular order.
    pub fn between(&self, begin: SystemTime, end: SystemTime) -> Vec<Event> {
        let is_wanted = |event: &Event| event.time >= begin && event.time <= end;
        self.rings.iter().flat_map(|ring| ring.matching(is_wanted)).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn message(source: Source, text: &str) -> What {
        What::Message(Message::new(source, Level::Info, text, Vec::new()))
    }

    fn texts(events: &Events) -> Vec<String> {
        let mut all = events.between(SystemTime::UNIX_EPOCH, SystemTime::now());
        all.sort_by_key(|event| event.number);
        let text = |event: Event| match event.what {
            What::Message(message) => message.text.to_string(),
            What::Request(request) => request.texts.path().to_owned(),
        };
        all.into_iter().map(text).collect()
    }

    #[test]
    fn the_oldest_of_a_source_goes_first() {
        let events = Events::default();
        events.limit(SOURCES * 2 * message(Source::Auth, "a").size());
        events.push(message(Source::Server, "kept"));
        for text in ["a", "b", "c"] {
            events.push(message(Source::Auth, text));
        }
        assert_eq!(texts(&events), ["kept", "b", "c"]);
        events.push(message(Source::Auth, &"x".repeat(3 * LONGEST)));
        assert_eq!(texts(&events), ["kept"], "one that is larger than the share is not kept");
    }

    #[test]
    fn nothing_is_kept_without_memory() {
        let events = Events::default();
        events.push(message(Source::Auth, "a"));
        events.limit(0);
        events.push(message(Source::Auth, "b"));
        assert!(texts(&events).is_empty() && !events.are_kept());
    }

    #[test]
    fn texts_of_a_request_are_told_apart() {
        let texts = RequestTexts::new("/rest/v1/ä", "id-1", &"é".repeat(LONGEST_AGENT));
        assert_eq!((texts.path(), texts.id()), ("/rest/v1/ä", "id-1"));
        assert_eq!(texts.agent(), "é".repeat(LONGEST_AGENT / 2));
    }
}

//! How long each step of a request took, for the `Server-Timing` header (W3C, Server Timing).

use std::fmt::Write as _;
use std::time::Instant;

/// A clock that records each lap, or does nothing if it is disabled.
pub(crate) struct Timing(Option<(Instant, String)>);

impl Timing {
    /// Starts the clock if it `is_enabled`.
    pub(crate) fn new(is_enabled: bool) -> Self {
        Self(is_enabled.then(|| (Instant::now(), String::new())))
    }

    /// Ends the step called `name`.
    pub(crate) fn lap(&mut self, name: &str) {
        let Some((since, text)) = &mut self.0 else { return };
        let now = Instant::now();
        let separator = if text.is_empty() { "" } else { ", " };
        // Writing into a text cannot fail.
        let _ = write!(text, "{separator}{name};dur={:.1}", (now - *since).as_secs_f64() * 1000.0);
        *since = now;
    }

    /// Returns the header's value.
    pub(crate) fn header(&mut self) -> Option<String> {
        self.0.take().map(|(_, text)| text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn steps_are_listed_in_milliseconds() {
        let mut timing = Timing::new(true);
        timing.lap("jwt");
        timing.lap("parse");
        let header = timing.header().unwrap();
        assert!(header.starts_with("jwt;dur=0.") && header.contains(", parse;dur=0."), "{header}");
        let mut off = Timing::new(false);
        off.lap("jwt");
        assert_eq!(off.header(), None);
    }
}

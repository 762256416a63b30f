//! Keeps messages of the log as events, for operators who ask over the platform interface what has happened.

use std::fmt::{Debug, Write as _};
use std::sync::Arc;

use events::{Events, Message, Source, What};
use tracing::field::{Field, Visit};
use tracing::{Event, Level, Subscriber};
use tracing_subscriber::Layer;
use tracing_subscriber::layer::Context;

/// What is kept, whatever the log has. Requests are kept by the gateway, the audit log is a table, and the banner has
/// keys and the URL of the database.
pub(super) const DIRECTIVES: &str =
    "info,poem=warn,access=off,audit=off,basalt::commands::serve::banner=off,function=debug";

/// The field whose value is the message.
const MESSAGE: &str = "message";

/// Keeps messages.
pub(super) struct Recent(pub(super) Arc<Events>);

impl<S: Subscriber> Layer<S> for Recent {
    fn on_event(&self, event: &Event<'_>, _: Context<'_, S>) {
        if !self.0.are_kept() {
            return;
        }
        let mut texts = Texts::default();
        event.record(&mut texts);
        let metadata = event.metadata();
        let source = source_of(metadata.target());
        let level = match *metadata.level() {
            Level::ERROR => events::Level::Error,
            Level::WARN => events::Level::Warning,
            Level::INFO => events::Level::Info,
            Level::DEBUG | Level::TRACE => events::Level::Debug,
        };
        self.0.push(What::Message(Message::new(source, level, &texts.message, texts.fields)));
    }
}

/// Returns where a message with the target `target` comes from: most targets are names of modules.
fn source_of(target: &str) -> Source {
    match target.split("::").next().unwrap_or_default() {
        "function" => Source::Functions,
        "auth" => Source::Auth,
        "storage" => Source::Storage,
        "realtime" => Source::Realtime,
        "rest" => Source::Rest,
        _ => Source::Server,
    }
}

/// The values of a message.
#[derive(Default)]
struct Texts {
    message: String,
    fields: Vec<(&'static str, String)>,
}

impl Visit for Texts {
    fn record_str(&mut self, field: &Field, value: &str) {
        match field.name() {
            MESSAGE => value.clone_into(&mut self.message),
            name => self.fields.push((name, value.to_owned())),
        }
    }

    fn record_debug(&mut self, field: &Field, value: &dyn Debug) {
        match field.name() {
            // It cannot fail: the text is in memory.
            MESSAGE => drop(write!(self.message, "{value:?}")),
            name => self.fields.push((name, format!("{value:?}"))),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::time::SystemTime;

    use tracing_subscriber::EnvFilter;
    use tracing_subscriber::layer::SubscriberExt as _;

    use super::*;

    #[test]
    fn messages_are_kept_whatever_the_log_has() {
        let events = Arc::new(Events::default());
        let layer = Recent(Arc::clone(&events)).with_filter(EnvFilter::builder().parse_lossy(DIRECTIVES));
        tracing::subscriber::with_default(tracing_subscriber::registry().with(layer), || {
            tracing::warn!(target: "auth::mail", error = %"refused", tries = 2, "a mail was not sent");
            tracing::debug!(target: "function", function = "hello", "hi");
            tracing::debug!(target: "auth", "left out");
            tracing::info!(target: "audit", "left out");
        });
        let kept = events.between(SystemTime::UNIX_EPOCH, SystemTime::now());
        let messages: Vec<_> = kept
            .into_iter()
            .map(|event| match event.what {
                What::Message(message) => message,
                What::Request(_) => panic!("a request"),
            })
            .collect();
        let sources: Vec<_> = messages.iter().map(|message| message.source).collect();
        assert_eq!(sources, [Source::Functions, Source::Auth]);
        assert_eq!(&*messages[1].text, "a mail was not sent");
        assert_eq!(*messages[1].fields, [("error", "refused".to_owned()), ("tries", "2".to_owned())]);
    }
}

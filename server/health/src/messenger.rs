//! Tells the operator of problems: once a day while there are any, and at once when a critical one begins.
//!
//! Of several servers on one database each tells of its own machine. Of what all of them see, only the one that has the
//! lead does.

use std::fmt::Write as _;
use std::sync::Arc;
use std::time::Duration;

use ::settings::Secret;
use futures_util::future::{BoxFuture, join_all};
use parking_lot::RwLock;
use serde_json::{Value, json};
use time::OffsetDateTime;
use time::format_description::well_known::Rfc3339;
use tokio::time::sleep;
use tokio_util::sync::CancellationToken;

use crate::list::List;
use crate::monitor::Monitor;
use crate::problem::Problem;
use crate::settings::Settings;
use crate::webhook;

/// How often a message is tried, and the pauses between.
const PAUSES: [Duration; 2] = [Duration::from_secs(5), Duration::from_secs(20)];
/// The shortest time between two messages about critical problems: one that comes and goes must not fill a mailbox.
const LEAST_PAUSE: time::Duration = time::Duration::minutes(10);
/// The most problems that the text of a message has.
const MOST: usize = 50;

/// A mail to the operator.
#[derive(Debug, Clone)]
pub struct Letter {
    /// Where it goes.
    pub to: String,
    /// Its subject.
    pub subject: String,
    /// Its text.
    pub text: String,
}

/// Sends a mail. Errors: a sentence for the log.
pub type MailSender = Arc<dyn Fn(Letter) -> BoxFuture<'static, Result<(), String>> + Send + Sync>;

/// Takes the lead among the servers of a database, or says whether this one has it.
pub type Lead = Box<dyn Fn() -> BoxFuture<'static, bool> + Send + Sync>;

/// How messages are sent.
#[derive(Clone, Default)]
pub struct Delivery {
    /// Where they go.
    pub settings: Settings,
    /// Sends mails; `None` without auth, which sends them.
    pub mail: Option<MailSender>,
}

/// What messages say of this server.
#[derive(Debug, Clone)]
pub struct About {
    /// The URL of its API.
    pub server: String,
    /// The name of its machine.
    pub node: String,
    /// The reference of its project, if it has one.
    pub project: Option<String>,
}

/// Tells the operator.
pub struct Messenger {
    monitor: Monitor,
    delivery: Arc<RwLock<Delivery>>,
    about: About,
    lead: Lead,
    /// The time until which daily messages were sent, or were not due.
    daily_until: OffsetDateTime,
    /// When a message about critical problems was sent last.
    alarmed_at: Option<OffsetDateTime>,
}

/// Why a message is sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Event {
    Daily,
    Critical,
}

impl Messenger {
    /// Returns what tells of the problems that `monitor` finds, by the `delivery` of the time.
    pub fn new(monitor: Monitor, delivery: Arc<RwLock<Delivery>>, about: About, lead: Lead) -> Self {
        let daily_until = OffsetDateTime::now_utc();
        Self { monitor, delivery, about, lead, daily_until, alarmed_at: None }
    }

    /// Sends what is due, until `stop`.
    pub async fn run(mut self, stop: CancellationToken) {
        let mut lists = self.monitor.lists();
        let telling = async {
            // There is a new list at least every half minute.
            while lists.changed().await.is_ok() {
                let list = lists.borrow_and_update().clone();
                if let Some(list) = list {
                    self.consider(&list).await;
                }
            }
        };
        stop.run_until_cancelled(telling).await;
    }

    async fn consider(&mut self, list: &List) {
        let delivery = self.delivery.read().clone();
        let now = list.checked_at;
        let is_daily = is_due(self.daily_until, now, delivery.settings.second_of_day());
        self.daily_until = now;
        if delivery.settings.webhook.is_none() && delivery.settings.mail_to.is_none() {
            return;
        }
        let has_lead = (self.lead)().await;
        let problems: Vec<Problem> =
            list.problems().filter(|problem| has_lead || !problem.is_shared).cloned().collect();
        let untold = |problem: &Problem| problem.is_critical() && !problem.is_told;
        let may_alarm = self.alarmed_at.is_none_or(|at| now - at >= LEAST_PAUSE);
        let event = match is_daily {
            true if !problems.is_empty() => Event::Daily,
            _ if may_alarm && problems.iter().any(untold) => Event::Critical,
            _ => return,
        };
        if event == Event::Critical {
            self.alarmed_at = Some(now);
        }
        if self.send(&delivery, event, now, &problems).await {
            // A warning is told of again when it becomes critical.
            let critical: Vec<Problem> = problems.into_iter().filter(Problem::is_critical).collect();
            self.monitor.note_told(&critical).await;
        }
    }

    /// Sends a message by all ways that are set. Reports whether one of them took it.
    async fn send(
        &self,
        delivery: &Delivery,
        event: Event,
        now: OffsetDateTime,
        problems: &[Problem],
    ) -> bool {
        let Delivery { settings, mail } = delivery;
        let message = Message { about: &self.about, event, now, problems };
        let by_webhook = settings.webhook.clone().map(|url| Way::Webhook(url, message.body()));
        let by_mail = settings.mail_to.clone().map(|to| {
            let letter = Letter { to, subject: message.subject(), text: message.text() };
            Way::Mail(mail.clone(), letter)
        });
        let sent = join_all(by_webhook.into_iter().chain(by_mail).map(Way::send)).await;
        sent.contains(&true)
    }
}

/// A way to the operator, with what goes there.
enum Way {
    Webhook(Secret, Value),
    /// `None` without auth, which sends mails.
    Mail(Option<MailSender>, Letter),
}

impl Way {
    /// Tries it up to three times. Reports whether it was sent.
    async fn send(self) -> bool {
        let mut pauses = PAUSES.into_iter();
        loop {
            let Err(error) = self.attempt().await else { return true };
            match (pauses.next(), &self) {
                (Some(pause), _) => sleep(pause).await,
                (None, Self::Webhook(..)) => {
                    tracing::warn!(error, "the webhook could not be told of problems");
                    return false;
                }
                (None, Self::Mail(..)) => {
                    tracing::warn!(error, "no mail about problems could be sent");
                    return false;
                }
            }
        }
    }

    async fn attempt(&self) -> Result<(), String> {
        match self {
            Self::Webhook(url, body) => webhook::post(url, body).await,
            Self::Mail(Some(mail), letter) => mail(letter.clone()).await,
            Self::Mail(None, _) => Err("auth, which sends mails, is off".to_owned()),
        }
    }
}

/// Reports whether the time of day that is `second` seconds after midnight lies after `before`, and not after `now`.
fn is_due(before: OffsetDateTime, now: OffsetDateTime, second: u32) -> bool {
    let today = now.replace_time(time::Time::MIDNIGHT) + time::Duration::seconds(second.into());
    let last = if today <= now { today } else { today - time::Duration::DAY };
    before < last
}

/// What is sent.
struct Message<'m> {
    about: &'m About,
    event: Event,
    now: OffsetDateTime,
    problems: &'m [Problem],
}

impl Message<'_> {
    fn subject(&self) -> String {
        let critical = self.problems.iter().filter(|problem| problem.is_critical()).count();
        let problems = match self.problems.len() {
            1 => "1 problem".to_owned(),
            count => format!("{count} problems"),
        };
        let critical = if critical > 0 { format!(" ({critical} critical)") } else { String::new() };
        format!("{}: {problems}{critical}", self.about.server)
    }

    fn text(&self) -> String {
        let mut text = format!("{}\nOn {}\n", self.subject(), self.about.node);
        for Problem { finding, since, .. } in self.problems.iter().take(MOST) {
            let severity = finding.severity.name().to_uppercase();
            let since = since.format(&Rfc3339).unwrap_or_default();
            let _ = write!(
                text,
                "\n{severity} {}: {}\n{}.\nSince {since}\nTo do: {}.\n",
                finding.name, finding.subject, finding.what, finding.remedy
            );
        }
        if self.problems.len() > MOST {
            let _ = writeln!(text, "\nand {} more: basalt doctor --public", self.problems.len() - MOST);
        }
        text
    }

    fn body(&self) -> Value {
        json!({
            "event": match self.event { Event::Daily => "daily", Event::Critical => "critical" },
            "server": self.about.server,
            "node": self.about.node,
            "project": self.about.project,
            "sent_at": self.now.format(&Rfc3339).unwrap_or_default(),
            "text": self.text(),
            "problems": self.problems,
        })
    }
}

#[cfg(test)]
mod tests;

//! Rate limits: how many requests of a kind a client may make in a time.
//!
//! Counted in Postgres by all nodes together, one statement per request, except for refreshes: those are counted by
//! each node in memory, so that a refresh stays one round trip (`docs/decisions/0008-where-limits-count.md`), and
//! reported to the other nodes. In a server that replaces upstream's binary each process counts everything alone.

mod memory;
mod shared;
mod tries;

use std::borrow::Cow;
use std::net::IpAddr;
use std::sync::Arc;
use std::time::{Duration, Instant};

use gateway::{Network, Nodes};
use parking_lot::Mutex;
use postgres::Database;

use crate::error::refusals;
use crate::{Code, Error, LimitSettings, Rate};
use memory::Memory;
use shared::SharedCounters;

/// What notes to the other nodes are about: each names the client of a refresh.
const SUBJECT: &str = "refreshes";
const MINUTE: f64 = 60.0;
const FIVE_MINUTES: f64 = 300.0;
const HOUR: Duration = Duration::from_secs(3600);
/// The client whose counter is that of all clients together.
const EVERYBODY: &str = "";
/// The capacity of most allowances; upstream's.
const BURST: f64 = 30.0;

::settings::words! {
    /// What is counted, by its name in the table. Each has an allowance of its own.
    #[derive(Hash)]
    pub(crate) enum Bucket {
        Signup = "signup",
        Otp = "otp",
        MagicLink = "magiclink",
        Recover = "recover",
        Resend = "resend",
        User = "user",
        /// All grants but refresh tokens and web3.
        Token = "token",
        /// Refresh tokens.
        Refresh = "refresh",
        Web3 = "web3",
        Verify = "verify",
        Passkey = "passkey",
        AnonymousUsers = "anonymous",
        Sso = "sso",
        SamlAssertion = "saml_assertion",
        /// Challenges of second factors.
        FactorChallenge = "factor_challenge",
        /// Verifications of second factors.
        FactorVerify = "factor_verify",
        /// OAuth clients that register themselves.
        OauthClientRegistration = "oauth_client",
    }
}

impl Bucket {
    fn allowance(self, settings: &LimitSettings) -> Allowance {
        let (number, period) = match self {
            Self::Signup | Self::Otp | Self::MagicLink | Self::Recover | Self::Resend | Self::User => {
                (settings.otp, FIVE_MINUTES)
            }
            Self::Token | Self::Refresh => (settings.token, FIVE_MINUTES),
            Self::Web3 => (settings.web3, FIVE_MINUTES),
            Self::Verify => (settings.verify, FIVE_MINUTES),
            Self::Passkey => (settings.passkey, FIVE_MINUTES),
            Self::AnonymousUsers => {
                return Allowance {
                    burst: settings.anonymous_users.floor(),
                    rate: settings.anonymous_users / HOUR.as_secs_f64(),
                };
            }
            Self::Sso => (settings.sso, FIVE_MINUTES),
            Self::SamlAssertion => (settings.saml_assertion, FIVE_MINUTES),
            Self::FactorChallenge | Self::FactorVerify => (settings.mfa, MINUTE),
            Self::OauthClientRegistration => (settings.oauth_client_registration, FIVE_MINUTES),
        };
        Allowance { burst: BURST, rate: number / period }
    }
}

/// A token bucket: its capacity, and the tokens that are added per second.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Allowance {
    burst: f64,
    rate: f64,
}

impl Allowance {
    /// Returns the key of its counter. Every allowance has a counter of its own, so that a changed setting applies at
    /// once and starts from zero.
    fn key(self, name: &str) -> String {
        format!("{name} {} {}", self.burst, self.rate)
    }
}

/// What was counted so far, whatever the limits are.
pub(crate) struct Counters {
    shared: SharedCounters,
    memory: Memory,
    nodes: Nodes,
    /// The allowance of refreshes in the newest settings, by which those of other nodes are counted.
    refreshes: Mutex<Option<Allowance>>,
}

impl Counters {
    /// Returns the counters of a node that counts what other nodes have granted, too.
    pub(crate) fn new(database: Database, nodes: Nodes) -> Arc<Self> {
        let (memory, refreshes) = (Memory::default(), Mutex::new(None));
        let counters = Arc::new(Self { shared: SharedCounters::new(database), memory, nodes, refreshes });
        let listener = Arc::downgrade(&counters);
        counters.nodes.listen(SUBJECT, move |client| {
            if let Some(counters) = listener.upgrade()
                && let Some(allowance) = *counters.refreshes.lock()
                && let Ok(client) = std::str::from_utf8(client)
            {
                let key = allowance.key(Bucket::Refresh.name());
                counters.memory.take(&key, client, allowance, Instant::now());
            }
        });
        counters
    }
}

/// The limits of the settings, and the counters.
pub(crate) struct Limits {
    settings: LimitSettings,
    counters: Arc<Counters>,
}

impl Limits {
    pub(crate) fn new(settings: LimitSettings, counters: Arc<Counters>) -> Self {
        *counters.refreshes.lock() = Some(Bucket::Refresh.allowance(&settings));
        Self { settings, counters }
    }

    /// Returns the counters that all nodes share; `None` where each process counts alone.
    fn shared(&self) -> Option<&SharedCounters> {
        (!self.settings.per_process).then_some(&self.counters.shared)
    }

    /// Returns the client that a request counts for, as [`client`] does. If each process counts alone and no header is
    /// set, it is `None`: such a process is behind a gateway, whose address all clients share.
    pub(crate) fn client<'a>(&self, headers: &'a http::HeaderMap, address: IpAddr) -> Option<Cow<'a, str>> {
        match (self.settings.header.as_deref(), self.settings.per_process) {
            (None, true) => None,
            (header, _) => client(header, headers, address),
        }
    }

    /// Takes one token of `client` from `bucket`; see [`client`]. Without a client nothing is counted.
    ///
    /// Errors: `over_request_rate_limit`.
    pub(crate) async fn take(&self, bucket: Bucket, client: Option<&str>) -> Result<(), Error> {
        let Some(client) = client else { return Ok(()) };
        let allowance = bucket.allowance(&self.settings);
        let key = allowance.key(bucket.name());
        let granted = match self.shared().filter(|_| bucket != Bucket::Refresh) {
            Some(shared) => shared.take(&key, client, allowance).await?,
            None => self.counters.memory.take(&key, client, allowance, Instant::now()),
        };
        if !granted {
            return Err(refusals::over_request_rate_limit());
        }
        if bucket == Bucket::Refresh && self.shared().is_some() {
            self.counters.nodes.send(SUBJECT, client.as_bytes());
        }
        Ok(())
    }

    async fn count_for(&self, key: &str, client: &str, number: f64, window: Duration) -> Result<bool, Error> {
        match self.shared() {
            Some(shared) => shared.count_for(key, client, number, window).await,
            None => Ok(self.counters.memory.count_for(key, client, number, window, Instant::now())),
        }
    }

    /// Returns whether `name` is used for the first time within `window`, on any node. It is stored as a counter with a
    /// limit of one.
    pub(crate) async fn is_first_use(&self, name: &str, window: Duration) -> Result<bool, Error> {
        self.count_for("used", name, 1.0, window).await
    }

    /// Takes one of the mails that this project may send, for `network`, which gets only its share of them
    /// (`docs/decisions/0008-where-limits-count.md`). `None` gets any that is left.
    ///
    /// Errors: `over_email_send_rate_limit`.
    pub(crate) async fn take_mail(&self, network: Option<Network>) -> Result<(), Error> {
        if self.take_of_all("mails", self.settings.mails, network).await? {
            return Ok(());
        }
        Err(Code::OverEmailSendRateLimit.because("email rate limit exceeded"))
    }

    /// Returns whether mails may be sent at all: a limit of zero forbids even those that are not counted.
    pub(crate) fn allows_mail(&self) -> bool {
        self.settings.mails.events > 0.0
    }

    /// Takes one of the text messages that this project may send, as [`take_mail`](Self::take_mail) takes a mail.
    ///
    /// Errors: `over_sms_send_rate_limit`.
    pub(crate) async fn take_sms(&self, network: Option<Network>) -> Result<(), Error> {
        if self.take_of_all("text_messages", self.settings.text_messages, network).await? {
            return Ok(());
        }
        Err(Code::OverSmsSendRateLimit.because("SMS rate limit exceeded"))
    }

    async fn take_of_all(&self, name: &str, rate: Rate, network: Option<Network>) -> Result<bool, Error> {
        let number = rate.events.floor();
        let flow = rate.per.map_or(0.0, |per| 1.0 / per.as_secs_f64().max(f64::MIN_POSITIVE));
        let allowance = Allowance { burst: number, rate: flow };
        let key = allowance.key(name);
        match (self.shared(), rate.per) {
            (Some(shared), _) => shared.take_of_all(&key, allowance, network).await,
            (None, Some(_)) => Ok(self.counters.memory.take(&key, EVERYBODY, allowance, Instant::now())),
            (None, None) => Ok(self.counters.memory.count_for(&key, EVERYBODY, number, HOUR, Instant::now())),
        }
    }
}

/// Returns the client that a request counts for: the first item of the header that settings name, else the caller's
/// address.
///
/// `None` if the header is set but absent, as upstream has it, and for callers on this machine: either a developer, or
/// a proxy behind which all clients have the same address.
fn client<'a>(header: Option<&str>, headers: &'a http::HeaderMap, address: IpAddr) -> Option<Cow<'a, str>> {
    let Some(name) = header else {
        return Network::of(address).map(|network| Cow::Owned(network.to_string()));
    };
    let value = headers.get(name).and_then(|value| value.to_str().ok()).unwrap_or_default();
    let first = value.split(',').next().unwrap_or_default().trim();
    if first.is_empty() {
        tracing::warn!(
            header = name,
            "a request has no value for the rate limiting header and is not limited"
        );
        return None;
    }
    Some(Cow::Borrowed(first))
}

#[cfg(test)]
mod tests;

//! Mails that are not sent.

use futures_util::FutureExt as _;
use futures_util::future::BoxFuture;

use super::{Ask, count};
use crate::check::Check;
use crate::problem::Finding;

/// How many mails in a row have to fail, and from where on it is critical: single addresses may be wrong.
const FAILED: u64 = 3;
const ALL_FAILED: u64 = 10;

/// How mails are.
#[derive(Debug, Clone, Copy, Default)]
pub struct MailState {
    /// How many mails have failed since the last one that was sent.
    pub failed: u64,
    /// How many are being sent or wait for it.
    pub pending: usize,
    /// How many may be.
    pub most_pending: usize,
}

/// Looks at the mails of auth.
pub struct Mails(Ask<MailState>);

impl Mails {
    /// Looks at what `state` returns.
    pub fn new(state: Ask<MailState>) -> Self {
        Self(state)
    }
}

impl Check for Mails {
    fn name(&self) -> &'static str {
        "the mails"
    }

    fn look(&mut self) -> BoxFuture<'_, Result<Vec<Finding>, String>> {
        let found = (self.0)().findings();
        async { Ok(found) }.boxed()
    }
}

impl MailState {
    fn findings(&self) -> Vec<Finding> {
        let mut found = Vec::new();
        if self.failed >= FAILED {
            let what = format!(
                "The last {} could not be sent: users get no links and codes",
                count(self.failed, "mail")
            );
            let remedy =
                "See the log for what the mail server says, and check auth.email.smtp: its host, port, user \
                          and password. A mail that is sent ends this"
                    .to_owned();
            let finding = Finding::warning("mails_fail", "auth", [what, remedy]);
            found.push(finding.critical_if(self.failed >= ALL_FAILED));
        }
        if self.most_pending > 0 && self.pending * 2 >= self.most_pending {
            let what =
                format!("{} of at most {} mails wait for the mail server", self.pending, self.most_pending);
            let remedy =
                "See whether the mail server is slow, or somebody has many mails sent (auth.rate_limit)"
                    .to_owned();
            found.push(Finding::warning("mails_wait", "auth", [what, remedy]));
        }
        found
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::problem::Severity::{Critical, Warning};

    #[test]
    fn mails_that_fail_in_a_row_are_a_problem() {
        let of = |failed| {
            MailState { failed, ..MailState::default() }.findings().first().map(|found| found.severity)
        };
        assert_eq!((of(0), of(2), of(3), of(10)), (None, None, Some(Warning), Some(Critical)));
    }

    #[test]
    fn a_queue_that_is_half_full_is_a_problem() {
        let of = |pending| MailState { pending, most_pending: 100, ..MailState::default() }.findings().len();
        assert_eq!((of(0), of(49), of(50)), (0, 0, 1));
    }
}

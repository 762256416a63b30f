//! Certificates near their end.

use std::ops::Range;
use std::time::Duration;

use futures_util::FutureExt as _;
use futures_util::future::BoxFuture;
use time::OffsetDateTime;

use super::{Ask, time};
use crate::check::Check;
use crate::problem::Finding;

/// How long a certificate has to be valid still, at most. The server renews its own when a third of their time is left.
const NEAR: Duration = Duration::from_secs(21 * 24 * 3600);
const VERY_NEAR: Duration = Duration::from_secs(7 * 24 * 3600);
/// The same as a part of its whole time, for those that are valid for days or weeks: one in so many.
const NEAR_PART: u32 = 4;
const VERY_NEAR_PART: u32 = 12;

/// A certificate.
#[derive(Debug, Clone)]
pub struct CertificateState {
    /// What it is for.
    pub subject: String,
    /// When it is valid; `None` if there is none yet.
    pub validity: Option<Range<OffsetDateTime>>,
    /// Whether the server renews it.
    pub is_renewed: bool,
    /// Why it could not be renewed, or read again, last.
    pub renewal_error: Option<String>,
}

/// Looks at the certificates that are served.
pub struct Certificates(Ask<Vec<CertificateState>>);

impl Certificates {
    /// Looks at the certificates that `served` returns.
    pub fn new(served: Ask<Vec<CertificateState>>) -> Self {
        Self(served)
    }
}

impl Check for Certificates {
    fn name(&self) -> &'static str {
        "the certificates"
    }

    fn look(&mut self) -> BoxFuture<'_, Result<Vec<Finding>, String>> {
        let served = (self.0)();
        async move {
            let now = OffsetDateTime::now_utc();
            Ok(served.iter().filter_map(|certificate| certificate.finding(now)).collect())
        }
        .boxed()
    }
}

impl CertificateState {
    fn finding(&self, now: OffsetDateTime) -> Option<Finding> {
        let until = |end: OffsetDateTime, from| Duration::try_from(end - from).unwrap_or_default();
        let left = self.validity.as_ref().map(|validity| until(validity.end, now));
        let whole =
            self.validity.as_ref().map(|validity| until(validity.end, validity.start)).unwrap_or_default();
        // A server that has just begun may have ordered its first one.
        if left.is_none_or(|left| left >= NEAR.min(whole / NEAR_PART)) && self.renewal_error.is_none() {
            return None;
        }
        let what = match left {
            None => "There is none: clients cannot connect".to_owned(),
            Some(Duration::ZERO) => "It has ended: clients refuse the connection".to_owned(),
            Some(left) => format!("It ends in {}", time(left)),
        };
        let (what, remedy) = match &self.renewal_error {
            Some(error) => (
                format!("{what}, and a new one could not be got: {error}"),
                "Mend what the error says; it is tried again by itself".to_owned(),
            ),
            None if self.is_renewed => {
                (what, "The server's log says why it was not renewed; it is tried again by itself".to_owned())
            }
            None => (what, "Renew it: the server reads its files again when they change".to_owned()),
        };
        let finding = Finding::warning("certificate_ends", self.subject.as_str(), [what, remedy]);
        Some(finding.critical_if(left.is_none_or(|left| left < VERY_NEAR.min(whole / VERY_NEAR_PART))))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::problem::Severity::{Critical, Warning};

    #[test]
    fn a_certificate_is_a_problem_before_it_ends() {
        let now = OffsetDateTime::now_utc();
        let of = |whole, days, renewal_error: Option<&str>| {
            let end = now + time::Duration::days(days);
            let certificate = CertificateState {
                subject: "shop.example".to_owned(),
                validity: Some(end - time::Duration::days(whole)..end),
                is_renewed: false,
                renewal_error: renewal_error.map(str::to_owned),
            };
            certificate.finding(now)
        };
        let ends_in = |days, renewal_error| of(90, days, renewal_error);
        let severity = |days| ends_in(days, None).map(|finding| finding.severity);
        assert_eq!((severity(22), severity(20), severity(6)), (None, Some(Warning), Some(Critical)));
        // Those that are valid for a few days only.
        let severity = |days| of(48, days, None).map(|finding| finding.severity);
        assert_eq!((severity(13), severity(11), severity(3)), (None, Some(Warning), Some(Critical)));
        let ended = ends_in(-1, None).unwrap();
        assert_eq!(ended.severity, Critical);
        assert!(ended.what.starts_with("It has ended"), "{}", ended.what);
        let failed = ends_in(29, Some("the DNS name does not lead here")).unwrap();
        assert_eq!(failed.severity, Warning);
        assert!(
            failed.what.ends_with("could not be got: the DNS name does not lead here"),
            "{}",
            failed.what
        );
        let none = |renewal_error: Option<&str>| CertificateState {
            subject: "shop.example".to_owned(),
            validity: None,
            is_renewed: true,
            renewal_error: renewal_error.map(str::to_owned),
        };
        assert_eq!(none(None).finding(now), None);
        assert_eq!(none(Some("refused")).finding(now).map(|finding| finding.severity), Some(Critical));
    }
}

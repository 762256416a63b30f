//! Certificates near their end.

use std::time::Duration;

use futures_util::FutureExt as _;
use futures_util::future::BoxFuture;
use time::OffsetDateTime;

use super::{Ask, time};
use crate::check::Check;
use crate::problem::Finding;

/// How long a certificate has to be valid still. Those of Let's Encrypt are renewed thirty days before their end.
const NEAR: Duration = Duration::from_secs(21 * 24 * 3600);
const VERY_NEAR: Duration = Duration::from_secs(7 * 24 * 3600);

/// A certificate.
#[derive(Debug, Clone)]
pub struct CertificateState {
    /// What it is for.
    pub subject: String,
    /// When it ends; `None` if there is none yet.
    pub not_after: Option<OffsetDateTime>,
    /// Why it could not be renewed last, if something renews it.
    pub renewal_error: Option<String>,
}

/// Looks at the certificates that are served.
pub struct Certificates(Ask<Vec<Result<CertificateState, String>>>);

impl Certificates {
    /// Looks at what `served` returns: the certificates, or why one cannot be read.
    pub fn new(served: Ask<Vec<Result<CertificateState, String>>>) -> Self {
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
            let served: Vec<CertificateState> = served.into_iter().collect::<Result<_, _>>()?;
            let now = OffsetDateTime::now_utc();
            Ok(served.iter().filter_map(|certificate| certificate.finding(now)).collect())
        }
        .boxed()
    }
}

impl CertificateState {
    fn finding(&self, now: OffsetDateTime) -> Option<Finding> {
        let left = self.not_after.map(|end| Duration::try_from(end - now).unwrap_or_default());
        // A server that has just begun may have ordered its first one.
        if left.is_none_or(|left| left >= NEAR) && self.renewal_error.is_none() {
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
            None => (what, "Renew it, and let the server read the files again".to_owned()),
        };
        let finding = Finding::warning("certificate_ends", self.subject.as_str(), [what, remedy]);
        Some(finding.critical_if(left.is_none_or(|left| left < VERY_NEAR)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::problem::Severity::{Critical, Warning};

    #[test]
    fn a_certificate_is_a_problem_before_it_ends() {
        let now = OffsetDateTime::now_utc();
        let ends_in = |days, renewal_error: Option<&str>| {
            let certificate = CertificateState {
                subject: "shop.example".to_owned(),
                not_after: Some(now + time::Duration::days(days)),
                renewal_error: renewal_error.map(str::to_owned),
            };
            certificate.finding(now)
        };
        let severity = |days| ends_in(days, None).map(|finding| finding.severity);
        assert_eq!((severity(22), severity(20), severity(6)), (None, Some(Warning), Some(Critical)));
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
            not_after: None,
            renewal_error: renewal_error.map(str::to_owned),
        };
        assert_eq!(none(None).finding(now), None);
        assert_eq!(none(Some("refused")).finding(now).map(|finding| finding.severity), Some(Critical));
    }
}

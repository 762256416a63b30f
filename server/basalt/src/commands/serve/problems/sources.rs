//! What the checks ask of the services.

use std::ops::Range;
use std::path::PathBuf;
use std::sync::Arc;

use ::health::checks::{Ask, BackupState, CertificateState, FunctionState, MailState, RequestState};
use acme::Certificates;
use gateway::Gateway;
use storage::BackendKind;
use time::OffsetDateTime;

use crate::database_port::OwnCertificate;
use crate::settings::{Settings, display_path};

/// Returns the folders that grow, each with what it is for.
pub(super) fn folders(settings: &Settings) -> Vec<(&'static str, PathBuf)> {
    let mut folders = vec![("data", settings.data_dir.clone())];
    let storage = settings.services.storage.as_ref().filter(|storage| storage.backend == BackendKind::File);
    folders.extend(storage.map(|storage| ("objects", storage.path.clone())));
    let target = settings.backup.target.as_ref().filter(|target| !target.contains("://"));
    folders.extend(target.map(|target| ("backups", PathBuf::from(target))));
    folders
}

pub(super) fn requests(gateway: Gateway) -> Ask<Vec<(&'static str, RequestState)>> {
    Box::new(move || {
        let counts = gateway.request_counts().into_iter();
        counts.map(|count| (count.service, RequestState { all: count.all, refused: count.limited })).collect()
    })
}

/// Returns the certificate of HTTPS, and the operator's for the database's port: one that the server makes for that port
/// itself is valid for centuries.
pub(super) fn certificates(
    settings: &Settings,
    (https, database): (Option<Arc<Certificates>>, Option<OwnCertificate>),
) -> Ask<Vec<CertificateState>> {
    let is_renewed = settings.tls.certificate.is_none();
    let of_https = https.map(|certificates| ("HTTPS".to_owned(), is_renewed, certificates));
    let of_database =
        database.map(|own| (format!("database ({})", display_path(&own.chain)), false, own.current));
    let all: Vec<_> = of_https.into_iter().chain(of_database).collect();
    Box::new(move || {
        let state =
            |(subject, is_renewed, certificates): &(String, bool, Arc<Certificates>)| CertificateState {
                subject: subject.clone(),
                validity: certificates.validity().and_then(period),
                is_renewed: *is_renewed,
                renewal_error: certificates.failure().map(|failure| failure.reason),
            };
        all.iter().map(state).collect()
    })
}

pub(super) fn backups(settings: &Settings, metrics: backup::Metrics) -> Ask<BackupState> {
    let is_daily = settings.database.url.is_none() && settings.backup.time().is_some();
    Box::new(move || {
        let backup::BackupState { is_late, is_damaged, has_failed, last } = metrics.state();
        BackupState { is_late, is_damaged, has_failed, last: last.and_then(at), is_daily }
    })
}

pub(super) fn functions(functions: functions::Functions) -> Ask<Vec<FunctionState>> {
    Box::new(move || {
        let state = |state: functions::FunctionState| {
            let functions::FunctionState { name, failed_starts, reason, failed_processes: ends } = state;
            FunctionState { name, failed_starts, reason, ends }
        };
        functions.states().into_iter().map(state).collect()
    })
}

pub(super) fn mails(auth: auth::Handles) -> Ask<MailState> {
    Box::new(move || {
        let auth::MailState { failed, pending, most_pending } = auth.mail_state();
        MailState { failed, pending, most_pending }
    })
}

/// Returns the times of a range of seconds since 1970.
fn period(seconds: Range<i64>) -> Option<Range<OffsetDateTime>> {
    Some(at(seconds.start)?..at(seconds.end)?)
}

/// Returns the time of a number of seconds since 1970; `None` for one that no calendar has.
fn at(seconds: i64) -> Option<OffsetDateTime> {
    OffsetDateTime::from_unix_timestamp(seconds).ok()
}

//! What is wrong with this server: connects the checks of the crate `health` with the services that they look at.

mod sources;
mod tables;

use std::net::SocketAddr;
use std::sync::Arc;

use ::health::checks::{
    Backups, Certificates, Disk, Exposed, Functions, Limits, Mails, Ping, Slots, Standbys, Wal,
};
use ::health::{About, Check, Delivery, Lead, List, MailSender, Memory, Messenger, Monitor};
use ::platform::{ProblemList, ServiceConfig};
use auth::OperatorMailer;
use futures_util::FutureExt as _;
use parking_lot::RwLock;
use poem::{Endpoint, Response};
use postgres::Database;
use tokio::sync::Mutex;

use super::services::RunningServices;
use crate::database_port::OwnCertificate;
use crate::exposure;
use crate::settings::Settings;
use tables::OpenTables;

/// The file in the data folder that remembers since when problems are there.
const FILE: &str = "health.json";
/// The number of the lock that only one of several servers on a database holds, which tells of what all of them see.
const LEADER: i64 = 0x6865_616c_7468;

/// The checks of a running server, and what they are told when settings have changed.
pub(super) struct Problems {
    monitor: Monitor,
    exposed: Exposed,
    config: Arc<RwLock<ServiceConfig>>,
    delivery: Arc<RwLock<Delivery>>,
}

impl Problems {
    /// Starts the checks of the `running` services, of `functions`, and of the certificates of HTTPS and of the database's
    /// port, of a server at `address`; `None` if this server only adds functions to another one.
    pub(super) fn start(
        settings: &Settings,
        running: &RunningServices,
        functions: Option<&functions::Functions>,
        certificates: (Option<Arc<acme::Certificates>>, Option<OwnCertificate>),
        (address, project): (SocketAddr, Option<String>),
    ) -> Option<Self> {
        let database = running.watched.clone()?;
        let (exposed, config) = (Exposed::default(), Arc::<RwLock<ServiceConfig>>::default());
        let open = OpenTables::new(database.clone(), Arc::clone(&config));
        let mut checks: Vec<Box<dyn Check>> = vec![
            Box::new(Ping::new(database.clone())),
            Box::new(Disk::new(sources::folders(settings))),
            Box::new(Wal::new(database.clone())),
            Box::new(Slots::new(database.clone())),
            Box::new(Standbys::new(database.clone())),
            Box::new(Limits::new(sources::requests(running.gateway.clone()))),
            Box::new(Certificates::new(sources::certificates(settings, certificates))),
            Box::new(open),
            Box::new(Arc::clone(&exposed)),
        ];
        if let Some(metrics) = running.backups.clone() {
            checks.push(Box::new(Backups::new(sources::backups(settings, metrics))));
        }
        if let Some(functions) = functions.cloned() {
            checks.push(Box::new(Functions::new(sources::functions(functions))));
        }
        if let Some(auth) = running.auth.clone() {
            checks.push(Box::new(Mails::new(sources::mails(auth))));
        }
        let monitor = Monitor::new(checks, memory(settings));
        running.gateway.register(|registry| monitor.register(registry));
        let problems = Self { monitor: monitor.clone(), exposed, config, delivery: Arc::default() };
        problems.configure(settings);
        let about = About {
            server: settings.server.api_url(address.port()),
            node: rustix::system::uname().nodename().to_string_lossy().into_owned(),
            project,
        };
        let delivery = Arc::clone(&problems.delivery);
        let messenger = Messenger::new(monitor.clone(), delivery, about, leader(database));
        running.spawn(|stop| messenger.run(stop));
        running.spawn(|stop| async move { monitor.run(stop).await });
        Some(problems)
    }

    /// Tells the checks of new settings.
    pub(super) fn configure(&self, settings: &Settings) {
        *self.exposed.write() = exposure::of(settings);
        *self.config.write() = settings.platform.config.clone();
        let mail = settings.services.auth.as_ref().and_then(mail_sender);
        *self.delivery.write() = Delivery { settings: settings.health.clone(), mail };
        self.monitor.set_public(exposure::is_public(settings));
    }

    /// Returns the endpoint that shows the list, for the port that only this machine reaches.
    pub(super) fn endpoint(&self) -> impl Endpoint<Output = Response> + use<> {
        let monitor = self.monitor.clone();
        gateway::problems(move |question| {
            let monitor = monitor.clone();
            async move { list(&monitor, question.is_fresh).await.to_json(question.as_public) }
        })
    }

    /// Returns what shows the list to operators with an access token.
    pub(super) fn for_operators(&self) -> ProblemList {
        let monitor = self.monitor.clone();
        Arc::new(move || {
            let monitor = monitor.clone();
            async move { list(&monitor, false).await.to_json(false) }.boxed()
        })
    }
}

/// Returns the list: that of the last round, unless it has to be fresh or there was none yet.
async fn list(monitor: &Monitor, is_fresh: bool) -> Arc<List> {
    match monitor.list().filter(|_| !is_fresh) {
        Some(list) => list,
        None => monitor.look().await,
    }
}

/// Returns what remembers since when problems are there.
fn memory(settings: &Settings) -> Memory {
    let path = settings.data_dir.join(FILE);
    let content = std::fs::read(&path).ok();
    Memory::new(content.as_deref(), move |content| atomic_file::write(&path, content, 0o600))
}

/// Returns what sends mails to the operator; `None` if the mailer of auth cannot be made, which has been said then.
fn mail_sender(auth: &auth::Settings) -> Option<MailSender> {
    let mailer = Arc::new(OperatorMailer::new(auth).ok()?);
    Some(Arc::new(move |letter| {
        let mailer = Arc::clone(&mailer);
        async move { mailer.send(letter.to, letter.subject, letter.text).await }.boxed()
    }))
}

/// Returns what takes the lead among the servers of `database`, and keeps it.
fn leader(database: Database) -> Lead {
    let lead = Arc::new(Mutex::new(postgres::Lead::new(database, LEADER)));
    Box::new(move || {
        let lead = Arc::clone(&lead);
        async move { lead.lock().await.take().await }.boxed()
    })
}

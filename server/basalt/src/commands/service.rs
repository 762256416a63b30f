//! `basalt service`: a project's server as a service of systemd, which starts with the machine and after a crash.
//!
//! The unit is that of the packages (`deploy/systemd/basalt.service`), with the places of this project.

mod account;
pub(super) mod systemd;
mod unit;

use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use clap::{Args, Subcommand};

use crate::backend::consent;
use crate::console::{self, shell_word};
use crate::error::Error;
use crate::instance::Instance;
use crate::settings::{Settings, display_path};
use account::Account;
use systemd::Systemd;
use unit::Unit;

/// How long a new service may take until it serves: the first start sets up a database.
const START_LIMIT: Duration = Duration::from_secs(180);
const PAUSE: Duration = Duration::from_millis(250);
/// After how many starts in vain the reason is one that does not pass by itself, such as a port that is taken.
const MOST_RESTARTS: u32 = 3;

/// Subcommands of `service`.
#[derive(Debug, Subcommand)]
pub(super) enum Arguments {
    /// Run this project's server as a service of systemd, now and whenever the machine starts
    ///
    /// Shows the unit, asks, writes it, starts the service and waits until it is healthy. The service may write to the
    /// data folder and nowhere else. Calling it again replaces the unit and restarts the service. Needs root.
    Install(InstallArguments),
    /// Stop the service and remove its unit; the project and its data are kept
    Uninstall(UninstallArguments),
    /// Show whether the service runs and whether its server is healthy
    Status(Named),
}

/// The name of a service.
#[derive(Debug, Args)]
pub(super) struct Named {
    /// The name of the service
    #[arg(long, default_value = "basalt", value_parser = unit::check_name)]
    name: String,
    /// The root of the file system, for tests
    #[arg(long, hide = true, value_name = "DIR", default_value = "/")]
    root: PathBuf,
}

/// Arguments of `service install`.
#[derive(Debug, Args)]
pub(super) struct InstallArguments {
    #[command(flatten)]
    named: Named,
    /// The user that the server runs as; `basalt` is made if it is missing
    #[arg(long, default_value = account::DEFAULT, value_name = "USER")]
    user: String,
    /// A name under which clients reach the server, which then gets a certificate and serves HTTPS; may be repeated
    /// [default: basalt.tls.domains of config.toml]
    #[arg(long = "domain", value_name = "NAME")]
    domains: Vec<String>,
    /// Only print the unit
    #[arg(long)]
    print: bool,
    /// Do not ask
    #[arg(long, short)]
    yes: bool,
}

/// Arguments of `service uninstall`.
#[derive(Debug, Args)]
pub(super) struct UninstallArguments {
    #[command(flatten)]
    named: Named,
    /// Do not ask
    #[arg(long, short)]
    yes: bool,
}

/// Runs the command.
pub(super) async fn run(settings: Settings, arguments: Arguments) -> Result<(), Error> {
    match arguments {
        Arguments::Install(arguments) => install(&settings, arguments).await,
        Arguments::Uninstall(arguments) => uninstall(arguments).await,
        Arguments::Status(named) => status(&settings, named).await,
    }
}

async fn install(settings: &Settings, arguments: InstallArguments) -> Result<(), Error> {
    let InstallArguments { named, user, domains, print, yes } = arguments;
    let domains =
        acme::domains(domains).map_err(|expected| Error::Advice(format!("--domain: expected {expected}")))?;
    let program = crate::program::path()?;
    let unit = Unit::of(settings, &named.name, &user, program, domains);
    let text = unit.render();
    if print {
        console::print(text.trim_end());
        return Ok(());
    }
    let systemd = Systemd::find(&named.root, &named.name)?;
    let account = Account::find(&user)?;
    check_data_folder(&settings.data_dir, &user, account.as_ref())?;
    check_not_running(settings, &systemd).await?;
    let file = systemd.file();
    if !yes {
        let making = match account {
            Some(_) => String::new(),
            None => format!("It makes the system user {user} first. "),
        };
        let what = format!("{text}\nThis is the unit for {}. {making}", display_path(&file));
        let question = "Write it and start the service?";
        consent::confirm(&what, question, "Without a terminal, --yes agrees").await?;
    } else {
        console::note(format_args!("{text}\nWriting it to {}", display_path(&file)));
    }
    let account = match account {
        Some(account) => account,
        None => {
            console::step(format_args!("making the system user {user}"));
            Account::make(&user)?
        }
    };
    account.own_new_folder(&settings.data_dir)?;
    systemd.install(&text)?;
    let begun = Instant::now();
    let instance = wait_until_healthy(settings, &systemd).await?;
    let (name, seconds) = (&named.name, begun.elapsed().as_secs_f64());
    let more = if name == "basalt" { String::new() } else { format!(" --name {name}") };
    let commands = [
        (format!("journalctl -fu {name}"), "its log"),
        (format!("systemctl reload {name}"), "reads the settings again"),
        (format!("basalt service uninstall{more}"), "stops and removes it; the data is kept"),
    ];
    let width = commands.iter().map(|(command, _)| command.len()).max().unwrap_or_default();
    let lines = commands.map(|(command, what)| format!("  {command:width$}  {what}")).join("\n");
    console::print(format_args!(
        "The service {name} serves {} after {seconds:.1} s, and starts with the machine.\n\n{lines}",
        instance.api_url,
    ));
    Ok(())
}

/// Checks that `account` may write to the data folder, if there is one already.
fn check_data_folder(folder: &Path, user: &str, account: Option<&Account>) -> Result<(), Error> {
    let Ok(owner) = std::fs::metadata(folder).map(|folder| folder.uid()) else { return Ok(()) };
    if account.is_some_and(|account| account.uid() == owner || account.uid() == 0) {
        return Ok(());
    }
    let path = display_path(folder);
    let folder = shell_word(&path).into_owned();
    Err(Error::Advice(format!(
        "{path} belongs to another user (number {owner}) than the service would run as. Name that user with --user, or \
         give it away, with the server stopped: `chown -R {user} {folder}`{}",
        if account.is_none() { format!(" (after `useradd --system {user}`)") } else { String::new() }
    )))
}

/// Checks that no server of the project runs that is not this service: it would hold the ports and the database.
async fn check_not_running(settings: &Settings, systemd: &Systemd) -> Result<(), Error> {
    match Instance::find(&settings.data_dir).await {
        Some(instance) if systemd::main_process(systemd.name()) != Some(instance.pid) => {
            Err(Error::Advice(format!(
                "a server of this project runs already (process {}): stop it with `basalt stop`, since the service would not \
             get its ports and its database",
                instance.pid
            )))
        }
        _ => Ok(()),
    }
}

/// Waits until the server says that it is ready.
///
/// Errors: if the service fails, or does not serve in time; they say how to see its log.
async fn wait_until_healthy(settings: &Settings, systemd: &Systemd) -> Result<Instance, Error> {
    let begun = Instant::now();
    console::step("waiting until it serves");
    loop {
        if let Some(instance) = Instance::find_ready(&settings.data_dir).await {
            return Ok(instance);
        }
        let what = if systemd.has_failed() {
            "has failed".to_owned()
        } else if systemd.restarts() >= MOST_RESTARTS {
            "ends as soon as it is started, again and again".to_owned()
        } else if begun.elapsed() > START_LIMIT {
            format!("does not serve after {} s", START_LIMIT.as_secs())
        } else {
            tokio::time::sleep(PAUSE).await;
            continue;
        };
        let name = systemd.name();
        return Err(Error::Advice(format!(
            "the service {name} is installed, but {what}: `journalctl -u {name} -n 50` shows why, `systemctl restart \
             {name}` tries again"
        )));
    }
}

async fn uninstall(arguments: UninstallArguments) -> Result<(), Error> {
    let UninstallArguments { named, yes } = arguments;
    let systemd = Systemd::find(&named.root, &named.name)?;
    let file = systemd.file();
    if !file.exists() {
        let path = display_path(&file);
        return Err(Error::Advice(format!(
            "there is no {path}: `basalt service install` has not written it"
        )));
    }
    if !yes {
        let what =
            format!("The service {} would be stopped, and {} removed.", named.name, display_path(&file));
        consent::confirm(&what, "Remove it?", "Without a terminal, --yes agrees").await?;
    }
    systemd.uninstall()?;
    console::print(format_args!(
        "The service {} is stopped and removed. The project and its data are kept.",
        named.name
    ));
    Ok(())
}

async fn status(settings: &Settings, named: Named) -> Result<(), Error> {
    let systemd = Systemd::find(&named.root, &named.name)?;
    let state = systemd.state();
    let health = match Instance::find(&settings.data_dir).await {
        Some(instance) if instance.is_ready().await => format!("{} is healthy", instance.api_url),
        Some(instance) => format!("{} is not ready", instance.api_url),
        None => format!("no server of {} responds", display_path(&settings.project.root)),
    };
    let starts = if systemd.is_enabled() { "starts" } else { "does not start" };
    let text = format!("The service {} is {state}, and {starts} with the machine; {health}.", named.name);
    match state.as_str() {
        "active" => console::print(text),
        _ => return Err(Error::Advice(text)),
    }
    Ok(())
}

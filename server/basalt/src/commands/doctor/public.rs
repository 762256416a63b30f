//! `basalt doctor --public`: what is wrong with the server, and what is unsafe if strangers can reach it.

use std::time::Duration;

use serde::Deserialize;

use crate::console;
use crate::error::Error;
use crate::exposure;
use crate::instance::Instance;
use crate::settings::Settings;

/// How long the server may take: a round may run already, and the checks of the next one may all be slow.
const RESPONSE_LIMIT: Duration = Duration::from_secs(30);

/// The list of a running server.
#[derive(Deserialize)]
struct List {
    problems: Vec<Problem>,
}

/// A problem.
#[derive(Deserialize)]
struct Problem {
    name: String,
    severity: String,
    subject: String,
    what: String,
    remedy: String,
    /// `None` if no server runs, which would know.
    since: Option<String>,
}

/// Prints the list of the running server. If none runs, only the settings are checked.
///
/// Errors: if something is critical, or the running server cannot be asked.
pub(super) async fn run(settings: &Settings) -> Result<(), Error> {
    let problems = match Instance::find(&settings.data_dir).await {
        Some(instance) => ask(&instance).await?,
        None => {
            console::note("No server of this project is running: only the settings are checked.\n");
            of_settings(settings)
        }
    };
    if problems.is_empty() {
        console::print("Nothing is wrong or unsafe.");
    }
    problems.iter().for_each(|problem| console::print(problem.text()));
    match problems.iter().filter(|problem| problem.severity == "critical").count() {
        0 => Ok(()),
        1 => Err(Error::Advice("1 problem is critical".to_owned())),
        count => Err(Error::Advice(format!("{count} problems are critical"))),
    }
}

/// Has a running server look now.
async fn ask(instance: &Instance) -> Result<Vec<Problem>, Error> {
    let failed = |error| {
        let reason = tls::describe(error);
        Error::Advice(format!("the running server does not say what is wrong: {reason}"))
    };
    let path = "/health/problems?refresh=true&public=true";
    let response = instance.ask_admin(path, RESPONSE_LIMIT).await.map_err(failed)?;
    response.json().await.map(|list: List| list.problems).map_err(failed)
}

fn of_settings(settings: &Settings) -> Vec<Problem> {
    let problem = |finding: health::Finding| Problem {
        name: finding.name.to_owned(),
        severity: finding.severity.name().to_owned(),
        subject: finding.subject,
        what: finding.what,
        remedy: finding.remedy,
        since: None,
    };
    exposure::of(settings).findings().into_iter().map(problem).collect()
}

impl Problem {
    fn text(&self) -> String {
        let Self { name, severity, subject, what, remedy, since } = self;
        let since = since.as_ref().map(|since| format!("\n           Since {since}")).unwrap_or_default();
        format!("  {severity:<8} {name}: {subject}\n           {what}.{since}\n           To do: {remedy}.")
    }
}

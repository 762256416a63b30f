//! Consent of the operator to actions that cannot be undone: setting up a database that Basalt has not created, and
//! deleting one.

use std::io::{BufRead as _, IsTerminal as _, Write as _};
use std::path::Path;

use postgres::conninfo::Conninfo;

use crate::error::Error;
use crate::settings::{Settings, display_path};
use crate::uri;

/// Asks whether Basalt may set up the database of `DATABASE_URL`.
///
/// Errors: unless the operator has agreed beforehand or agrees now.
pub(super) async fn confirm_adoption(settings: &Settings) -> Result<(), Error> {
    let Some(url) = settings.database.url.as_ref().filter(|_| !settings.database.adopt) else {
        return Ok(());
    };
    let what = describe_adoption(url, settings.database.url_file.as_deref());
    let advice = format!(
        "To agree, use --yes or BASALT_ADOPT_DATABASE=1 once. Otherwise, set DATABASE_URL to the embedded database, \
         postgresql://postgres:postgres@127.0.0.1:{}/postgres, or unset it",
        settings.database.port
    );
    confirm(&what, "Set it up?", &advice).await
}

fn describe_adoption(url: &Conninfo, file: Option<&Path>) -> String {
    let from = file.map_or_else(|| "the environment".to_owned(), display_path);
    format!(
        "DATABASE_URL (from {from}) names {}, which Basalt has not set up. Basalt would create the API's roles and the \
         schemas auth, storage, realtime, extensions and basalt there, where they are missing, and run the project's \
         migrations and seed. Nothing has been changed.",
        uri::describe(url)
    )
}

/// Shows `what` will be done and asks `question` on the terminal.
///
/// Errors: [`Error::Advice`] with `what` and `advice` for any answer except yes, and if there is no terminal.
pub(crate) async fn confirm(what: &str, question: &str, advice: &str) -> Result<(), Error> {
    let refused = || Err(Error::Advice(format!("{what} {advice}")));
    if !std::io::stdin().is_terminal() || !std::io::stderr().is_terminal() {
        return refused();
    }
    let prompt = format!("{what}\n{question} [y/N] ");
    let answer = tokio::task::spawn_blocking(move || {
        let mut answer = String::new();
        let mut terminal = std::io::stderr();
        let written = terminal.write_all(prompt.as_bytes()).and_then(|()| terminal.flush());
        written.and_then(|()| std::io::stdin().lock().read_line(&mut answer)).map(|_| answer)
    });
    let agrees = |answer: &str| ["y", "yes"].contains(&answer.trim().to_ascii_lowercase().as_str());
    match answer.await {
        Ok(Ok(answer)) if agrees(&answer) => Ok(()),
        _ => refused(),
    }
}

//! `basalt doctor`: checks everything that a start needs and says what to fix, without changing anything.

mod checks;
mod memory;
mod public;
mod realtime;

use clap::Args;

use crate::console;
use crate::error::Error;
use crate::settings::{Invocation, Settings, display_path};

/// Arguments of `doctor`.
#[derive(Debug, Args)]
pub(super) struct Arguments {
    /// List what is wrong with the running server, and what is unsafe if strangers can reach it
    #[arg(long)]
    public: bool,
}

/// The result of a check.
struct Finding {
    /// What was checked.
    subject: &'static str,
    verdict: Verdict,
}

/// The verdict of a check.
enum Verdict {
    /// No problem; the text describes the result.
    Fine(String),
    /// It works, but the operator should know something; the text describes this and the remedy.
    Note(String),
    /// A start would fail; the text describes the reason and the remedy.
    Broken(String),
}

/// Runs all checks and prints their results.
///
/// Errors: if something is broken, or critical with `--public`, so that scripts can detect it.
pub(super) async fn run(invocation: Invocation, arguments: Arguments) -> Result<(), Error> {
    if arguments.public {
        return public::run(&Settings::load(&invocation)?).await;
    }
    let settings = match Settings::load(&invocation) {
        Ok(settings) => settings,
        Err(error) => {
            print(&[Finding { subject: "Settings", verdict: Verdict::Broken(error.to_string()) }]);
            return Err(Error::Advice(
                "nothing else can be checked until the settings can be read".to_owned(),
            ));
        }
    };
    console::print(format_args!(
        "Basalt {} in {}\n",
        env!("CARGO_PKG_VERSION"),
        display_path(&settings.project.root)
    ));
    let findings = checks::all(&settings).await;
    print(&findings);
    let broken = findings.iter().filter(|finding| matches!(finding.verdict, Verdict::Broken(_))).count();
    match broken {
        0 => {
            console::print("\n`basalt serve` can be started.");
            Ok(())
        }
        1 => Err(Error::Advice("1 problem has to be fixed".to_owned())),
        count => Err(Error::Advice(format!("{count} problems have to be fixed"))),
    }
}

fn print(findings: &[Finding]) {
    for Finding { subject, verdict } in findings {
        let (mark, text) = match verdict {
            Verdict::Fine(text) => ("ok", text),
            Verdict::Note(text) => ("note", text),
            Verdict::Broken(text) => ("BROKEN", text),
        };
        for (index, line) in text.lines().enumerate() {
            match index {
                0 => console::print(format_args!("  {mark:<7} {subject:<12} {line}")),
                _ => console::print(format_args!("  {:<7} {:<12} {line}", "", "")),
            }
        }
    }
}

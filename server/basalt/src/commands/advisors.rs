//! `basalt advisors`: what could be wrong with the project's database and settings.

use clap::{Args, ValueEnum};
use platform::{Category, ServiceConfig, managed_settings};
use serde_json::Value;

use crate::backend::{self, Backend};
use crate::console;
use crate::error::Error;
use crate::settings::{Invocation, Settings};

/// Arguments of `advisors`.
#[derive(Debug, Args)]
pub(super) struct Arguments {
    /// What to look for
    #[arg(long = "type", value_enum, default_value_t = Kind::All)]
    kind: Kind,
    /// The format of the output
    #[arg(short, long, value_enum, default_value_t = Format::Pretty)]
    output: Format,
}

/// What to look for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Kind {
    /// Both of the others.
    All,
    /// Who can read or change what.
    Security,
    /// What makes the database slow.
    Performance,
}

/// The format of the output.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Format {
    /// For people
    Pretty,
    /// As the Management API has it
    Json,
}

/// Prints what the advisors report.
pub(super) async fn run(
    invocation: &Invocation,
    settings: Settings,
    arguments: Arguments,
) -> Result<(), Error> {
    let categories: &[Category] = match arguments.kind {
        Kind::All => &[Category::Security, Category::Performance],
        Kind::Security => &[Category::Security],
        Kind::Performance => &[Category::Performance],
    };
    let lints = Backend::attached_up_to_date(&settings, async |backend| {
        let config = config(invocation, &settings, backend).await?;
        backend
            .with_project(async |database| {
                let mut lints = Vec::new();
                for category in categories {
                    lints.extend(platform::advise(database, *category, &config).await?);
                }
                Ok(lints)
            })
            .await
    });
    let lints = lints.await?;
    match arguments.output {
        Format::Json => console::print(serde_json::json!({ "lints": lints })),
        Format::Pretty if lints.is_empty() => console::print("Nothing to report."),
        Format::Pretty => lints.iter().for_each(|lint| console::print(described(lint))),
    }
    Ok(())
}

/// Returns the configuration of the services as a server has it: with what was changed over the platform interface.
async fn config(
    invocation: &Invocation,
    settings: &Settings,
    backend: &Backend,
) -> Result<ServiceConfig, Error> {
    let keys = backend::keys(settings)?;
    let managed = backend.with_admin(async |database| Ok(managed_settings(database, &keys).await)).await?;
    Ok(Settings::load_with(invocation, &managed.map_err(Error::Advice)?)?.platform.config)
}

/// Returns a report in lines for people.
fn described(lint: &Value) -> String {
    let text = |name: &str| lint[name].as_str().unwrap_or_default();
    format!("{:<5} {}\n      {}\n      {}", text("level"), text("name"), text("detail"), text("remediation"))
}

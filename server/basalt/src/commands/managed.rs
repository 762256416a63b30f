//! `basalt settings`: what was changed over the platform interface, in place of `config.toml`.

use clap::{Args, Subcommand};
use platform::ManagedSetting;
use postgres::Database;

use crate::backend::Backend;
use crate::console;
use crate::error::Error;
use crate::settings::Settings;

/// Arguments of `settings`.
#[derive(Debug, Subcommand)]
pub(super) enum Arguments {
    /// List the settings that were changed over the platform interface; secrets are not shown
    List,
    /// Take changes back: config.toml counts again
    Reset(Which),
}

/// Which settings are reset.
#[derive(Debug, Args)]
#[group(required = true, multiple = false)]
pub(super) struct Which {
    /// The setting, as `list` shows it
    name: Option<String>,
    /// All of them
    #[arg(long)]
    all: bool,
}

/// Runs the command on the project's database, whether or not the server runs.
pub(super) async fn run(settings: Settings, arguments: Arguments) -> Result<(), Error> {
    Backend::attached_up_to_date(&settings, async |backend| {
        backend.with_admin(async |database| command(database, &arguments).await).await
    })
    .await
}

async fn command(database: &Database, arguments: &Arguments) -> Result<(), Error> {
    match arguments {
        Arguments::List => {
            for setting in platform::list_settings(database).await.map_err(Error::Advice)? {
                console::print(line(&setting));
            }
        }
        Arguments::Reset(Which { name, .. }) => {
            let names = platform::reset_settings(database, name.as_deref()).await.map_err(Error::Advice)?;
            if let Some(name) = name.as_ref().filter(|_| names.is_empty()) {
                return Err(Error::Advice(format!(
                    "{name} was not changed over the platform interface; `basalt settings list` lists what was"
                )));
            }
            for name in names {
                console::print(format_args!("Reset {name}."));
            }
        }
    }
    Ok(())
}

/// Describes a setting in one line.
fn line(setting: &ManagedSetting) -> String {
    let ManagedSetting { name, value, changed_at, changed_by } = setting;
    let value = value.as_ref().map_or_else(|| "(secret)".to_owned(), |value| format!("{value:?}"));
    format!("{name} = {value}  changed: {changed_at}  by: {changed_by}")
}

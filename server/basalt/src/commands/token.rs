//! `basalt token`: the access tokens with which tools manage a server over the platform interface.

use clap::Subcommand;
use platform::AccessToken;
use postgres::Database;

use crate::backend::Backend;
use crate::console;
use crate::error::Error;
use crate::settings::Settings;

/// Arguments of `token`.
#[derive(Debug, Subcommand)]
pub(super) enum Arguments {
    /// Create an access token, and show it once
    ///
    /// Tools take it as SUPABASE_ACCESS_TOKEN, or with `supabase login --token`.
    Create {
        /// Who or what it is for
        #[arg(long, default_value = "operator", value_name = "NAME")]
        name: String,
        /// When it ends, such as "30 days" or "12 hours" [default: never]
        #[arg(long, value_name = "TIME")]
        expires: Option<String>,
        /// What it may do, separated by commas: names of scopes as upstream has them, or `read-only`
        /// [default: everything]
        #[arg(long, value_delimiter = ',', value_name = "SCOPES")]
        scopes: Option<Vec<String>>,
    },
    /// List the access tokens; the tokens themselves cannot be shown again
    List,
    /// Revoke an access token: it is valid no more at once
    Revoke {
        /// Its id, its name, or its beginning as `list` shows it
        token: String,
    },
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
        Arguments::Create { name, expires, scopes } => {
            let created = platform::create_token(database, name, expires.as_deref(), scopes.as_deref()).await;
            let (token, described) = created.map_err(Error::Advice)?;
            console::print(&token);
            let end = described.expires_at.as_deref().unwrap_or("never");
            console::note(format_args!("It is shown only now. It ends: {end}. Its id is {}.", described.id));
        }
        Arguments::List => {
            for token in platform::list_tokens(database).await.map_err(Error::Advice)? {
                console::print(line(&token));
            }
        }
        Arguments::Revoke { token } => {
            let revoked = platform::revoke_tokens(database, token).await.map_err(Error::Advice)?;
            if revoked.is_empty() {
                return Err(Error::Advice(format!(
                    "there is no access token {token:?}; `basalt token list` lists them"
                )));
            }
            for token in &revoked {
                console::print(format_args!("Revoked {} ({}…).", printed(&token.name), token.hint));
            }
            if revoked.len() > 1 {
                console::print(format_args!("Revoked {} tokens, which all have this name.", revoked.len()));
            }
        }
    }
    Ok(())
}

/// Returns `name` without what a terminal would take for a command.
fn printed(name: &str) -> String {
    name.chars().map(|letter| if letter.is_control() { '\u{fffd}' } else { letter }).collect()
}

/// Describes a token in one line.
fn line(token: &AccessToken) -> String {
    let scopes = platform::scopes_of(token);
    let (used, end) =
        (token.used_at.as_deref().unwrap_or("never"), token.expires_at.as_deref().unwrap_or("never"));
    let AccessToken { id, hint, name, .. } = token;
    let name = printed(name);
    format!("{id}  {hint}…  {name}  used: {used}  ends: {end}  may: {scopes}")
}

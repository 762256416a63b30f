//! `basalt functions`: edge functions on a developer's machine.

use std::fs;
use std::path::PathBuf;

use clap::{Args, Subcommand};

use super::{block_on, load, serve};
use crate::console;
use crate::error::Error;
use crate::settings::{Invocation, Settings, display_path};

const TEMPLATE: &str = include_str!("functions/index.ts.template");
const CONFIGURATION: &str = "{\n  \"imports\": {}\n}\n";

/// Arguments of `functions`.
#[derive(Debug, Subcommand)]
pub(super) enum Arguments {
    /// Create a function: a folder with an index.ts
    New {
        /// Its name, which is its path: letters, digits, `-` and `_`
        name: String,
    },
    /// Serve functions and restart them when their files change
    ///
    /// A running `basalt serve` of the same project serves them at its own URL, with the variables and the checks that
    /// this command asks for, until this command ends; their log is shown here. Without one, this serves the whole
    /// project.
    Serve(ServeArguments),
    /// List the project's functions
    List,
}

impl Arguments {
    /// Reports whether the command runs a server.
    pub(super) const fn is_server(&self) -> bool {
        matches!(self, Self::Serve(_))
    }
}

/// Arguments of `functions serve`.
#[derive(Debug, Args)]
pub(super) struct ServeArguments {
    /// A file with variables for functions, instead of `functions/.env`
    #[arg(long, value_name = "FILE")]
    env_file: Option<PathBuf>,
    /// Accept calls without a token, whatever `verify_jwt` says
    #[arg(long)]
    no_verify_jwt: bool,
    /// The port to listen on; the next free one if it is taken, any free one for 0 [default: 54321]. Beside a running
    /// server, only functions are served on it, and that server is left as it is
    #[arg(long)]
    port: Option<u16>,
}

/// Runs the command.
pub(super) fn run(arguments: Arguments, invocation: Invocation) -> Result<(), Error> {
    match arguments {
        Arguments::New { name } => create(functions_settings(&load(&invocation)?)?, &name),
        Arguments::List => {
            list(functions_settings(&load(&invocation)?)?);
            Ok(())
        }
        Arguments::Serve(ServeArguments { env_file, no_verify_jwt, port }) => {
            let invocation = Invocation {
                env_file,
                port,
                open_functions: no_verify_jwt,
                watch_functions: true,
                ..invocation
            };
            let settings = load(&invocation)?;
            functions_settings(&settings)?;
            block_on(serve::serve_functions(settings, no_verify_jwt, port.is_some()))
        }
    }
}

fn functions_settings(settings: &Settings) -> Result<&functions::Settings, Error> {
    let off =
        || Error::Advice("edge functions are off: set edge_runtime.enabled = true in config.toml".to_owned());
    settings.services.functions.as_ref().ok_or_else(off)
}

fn create(settings: &functions::Settings, name: &str) -> Result<(), Error> {
    let is_valid = name.starts_with(|first: char| first.is_ascii_alphabetic())
        && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-' || byte == b'_');
    if !is_valid {
        return Err(Error::Advice(format!(
            "expected the name of a function (a letter, then letters, digits, - and _), found {name:?}"
        )));
    }
    let folder = settings.folder.join(name);
    if folder.exists() {
        let folder = display_path(&folder);
        return Err(Error::Advice(format!(
            "{folder} exists already: choose another name, or edit its files"
        )));
    }
    let write = || {
        fs::create_dir_all(&folder)?;
        files_of_new(name).into_iter().try_for_each(|(file, text)| fs::write(folder.join(file), text))
    };
    write().map_err(Error::io(format!("write {}", display_path(&folder))))?;
    console::print(format_args!(
        "Created {}. It is called at /functions/v1/{name} and needs a token, unless [functions.{name}] in config.toml has \
         verify_jwt = false.",
        display_path(&folder.join("index.ts"))
    ));
    Ok(())
}

/// Returns names and contents of the files of a new function.
pub(super) fn files_of_new(name: &str) -> [(&'static str, String); 2] {
    [("deno.json", CONFIGURATION.to_owned()), ("index.ts", TEMPLATE.replace("{name}", name))]
}

fn list(settings: &functions::Settings) {
    let found = settings.list();
    if found.is_empty() {
        console::print(format_args!(
            "No functions in {}. `basalt functions new NAME` creates one.",
            display_path(&settings.folder)
        ));
    }
    for found in found {
        let state = match (found.function.enabled, found.function.verify_jwt) {
            (false, _) => "off",
            (true, true) => "needs a token",
            (true, false) => "open to all",
        };
        console::print(format_args!("{:<32} {:<14} {}", found.name, state, display_path(&found.entry_point)));
    }
    if let Err(missing) = functions::find_deno(settings) {
        console::note(missing);
    }
}

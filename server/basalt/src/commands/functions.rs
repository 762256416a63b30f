//! `basalt functions`: edge functions on a developer's machine.

use std::fs;
use std::path::PathBuf;

use clap::{Args, Subcommand};

use super::{block_on, load, serve};
use crate::console;
use crate::error::Error;
use crate::settings::{Flags, Settings, display_path};

/// What a new function begins with.
const TEMPLATE: &str = include_str!("functions/index.ts.template");
const CONFIGURATION: &str = "{\n  \"imports\": {}\n}\n";

/// What `functions` takes.
#[derive(Debug, Subcommand)]
pub(super) enum Arguments {
    /// Make a function: a folder with an index.ts that answers
    New {
        /// Its name, which is its path: letters, digits, `-` and `_`
        name: String,
    },
    /// Serve functions and start them anew when their files change
    ///
    /// Beside a running `basalt serve` of the same project this serves functions alone, on the next free port; else
    /// it serves the project.
    Serve(ServeArguments),
    /// List the project's functions
    List,
}

impl Arguments {
    /// Whether it serves until it is ended.
    pub(super) const fn is_server(&self) -> bool {
        matches!(self, Self::Serve(_))
    }
}

/// What `functions serve` takes.
#[derive(Debug, Args)]
pub(super) struct ServeArguments {
    /// A file with variables for them, in the place of `functions/.env`
    #[arg(long, value_name = "FILE")]
    env_file: Option<PathBuf>,
    /// Take calls without a token, whatever `verify_jwt` says
    #[arg(long)]
    no_verify_jwt: bool,
    /// The port to listen on; the next free one if it is taken, any free one for 0 [default: 54321]
    #[arg(long)]
    port: Option<u16>,
}

/// What a person should know of a project's functions before the first call.
pub(super) struct Functions {
    /// How many can be called.
    pub(super) count: usize,
    /// What they run on, if it is there.
    pub(super) deno: Option<PathBuf>,
    watched: bool,
}

impl Functions {
    /// Those of `settings`; `None` where functions are off.
    pub(super) fn of(settings: &Settings) -> Option<Self> {
        let settings = settings.services.functions.as_ref()?;
        Some(Self {
            count: settings.list().iter().filter(|found| found.function.enabled).count(),
            deno: functions::find_deno(settings),
            watched: settings.watch,
        })
    }

    /// Why none of them can be called, and what to do; `None` where they can, or there are none.
    pub(super) fn problem(&self) -> Option<String> {
        let is_missing = self.count > 0 && self.deno.is_none();
        is_missing.then(|| format!("{} cannot be called. {}", self.number(), functions::Error::NoDeno))
    }

    /// Where they are, and when a changed file counts.
    pub(super) fn described(&self, api_url: &str) -> String {
        let changes = match self.watched {
            true => "changed files count at the next call",
            false => "restart to see changed files, or use `basalt functions serve`",
        };
        format!("{api_url}/functions/v1/<name> ({}; {changes})", self.number())
    }

    /// The number in words.
    pub(super) fn number(&self) -> String {
        if self.count == 1 { "1 function".to_owned() } else { format!("{} functions", self.count) }
    }
}

/// Runs the command.
pub(super) fn run(arguments: Arguments, flags: Flags) -> Result<(), Error> {
    match arguments {
        Arguments::New { name } => new(of(&load(&flags)?)?, &name),
        Arguments::List => {
            list(of(&load(&flags)?)?);
            Ok(())
        }
        Arguments::Serve(ServeArguments { env_file, no_verify_jwt, port }) => {
            let flags =
                Flags { env_file, port, open_functions: no_verify_jwt, watch_functions: true, ..flags };
            let settings = load(&flags)?;
            of(&settings)?;
            block_on(serve::run_functions(settings))
        }
    }
}

fn of(settings: &Settings) -> Result<&functions::Settings, Error> {
    let off =
        || Error::Advice("edge functions are off: set edge_runtime.enabled = true in config.toml".to_owned());
    settings.services.functions.as_ref().ok_or_else(off)
}

fn new(settings: &functions::Settings, name: &str) -> Result<(), Error> {
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
            "{folder} exists already: choose another name, or edit what is there"
        )));
    }
    let write = || {
        fs::create_dir_all(&folder)?;
        fs::write(folder.join("deno.json"), CONFIGURATION)?;
        fs::write(folder.join("index.ts"), TEMPLATE.replace("{name}", name))
    };
    write().map_err(Error::io(format!("write {}", display_path(&folder))))?;
    console::print(format_args!(
        "Made {}. It answers at /functions/v1/{name} to callers with a key; [functions.{name}] in config.toml can \
         change that with verify_jwt = false.",
        display_path(&folder.join("index.ts"))
    ));
    Ok(())
}

fn list(settings: &functions::Settings) {
    let found = settings.list();
    if found.is_empty() {
        console::print(format_args!(
            "No functions in {}. `basalt functions new NAME` makes one.",
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
    if functions::find_deno(settings).is_none() {
        console::note(functions::Error::NoDeno);
    }
}

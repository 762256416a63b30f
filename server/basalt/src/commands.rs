//! The command line: one module per command.

mod advisors;
mod backup;
mod command_line;
mod conformance;
mod db;
mod doctor;
mod extensions;
mod functions;
mod gen_types;
mod gotrue;
mod init;
mod keys;
mod managed;
mod migrate;
mod migration;
mod postgrest;
mod psql;
mod restore;
mod serve;
mod service;
mod source;
mod status;
mod stop;
mod storage;
mod token;
mod update;

use std::path::PathBuf;

use clap::{Args, Parser, Subcommand};
use settings::{Managed, Variables};

use crate::accept;
use crate::error::Error;
use crate::instance::Instance;
use crate::logging;
use crate::settings::{Invocation, Settings};

pub(crate) use command_line::parse;

/// Why a command that replaces another program does not take the flags of a project.
const NO_PROJECT: &str =
    "`basalt postgrest` and `basalt gotrue` serve no project: leave --project and --data-dir out";

/// Basalt serves a Supabase project from one binary: Postgres, REST, auth, storage and the site.
///
/// `basalt init` makes a project, and `basalt serve` in its folder serves it. A project is what the Supabase CLI makes
/// (a folder `supabase` with `config.toml`, `migrations` and `seed.sql`) or a folder with a `config.toml` of its own;
/// without either, a bare backend is served. All of Basalt's data is in `.basalt` in that folder.
///
/// Settings come from flags, then the environment (and `.env`), then changes over the platform interface, then
/// `config.toml`, then defaults. Variables have their names of upstream: DATABASE_URL, JWT_SECRET, ANON_KEY, PGRST_*, GOTRUE_* and so on.
#[derive(Debug, Parser)]
#[command(version, max_term_width = 100)]
pub(crate) struct Arguments {
    #[command(flatten)]
    common: Common,
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Args)]
struct Common {
    /// The project's folder [default: the current one] [env: BASALT_PROJECT]
    #[arg(long, alias = "workdir", global = true, value_name = "DIR")]
    project: Option<PathBuf>,
    /// The folder of everything that must outlive a restart: database, objects, keys
    /// [default: .basalt in the project's folder] [env: BASALT_DATA_DIR]
    #[arg(long, global = true, value_name = "DIR")]
    data_dir: Option<PathBuf>,
    /// The format of log lines [default: text; for a server without a terminal: json]
    #[arg(long, global = true, value_name = "FORMAT", env = "BASALT_LOG_FORMAT")]
    log_format: Option<logging::Format>,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Create a project: a table with policies, a seed, a function, and a page that uses them
    ///
    /// In the layout of the Supabase CLI, so that it also runs on hosted Supabase. Nothing that exists is overwritten.
    Init(init::Arguments),
    /// Start everything and serve it on one port, until Ctrl-C
    ///
    /// Starts the embedded Postgres (unless DATABASE_URL names another), applies migrations and seed, fills the
    /// buckets, and serves /rest/v1, /auth/v1, /storage/v1, /realtime/v1, /functions/v1 and the site at /. Metrics
    /// and health are on a second port that only programs on this machine can reach.
    Serve(serve::Arguments),
    /// Serve REST of any database, in place of PostgREST and with its arguments
    ///
    /// At /, without API keys and migrations, configured by PostgREST's file, PGRST_* variables and libpq's. Under the
    /// name `postgrest`, the program is this command.
    Postgrest(postgrest::Arguments),
    /// Serve auth of a database of Supabase's, in place of Supabase Auth and with its arguments
    ///
    /// At /, without API keys, configured by Supabase Auth's GOTRUE_* variables and files, on schema auth only. Under
    /// the names `auth` and `gotrue`, the program is this command.
    Gotrue(gotrue::Arguments),
    /// Apply the project's migrations and seed, or show their states
    ///
    /// `serve` does this, too. Use it to migrate a database before new servers start, or with --status to see what
    /// would be done.
    Migrate(migrate::Arguments),
    /// Create files of migrations
    #[command(subcommand)]
    Migration(migration::Arguments),
    /// Reset the project's database, or upgrade it to a newer Postgres
    #[command(subcommand)]
    Db(db::Arguments),
    /// Show the project's API keys, creating them if there are none yet
    ///
    /// The publishable key and the legacy anon key may be published. The secret key and the legacy service_role key
    /// bypass row-level security: they are only shown with --show.
    Keys(keys::Arguments),
    /// Show how to reach the running server: addresses, database, keys
    ///
    /// With `-o env` and `-o json` under the names of `supabase status`: API_URL, DB_URL, ANON_KEY and so on,
    /// including the secret keys.
    Status(status::Arguments),
    /// Create, list and revoke access tokens, with which tools manage the server
    ///
    /// `basalt token create` prints one for the Supabase CLI, the MCP server and other tools. `basalt status --profile`
    /// prints what makes them find this server.
    #[command(subcommand)]
    Token(token::Arguments),
    /// List and reset the settings that were changed over the platform interface
    ///
    /// They take precedence over config.toml. A server that runs takes part in a reset at once.
    #[command(subcommand)]
    Settings(managed::Arguments),
    /// Show what could be wrong with the database and the settings: security and performance
    ///
    /// The lints have the names of Supabase's, and need no running server.
    Advisors(advisors::Arguments),
    /// Make, list and verify backups: database, objects, keys and settings as one
    ///
    /// They are on as soon as basalt.backup.target names a folder or a bucket.
    #[command(subcommand)]
    Backup(backup::Arguments),
    /// Bring a project back as it was at a moment, beside the running one or in place
    ///
    /// Into the folder of --data-dir, on any machine: only the target and the passphrase are needed.
    Restore(restore::Arguments),
    /// Stop the project's running server; its data is kept
    Stop,
    /// Run the project's server as a service of systemd
    #[command(subcommand)]
    Service(service::Arguments),
    /// Replace this program by a newer release, and the running server with it
    ///
    /// For programs of a release archive. The release must be signed. The new program is tried on an empty folder
    /// first; a running server of this project switches to it, and back if it is not healthy. The old one is kept.
    Update(update::Arguments),
    /// Bring the objects of storage to another store
    #[command(subcommand)]
    Storage(storage::Arguments),
    /// Open psql on the project's database, as its administrator
    ///
    /// Everything after the command is passed to psql: `basalt psql -c 'select count(*) from faqs'`.
    Psql(psql::Arguments),
    /// List the extensions of the project's Postgres, and those that only hosted Supabase has
    Extensions,
    /// Check the set-up and say how to fix problems
    Doctor(doctor::Arguments),
    /// Ask a server whether it keeps Supabase's promises: the running one, or any other
    ///
    /// Everything after the command is passed to the kit, which needs Node.js: `basalt conformance --url URL
    /// --anon-key KEY --service-key KEY --html report.html`. `basalt conformance --help` lists its arguments.
    #[command(disable_help_flag = true)]
    Conformance(conformance::Arguments),
    /// Prepare to bring the project to another server with Supabase's interfaces
    #[command(subcommand)]
    Swap(conformance::Swap),
    /// Create, run and list edge functions
    #[command(subcommand)]
    Functions(functions::Arguments),
    /// Generate code from the database
    #[command(subcommand)]
    Gen(GenCommand),
    /// Run tests
    #[command(subcommand)]
    Test(TestCommand),
}

#[derive(Debug, Subcommand)]
enum TestCommand {
    /// Run the tests of supabase/tests, which are written with pgTAP, as `basalt db test` does
    Db(db::test::Arguments),
}

#[derive(Debug, Subcommand)]
enum GenCommand {
    /// Generate types for typed clients, in the format of the Supabase CLI
    ///
    /// Example: `basalt gen types typescript > src/database.types.ts`
    Types(gen_types::Arguments),
}

impl Arguments {
    /// Runs the command in a process that has `variables`.
    pub(crate) fn run(self, variables: Variables) -> Result<(), Error> {
        let is_server = match &self.command {
            Command::Serve(_) | Command::Gotrue(_) => true,
            Command::Postgrest(arguments) => arguments.is_server(),
            Command::Functions(arguments) => arguments.is_server(),
            _ => false,
        };
        let default = if is_server { logging::default_server_format() } else { logging::Format::Text };
        let Common { project, data_dir, log_format } = self.common;
        let format = log_format.unwrap_or(default);
        let is_stand_in = matches!(self.command, Command::Postgrest(_) | Command::Gotrue(_));
        if is_stand_in && (project.is_some() || data_dir.is_some()) {
            return Err(Error::Advice(NO_PROJECT.to_owned()));
        }
        let serves = matches!(self.command, Command::Serve(_));
        let invocation =
            Invocation { variables, project, data_dir, serves, listens: is_server, ..Invocation::default() };
        if !is_stand_in {
            logging::start(format, None, &invocation.variables);
        }
        if matches!(self.command, Command::Backup(_) | Command::Restore(_)) {
            // What pgBackRest inherits has the numbers that it has in a server.
            accept::raise_file_limit();
        }
        match self.command {
            // These two start the log themselves, since their settings say what is logged.
            Command::Postgrest(arguments) => postgrest::run(arguments, invocation.variables, format),
            Command::Gotrue(arguments) => gotrue::run(arguments, &invocation.variables, format),
            Command::Serve(arguments) => serve::run(arguments, invocation),
            Command::Init(arguments) => init::run(arguments, invocation.project),
            Command::Doctor(arguments) => block_on(doctor::run(invocation, arguments)),
            Command::Conformance(arguments) => block_on(conformance::run(&invocation, arguments)),
            Command::Swap(arguments) => conformance::swap(&Settings::load(&invocation)?, arguments),
            Command::Extensions => block_on(extensions::run(load(&invocation)?)),
            Command::Functions(arguments) => functions::run(arguments, invocation),
            Command::Migration(arguments) => migration::run(&Settings::load(&invocation)?, arguments),
            Command::Migrate(arguments) => {
                let invocation = Invocation { yes: arguments.yes, ..invocation };
                block_on(migrate::run(load(&invocation)?, arguments))
            }
            Command::Db(arguments) => block_on(db::run(load(&invocation)?, arguments)),
            Command::Test(TestCommand::Db(arguments)) => {
                block_on(db::test::run(load(&invocation)?, arguments))
            }
            Command::Keys(arguments) => keys::run(&load(&invocation)?, &arguments),
            Command::Status(arguments) => block_on(status::run(Settings::load(&invocation)?, arguments)),
            Command::Token(arguments) => block_on(token::run(load(&invocation)?, arguments)),
            Command::Settings(arguments) => block_on(managed::run(load(&invocation)?, arguments)),
            Command::Advisors(arguments) => {
                block_on(advisors::run(&invocation, load(&invocation)?, arguments))
            }
            Command::Backup(arguments) => block_on(backup::run(load(&invocation)?, arguments)),
            Command::Restore(arguments) => block_on(restore::run(load(&invocation)?, arguments)),
            Command::Stop => block_on(stop::run(Settings::load(&invocation)?)),
            Command::Service(arguments) => block_on(service::run(Settings::load(&invocation)?, arguments)),
            Command::Update(arguments) => block_on(update::run(Settings::load(&invocation)?, arguments)),
            Command::Storage(arguments) => block_on(storage::run(&load(&invocation)?, &arguments)),
            Command::Psql(arguments) => psql::run(&load(&invocation)?, arguments),
            Command::Gen(GenCommand::Types(arguments)) => {
                block_on(gen_types::run(Settings::load(&invocation)?, arguments))
            }
        }
    }
}

/// Reads the settings and logs their warnings.
fn load(invocation: &Invocation) -> Result<Settings, Error> {
    load_with(invocation, &Managed::new())
}

/// Does what [`load`] does, with settings that were changed over the platform interface.
fn load_with(invocation: &Invocation, managed: &Managed) -> Result<Settings, Error> {
    let settings = Settings::load_with(invocation, managed)?;
    logging::log_warnings(&settings.warnings);
    Ok(settings)
}

/// Returns the project's running server. Errors: if there is none.
async fn running(settings: &Settings) -> Result<Instance, Error> {
    let none = || Error::Advice("no server of this project is running; `basalt serve` starts one".to_owned());
    Instance::find(&settings.data_dir).await.ok_or_else(none)
}

fn block_on(command: impl Future<Output = Result<(), Error>>) -> Result<(), Error> {
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build()
        .map_err(Error::io("start the worker threads"))?;
    let result = runtime.block_on(command);
    // A thread that still blocks (in a DNS lookup, for example) must not keep the process alive.
    runtime.shutdown_timeout(std::time::Duration::from_secs(1));
    result
}

//! The command line: one module per command.

mod conformance;
mod db;
mod doctor;
mod extensions;
mod functions;
mod gen_types;
mod init;
mod keys;
mod migrate;
mod migration;
mod psql;
mod serve;
mod source;
mod status;
mod stop;
mod storage;

use std::net::IpAddr;
use std::path::PathBuf;

use clap::{Args, Parser, Subcommand};
use serve::drop_in::action::Action;
use settings::Variables;

use crate::console;
use crate::error::Error;
use crate::instance::Instance;
use crate::logging;
use crate::settings::{AuthDropIn, DropIn, Invocation, Service, Settings};

/// Basalt serves a Supabase project from one binary: Postgres, REST, auth, storage and the site.
///
/// `basalt init` makes a project, and `basalt serve` in its folder serves it. A project is what the Supabase CLI makes
/// (a folder `supabase` with `config.toml`, `migrations` and `seed.sql`) or a folder with a `config.toml` of its own;
/// without either, a bare backend is served. All of Basalt's data is in `.basalt` in that folder.
///
/// Settings come from flags, then the environment (and `.env`), then `config.toml`, then defaults. Variables have
/// their names of upstream: DATABASE_URL, JWT_SECRET, ANON_KEY, PGRST_*, GOTRUE_* and so on.
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
    ///
    /// With `--only rest` and PGRST_DB_URI, or a configuration file of PostgREST's, it replaces the `postgrest`
    /// binary: REST at / of any database, without API keys and migrations, configured by the same file and PGRST_*
    /// variables.
    ///
    /// With `--only auth` and GOTRUE_DB_DATABASE_URL (or DATABASE_URL and GOTRUE_DB_DRIVER), it replaces Supabase
    /// Auth's binary: auth at /, without API keys, configured by the same GOTRUE_* variables, on schema auth only.
    Serve(ServeArguments),
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
    /// Stop the project's running server; its data is kept
    Stop,
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
    Doctor,
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

/// Arguments of `serve`.
#[derive(Debug, Clone, Args)]
struct ServeArguments {
    /// Serve only these parts, separated by commas
    #[arg(long, value_delimiter = ',', value_name = "PARTS")]
    only: Option<Vec<Service>>,
    /// Set up the database of DATABASE_URL without asking, if Basalt has not done so before
    /// [env: BASALT_ADOPT_DATABASE=1]
    #[arg(long, short)]
    yes: bool,
    /// The port to listen on; the next free one if it is taken, any free one for 0
    /// [default: api.port of config.toml, which must be free, else 54321] [env: BASALT_PORT]
    #[arg(long)]
    port: Option<u16>,
    /// Take the next free port if one of config.toml is taken [env: BASALT_ANY_PORT]
    #[arg(long)]
    any_port: bool,
    /// Use the keys of the Supabase CLI's local stacks, which projects and tools know; only on a loopback address
    /// [env: BASALT_CLI_KEYS]
    #[arg(long)]
    cli_keys: bool,
    /// The address to listen on; 0.0.0.0 for all interfaces [default: 127.0.0.1] [env: BASALT_HOST]
    #[arg(long, value_name = "ADDRESS")]
    host: Option<IpAddr>,
    /// Get the site's pages from Vite's dev server, for hot reload
    #[arg(long, value_name = "URL", num_args = 0..=1, default_missing_value = "http://127.0.0.1:5173")]
    dev: Option<String>,
    /// A file with variables for edge functions, instead of `functions/.env`
    #[arg(long, value_name = "FILE")]
    env_file: Option<PathBuf>,
    /// PostgREST's configuration file, with `--only rest`; PGRST_* variables override it
    #[arg(value_name = "FILENAME")]
    file: Option<PathBuf>,
    /// A file with variables that override the environment, with `--only auth`
    #[arg(short, long, value_name = "FILE")]
    config: Option<PathBuf>,
    /// A folder with such files (*.env, *.json), which override everything
    #[arg(short = 'd', long, value_name = "DIR")]
    config_dir: Option<PathBuf>,
    /// Print the settings of the PostgREST replacement, including those in the database, and exit
    #[arg(long, group = "action")]
    dump_config: bool,
    /// Print the schema cache of the PostgREST replacement as JSON and exit
    #[arg(long, group = "action")]
    dump_schema: bool,
    /// Ask the admin server of the PostgREST replacement whether it is ready; exits with 1 unless it is
    #[arg(long, group = "action")]
    ready: bool,
    /// Print a configuration file of the PostgREST replacement with every setting and its default and exit
    #[arg(short, long, group = "action")]
    example: bool,
    /// Print the version and exit
    #[arg(short = 'v', long, group = "action")]
    version: bool,
}

impl Arguments {
    /// Runs the command in a process that has `variables`.
    pub(crate) fn run(self, variables: Variables) -> Result<(), Error> {
        let is_server = match &self.command {
            Command::Serve(arguments) => arguments.action().is_none(),
            Command::Functions(arguments) => arguments.is_server(),
            _ => false,
        };
        let default = if is_server { logging::default_server_format() } else { logging::Format::Text };
        let Common { project, data_dir, log_format } = self.common;
        let format = log_format.unwrap_or(default);
        let serves = matches!(self.command, Command::Serve(_));
        let invocation =
            Invocation { variables, project, data_dir, serves, listens: is_server, ..Invocation::default() };
        if !matches!(self.command, Command::Serve(_)) {
            logging::start(format, None, &invocation.variables);
        }
        match self.command {
            // Starts the log itself, since its settings may change what is logged.
            Command::Serve(arguments) => serve(format, arguments, invocation),
            Command::Init(arguments) => init::run(arguments, invocation.project),
            Command::Doctor => block_on(doctor::run(invocation)),
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
            Command::Stop => block_on(stop::run(Settings::load(&invocation)?)),
            Command::Storage(arguments) => block_on(storage::run(&load(&invocation)?, &arguments)),
            Command::Psql(arguments) => psql::run(&load(&invocation)?, arguments),
            Command::Gen(GenCommand::Types(arguments)) => {
                block_on(gen_types::run(Settings::load(&invocation)?, arguments))
            }
        }
    }
}

/// Serves the project, or replaces the binary of PostgREST or Supabase Auth if the environment or a file is meant for
/// it.
fn serve(format: logging::Format, arguments: ServeArguments, invocation: Invocation) -> Result<(), Error> {
    if arguments.version {
        console::print(concat!("basalt ", env!("CARGO_PKG_VERSION")));
        return Ok(());
    }
    if arguments.example {
        console::print(rest::StandaloneSettings::example().trim_end());
        return Ok(());
    }
    let action = arguments.action();
    let invocation = arguments.add_to(invocation);
    let start_log = |level: Option<&str>| logging::start(format, level, &invocation.variables);
    let start_log_of_failure = |_: &settings::Invalid| start_log(None);
    if let Some(settings) = AuthDropIn::load(&invocation).inspect_err(start_log_of_failure)? {
        start_log(settings.log_level.as_deref());
        return block_on(serve::auth_drop_in::run(settings));
    }
    let drop_in = DropIn::read(&invocation).inspect_err(start_log_of_failure)?;
    start_log(drop_in.as_ref().map(|drop_in| drop_in.settings.server.log_level.as_str()));
    match (drop_in, action) {
        (Some(settings), Some(action)) => block_on(serve::drop_in::action::run(settings, action)),
        (Some(settings), None) => block_on(serve::drop_in::run(invocation, settings)),
        (None, Some(_)) => Err(Error::Advice(
            "--dump-config, --dump-schema and --ready need --only rest and PGRST_DB_URI, PGHOST or PostgREST's \
             configuration file"
                .to_owned(),
        )),
        (None, None) => block_on(serve::run(load(&invocation)?)),
    }
}

/// Reads the settings and logs their warnings.
fn load(invocation: &Invocation) -> Result<Settings, Error> {
    let settings = Settings::load(invocation)?;
    logging::log_warnings(&settings.warnings);
    Ok(settings)
}

/// Returns the project's running server. Errors: if there is none.
async fn running(settings: &Settings) -> Result<Instance, Error> {
    let none = || Error::Advice("no server of this project is running; `basalt serve` starts one".to_owned());
    Instance::find(&settings.data_dir).await.ok_or_else(none)
}

impl ServeArguments {
    fn add_to(self, invocation: Invocation) -> Invocation {
        let Self {
            only, port, any_port, cli_keys, host, dev, env_file, file, config, config_dir, yes, ..
        } = self;
        let (auth_file, auth_folder) = (config, config_dir);
        Invocation {
            only,
            port,
            any_port,
            cli_keys,
            host,
            dev,
            env_file,
            file,
            auth_file,
            auth_folder,
            yes,
            ..invocation
        }
    }

    fn action(&self) -> Option<Action> {
        let actions = [
            (self.dump_config, Action::DumpConfig),
            (self.dump_schema, Action::DumpSchema),
            (self.ready, Action::Ready),
        ];
        actions.into_iter().find_map(|(is_chosen, action)| is_chosen.then_some(action))
    }
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

#[cfg(test)]
mod tests {
    use clap::CommandFactory as _;

    use super::*;

    #[test]
    fn the_command_line_is_consistent() {
        Arguments::command().debug_assert();
    }

    #[test]
    fn serve_takes_parts_and_a_dev_server() {
        let arguments =
            Arguments::try_parse_from(["basalt", "serve", "--only", "rest,storage", "--dev", "--port", "0"])
                .unwrap();
        let Command::Serve(serve) = arguments.command else { panic!("{arguments:?}") };
        assert_eq!(serve.only, Some(vec![Service::Rest, Service::Storage]));
        assert_eq!(serve.dev.as_deref(), Some("http://127.0.0.1:5173"));
        assert_eq!(serve.port, Some(0));
    }
}

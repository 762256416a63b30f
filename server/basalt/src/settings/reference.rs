//! Generates the reference of all settings, `docs/settings.md`, from the tables that the settings are read with.

use settings::{reference as section, reference_of};

use super::services::Switches;
use super::{DatabaseSettings, Migrations, Seed, Server};

const FILE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/settings.md");

const INTRODUCTION: &str = "\
# Settings

A setting comes from the first of these that has it: flags of the command line (`basalt help`), environment variables,
the files `.env.local` and `.env` of the project, `config.toml`, and its default. `config.toml` is the Supabase CLI's,
`supabase/config.toml` of the project, with a table `[basalt]` for what only Basalt has; variables are called as Supabase's
services call them, and those of Basalt alone begin with `BASALT_`.

`.env` files are read as the Supabase CLI reads them. A line is `NAME=value` or `NAME: value`, `export` may stand before it,
and `#` at its beginning or after white space begins a comment. Values in quotes keep white space and may have several lines;
double quotes know `\\n`, `\\r`, `\\\"` and `\\$`. Outside single quotes `$NAME` and `${NAME}`, in capital letters, stand for what
the same file has said above, or for nothing; `\\$NAME` is the text itself.

Each table names a setting by its key in `config.toml` and by its variables, the strongest first. A variable that is empty
counts as not set. Instead of a variable `NAME`, `NAME_FILE` can be set to the path of a file with the value, such as a
secret of a container; a server that replaces PostgREST has PostgREST's `@path` for that. In `config.toml` a text
`env(NAME)` stands for the variable `NAME`. One that is not set is warned about, and the key counts as absent; as with the
CLI, no start stops for it where a provider is switched on, whose credentials are then the text `env(NAME)`. Without the
address of its sender no mail server counts as set. A value that cannot be used stops the start; a name that nobody knows is
warned about.

<!-- Made of the tables in the code by `BASALT_TEST_UPDATE=1 cargo test -p basalt reference`. -->
";

const LOG: &str = "\
## Log

These are read before all others, of the environment of the process alone.

| Setting | Value | Default | Meaning |
| --- | --- | --- | --- |
| `BASALT_LOG`<br>`RUST_LOG` | directives of `tracing`'s `EnvFilter`, such as `info,access=off` |  | What is logged. Without it, \
`PGRST_LOG_LEVEL` is the level: `crit`, `error`, `warn`, `info` or `debug`. |
| `BASALT_LOG_FORMAT` | text or json |  | The format of log lines: text; for a server without a terminal JSON. `--log-format`. |
";

const TELEMETRY_NOTE: &str = "\
These names are OpenTelemetry's. See [operating](operating.md#traces).
";

const REST_NOTE: &str = "\
`PGRST_APP_SETTINGS_<name>` sets Postgres' `app.settings.<name>` for every transaction. Beside other services
`PGRST_JWT_SECRET` and `PGRST_JWT_SECRET_IS_BASE64` set the keys of all of them, and `PGRST_SERVER_HOST`,
`PGRST_SERVER_PORT` and `PGRST_SERVER_CORS_ALLOWED_ORIGINS` have no effect.
";

const NAMED: &str = "\
## Tables whose names are the project's

- `[db.vault]`: secrets by name, for the database's vault.
- `[basalt.functions.schedules]`: by function, how often the server itself calls it.
- `[edge_runtime.secrets]`: variables by name that functions see; beside those of `.env` in the functions folder.
- `[functions.<name>.env]`: variables by name that this function alone sees; beside those of `.env` in its own folder,
  which they precede. A variable of the project's files that such a table refers to with `env(NAME)` is for no other
  function. The file of `--env-file` precedes all of them, and then no function's own `.env` is read.
";

fn reference() -> String {
    let (mut rest, server) = (rest::Settings::of_project(), Server::default());
    rest.set_api_url(&server.api_url(server.port));
    [
        INTRODUCTION.to_owned(),
        section::<Server>("Server", ""),
        LOG.to_owned(),
        section::<DatabaseSettings>("Database", ""),
        section::<Migrations>("Migrations", ""),
        section::<Seed>("Seed", ""),
        section::<Switches>("Services", ""),
        section::<gateway::Settings>("Gateway", ""),
        section::<otlp::Settings>("Traces and metrics by OTLP", ""),
        TELEMETRY_NOTE.to_owned(),
        section::<tokens::KeyOverrides>("Keys", ""),
        section::<site::Settings>("Site", ""),
        reference_of("REST", "", &rest),
        REST_NOTE.to_owned(),
        section::<rest::Connections>("REST: connections", ""),
        section::<rest::Server>("REST in a server of its own", ""),
        auth::settings_reference(),
        section::<storage::Settings>("Storage", ""),
        section::<storage::S3Settings>("Storage's S3 store", ""),
        section::<storage::BucketDefinition>("One bucket", "storage.buckets.<name>"),
        section::<realtime::Settings>("Realtime", ""),
        section::<functions::Settings>("Functions", ""),
        section::<functions::Function>("One function", "functions.<name>"),
        section::<functions::Limits>("Limits of functions", "basalt.functions"),
        NAMED.to_owned(),
    ]
    .join("\n")
}

#[test]
fn the_reference_is_that_of_the_tables() {
    let made = reference();
    assert!(!made.contains("[`"), "a link of the code's documentation leads nowhere here");
    if std::env::var("BASALT_TEST_UPDATE").is_ok_and(|value| value == "1") {
        std::fs::write(FILE, &made).unwrap();
    }
    let kept = std::fs::read_to_string(FILE).unwrap_or_default();
    assert!(kept == made, "docs/settings.md is out of date: run this test with BASALT_TEST_UPDATE=1");
}

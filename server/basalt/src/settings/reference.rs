//! Generates the reference of all settings, `docs/settings.md`, from the tables that the settings are read with.

use settings::{reference as section, reference_of};

use super::services::Switches;
use super::{DatabaseSettings, Migrations, Seed, Server};

const FILE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/settings.md");

const INTRODUCTION: &str = "\
# Settings

A setting is taken from the first of these places that has it:

1. flags of the command line (`basalt help`);
2. environment variables;
3. the project's files `.env.local` and `.env`;
4. what was changed over the platform interface ([managing.md](managing.md#settings));
5. `config.toml`;
6. its default. With `basalt.memory = \"small\"`, some are [smaller](operating.md#a-small-machine).

`config.toml` is the file of the Supabase CLI, `supabase/config.toml` in the project. Settings that only Basalt has are
in its table `[basalt]`. Environment variables have the names that Supabase's services give them; those of Basalt alone
begin with `BASALT_`.

`.env` files are read as the Supabase CLI reads them:

- A line is `NAME=value` or `NAME: value`, and `export` may stand before it. `#` begins a comment, at the beginning of a
  line or after white space.
- A value in quotes keeps its white space and may have several lines. In double quotes, `\\n`, `\\r`, `\\\"` and `\\$` have
  their usual meaning.
- `$NAME` and `${NAME}`, in capital letters and not in single quotes, are replaced by the value that the same file has
  set above, or by nothing. `\\$NAME` stands for the text `$NAME`.

Each table below names a setting by its key in `config.toml` and its variables; the first variable that is set counts.

- A variable that is empty counts as not set.
- Instead of a variable `NAME`, `NAME_FILE` can be set to the path of a file with the value, such as a secret of a
  container. A server that replaces PostgREST has PostgREST's `@path` for this.
- In `config.toml`, the text `env(NAME)` stands for the variable `NAME`. If this variable is not set, the key counts as
  not set, and there is a warning. As with the CLI, this does not stop the start if a provider is switched on: the
  provider then has the text `env(NAME)` as its credentials. A mail server without the sender's address counts as not
  set.
- A value that cannot be used stops the start. A name that is not known causes a warning.
- Most settings of the services can be changed while the server runs: [operating.md](operating.md) says how. \"Read again
  on reload\" is about a server that replaces PostgREST.

<!-- Made of the tables in the code by `BASALT_TEST_UPDATE=1 cargo test -p basalt reference`. -->
";

const LOG: &str = "\
## Log

These are read before all others, and only from the environment of the process.

| Setting | Value | Default | Meaning |
| --- | --- | --- | --- |
| `BASALT_LOG`<br>`RUST_LOG` | directives of `tracing`'s `EnvFilter`, such as `info,access=off` |  | What is logged. If it is not set, \
`PGRST_LOG_LEVEL` is the level: `crit`, `error`, `warn`, `info` or `debug`. |
| `BASALT_LOG_FORMAT` | text or json |  | The format of log lines. The default is text, and JSON for a server without a terminal. `--log-format`. |
";

const TELEMETRY_NOTE: &str = "\
These names are OpenTelemetry's. See [operating](operating.md#traces).
";

const REST_NOTE: &str = "\
`PGRST_APP_SETTINGS_<name>` sets Postgres' `app.settings.<name>` for every transaction. If REST runs together with other
services, `PGRST_JWT_SECRET` and `PGRST_JWT_SECRET_IS_BASE64` set the keys of all services, and `PGRST_SERVER_HOST`,
`PGRST_SERVER_PORT` and `PGRST_SERVER_CORS_ALLOWED_ORIGINS` have no effect.
";

const NAMED: &str = "\
## Tables whose keys are names of yours

- `[db.vault]`: secrets for the database's vault, by name.
- `[basalt.functions.schedules]`: how often the server itself calls a function, by the function's name.
- `[edge_runtime.secrets]`: variables of all functions, by name, in addition to `.env` in the functions folder.
- `[functions.<name>.env]`: variables of this function alone, by name, in addition to `.env` in its own folder. A
  name in this table replaces the same name in the file. If the table refers with `env(NAME)` to a variable of the
  project's files, no other function sees this variable.

With `--env-file`, variables of that file replace all others with the same name, and the `.env` files of single
functions are not read.
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
        section::<::platform::Settings>("Platform interface", ""),
        section::<acme::Settings>("HTTPS", ""),
        section::<backup::Settings>("Backups", ""),
        section::<health::Settings>("Messages about problems", ""),
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

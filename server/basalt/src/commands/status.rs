//! `basalt status`: prints the addresses and keys of the running server, under the names of `supabase status`.
//!
//! Source: the Supabase CLI, `internal/status`.

use std::collections::BTreeMap;

use clap::{Args, ValueEnum};

use crate::backend::{self, Backend, RunningPostgres};
use crate::console;
use crate::error::Error;
use crate::instance::{Instance, RESPONSE_LIMIT};
use crate::settings::Settings;

/// The path of the admin port with the functions of which the project's folder and a deployment have one each.
pub(super) const DOUBLES: &str = "/functions/doubles";

/// Arguments of `status`.
#[derive(Debug, Args)]
pub(super) struct Arguments {
    /// The format of the output
    #[arg(short, long, value_enum, default_value_t = Format::Pretty)]
    output: Format,
    /// Print the profile with which the Supabase CLI finds this server, for a file that SUPABASE_PROFILE names
    #[arg(long, conflicts_with_all = ["output", "override_name"])]
    profile: bool,
    /// Other names for values, such as api.url=NEXT_PUBLIC_SUPABASE_URL, separated by commas
    #[arg(long, value_delimiter = ',', value_name = "NAMES")]
    override_name: Vec<String>,
}

/// A format of the output.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Format {
    /// For people
    Pretty,
    /// As lines of a .env file
    Env,
    /// As JSON
    Json,
    /// As TOML
    Toml,
    /// As YAML
    Yaml,
}

/// A value with its names: in `--override-name` (`path`), in files (`name`), and in text for people (`label`).
struct Item {
    path: &'static str,
    name: String,
    label: &'static str,
    value: Option<String>,
}

/// Prints the addresses and keys of the project's running server, including the secret keys.
///
/// Errors: if no server runs, or if it has other keys than this command's settings.
pub(super) async fn run(settings: Settings, arguments: Arguments) -> Result<(), Error> {
    let instance = super::running(&settings).await?;
    if arguments.profile {
        console::print(profile(&settings, &instance)?.trim_end());
        return Ok(());
    }
    let mut items = items(&settings, &instance)?;
    for pair in &arguments.override_name {
        rename(&mut items, pair)?;
    }
    if arguments.output == Format::Pretty {
        console::note("A server of this project is running.\n");
    }
    console::print(render(&items, arguments.output)?.trim_end());
    if arguments.output == Format::Pretty {
        for double in doubles(&instance).await {
            console::print(described(&double));
        }
    }
    if let Some(project_ref) = instance.project_ref.as_ref().filter(|_| arguments.output == Format::Pretty) {
        console::note(format_args!(
            "\nTo manage this server with the Supabase CLI:\n  \
             basalt status --profile > basalt.profile.yaml\n  \
             export SUPABASE_PROFILE=./basalt.profile.yaml SUPABASE_ACCESS_TOKEN=$(basalt token create)\n  \
             supabase link --project-ref {project_ref}"
        ));
    }
    Ok(())
}

/// Returns the functions of which the folder and a deployment have one each; none if the server does not say.
async fn doubles(instance: &Instance) -> Vec<functions::Double> {
    match instance.ask_admin(DOUBLES, RESPONSE_LIMIT).await {
        Ok(response) => response.json().await.unwrap_or_default(),
        Err(_) => Vec::new(),
    }
}

fn described(functions::Double { name, deployed_version }: &functions::Double) -> String {
    match deployed_version {
        Some(version) => format!(
            "\nFunction {name}: version {version}, which was deployed, serves, and not that of the folder."
        ),
        None => format!(
            "\nFunction {name}: that of the folder serves, which is worked in, and not the one that was deployed."
        ),
    }
}

/// Returns the profile of the Supabase CLI for this server, in YAML.
///
/// Errors: if the platform interface is off.
fn profile(settings: &Settings, instance: &Instance) -> Result<String, Error> {
    let off = || Error::Advice("the platform interface is off: see basalt.platform.access".to_owned());
    let url = match settings.platform.access {
        platform::Access::Admin => &instance.admin_url,
        _ => &instance.api_url,
    };
    instance.project_ref.as_ref().ok_or_else(off)?;
    let host = platform::Settings { api_url: url.clone(), ..settings.platform.clone() }.project_host();
    let text = |value: &str| serde_json::json!(value).to_string();
    let lines = [
        ("name", text("basalt")),
        ("api_url", text(url)),
        ("dashboard_url", text(url)),
        ("project_host", text(&host)),
    ];
    Ok(lines.map(|(name, value)| format!("{name}: {value}\n")).concat())
}

/// Returns the known values by their names in files.
///
/// Errors: if the running server has other keys than this command's settings.
pub(super) fn values(settings: &Settings, instance: &Instance) -> Result<BTreeMap<String, String>, Error> {
    let known = items(settings, instance)?.into_iter().filter_map(|item| Some((item.name, item.value?)));
    Ok(known.collect())
}

fn items(settings: &Settings, instance: &Instance) -> Result<Vec<Item>, Error> {
    let keys = backend::keys(settings)?;
    let api = keys.api_keys();
    if api.publishable() != instance.publishable_key {
        return Err(Error::Advice(
            "the running server has other keys than the settings of this command: call it with the same environment, \
             such as JWT_SECRET"
                .to_owned(),
        ));
    }
    let below = |path: &str, is_on: bool| is_on.then(|| format!("{}{path}", instance.api_url));
    let database = Backend::existing(settings, RunningPostgres::find(&settings.data_dir).as_ref());
    let database = database.map(|backend| backend.client_uri()).transpose()?;
    let (services, inbox) = (&settings.services, &instance.inbox_url);
    let storage = services.storage.as_ref().filter(|storage| storage.s3_enabled);
    let s3 = storage.map(|storage| storage::AccessKeys::of(storage, &keys));
    let of_s3 = |value: fn(&storage::AccessKeys) -> &str| s3.as_ref().map(|keys| value(keys).to_owned());
    let item = |path, name: &str, label, value| Item { path, name: name.to_owned(), label, value };
    let key = |value: &str| Some(value.to_owned());
    Ok(vec![
        item("api.url", "API_URL", "API URL", Some(instance.api_url.clone())),
        item("api.rest_url", "REST_URL", "REST URL", below("/rest/v1", services.rest.is_some())),
        item(
            "api.functions_url",
            "FUNCTIONS_URL",
            "Functions URL",
            below("/functions/v1", services.functions.is_some()),
        ),
        item("api.storage_s3_url", "STORAGE_S3_URL", "Storage S3 URL", below("/storage/v1/s3", s3.is_some())),
        item("db.url", "DB_URL", "DB URL", database),
        item("mailpit.url", "MAILPIT_URL", "Mailpit URL", inbox.clone()),
        item("inbucket.url", "INBUCKET_URL", "Inbucket URL", inbox.clone()),
        item("auth.publishable_key", "PUBLISHABLE_KEY", "Publishable key", key(api.publishable())),
        item("auth.secret_key", "SECRET_KEY", "Secret key", key(api.secret())),
        item("auth.jwt_secret", "JWT_SECRET", "JWT secret", key(keys.jwt_secret())),
        item("auth.anon_key", "ANON_KEY", "anon key", key(api.anon())),
        item("auth.service_role_key", "SERVICE_ROLE_KEY", "service_role key", key(api.service_role())),
        item(
            "storage.s3_access_key_id",
            "S3_PROTOCOL_ACCESS_KEY_ID",
            "S3 Access Key",
            of_s3(|keys| &keys.id),
        ),
        item(
            "storage.s3_secret_access_key",
            "S3_PROTOCOL_ACCESS_KEY_SECRET",
            "S3 Secret Key",
            of_s3(|keys| keys.secret.expose()),
        ),
        item("storage.s3_region", "S3_PROTOCOL_REGION", "S3 Region", of_s3(|keys| &keys.region)),
    ])
}

/// Renames the value at the path before the `=` to the name after it.
fn rename(items: &mut [Item], pair: &str) -> Result<(), Error> {
    let parts = pair.split_once('=').filter(|(_, name)| !name.is_empty());
    let found = parts.and_then(|(path, name)| {
        items.iter_mut().find(|item| item.path == path).map(|item| name.clone_into(&mut item.name))
    });
    found.ok_or_else(|| {
        let paths: Vec<_> = items.iter().map(|item| item.path).collect();
        let paths = paths.join(", ");
        Error::Advice(format!("--override-name: expected {paths}, = and another name, found {pair:?}"))
    })
}

/// Renders the known values; in the formats for programs they are sorted by name.
fn render(items: &[Item], format: Format) -> Result<String, Error> {
    let known = items.iter().filter_map(|item| Some((item, item.value.as_deref()?)));
    if format == Format::Pretty {
        return Ok(known.map(|(item, value)| format!("{:>16}: {value}\n", item.label)).collect());
    }
    let values: BTreeMap<&str, &str> = known.map(|(item, value)| (item.name.as_str(), value)).collect();
    let lines =
        |line: fn(&str, &str) -> String| values.iter().map(|(name, value)| line(name, value)).collect();
    Ok(match format {
        Format::Env => lines(|name, value| format!("{name}={}\n", quote(value))),
        // A JSON string is also a YAML string and, for these values, a TOML string.
        Format::Yaml => lines(|name, value| format!("{name}: {}\n", serde_json::json!(value))),
        Format::Toml => lines(|name, value| format!("{name} = {}\n", serde_json::json!(value))),
        Format::Json | Format::Pretty => {
            let text = serde_json::to_string_pretty(&values);
            text.map_err(|error| Error::Advice(format!("the values cannot be written: {error}")))?
        }
    })
}

/// Quotes `value` for a .env file, so that shells and readers of such files do not expand anything in it.
fn quote(value: &str) -> String {
    let mut text = String::from("\"");
    for c in value.chars() {
        match c {
            '\n' => text.push_str("\\n"),
            '\r' => text.push_str("\\r"),
            '"' | '\\' | '$' | '`' | '!' => text.extend(['\\', c]),
            c => text.push(c),
        }
    }
    text.push('"');
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    fn examples() -> Vec<Item> {
        let item = |path, name: &str, label, value: Option<&str>| Item {
            path,
            name: name.to_owned(),
            label,
            value: value.map(str::to_owned),
        };
        vec![
            item("b.url", "B_URL", "B URL", Some("http://b")),
            item("c.url", "C_URL", "C URL", None),
            item("a.key", "A_KEY", "A key", Some("pa$s \"w\"")),
        ]
    }

    #[test]
    fn values_are_rendered_in_every_format() {
        for (format, expected) in [
            (Format::Env, "A_KEY=\"pa\\$s \\\"w\\\"\"\nB_URL=\"http://b\"\n"),
            (Format::Json, "{\n  \"A_KEY\": \"pa$s \\\"w\\\"\",\n  \"B_URL\": \"http://b\"\n}"),
            (Format::Toml, "A_KEY = \"pa$s \\\"w\\\"\"\nB_URL = \"http://b\"\n"),
            (Format::Yaml, "A_KEY: \"pa$s \\\"w\\\"\"\nB_URL: \"http://b\"\n"),
            (Format::Pretty, "           B URL: http://b\n           A key: pa$s \"w\"\n"),
        ] {
            assert_eq!(render(&examples(), format).unwrap(), expected, "{format:?}");
        }
    }

    #[test]
    fn values_may_have_other_names() {
        let mut items = examples();
        rename(&mut items, "b.url=NEXT_PUBLIC_URL").unwrap();
        assert!(render(&items, Format::Env).unwrap().contains("NEXT_PUBLIC_URL=\"http://b\""));
        for wrong in ["d.url=X", "b.url", "b.url="] {
            assert!(rename(&mut items, wrong).is_err(), "{wrong}");
        }
    }
}

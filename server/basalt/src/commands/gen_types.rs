//! `basalt gen types`, with the flags of `supabase gen types`.
//!
//! Source: the Supabase CLI, `cmd/gen.go` and `internal/gen/types`; `gen types --help` of version 3.1.

use std::time::Duration;

use clap::{Args, ValueEnum};

use super::source::Source;
use crate::backend::{self, Backend};
use crate::console;
use crate::error::Error;
use crate::settings::{Settings, duration};

/// Arguments of `gen types`.
#[derive(Debug, Args)]
pub(super) struct Arguments {
    /// The language, as older versions of the CLI had it
    #[arg(value_enum, value_name = "LANGUAGE")]
    language: Option<Language>,
    /// The language to generate
    #[arg(long, value_enum, value_name = "LANGUAGE")]
    lang: Option<Language>,
    /// The schemas to describe, separated by commas [default: public and those of `api.schemas`]
    #[arg(short, long, value_delimiter = ',', value_name = "SCHEMAS")]
    schema: Vec<String>,
    #[command(flatten)]
    source: Source,
    /// Leave out what PostgREST 9 and older do not support: one-to-one relationships
    #[arg(long)]
    postgrest_v9_compat: bool,
    /// How long the database may take
    #[arg(long, value_parser = duration, default_value = "15s", value_name = "TIME")]
    query_timeout: Duration,
    /// Who can use the types for Swift
    #[arg(long, value_enum, default_value = "internal", value_name = "ACCESS")]
    swift_access_control: SwiftAccessControl,
}

/// A language that the Supabase CLI generates types for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Language {
    /// A `Database` type for supabase-js.
    Typescript,
    /// Structs.
    Go,
    /// Models of pydantic and typed dictionaries.
    Python,
    /// Structs for supabase-swift.
    Swift,
    /// Not supported.
    #[value(hide = true)]
    Dart,
}

/// Who can use the types for Swift.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum SwiftAccessControl {
    /// The module that contains them.
    Internal,
    /// Everyone.
    Public,
}

/// Prints the types of the project's database, which is migrated first if `serve` is not running, or of another one.
pub(super) async fn run(mut settings: Settings, arguments: Arguments) -> Result<(), Error> {
    let language = supported(&arguments)?;
    let Arguments { schema, source, postgrest_v9_compat, query_timeout, .. } = arguments;
    if let Some(flag) = source.hosted() {
        console::note(format_args!("{flag}: this project's own database is described, not a hosted one"));
    }
    if let Some(url) = source.url() {
        settings.database.url = Some(url.parse()?);
    }
    let options = typegen::Options {
        language,
        schemas: if schema.is_empty() { exposed_schemas(&settings) } else { schema },
        one_to_one: !postgrest_v9_compat,
        postgrest_version: None,
    };
    let types = Backend::attached(&settings, async |backend| {
        let generated = generate(&settings, backend, &options);
        tokio::time::timeout(query_timeout, generated).await.unwrap_or_else(|_| {
            let seconds = query_timeout.as_secs_f64();
            Err(Error::Advice(format!("the database took longer than {seconds} s: raise --query-timeout")))
        })
    });
    console::print(types.await?.trim_end());
    Ok(())
}

/// Returns the requested language, or what to do if it is not supported.
fn supported(arguments: &Arguments) -> Result<typegen::Language, Error> {
    Ok(match arguments.lang.or(arguments.language).unwrap_or(Language::Typescript) {
        Language::Typescript => typegen::Language::TypeScript,
        Language::Go => typegen::Language::Go,
        Language::Python => typegen::Language::Python,
        Language::Swift => typegen::Language::Swift(match arguments.swift_access_control {
            SwiftAccessControl::Internal => typegen::SwiftAccess::Internal,
            SwiftAccessControl::Public => typegen::SwiftAccess::Public,
        }),
        Language::Dart => {
            return Err(Error::Advice(
                "types for Dart are written by the package supabase_typegen: use `supabase gen types --lang dart \
                 --remote=URL` with the DB_URL of `basalt status -o env`"
                    .to_owned(),
            ));
        }
    })
}

/// Returns `public` and the schemas that REST exposes.
fn exposed_schemas(settings: &Settings) -> Vec<String> {
    let public = "public".to_owned();
    let rest = settings.services.rest.as_ref();
    std::iter::once(public).chain(rest.into_iter().flat_map(|rest| rest.db_schemas.clone())).collect()
}

/// Describes the database.
async fn generate(
    settings: &Settings,
    backend: &Backend,
    options: &typegen::Options,
) -> Result<String, Error> {
    backend::migrate_if_started(settings, backend).await?;
    backend.with_project(async |project| Ok(typegen::generate(project, options).await?)).await
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::*;

    #[derive(Parser)]
    struct Line {
        #[command(flatten)]
        arguments: Arguments,
    }

    fn parsed(line: &str) -> Result<Arguments, clap::Error> {
        let words = std::iter::once("types").chain(line.split_whitespace());
        Line::try_parse_from(words).map(|line| line.arguments)
    }

    #[test]
    fn the_flags_of_the_supabase_cli_are_accepted() {
        for line in [
            "typescript",
            "typescript --local",
            "--local --lang typescript --schema a,b",
            "--lang=typescript --linked -s public",
            "--project-id abc-def-123 --schema public --schema private",
            "--db-url postgresql://u:p@h/d --postgrest-v9-compat --query-timeout 1m30s",
            "--local --lang swift --swift-access-control public",
            "--lang python --remote=postgresql://u:p@h/d",
            "--remote",
        ] {
            assert!(parsed(line).is_ok(), "{line}");
        }
        assert_eq!(parsed("--schema a,b -s c").unwrap().schema, ["a", "b", "c"]);
        assert_eq!(parsed("--query-timeout 2m").unwrap().query_timeout.as_secs(), 120);
        assert!(parsed("--local --linked").is_err());
        assert!(parsed("--lang cobol").is_err());
        assert!(parsed("--query-timeout soon").is_err());
        assert!(parsed("--swift-access-control private").is_err());
    }

    #[test]
    fn the_language_is_that_of_the_flag_or_the_argument() {
        use typegen::{Language, SwiftAccess};

        let language = |line: &str| supported(&parsed(line).unwrap());
        let expected = [
            ("", Language::TypeScript),
            ("typescript --lang go", Language::Go),
            ("python", Language::Python),
            ("--lang swift", Language::Swift(SwiftAccess::Internal)),
            ("--lang swift --swift-access-control public", Language::Swift(SwiftAccess::Public)),
        ];
        for (line, wanted) in expected {
            assert_eq!(language(line).unwrap(), wanted, "{line}");
        }
        let refusal = language("--lang dart").unwrap_err().to_string();
        assert!(refusal.contains("supabase gen types --lang dart"), "{refusal}");
    }
}

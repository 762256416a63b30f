//! `basalt gen types`.

use clap::Args;

use crate::backend::Backend;
use crate::error::Error;
use crate::settings::Settings;
use crate::{console, typescript};

/// What `gen types` takes.
#[derive(Debug, Args)]
pub(super) struct Arguments {
    /// The language to generate
    #[arg(value_enum, default_value_t = Language::Typescript)]
    language: Language,
    /// The schemas to describe, separated by commas
    #[arg(long, value_delimiter = ',', default_value = "public", value_name = "SCHEMAS")]
    schema: Vec<String>,
}

/// A language that types can be generated for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
enum Language {
    /// A `Database` type for supabase-js.
    Typescript,
}

/// Prints the types of the project's database, migrated as `serve` would.
pub(super) async fn run(settings: Settings, arguments: Arguments) -> Result<(), Error> {
    let Language::Typescript = arguments.language;
    let backend = Backend::attach_or_start(&settings).await?;
    let result = generate(&settings, &backend, &arguments.schema).await;
    backend.stop().await;
    console::print(result?.trim_end());
    Ok(())
}

async fn generate(settings: &Settings, backend: &Backend, schemas: &[String]) -> Result<String, Error> {
    let admin = backend.admin().await?;
    let types = async {
        // A cluster that was started for this command alone may not have the newest migrations yet; the one of a
        // running server, or of DATABASE_URL, is described as it is.
        if backend.cluster.is_some() {
            crate::backend::migrate(settings, &crate::backend::keys(settings)?, &admin).await?;
        }
        typescript::generate(&admin, schemas).await.map_err(Error::from)
    };
    let types = types.await;
    admin.close().await;
    types
}

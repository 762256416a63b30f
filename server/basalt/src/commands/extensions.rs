//! `basalt extensions`: lists extensions of the project's Postgres.

use migrations::extensions::HOSTED;

use crate::backend::Backend;
use crate::console;
use crate::error::Error;
use crate::settings::Settings;

/// Returns every extension that the server has, with the schema that it is installed in, if it is.
const AVAILABLE: &str = "
    select a.name, coalesce(e.extversion, a.default_version, ''), n.nspname::text, coalesce(a.comment, '')
    from pg_catalog.pg_available_extensions a
    left join pg_catalog.pg_extension e on e.extname = a.name
    left join pg_catalog.pg_namespace n on n.oid = e.extnamespace
    order by a.name";

/// One line of the list.
struct AvailableExtension {
    name: String,
    version: String,
    /// The schema that it is installed in, if it is.
    schema: Option<String>,
    /// The comment of its control file, which for Basalt's own extensions ends with "(by Basalt)".
    comment: String,
}

/// Prints the extensions of the project's Postgres, and those that only hosted Supabase has.
pub(super) async fn run(settings: Settings) -> Result<(), Error> {
    let available = Backend::attached(&settings, async |backend| {
        backend.with_project(async |project| Ok(read(project).await?)).await
    });
    print(&available.await?);
    Ok(())
}

async fn read(project: &postgres::Database) -> Result<Vec<AvailableExtension>, postgres::Error> {
    let rows = project.client().await?.query_typed(AVAILABLE, &[]).await?;
    let mut available = Vec::with_capacity(rows.len());
    for row in rows {
        available.push(AvailableExtension {
            name: row.try_get(0)?,
            version: row.try_get(1)?,
            schema: row.try_get(2)?,
            comment: row.try_get(3)?,
        });
    }
    Ok(available)
}

fn print(available: &[AvailableExtension]) {
    console::print(format_args!("{:<20} {:<8} {:<12} {}", "NAME", "VERSION", "INSTALLED", "DESCRIPTION"));
    for AvailableExtension { name, version, schema, comment } in available {
        let schema = schema.as_deref().unwrap_or("-");
        console::print(format_args!("{name:<20} {version:<8} {schema:<12} {comment}"));
    }
    console::print(
        "\nINSTALLED is the schema; if it is -, `create extension NAME with schema extensions` in a migration installs the \
         extension.",
    );
    let absent = HOSTED.iter().map(|hosted| hosted.name);
    let absent: Vec<_> = absent.filter(|name| !available.iter().any(|there| there.name == *name)).collect();
    if !absent.is_empty() {
        console::print(format_args!("\nOnly on hosted Supabase: {}.", absent.join(", ")));
        console::print(
            "`make extensions` adds those of them to the embedded Postgres that are available for this machine. For the \
             others, set POSTGRES_BIN to the folder of a Postgres that has them, or DATABASE_URL to a server; see \
             docs/extensions.md.",
        );
    }
}

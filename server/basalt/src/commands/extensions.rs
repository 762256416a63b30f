//! `basalt extensions`.

use database::extensions::HOSTED;

use crate::backend::Backend;
use crate::console;
use crate::error::Error;
use crate::settings::Settings;

/// Every extension that the server has, with where it is installed in the project's database, if it is.
const AVAILABLE: &str = "
    select a.name, coalesce(e.extversion, a.default_version, ''), n.nspname::text, coalesce(a.comment, '')
    from pg_catalog.pg_available_extensions a
    left join pg_catalog.pg_extension e on e.extname = a.name
    left join pg_catalog.pg_namespace n on n.oid = e.extnamespace
    order by a.name";

/// One line of the list.
struct Available {
    name: String,
    version: String,
    /// The schema that it is installed in, if it is.
    schema: Option<String>,
    /// What its control file says of it, which for Basalt's own ends with "(by Basalt)".
    comment: String,
}

/// Prints what the project's Postgres has, and what hosted Supabase has beside that.
pub(super) async fn run(settings: Settings) -> Result<(), Error> {
    let backend = Backend::attach_or_start(&settings).await?;
    let available = available(&backend).await;
    backend.stop().await;
    print(&available?);
    Ok(())
}

async fn available(backend: &Backend) -> Result<Vec<Available>, Error> {
    let admin = backend.admin().await?;
    let available = read(&admin).await;
    admin.close().await;
    Ok(available?)
}

async fn read(admin: &database::Database) -> Result<Vec<Available>, database::Error> {
    let rows = admin.client().await?.query_typed(AVAILABLE, &[]).await?;
    let mut available = Vec::with_capacity(rows.len());
    for row in rows {
        available.push(Available {
            name: row.try_get(0)?,
            version: row.try_get(1)?,
            schema: row.try_get(2)?,
            comment: row.try_get(3)?,
        });
    }
    Ok(available)
}

fn print(available: &[Available]) {
    console::print(format_args!("{:<20} {:<8} {:<12} {}", "NAME", "VERSION", "INSTALLED", "WHAT IT IS"));
    for Available { name, version, schema, comment } in available {
        let schema = schema.as_deref().unwrap_or("-");
        console::print(format_args!("{name:<20} {version:<8} {schema:<12} {comment}"));
    }
    console::print(
        "\nINSTALLED names the schema; where it says -, `create extension NAME with schema extensions` in a migration \
         installs it.",
    );
    let absent = HOSTED.iter().map(|hosted| hosted.name);
    let absent: Vec<_> = absent.filter(|name| !available.iter().any(|there| there.name == *name)).collect();
    if !absent.is_empty() {
        console::print(format_args!("\nNot here, but on hosted Supabase: {}.", absent.join(", ")));
        console::print(
            "`make extensions` adds to the embedded Postgres what this machine can have of them. For the others, \
             POSTGRES_BIN names the folder of a Postgres that has them, or DATABASE_URL a server; see \
             docs/extensions.md.",
        );
    }
}

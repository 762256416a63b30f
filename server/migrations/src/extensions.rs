//! The extensions that hosted Supabase offers and Postgres' own distribution does not contain.

/// An extension of hosted Supabase that the Postgres in use may not have.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct HostedExtension {
    /// The name for `create extension`.
    pub name: &'static str,
    source: Source,
}

/// Where the extension comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Source {
    /// Basalt installs it into the Postgres of the npm package.
    Basalt,
    /// `make extensions` installs it into the same Postgres, on the platforms that it supports. For others there may be
    /// a package, as with [`Source::Package`].
    Make(Option<&'static str>),
    /// A package of Debian and of the PostgreSQL project's repositories, called `postgresql-<major>-<name>`.
    Package(&'static str),
    /// No common package contains it.
    Unpackaged,
}

const fn hosted(name: &'static str, source: Source) -> HostedExtension {
    HostedExtension { name, source }
}

/// The extensions, sorted by name. Source: the list of hosted Supabase's extensions and Debian's package names.
pub const HOSTED: &[HostedExtension] = &[
    hosted("http", Source::Make(Some("http"))),
    hosted("hypopg", Source::Make(Some("hypopg"))),
    hosted("index_advisor", Source::Unpackaged),
    hosted("pg_cron", Source::Basalt),
    hosted("pg_graphql", Source::Basalt),
    hosted("pg_hashids", Source::Unpackaged),
    hosted("pg_jsonschema", Source::Basalt),
    hosted("pg_net", Source::Basalt),
    hosted("pg_repack", Source::Package("repack")),
    hosted("pg_tle", Source::Basalt),
    hosted("pgaudit", Source::Make(Some("pgaudit"))),
    hosted("pgjwt", Source::Basalt),
    hosted("pgmq", Source::Make(None)),
    hosted("pgroonga", Source::Unpackaged),
    hosted("pgrouting", Source::Make(Some("pgrouting"))),
    hosted("pgsodium", Source::Unpackaged),
    hosted("pgtap", Source::Make(Some("pgtap"))),
    hosted("plpgsql_check", Source::Make(Some("plpgsql-check"))),
    hosted("plv8", Source::Unpackaged),
    hosted("postgis", Source::Make(Some("postgis-3"))),
    hosted("rum", Source::Make(Some("rum"))),
    hosted("supabase_vault", Source::Basalt),
    hosted("timescaledb", Source::Package("timescaledb")),
    hosted("vector", Source::Make(Some("pgvector"))),
    hosted("wrappers", Source::Unpackaged),
];

/// The extensions that `postgres` may create on hosted Supabase though Postgres leaves them to superusers, sorted by
/// name. Those that read files or run programs of the machine are none of them.
///
/// Source: `supautils.privileged_extensions` of supabase/postgres.
pub const PRIVILEGED: &[&str] = &[
    "address_standardizer",
    "address_standardizer_data_us",
    "autoinc",
    "bloom",
    "dblink",
    "earthdistance",
    "http",
    "hypopg",
    "index_advisor",
    "insert_username",
    "moddatetime",
    "pg_buffercache",
    "pg_cron",
    "pg_graphql",
    "pg_hashids",
    "pg_jsonschema",
    "pg_net",
    "pg_prewarm",
    "pg_repack",
    "pg_stat_statements",
    "pg_tle",
    "pg_walinspect",
    "pgaudit",
    "pgmq",
    "pgroonga",
    "pgrouting",
    "pgrowlocks",
    "pgsodium",
    "pgstattuple",
    "pgtap",
    "plpgsql_check",
    "postgis",
    "postgis_raster",
    "postgis_sfcgal",
    "postgis_tiger_geocoder",
    "postgis_topology",
    "postgres_fdw",
    "refint",
    "rum",
    "sslinfo",
    "supabase_vault",
    "timescaledb",
    "vector",
    "wrappers",
];

impl HostedExtension {
    /// Returns the extension that `create extension` calls `name`.
    pub fn find(name: &str) -> Option<&'static Self> {
        HOSTED.iter().find(|extension| extension.name == name)
    }

    /// Says why a Postgres may lack it and what to do about it, in one or two sentences.
    pub fn remedy(&self) -> String {
        let Self { name, source } = self;
        let elsewhere = "set POSTGRES_BIN to the folder of its programs, or DATABASE_URL to a database of it";
        match source {
            Source::Make(package) => {
                let other = package.map_or_else(
                    || format!("If another Postgres has it, {elsewhere}"),
                    |package| {
                        format!(
                            "Another Postgres gets it from its package (Debian: postgresql-<version>-{package}): {elsewhere}"
                        )
                    },
                );
                format!(
                    "`make extensions` in Basalt's folder adds {name} to the embedded Postgres, or says why it \
                     cannot on this machine. {other}."
                )
            }
            Source::Basalt => format!(
                "Basalt adds {name} only to the embedded Postgres of its npm package; this is another Postgres."
            ),
            Source::Package(package) => format!(
                "The embedded Postgres does not contain {name}. A Postgres of your system gets it from its package \
                 (Debian: postgresql-<version>-{package}): {elsewhere}."
            ),
            Source::Unpackaged => format!(
                "The embedded Postgres does not contain {name}, and there is no common package of it. If another \
                 Postgres has it, {elsewhere}; otherwise leave out what needs it."
            ),
        }
    }
}

/// Says what to do if Postgres reports that the extension `name` is not available.
pub fn remedy(name: &str) -> String {
    HostedExtension::find(name).map_or_else(
        || {
            format!(
                "This Postgres has no extension {name}. `basalt extensions` lists what it has. If another Postgres \
                 has it, set POSTGRES_BIN to the folder of its programs, or DATABASE_URL to a database of it."
            )
        },
        HostedExtension::remedy,
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_remedy_names_the_extension() {
        for extension in HOSTED {
            assert!(extension.remedy().contains(extension.name), "{}", extension.remedy());
        }
        assert!(HOSTED.is_sorted_by_key(|extension| extension.name));
        assert!(PRIVILEGED.is_sorted());
        assert!(remedy("vector").contains("make extensions"));
        assert!(remedy("plpgsql_check").contains("postgresql-<version>-plpgsql-check"));
        assert!(
            remedy("pgmq").contains("make extensions") && !remedy("pgmq").contains("postgresql-<version>")
        );
        assert!(remedy("no_such_extension").contains("no_such_extension"));
    }
}

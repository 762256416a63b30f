//! What is known of the extensions that hosted Supabase offers and Postgres' own distribution lacks.

/// An extension of hosted Supabase's that some Postgres here may lack.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Hosted {
    /// What `create extension` calls it.
    pub name: &'static str,
    source: Source,
}

/// Who can bring it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Source {
    /// Basalt, into the Postgres of the npm package.
    Basalt,
    /// `make extensions`, likewise, on the machines that it can serve; elsewhere a package as of [`Source::Package`], if
    /// there is one.
    Make(Option<&'static str>),
    /// Debian and the PostgreSQL project's own repositories, as `postgresql-<major>-<name>`.
    Package(&'static str),
    /// Nobody whose packages are common.
    Nobody,
}

const fn hosted(name: &'static str, source: Source) -> Hosted {
    Hosted { name, source }
}

/// Sorted by name. Source: the list of hosted Supabase's extensions and Debian's package names.
pub const HOSTED: &[Hosted] = &[
    hosted("http", Source::Make(Some("http"))),
    hosted("hypopg", Source::Make(Some("hypopg"))),
    hosted("index_advisor", Source::Nobody),
    hosted("pg_cron", Source::Basalt),
    hosted("pg_graphql", Source::Nobody),
    hosted("pg_hashids", Source::Nobody),
    hosted("pg_jsonschema", Source::Nobody),
    hosted("pg_net", Source::Basalt),
    hosted("pg_repack", Source::Package("repack")),
    hosted("pgaudit", Source::Make(Some("pgaudit"))),
    hosted("pgjwt", Source::Basalt),
    hosted("pgmq", Source::Make(None)),
    hosted("pgroonga", Source::Nobody),
    hosted("pgrouting", Source::Make(Some("pgrouting"))),
    hosted("pgsodium", Source::Nobody),
    hosted("pgtap", Source::Make(Some("pgtap"))),
    hosted("plpgsql_check", Source::Make(Some("plpgsql-check"))),
    hosted("plv8", Source::Nobody),
    hosted("postgis", Source::Make(Some("postgis-3"))),
    hosted("rum", Source::Make(Some("rum"))),
    hosted("supabase_vault", Source::Basalt),
    hosted("timescaledb", Source::Package("timescaledb")),
    hosted("vector", Source::Make(Some("pgvector"))),
    hosted("wrappers", Source::Nobody),
];

impl Hosted {
    /// The one that `create extension` calls `name`.
    pub fn named(name: &str) -> Option<&'static Self> {
        HOSTED.iter().find(|extension| extension.name == name)
    }

    /// Why a Postgres may lack it and what to do about it, in one or two sentences.
    pub fn remedy(&self) -> String {
        let Self { name, source } = self;
        let elsewhere = "name the folder of its programs in POSTGRES_BIN, or a database in DATABASE_URL";
        match source {
            Source::Make(package) => {
                let other = package.map_or_else(
                    || format!("If another Postgres has it, {elsewhere}"),
                    |package| {
                        format!(
                            "Another Postgres has it by its package (Debian: postgresql-<version>-{package}): {elsewhere}"
                        )
                    },
                );
                format!(
                    "`make extensions` in Basalt's folder adds {name} to the embedded Postgres, or says why this \
                     machine cannot have it. {other}."
                )
            }
            Source::Basalt => format!(
                "Basalt brings {name} to the embedded Postgres of its npm package only; this is another Postgres."
            ),
            Source::Package(package) => format!(
                "The embedded Postgres does not bring {name}. A Postgres of your system has it by its package (Debian: \
                 postgresql-<version>-{package}): {elsewhere}."
            ),
            Source::Nobody => format!(
                "The embedded Postgres does not bring {name}, and there is no common package of it. If a Postgres of \
                 yours has it, {elsewhere}; otherwise leave out what needs it."
            ),
        }
    }
}

/// What to do where Postgres says that the extension `name` is not available.
pub fn remedy(name: &str) -> String {
    Hosted::named(name).map_or_else(
        || {
            format!(
                "This Postgres has no extension {name}. `basalt extensions` lists what it has. If a Postgres of yours \
                 has it, name the folder of its programs in POSTGRES_BIN, or a database in DATABASE_URL."
            )
        },
        Hosted::remedy,
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
        assert!(remedy("vector").contains("make extensions"));
        assert!(remedy("plpgsql_check").contains("postgresql-<version>-plpgsql-check"));
        assert!(
            remedy("pgmq").contains("make extensions") && !remedy("pgmq").contains("postgresql-<version>")
        );
        assert!(remedy("no_such_extension").contains("no_such_extension"));
    }
}

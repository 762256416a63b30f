//! Tests with the complete module for a schema that contains every kind of object.

use postgres::{Database, Settings};

use super::{Language, Options, SwiftAccess, generate};

const SCHEMA: &str = include_str!("expected/schema.sql");

fn of(schemas: &[&str]) -> Options {
    let schemas = schemas.iter().map(|schema| (*schema).to_owned()).collect();
    Options { language: Language::TypeScript, schemas, one_to_one: true, postgrest_version: None }
}

/// Compares with the files in `expected`, which UPDATE_EXPECTED writes.
#[tokio::test]
async fn everything_is_described_as_the_supabase_cli_describes_it() {
    let database = testkit::Database::create().await;
    database.client().await.batch_execute(SCHEMA).await.unwrap();
    let pool = Database::connect(Settings::new(database.uri().parse().unwrap())).await.unwrap();
    for (name, language) in [
        ("typescript.txt", Language::TypeScript),
        ("go.txt", Language::Go),
        ("python.txt", Language::Python),
        ("swift.txt", Language::Swift(SwiftAccess::Public)),
    ] {
        let module = generate(&pool, &Options { language, ..of(&["public", "other"]) }).await.unwrap();
        // Enums of all schemas are in the module for Python; those of the platform are not this test's.
        let of_platform = |part: &&str| part.starts_with("Auth") || part.starts_with("Storage");
        let module = module.split("\n\n").filter(|part| !of_platform(part)).collect::<Vec<_>>().join("\n\n");
        let file = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("src/expected").join(name);
        if std::env::var_os("UPDATE_EXPECTED").is_some() {
            std::fs::write(&file, &module).unwrap();
        }
        assert_eq!(module, std::fs::read_to_string(&file).unwrap(), "{name}");
    }
}

/// Types of schemas that are not described are written out, or are unknown.
#[tokio::test]
async fn a_schema_can_be_described_alone() {
    let database = testkit::Database::create().await;
    database.client().await.batch_execute(SCHEMA).await.unwrap();
    let pool = Database::connect(Settings::new(database.uri().parse().unwrap())).await.unwrap();
    let module = generate(&pool, &of(&["other"])).await.unwrap();
    for expected in [
        "          mood: Database[\"other\"][\"Enums\"][\"mood\"] | null\n",
        "          public_mood: \"happy\" | 'sad \"but\" fine' | null\n",
        "          team: unknown\n",
        "type DefaultSchema = DatabaseWithoutInternals[Extract<keyof Database, \"other\">]\n",
    ] {
        assert!(module.contains(expected), "{expected} is not in {module}");
    }
    let swift = Options { language: Language::Swift(SwiftAccess::Internal), ..of(&["other"]) };
    let module = generate(&pool, &swift).await.unwrap();
    assert!(module.contains("\n  internal struct ThingsSelect: Codable, Hashable, Sendable {\n"), "{module}");
    assert!(module.contains("\n    internal let team: AnyJSON?\n"), "{module}");
}

#[tokio::test]
async fn an_empty_schema_has_empty_types() {
    let database = testkit::Database::create().await;
    database.client().await.batch_execute("create schema hollow").await.unwrap();
    let pool = Database::connect(Settings::new(database.uri().parse().unwrap())).await.unwrap();
    let module = generate(&pool, &of(&["hollow"])).await.unwrap();
    assert!(module.contains("  hollow: {\n    Tables: {\n      [_ in never]: never\n    }\n"), "{module}");
    assert!(module.contains("    Enums: {},\n"), "{module}");
    for language in [Language::Go, Language::Python, Language::Swift(SwiftAccess::Internal)] {
        let module = generate(&pool, &Options { language, ..of(&["hollow"]) }).await.unwrap();
        assert!(!module.contains("struct") && !module.contains("class "), "{module}");
    }
}

/// Schemas that do not exist are left out, as by the CLI, and references have their older form if that is requested.
#[tokio::test]
async fn schemas_and_references_are_the_requested_ones() {
    let database = testkit::Database::create().await;
    database.client().await.batch_execute(SCHEMA).await.unwrap();
    let pool = Database::connect(Settings::new(database.uri().parse().unwrap())).await.unwrap();
    let options = Options { one_to_one: false, ..of(&["public", "public", "nowhere"]) };
    let module = generate(&pool, &options).await.unwrap();
    assert!(!module.contains("nowhere") && module.matches("  public: {\n").count() == 2, "{module}");
    // Functions have this property, too, with another indentation.
    assert!(module.contains("foreignKeyName") && !module.contains("\n            isOneToOne"), "{module}");
}

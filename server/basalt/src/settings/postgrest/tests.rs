//! Tests of the settings of `basalt postgrest`.

use std::path::PathBuf;

use postgres::conninfo::Conninfo;
use settings::Variables;

use super::*;

fn read(variables: &[(&str, &str)]) -> Result<PostgrestSettings, Invalid> {
    PostgrestSettings::read(None, &owned(variables))
}

/// Returns the settings of a file with this text, together with `variables`.
fn of_file(text: &str, variables: &[(&str, &str)]) -> PostgrestSettings {
    let file = tempfile::NamedTempFile::new().unwrap();
    std::fs::write(file.path(), text).unwrap();
    PostgrestSettings::read(Some(file.path()), &owned(variables)).unwrap()
}

fn owned(variables: &[(&str, &str)]) -> Variables {
    variables.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect()
}

#[test]
fn defaults_are_upstreams() {
    let found = read(&[("PGRST_DB_URI", "postgres://a@h/d")]).unwrap();
    assert_eq!(found.address, ListenAddress::Port("!4".to_owned(), 3000));
    assert_eq!((found.admin, found.database.channel.as_deref()), (None, Some("pgrst")));
    assert_eq!((found.standalone.service.db_anon_role, found.standalone.service.db_max_rows), (None, None));
}

#[test]
fn variables_that_name_a_database_are_recognized() {
    let named_with = |invocation: Invocation, variables: &[(&str, &str)]| {
        PostgrestSettings::variable_in(&Invocation { variables: owned(variables), ..invocation }).unwrap()
    };
    let named = |variables: &[(&str, &str)]| named_with(Invocation::default(), variables);
    let host = ("PGHOST", "h");
    assert_eq!(named(&[("PGRST_DB_URI", "postgres://a@h/d"), host]), Some("PGRST_DB_URI"));
    assert_eq!(named(&[("PGRST_DB_URI", ""), ("PGUSER", "u"), ("PGRST_DB_ANON_ROLE", "web")]), None);
    assert_eq!(named(&[host]), Some("PGHOST"));
    assert_eq!(named(&[("PGSERVICE", "shop")]), Some("PGSERVICE"));
    assert_eq!(named(&[host, ("DATABASE_URL", "postgres://x/y")]), None, "a project's database");
    let of_project = Invocation { project: Some(PathBuf::from(".")), ..Invocation::default() };
    assert_eq!(named_with(of_project, &[host]), None);
}

#[test]
fn the_example_shows_every_setting_and_its_default() {
    let (example, default) = (of_file(&StandaloneSettings::example(), &[]), of_file("", &[]));
    assert_eq!((&example.standalone.warnings, &example.address), (&Vec::new(), &default.address));
    assert_eq!(example.standalone.text(), default.standalone.text());
    for line in default.standalone.text().lines() {
        let (name, _) = line.split_once(" = ").unwrap();
        assert!(StandaloneSettings::example().contains(&format!("{name} = ")), "{name} is missing");
    }
}

#[test]
fn variables_are_upstreams() {
    let file = tempfile::NamedTempFile::new().unwrap();
    std::fs::write(file.path(), "a secret from a file, 32 bytes or more\n").unwrap();
    let secret = format!("@{}", file.path().display());
    let found = read(&[
        ("PGRST_DB_URI", "postgres://a@h/d"),
        ("PGRST_DB_SCHEMAS", "api"),
        ("PGRST_DB_POOL", "3"),
        ("PGRST_DB_CHANNEL_ENABLED", "false"),
        ("PGRST_DB_EXTRA_SEARCH_PATH", ""),
        ("PGRST_JWT_SECRET", &secret),
        ("PGRST_SERVER_UNIX_SOCKET", "/run/rest"),
        ("PGRST_SERVER_UNIX_SOCKET_MODE", "600"),
        ("PGRST_ADMIN_SERVER_PORT", "3001"),
        ("PGRST_LOG_QUERY", "true"),
        ("PGRST_LOG_LEVEL", "crit"),
        ("PGRST_SERVER_REUSEPORT", "true"),
        ("PGRST_DB_POOL_AUTOMATIC_RECOVERY", "false"),
        ("PGRST_DB_READ_URIS", "postgres://a@h1/d, postgres://a@h2/d,"),
        ("PGRST_SERVER_MAX_BODY_SIZE", "1048576"),
        ("PGRST_JWT_CACHE_MAX_LIFETIME", "5"),
        ("PGRST_DB_SHEMAS", "x"),
        ("PATH", "/bin"),
    ]);
    let found = found.unwrap();
    assert_eq!(found.standalone.service.db_schemas, ["api"]);
    assert!(found.standalone.service.db_extra_search_path.is_empty());
    assert_eq!(
        found.standalone.service.jwt_secret.unwrap().expose(),
        b"a secret from a file, 32 bytes or more"
    );
    assert_eq!((found.database.pool_size, found.database.channel), (3, None));
    assert_eq!(found.address, ListenAddress::Socket(PathBuf::from("/run/rest"), 0o600));
    assert_eq!(found.admin, Some(ListenAddress::Port("!4".to_owned(), 3001)));
    assert_eq!(
        found.standalone.warnings,
        [
            "unknown setting PGRST_DB_SHEMAS is ignored; did you mean PGRST_DB_SCHEMAS?",
            "PGRST_JWT_CACHE_MAX_LIFETIME has no effect here"
        ]
    );
    let replicas: Vec<_> = found.database.replicas.iter().map(Conninfo::to_uri).collect();
    assert_eq!(replicas, ["postgresql://a@h1/d", "postgresql://a@h2/d"]);
    assert_eq!(found.standalone.service.max_body_size, 1 << 20);
    assert!(
        found.standalone.service.log_query
            && found.standalone.server.reuseport
            && !found.standalone.server.automatic_recovery
    );
    assert_eq!(found.standalone.server.log_level, "crit");
}

#[test]
fn libpqs_variables_name_the_database_if_the_file_does_not() {
    let found = of_file("db-anon-role = \"web\"\n", &[("PGHOST", "h"), ("PGUSER", "u")]);
    assert_eq!(found.database.server.to_uri(), "postgresql://u@h");
    assert!(found.standalone.text().contains("db-uri = \"postgresql://\"\n"), "{}", found.standalone.text());
}

#[test]
fn libpqs_variables_alone_name_the_database() {
    let found = read(&[("PGHOST", "h"), ("PGUSER", "u"), ("PGRST_DB_ANON_ROLE", "web")]).unwrap();
    assert_eq!(
        (found.database.server.to_uri().as_str(), found.standalone.server.log_level.as_str()),
        ("postgresql://u@h", "error")
    );
    assert_eq!(found.standalone.service.db_anon_role.as_deref(), Some("web"));
    assert!(read(&[]).unwrap().database.server.get("host").is_some(), "the default is libpq's");
}

#[test]
fn secrets_need_not_be_text_and_empty_variables_are_set() {
    let file = tempfile::NamedTempFile::new().unwrap();
    let secret: Vec<u8> = (0..40).map(|byte| byte * 6).collect();
    std::fs::write(file.path(), [secret.as_slice(), b"\n"].concat()).unwrap();
    let path = format!("@{}", file.path().display());
    let found = of_file(
        "db-anon-role = \"web\"\napp.settings.Some.key = \"v\"\n",
        &[
            ("PGRST_DB_URI", "postgres://h"),
            ("PGRST_JWT_SECRET", &path),
            ("PGRST_DB_ANON_ROLE", ""),
            ("PGRST_APP_SETTINGS_NONE", ""),
        ],
    );
    assert_eq!(found.standalone.service.jwt_secret.as_ref().unwrap().expose(), secret);
    assert_eq!(found.standalone.service.db_anon_role, None);
    let own = [("app.settings.some.key", "v"), ("app.settings.none", "")];
    assert_eq!(
        found.standalone.service.app_settings,
        own.map(|(name, value)| (name.to_owned(), Secret::from(value.to_owned())))
    );
    assert!(read_back(&found).standalone.service.jwt_secret_is_base64);
}

/// Returns the settings of a file that sets all of these.
fn read_back(found: &PostgrestSettings) -> PostgrestSettings {
    of_file(&found.standalone.text(), &[])
}

#[test]
fn the_dump_is_a_configuration_file() {
    let found = read(&[
        ("PGRST_DB_URI", "postgres://me:p$(w)\\\"@h/d"),
        ("PGRST_JWT_SECRET", "a $ecret \"of\" 32 bytes\\or more: $(PATH)"),
        ("PGRST_JWT_ROLE_CLAIM_KEY", "$.roles[?search(@, '^a')]"),
        ("PGRST_APP_SETTINGS_KEY", "a\nb"),
        ("PGRST_ADMIN_SERVER_UNIX_SOCKET", "/run/admin"),
        ("PGRST_SERVER_UNIX_SOCKET_MODE", "600"),
        ("PGRST_DB_CHANNEL", "other"),
        ("PGRST_LOG_LEVEL", "info"),
    ]);
    let found = found.unwrap();
    let reread = read_back(&found);
    assert_eq!(reread.standalone.service.jwt_secret, found.standalone.service.jwt_secret);
    assert_eq!(reread.standalone.service.jwt_role_claim_key, found.standalone.service.jwt_role_claim_key);
    assert_eq!(
        (&reread.standalone.service.app_settings, &reread.address),
        (&found.standalone.service.app_settings, &found.address)
    );
    assert_eq!(
        (reread.admin.clone(), reread.standalone.text()),
        (found.admin.clone(), found.standalone.text())
    );
}

#[test]
fn variables_override_the_file() {
    let lines =
        "db-uri = \"postgres://a@h/d\"\ndb-schemas = \"one\"\ndb-anon-role = \"web\"\nserver-port = 3001\n";
    let found = of_file(lines, &[("PGRST_DB_SCHEMAS", "two")]);
    assert_eq!(
        (found.standalone.service.db_schemas, found.standalone.service.db_anon_role),
        (vec!["two".to_owned()], Some("web".to_owned()))
    );
    assert_eq!(found.address, ListenAddress::Port("!4".to_owned(), 3001));
}

#[test]
fn mistakes_are_named() {
    for (name, value) in [
        ("PGRST_DB_POOL", "many"),
        ("PGRST_SERVER_PORT", "http"),
        ("PGRST_SERVER_UNIX_SOCKET_MODE", "999"),
        ("PGRST_JWT_SECRET", "@/nonexistent"),
        ("PGRST_DB_TX_END", "never"),
        ("PGRST_LOG_LEVEL", "loud"),
        ("PGRST_JWT_AUD", "not a: uri"),
        ("PGRST_JWT_SECRET", "short"),
        ("PGRST_ADMIN_SERVER_PORT", "3000"),
    ] {
        let error = read(&[("PGRST_DB_URI", "postgres://h/x"), (name, value)]).unwrap_err();
        assert!(error.to_string().starts_with(&format!("{name}: expected")), "{error}");
    }
}

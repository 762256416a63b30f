//! Tests of the settings of a server that replaces another program.

use postgres::conninfo::Conninfo;
use settings::Variables;

use super::*;

fn read(only: &[Service], variables: &[(&str, &str)]) -> Result<Option<DropIn>, Invalid> {
    let only = Some(only.to_vec());
    DropIn::read(&Invocation { only, variables: owned(variables), ..Invocation::default() })
}

/// Returns the settings of a file with this text, together with `variables`.
fn of_file(text: &str, variables: &[(&str, &str)]) -> DropIn {
    let file = tempfile::NamedTempFile::new().unwrap();
    std::fs::write(file.path(), text).unwrap();
    let invocation = Invocation {
        only: Some(vec![Service::Rest]),
        file: Some(file.path().to_owned()),
        variables: owned(variables),
        ..Invocation::default()
    };
    DropIn::read(&invocation).unwrap().unwrap()
}

fn owned(variables: &[(&str, &str)]) -> Variables {
    variables.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect()
}

#[test]
fn only_rest_on_a_separate_database_is_a_drop_in() {
    let uri = ("PGRST_DB_URI", "postgres://a@h/d");
    assert!(read(&[Service::Rest], &[]).unwrap().is_none());
    assert!(read(&[Service::Rest, Service::Auth], &[uri]).unwrap().is_none());
    let found = read(&[Service::Rest], &[uri]).unwrap().unwrap();
    assert_eq!(found.address, ListenAddress::Port("!4".to_owned(), 3000));
    assert_eq!((found.admin, found.database.channel.as_deref()), (None, Some("pgrst")));
    assert_eq!((found.settings.service.db_anon_role, found.settings.service.db_max_rows), (None, None));
}

#[test]
fn the_example_shows_every_setting_and_its_default() {
    let (example, default) = (of_file(&StandaloneSettings::example(), &[]), of_file("", &[]));
    assert_eq!((&example.settings.warnings, &example.address), (&Vec::new(), &default.address));
    assert_eq!(example.settings.text(), default.settings.text());
    for line in default.settings.text().lines() {
        let (name, _) = line.split_once(" = ").unwrap();
        assert!(StandaloneSettings::example().contains(&format!("{name} = ")), "{name} is missing");
    }
}

#[test]
fn variables_are_upstreams() {
    let file = tempfile::NamedTempFile::new().unwrap();
    std::fs::write(file.path(), "a secret from a file, 32 bytes or more\n").unwrap();
    let secret = format!("@{}", file.path().display());
    let found = read(
        &[Service::Rest],
        &[
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
        ],
    );
    let found = found.unwrap().unwrap();
    assert_eq!(found.settings.service.db_schemas, ["api"]);
    assert!(found.settings.service.db_extra_search_path.is_empty());
    assert_eq!(
        found.settings.service.jwt_secret.unwrap().expose(),
        b"a secret from a file, 32 bytes or more"
    );
    assert_eq!((found.database.pool_size, found.database.channel), (3, None));
    assert_eq!(found.address, ListenAddress::Socket(PathBuf::from("/run/rest"), 0o600));
    assert_eq!(found.admin, Some(ListenAddress::Port("!4".to_owned(), 3001)));
    assert_eq!(
        found.settings.warnings,
        [
            "unknown setting PGRST_DB_SHEMAS is ignored; did you mean PGRST_DB_SCHEMAS?",
            "PGRST_JWT_CACHE_MAX_LIFETIME has no effect here"
        ]
    );
    let replicas: Vec<_> = found.database.replicas.iter().map(Conninfo::to_uri).collect();
    assert_eq!(replicas, ["postgresql://a@h1/d", "postgresql://a@h2/d"]);
    assert_eq!(found.settings.service.max_body_size, 1 << 20);
    assert!(
        found.settings.service.log_query
            && found.settings.server.reuseport
            && !found.settings.server.automatic_recovery
    );
    assert_eq!(found.settings.server.log_level, "crit");
}

#[test]
fn libpqs_variables_name_the_database_if_the_file_does_not() {
    let found = of_file("db-anon-role = \"web\"\n", &[("PGHOST", "h"), ("PGUSER", "u")]);
    assert_eq!(found.database.server.to_uri(), "postgresql://u@h");
    assert!(found.settings.text().contains("db-uri = \"postgresql://\"\n"), "{}", found.settings.text());
}

#[test]
fn libpqs_variables_alone_name_the_database() {
    assert!(read(&[Service::Rest], &[("PGUSER", "u")]).unwrap().is_none());
    let host = ("PGHOST", "h");
    assert!(read(&[Service::Rest], &[host, ("DATABASE_URL", "postgres://x/y")]).unwrap().is_none());
    let found = read(&[Service::Rest], &[host, ("PGUSER", "u"), ("PGRST_DB_ANON_ROLE", "web")]);
    let found = found.unwrap().unwrap();
    assert_eq!(
        (found.database.server.to_uri().as_str(), found.settings.server.log_level.as_str()),
        ("postgresql://u@h", "error")
    );
    assert_eq!(found.settings.service.db_anon_role.as_deref(), Some("web"));
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
    assert_eq!(found.settings.service.jwt_secret.as_ref().unwrap().expose(), secret);
    assert_eq!(found.settings.service.db_anon_role, None);
    let own = [("app.settings.some.key", "v"), ("app.settings.none", "")];
    assert_eq!(
        found.settings.service.app_settings,
        own.map(|(name, value)| (name.to_owned(), Secret::from(value.to_owned())))
    );
    assert!(read_back(&found).settings.service.jwt_secret_is_base64);
}

/// Returns the settings of a file that sets all of these.
fn read_back(found: &DropIn) -> DropIn {
    of_file(&found.settings.text(), &[])
}

#[test]
fn the_dump_is_a_configuration_file() {
    let found = read(
        &[Service::Rest],
        &[
            ("PGRST_DB_URI", "postgres://me:p$(w)\\\"@h/d"),
            ("PGRST_JWT_SECRET", "a $ecret \"of\" 32 bytes\\or more: $(PATH)"),
            ("PGRST_JWT_ROLE_CLAIM_KEY", "$.roles[?search(@, '^a')]"),
            ("PGRST_APP_SETTINGS_KEY", "a\nb"),
            ("PGRST_ADMIN_SERVER_UNIX_SOCKET", "/run/admin"),
            ("PGRST_SERVER_UNIX_SOCKET_MODE", "600"),
            ("PGRST_DB_CHANNEL", "other"),
            ("PGRST_LOG_LEVEL", "info"),
        ],
    );
    let found = found.unwrap().unwrap();
    let reread = read_back(&found);
    assert_eq!(reread.settings.service.jwt_secret, found.settings.service.jwt_secret);
    assert_eq!(reread.settings.service.jwt_role_claim_key, found.settings.service.jwt_role_claim_key);
    assert_eq!(
        (&reread.settings.service.app_settings, &reread.address),
        (&found.settings.service.app_settings, &found.address)
    );
    assert_eq!((reread.admin.clone(), reread.settings.text()), (found.admin.clone(), found.settings.text()));
}

#[test]
fn variables_override_the_file() {
    let lines =
        "db-uri = \"postgres://a@h/d\"\ndb-schemas = \"one\"\ndb-anon-role = \"web\"\nserver-port = 3001\n";
    let found = of_file(lines, &[("PGRST_DB_SCHEMAS", "two")]);
    assert_eq!(
        (found.settings.service.db_schemas, found.settings.service.db_anon_role),
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
        let error = read(&[Service::Rest], &[("PGRST_DB_URI", "postgres://h/x"), (name, value)]).unwrap_err();
        assert!(error.to_string().starts_with(&format!("{name}: expected")), "{error}");
    }
}

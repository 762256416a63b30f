//! Tests of settings: what an operator writes, and the resulting messages.

use postgres::conninfo::Conninfo;
use settings::Bytes;

use super::*;

fn settings(config: &str, variables: &[(&str, &str)], invocation: &Invocation) -> Result<Settings, Invalid> {
    let root = std::env::temp_dir();
    let project = Project { base: root.clone(), root, config: config.parse().unwrap(), config_path: None };
    let pairs = variables.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned()));
    Settings::read(invocation, project, &Environment::from_pairs(pairs), &Managed::new())
}

fn read(config: &str, variables: &[(&str, &str)]) -> Settings {
    settings(config, variables, &Invocation::default()).unwrap()
}

fn refusal(config: &str, variables: &[(&str, &str)]) -> String {
    settings(config, variables, &Invocation::default()).unwrap_err().to_string()
}

#[test]
fn flags_override_the_environment_which_overrides_the_file() {
    assert_eq!(read("", &[]).server.port, 54321);
    assert_eq!(read("[api]\nport = 1111", &[]).server.port, 1111);
    assert_eq!(read("[api]\nport = 1111", &[("BASALT_PORT", "2222")]).server.port, 2222);
    let invocation = Invocation { port: Some(3333), ..Invocation::default() };
    assert_eq!(
        settings("[api]\nport = 1111", &[("BASALT_PORT", "2222")], &invocation).unwrap().server.port,
        3333
    );
}

#[test]
fn upstreams_variables_are_understood() {
    let settings = read(
        "",
        &[
            ("PGRST_DB_SCHEMAS", "api, public"),
            ("PGRST_DB_MAX_ROWS", "7"),
            ("PGRST_DB_AGGREGATES_ENABLED", "true"),
            ("PGRST_OPENAPI_MODE", "disabled"),
            ("UPLOAD_FILE_SIZE_LIMIT", "1000"),
            ("JWT_SECRET", "0123456789012345678901234567890123456789"),
            ("DATABASE_URL", "postgres://x"),
        ],
    );
    let rest = settings.services.rest.unwrap();
    assert_eq!(rest.db_schemas, ["api", "public"]);
    assert_eq!(rest.db_max_rows, Some(7));
    assert!(rest.db_aggregates_enabled);
    assert_eq!(rest.openapi_mode, rest::OpenApiMode::Disabled);
    assert_eq!(settings.services.storage.unwrap().file_size_limit.0, 1000);
    assert!(settings.keys.jwt_secret.is_some());
    assert!(settings.database.url.is_some());
    assert!(settings.warnings.is_empty(), "{:?}", settings.warnings);
}

#[test]
fn the_channel_for_reloads_may_be_renamed_or_disabled() {
    let channel = |variables: &[(&str, &str)]| {
        let settings = read("", variables);
        assert!(settings.warnings.is_empty(), "{:?}", settings.warnings);
        settings.services.connections.apply_to(postgres::Settings::new(Conninfo::default())).channel
    };
    assert_eq!(channel(&[]).as_deref(), Some("pgrst"));
    assert_eq!(channel(&[("PGRST_DB_CHANNEL", "mine")]).as_deref(), Some("mine"));
    assert_eq!(channel(&[("PGRST_DB_CHANNEL_ENABLED", "false")]), None);
}

#[test]
fn reads_may_go_to_several_standbys() {
    let read = |list| read("", &[("PGRST_DB_READ_URIS", list)]);
    let settings = read("postgres://a@h1/d, postgresql://a@h2:1,h3:2/d ,,postgres://a@h4/d");
    let replicas: Vec<_> =
        settings.services.connections.read_uris.servers.iter().map(Conninfo::to_uri).collect();
    assert_eq!(replicas, ["postgresql://a@h1/d", "postgresql://a@h2:1,h3:2/d", "postgresql://a@h4/d"]);
    assert!(settings.warnings.is_empty(), "{:?}", settings.warnings);
}

#[test]
fn secrets_may_be_in_files() {
    let folder = tempfile::tempdir().unwrap();
    let file = |name: &str, content: &str| {
        let path = folder.path().join(name);
        std::fs::write(&path, content).unwrap();
        path.to_str().unwrap().to_owned()
    };
    let (url, secret) = (file("url", "postgres://a:b@h/d\n"), file("secret", "hunter2"));
    let config = "[auth.email.smtp]\nhost = 'h'\nadmin_email = 'a@b.c'\npass = 'env(MAIL_PASS)'";
    let settings = read(
        config,
        &[
            ("DATABASE_URL_FILE", &url),
            ("GOTRUE_SMS_TWILIO_AUTH_TOKEN_FILE", &secret),
            ("MAIL_PASS_FILE", &secret),
        ],
    );
    assert_eq!(settings.database.url.unwrap().to_uri(), "postgresql://a:b@h/d");
    let auth = settings.services.auth.unwrap();
    assert_eq!(auth.mail.smtp.unwrap().password.expose(), "hunter2");
    assert!(settings.warnings.is_empty(), "{:?}", settings.warnings);
    let misspelt = read("", &[("PGRST_DB_MAXROWS_FILE", &secret)]).warnings;
    assert!(misspelt[0].contains("PGRST_DB_MAXROWS_FILE is ignored"), "{misspelt:?}");
    let refused = refusal("", &[("JWT_SECRET", "x"), ("JWT_SECRET_FILE", &secret)]);
    assert_eq!(refused, "JWT_SECRET_FILE: expected JWT_SECRET or JWT_SECRET_FILE, found both");
}

#[test]
fn unknown_names_are_warned_about_with_the_nearest_known_one() {
    let settings = read("[api]\nmax_row = 5\n[sausage]\nx = 1", &[("PGRST_DB_MAXROWS", "5"), ("HOME", "/x")]);
    assert_eq!(
        settings.warnings,
        [
            "unknown key api.max_row is ignored; did you mean api.max_rows?",
            "unknown key sausage.x is ignored",
            "unknown environment variable PGRST_DB_MAXROWS is ignored; did you mean PGRST_DB_MAX_ROWS?",
        ]
    );
}

#[test]
fn keys_that_only_the_supabase_cli_uses_cause_no_warning() {
    let config =
        "project_id = 'x'\n[studio]\nport = 1\n[db]\nshadow_port = 2\n[auth.external.apple]\nenabled = false";
    assert!(read(config, &[]).warnings.is_empty());
}

#[test]
fn enabling_a_missing_feature_causes_a_warning() {
    let settings = read("[storage.analytics]\nenabled = true\n[auth.external.apple]\nenabled = false", &[]);
    assert_eq!(
        settings.warnings,
        ["storage.analytics.enabled has no effect here: there are no analytics buckets"]
    );
}

#[test]
fn the_clis_keys_are_for_servers_that_only_this_machine_can_reach() {
    let keys = |config: &str| read(config, &[("BASALT_CLI_KEYS", "true"), ("JWT_SECRET", "x")]).keys;
    let used = "sb_publishable_ACJWlzQHlZjBrEguHvfOxg_3BJgxAaH";
    let own = [("BASALT_CLI_KEYS", "true"), ("DATABASE_URL", "postgres://a:b@127.0.0.1:1,[::1]/d")];
    assert_eq!(read("", &own).keys.publishable_key.as_deref(), Some(used));
    let remote =
        refusal("", &[("BASALT_CLI_KEYS", "true"), ("DATABASE_URL", "postgres://a:b@localhost,db/d")]);
    assert!(remote.contains("a DATABASE_URL of another machine"), "{remote}");
    for config in ["", "[basalt]\nhost = '::1'\n[api]\nexternal_url = 'http://localhost:54321'"] {
        assert_eq!(keys(config).publishable_key.as_deref(), Some(used));
    }
    assert_eq!(read("", &[]).keys.publishable_key, None);
    for (config, found) in [
        ("[basalt]\nhost = '0.0.0.0'", "basalt.host = 0.0.0.0"),
        ("[basalt]\ntrusted_proxies = 1", "basalt.trusted_proxies"),
        ("[api]\nexternal_url = 'https://fans.example'", "api.external_url = https://fans.example"),
    ] {
        let refused = refusal(config, &[("BASALT_CLI_KEYS", "true")]);
        assert!(refused.contains("everybody knows these keys") && refused.contains(found), "{refused}");
    }
}

#[test]
fn third_parties_are_named_by_their_issuers() {
    let settings = read(
        "[auth.third_party.firebase]\nenabled = true\nproject_id = 'row'
         [auth.third_party.auth0]\nenabled = true\ntenant = 'row'\ntenant_region = 'eu'
         [auth.third_party.aws_cognito]\nenabled = true\nuser_pool_id = 'eu_x'\nuser_pool_region = 'eu-west-1'
         [auth.third_party.clerk]\nenabled = true\ndomain = 'row.clerk.accounts.dev'
         [auth.third_party.workos]\nenabled = false\nissuer_url = 'https://api.workos.com/user_management/client_01'",
        &[],
    );
    assert!(settings.warnings.is_empty(), "{:?}", settings.warnings);
    assert_eq!(
        settings.services.third_parties,
        [
            "https://securetoken.google.com/row",
            "https://row.eu.auth0.com",
            "https://cognito-idp.eu-west-1.amazonaws.com/eu_x",
            "https://row.clerk.accounts.dev",
        ]
    );
    for (config, key) in [
        ("[auth.third_party.firebase]\nenabled = true", "auth.third_party.firebase.project_id"),
        ("[auth.third_party.clerk]\nenabled = true\ndomain = 'example.com'", "auth.third_party.clerk.domain"),
        (
            "[auth.third_party.workos]\nenabled = true\nissuer_url = 'workos'",
            "auth.third_party.workos.issuer_url",
        ),
    ] {
        assert!(refusal(config, &[]).contains(key), "{config}");
    }
}

#[test]
fn bad_values_are_refused_by_name() {
    let error = refusal("[api]\nport = 'eighty'", &[]);
    assert_eq!(error, "api.port: expected a whole number from 0 to 65535, found \"eighty\"");
    let error = refusal("", &[("PGRST_DB_POOL", "many")]);
    assert_eq!(error, "PGRST_DB_POOL: expected a whole number from 0 on, found \"many\"");
    let error = refusal("[storage.buckets.app]\npublic = 'perhaps'", &[]);
    assert_eq!(error, "storage.buckets.app.public: expected true or false, found \"perhaps\"");
    assert!(
        refusal("[api]\nexternal_url = 'example.org'", &[])
            .starts_with("api.external_url: expected an origin")
    );
}

#[test]
fn confirmations_have_the_defaults_of_the_supabase_cli() {
    let autoconfirm = |config: &str, variables: &[(&str, &str)]| {
        read(config, variables).services.auth.unwrap().mail.autoconfirm
    };
    assert!(!autoconfirm("", &[]));
    assert!(autoconfirm("project_id = 'x'", &[]));
    assert!(!autoconfirm("[auth.email]\nenable_confirmations = true", &[]));
    assert!(!autoconfirm("project_id = 'x'", &[("GOTRUE_MAILER_AUTOCONFIRM", "false")]));
}

#[test]
fn a_refusal_does_not_repeat_a_secret() {
    let error = refusal("[auth]\njwt_secret = 12345", &[]);
    assert_eq!(error, "auth.jwt_secret: expected a text, found something else");
}

#[test]
fn env_is_replaced_by_a_variable() {
    let config = "[api]\nexternal_url = 'env(MY_URL)'";
    let settings = read(config, &[("MY_URL", "https://api.example.org/")]);
    assert_eq!(settings.server.external_url.as_deref(), Some("https://api.example.org"));
    let settings = read(config, &[]);
    assert_eq!(settings.server.external_url, None);
    assert!(settings.warnings[0].contains("MY_URL"), "{:?}", settings.warnings);
}

#[test]
fn the_external_url_may_have_a_path() {
    let settings = read("[api]\nexternal_url = 'https://example.org/team/api/'", &[]);
    assert_eq!(settings.server.external_url.as_deref(), Some("https://example.org/team/api"));
    let external_url = settings.gateway.external_url.unwrap();
    assert_eq!((external_url.origin(), external_url.prefix()), ("https://example.org", "/team/api"));
}

#[test]
fn a_header_that_is_removed_does_not_tell_clients_apart() {
    let header = |name: &str, trusted_proxies: &str| {
        let variables = [("GOTRUE_RATE_LIMIT_HEADER", name), ("BASALT_TRUSTED_PROXIES", trusted_proxies)];
        let settings = read("", &variables);
        let warns = settings.warnings.iter().any(|warning| warning.contains("GOTRUE_RATE_LIMIT_HEADER"));
        (settings.services.auth.unwrap().limits.header.is_some(), warns)
    };
    assert_eq!(header("X-Real-IP", "0"), (false, true));
    assert_eq!(header("X-Real-IP", "1"), (true, false));
    assert_eq!(header("X-Of-Mine", "0"), (true, false));
}

#[test]
fn buckets_are_read_with_their_files() {
    let config = "[storage.buckets.\"blog.images\"]\npublic = true\nfile_size_limit = '5MiB'\n\
                  allowed_mime_types = ['image/png']\nobjects_path = './storage/blog'";
    let settings = read(config, &[]);
    let [bucket] = settings.buckets.as_slice() else { panic!("{:?}", settings.buckets) };
    assert_eq!(bucket.name, "blog.images");
    assert_eq!(bucket.public, Some(true));
    assert_eq!(bucket.file_size_limit, Some(Bytes(5 << 20)));
    assert_eq!(bucket.objects_path, Some(std::env::temp_dir().join("storage/blog")));
    assert!(settings.warnings.is_empty(), "{:?}", settings.warnings);
}

#[test]
fn only_leaves_the_rest_out() {
    let invocation =
        Invocation { only: Some(vec![Service::Rest, Service::Storage]), ..Invocation::default() };
    let settings = settings("[basalt.site]\nenabled = true", &[], &invocation).unwrap();
    assert!(settings.services.rest.is_some() && settings.services.storage.is_some());
    assert!(settings.services.auth.is_none() && !settings.site.enabled);
}

#[test]
fn functions_see_their_secrets_and_not_the_servers() {
    let folder = tempfile::tempdir().unwrap();
    let write = |name: &str, text: &str| {
        let path = folder.path().join(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    };
    write("functions/hello/index.ts", "");
    write("functions/.env", "SHARED=functions\nOWN=functions\nSUPABASE_URL=elsewhere\n");
    write(
        ".env",
        "SHARED=project\nPLAIN=project\nDATABASE_URL=postgres://secret\nGOTRUE_SMTP_PASS=secret\nSMTP_PASSWORD=secret\nJWT_SECRET=secret-of-more-than-thirty-two-bytes\nGRANTED=to-hello\n",
    );
    write("extra.env", "SHARED=flag\n");
    write(
        "config.toml",
        "project_id = 'x'\n[auth.email.smtp]\npass = 'env(SMTP_PASSWORD)'\n\
         [edge_runtime.secrets]\nNAMED = 'env(NOT_SET)'\nOWN = 'config'\n\
         [functions.hello]\nverify_jwt = false\nimport_map = './map.json'\n\
         [functions.hello.env]\nTHEIRS = 'env(GRANTED)'\nMISSING = 'env(NOT_SET)'\nSUPABASE_URL = 'forged'\n\
         [basalt.functions]\nmemory_limit = '64MiB'\nidle_timeout = '10s'\nschedules = { hello = 60 }\n",
    );
    let project = Project::locate(folder.path(), true).unwrap();
    let environment = Environment::load(Variables::new(), [project.root.as_path()]).unwrap();
    let read = |env_file| {
        Settings::read(
            &Invocation { env_file, ..Invocation::default() },
            project.clone(),
            &environment,
            &Managed::new(),
        )
        .unwrap()
    };
    let secrets = |settings: &Settings| -> Vec<_> {
        let secrets = settings.services.functions.as_ref().unwrap().secrets.0.iter();
        secrets.map(|(name, value)| format!("{name}={value}")).collect()
    };
    assert_eq!(secrets(&read(None)), ["OWN=functions", "PLAIN=project", "SHARED=functions"]);
    let settings = read(Some(folder.path().join("extra.env")));
    assert_eq!(secrets(&settings), ["OWN=config", "PLAIN=project", "SHARED=flag"]);
    let functions = settings.services.functions.unwrap();
    let hello = functions.find("hello").unwrap().function;
    // What a table of one function refers to is for that function alone.
    assert_eq!(hello.env.0.into_iter().collect::<Vec<_>>(), [("THEIRS".to_owned(), "to-hello".to_owned())]);
    assert_eq!(functions.env_file.unwrap().0["SHARED"], "flag");
    assert_eq!((&functions.root, &functions.data_dir), (&project.root, &project.root.join(".basalt")));
    assert!(!hello.verify_jwt && hello.import_map == Some(project.root.join("map.json")));
    assert_eq!((functions.limits.memory.0, functions.limits.idle.as_secs()), (64 << 20, 10));
    assert_eq!(functions.schedules["hello"].as_secs(), 60);
    assert!(!settings.warnings.iter().any(|warning| warning.contains("NOT_SET")), "{:?}", settings.warnings);
}

#[test]
fn objects_have_another_host_than_the_api() {
    let config = |files: &str| {
        format!("[api]\nexternal_url = \"https://api.example.org\"\n[basalt]\nstorage_origin = \"{files}\"")
    };
    let settings = read(&config("https://files.example.org/"), &[]);
    assert_eq!(settings.services.storage.unwrap().origin.as_deref(), Some("https://files.example.org"));
    for same in ["https://api.example.org", "http://API.example.org/"] {
        assert!(
            refusal(&config(same), &[]).starts_with("basalt.storage_origin: expected another host"),
            "{same}"
        );
    }
    for unlike in
        ["https://files.example.org:443", "http://files.example.org:80", "https://files.example.org."]
    {
        assert!(
            refusal(&config(unlike), &[]).starts_with("basalt.storage_origin: expected a host without"),
            "{unlike}"
        );
    }
    let with_path =
        "[api]\nexternal_url = \"http://a.example/api\"\n[basalt]\nstorage_origin = \"http://a.example\"";
    assert!(refusal(with_path, &[]).starts_with("basalt.storage_origin: expected another host"));
    assert!(
        refusal(&config("files.example.org"), &[]).starts_with("basalt.storage_origin: expected an origin")
    );
}

#[test]
fn a_target_of_backups_is_a_folder_outside_of_what_is_backed_up_or_a_bucket() {
    let target = |text: &str| format!("[basalt.backup]\ntarget = {text:?}");
    for text in ["", ".", ".basalt", ".basalt/backups", "http://host/x", "ftp://host/x"] {
        assert!(refusal(&target(text), &[]).contains("basalt.backup.target"), "{text}");
    }
    for text in ["backups", "s3://bucket/x", "S3://bucket/x"] {
        assert!(read(&target(text), &[]).backup.target.is_some(), "{text}");
    }
    assert_eq!(read("", &[("BASALT_BACKUP_TARGET", "")]).backup.target, None);
}

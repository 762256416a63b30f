//! Settings of `basalt gotrue`: the environment variables, the files and the defaults of Supabase Auth's binary
//! (`auth`, formerly `gotrue`).
//!
//! Source: Supabase Auth, `internal/conf` and `cmd`.

use std::fmt;
use std::path::{Path, PathBuf};

use settings::{Environment, Invalid, Reader, Variables};

use super::ListenAddress;
use crate::uri;

/// Prefixes of the names of parameters of a database's URL that are ignored: upstream's driver reads them itself, or
/// they make no difference here.
const IGNORED_PARAMETERS: [&str; 3] = ["search_path", "pool_", "default_query_exec_mode"];

/// Settings of `basalt gotrue`.
#[derive(Clone)]
pub(crate) struct GotrueSettings {
    /// Settings of the service.
    pub(crate) auth: auth::Settings,
    /// The keys that sign and verify tokens.
    pub(crate) keys: tokens::KeyOverrides,
    /// Settings of the database, with the login of the owner of schema `auth`.
    pub(crate) database: postgres::Settings,
    /// Settings of the gateway: how the client's address is found.
    pub(crate) gateway: gateway::Settings,
    /// The address to listen on.
    pub(crate) address: ListenAddress,
    /// The level of the log, under upstream's name for it.
    pub(crate) log_level: Option<String>,
    /// What the operator should know about the settings.
    pub(crate) warnings: Vec<String>,
}

impl fmt::Debug for GotrueSettings {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("GotrueSettings").field("address", &self.address).finish_non_exhaustive()
    }
}

/// Files with variables, which override those of the process.
#[derive(Debug, Clone, Default, clap::Args)]
pub(crate) struct GotrueFiles {
    /// A file with variables that override the environment, in place of `.env`
    #[arg(short, long, global = true, value_name = "FILE")]
    config: Option<PathBuf>,
    /// A folder with such files (*.env, *.json), which override everything
    #[arg(short = 'd', long, global = true, value_name = "DIR")]
    config_dir: Option<PathBuf>,
}

impl GotrueFiles {
    /// Returns the process's `variables` with those of the files. The files of `--config-dir` override the file of
    /// `--config`. Both override the process's variables, and these override `.env` in the current folder, which is
    /// read only if no file is named.
    ///
    /// Errors: [`Invalid`] for a file that cannot be read or parsed.
    fn environment(&self, variables: &Variables) -> Result<Environment, Invalid> {
        let mut all = match &self.config {
            None => file(Path::new(".env"), false)?,
            Some(_) => Variables::new(),
        };
        all.extend(variables.clone());
        if let Some(path) = &self.config {
            all.extend(file(path, true)?);
        }
        for path in self.config_dir.as_deref().map(files).transpose()?.unwrap_or_default() {
            all.extend(file(&path, true)?);
        }
        Ok(Environment::from_pairs(all))
    }
}

impl GotrueSettings {
    /// Reads the process's `variables` and upstream's `files`.
    ///
    /// Errors: [`Invalid`] for a file that cannot be read or parsed, and with the name of the first setting that is
    /// invalid, or that upstream requires and is missing.
    pub(crate) fn load(files: &GotrueFiles, variables: &Variables) -> Result<Self, Invalid> {
        Self::read(&files.environment(variables)?)
    }

    /// Returns the variable by which upstream's binary would find its database among the process's `variables` and
    /// those of `.env` in the current folder.
    ///
    /// Errors: [`Invalid`] for a file `.env` that cannot be read.
    pub(crate) fn variable_in(variables: &Variables) -> Result<Option<&'static str>, Invalid> {
        Ok(auth::ServerSettings::variable_in(&GotrueFiles::default().environment(variables)?))
    }

    fn read(environment: &Environment) -> Result<Self, Invalid> {
        let config = toml::Table::new();
        let mut reader = Reader::new(environment, &config, super::known::KNOWN);
        let server = auth::ServerSettings::read(&mut reader)?;
        let files = |path: &Path| vec![path.to_owned()];
        // Upstream writes nothing to disk, and its rate limits are in memory, per value of a header.
        let context = auth::SettingsContext { mails: None, files: &files };
        let mut auth = auth::Settings::read(&mut reader, &context)?;
        auth.external_url.clone_from(&server.external_url);
        auth.limits.per_process = true;
        // Upstream runs behind a gateway, which sets the client's address.
        let mut gateway = gateway::Settings { trusted_proxies: 1, ..gateway::Settings::default() };
        reader.apply(&mut gateway)?;
        let keys: tokens::KeyOverrides = reader.read()?;
        if let (Some(set), []) = (&keys.jwt_keys, auth.token.methods.as_slice()) {
            auth.token.methods = methods(set);
        }
        let address = ListenAddress::Port(server.host.clone(), server.port);
        let (database, mut warnings) = (database(&server), reader.finish());
        warnings.extend(super::forget_untrusted_header(&mut auth, &gateway));
        Ok(Self { auth, keys, database, gateway, address, log_level: server.log_level, warnings })
    }
}

/// Returns the algorithms of a set of keys, which are the only accepted ones: the secret is accepted only if one of the
/// keys is for HS256.
fn methods(keys: &str) -> Vec<String> {
    let keys: Vec<serde_json::Value> = serde_json::from_str(keys).unwrap_or_default();
    let usual = |key: &serde_json::Value| match (key["kty"].as_str()?, key["crv"].as_str()) {
        ("oct", _) => Some("HS256"),
        ("RSA", _) => Some("RS256"),
        ("EC", Some("P-384")) => Some("ES384"),
        ("EC", _) => Some("ES256"),
        ("OKP", _) => Some("EdDSA"),
        _ => None,
    };
    let algorithm = |key: &serde_json::Value| key["alg"].as_str().or_else(|| usual(key)).map(str::to_owned);
    keys.iter().filter_map(algorithm).collect()
}

fn database(server: &auth::ServerSettings) -> postgres::Settings {
    let without_drivers = uri::without(&server.database.clone().unwrap_or_default(), |name| {
        IGNORED_PARAMETERS.iter().any(|prefix| name.starts_with(prefix))
    });
    let mut settings = postgres::Settings {
        application_name: "basalt-auth".to_owned(),
        ..postgres::Settings::new(without_drivers)
    };
    if server.pool_size > 0 {
        // Half for each of the two pools, so that both together do not exceed the setting.
        (settings.pool_size, settings.client_pool_size) =
            (server.pool_size.div_ceil(2), (server.pool_size / 2).max(1));
    }
    settings.max_lifetime = server.max_lifetime.unwrap_or(settings.max_lifetime);
    settings.max_idle_time = server.max_idle_time.unwrap_or(settings.max_idle_time);
    settings
}

/// Returns the files of a folder that upstream reads, sorted by name, so that later ones override earlier ones. If a
/// name exists with both extensions, only the JSON file is read.
fn files(folder: &Path) -> Result<Vec<PathBuf>, Invalid> {
    let refused = |error: std::io::Error| {
        Invalid::new("--config-dir", "a folder that can be read", &format!("{}: {error}", folder.display()))
    };
    let mut paths = Vec::new();
    for entry in std::fs::read_dir(folder).map_err(refused)? {
        let path = entry.map_err(refused)?.path();
        let is_read = path.extension().is_some_and(|ending| ending == "env" || ending == "json");
        if is_read && path.is_file() {
            paths.push(path);
        }
    }
    paths.sort();
    let both: Vec<PathBuf> =
        paths.iter().filter(|path| path.with_extension("json").is_file()).cloned().collect();
    paths.retain(|path| path.extension().is_some_and(|ending| ending == "json") || !both.contains(path));
    Ok(paths)
}

/// Reads the variables of a file: a JSON object of strings, or lines. A missing file has none, unless it `must` exist.
fn file(path: &Path, must: bool) -> Result<Variables, Invalid> {
    let refused =
        |expected: &str, found: &dyn fmt::Display| Invalid::new(&path.display().to_string(), expected, found);
    if must && let Err(error) = std::fs::metadata(path) {
        return Err(refused("a file that can be read", &error));
    }
    if path.extension().is_some_and(|ending| ending == "json") {
        let text = std::fs::read_to_string(path);
        let text = text.map_err(|error| refused("a file that can be read", &error))?;
        // The parser's message may contain a secret.
        return serde_json::from_str(&text).map_err(|_| refused("a JSON object of texts", &"something else"));
    }
    let variables = Environment::of_files([path])?;
    Ok(variables.pairs().map(|(name, value)| (name.to_owned(), value.to_owned())).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    const ENVIRONMENT: [(&str, &str); 5] = [
        ("GOTRUE_DB_DRIVER", "postgres"),
        ("DATABASE_URL", "postgres://supabase_auth_admin:x@db/postgres?search_path=auth&sslmode=disable"),
        ("API_EXTERNAL_URL", "https://example.org/auth/v1/"),
        ("GOTRUE_SITE_URL", "https://example.org"),
        ("GOTRUE_JWT_SECRET", "a secret of more than thirty-two bytes"),
    ];

    fn environment(more: &[(&str, &str)]) -> Environment {
        let own = |(name, value): &(&str, &str)| ((*name).to_owned(), (*value).to_owned());
        let variables: Variables = ENVIRONMENT.iter().chain(more).map(own).collect();
        Environment::from_pairs(variables)
    }

    fn read(more: &[(&str, &str)]) -> Result<GotrueSettings, Invalid> {
        GotrueSettings::read(&environment(more))
    }

    #[test]
    fn variables_that_name_upstreams_database_are_recognized() {
        let named = |more: &[(&str, &str)]| auth::ServerSettings::variable_in(&environment(more));
        assert_eq!(named(&[]), Some("GOTRUE_DB_DRIVER"));
        assert_eq!(named(&[("GOTRUE_DB_DRIVER", "")]), None, "a project's DATABASE_URL");
        let without_driver = [("GOTRUE_DB_DRIVER", ""), ("GOTRUE_DB_DATABASE_URL", "postgres://a@h/d")];
        assert_eq!(named(&without_driver), Some("GOTRUE_DB_DATABASE_URL"));
    }

    #[test]
    fn defaults_are_upstreams() {
        let found = read(&[]).unwrap();
        assert_eq!(found.address, ListenAddress::Port("*".to_owned(), 8081));
        assert_eq!(found.auth.external_url, "https://example.org/auth/v1");
        assert_eq!(
            found.database.server.to_uri(),
            "postgresql://supabase_auth_admin:x@db/postgres?sslmode=disable"
        );
        assert_eq!((found.auth.mail.folder, found.auth.limits.per_process), (None, true));
        assert_eq!((found.gateway.trusted_proxies, found.warnings), (1, Vec::<String>::new()));
        assert!(!found.auth.mail.autoconfirm);
    }

    #[test]
    fn names_are_accepted_with_and_without_the_prefix() {
        let found = read(&[
            ("GOTRUE_API_HOST", "127.0.0.1"),
            ("PORT", "9999"),
            ("GOTRUE_DB_DATABASE_URL", "postgres://b@h/d"),
            ("DB_NAMESPACE", "auth"),
            ("GOTRUE_DB_MAX_POOL_SIZE", "10"),
            ("GOTRUE_OPERATOR_TOKEN", "unused-operator-token"),
            ("GOTRUE_RATE_LIMIT_O_AUTH_DYNAMIC_CLIENT_REGISTER", "3"),
            ("GOTRUE_LOG_LEVEL", "debug"),
            ("GOTRUE_SITE_ULR", "x"),
        ])
        .unwrap();
        assert_eq!(found.address, ListenAddress::Port("127.0.0.1".to_owned(), 9999));
        assert_eq!(
            (found.database.server.to_uri().as_str(), found.database.pool_size),
            ("postgresql://b@h/d", 5)
        );
        assert_eq!(found.auth.limits.oauth_client_registration, 3.0);
        assert_eq!(found.log_level.as_deref(), Some("debug"));
        assert_eq!(found.warnings.len(), 1, "{:?}", found.warnings);
        assert!(found.warnings[0].contains("GOTRUE_SITE_ULR"));
        assert_eq!(
            read(&[("PORT", "1"), ("GOTRUE_API_PORT", "2")]).unwrap().address,
            ListenAddress::Port("*".into(), 2)
        );
    }

    #[test]
    fn keys_determine_the_algorithms() {
        let methods = |more: &[(&str, &str)]| read(more).unwrap().auth.token.methods;
        let keys = r#"[{"kty":"EC","crv":"P-256","alg":"ES256","key_ops":["sign"]},{"kty":"RSA"}]"#;
        assert_eq!(methods(&[]), [""; 0], "each key's own");
        assert_eq!(methods(&[("GOTRUE_JWT_KEYS", keys)]), ["ES256", "RS256"]);
        let named = [("GOTRUE_JWT_KEYS", keys), ("GOTRUE_JWT_VALID_METHODS", "HS256,ES256")];
        assert_eq!(methods(&named), ["HS256", "ES256"]);
    }

    #[test]
    fn errors_name_missing_and_invalid_settings_of_upstream() {
        let without_database = read(&[("DATABASE_URL", "")]).unwrap_err().to_string();
        assert!(without_database.starts_with("GOTRUE_DB_DATABASE_URL: expected"), "{without_database}");
        for (name, value) in [
            ("API_EXTERNAL_URL", ""),
            ("API_EXTERNAL_URL", "example.org"),
            ("GOTRUE_SITE_URL", ""),
            ("GOTRUE_JWT_SECRET", ""),
            ("GOTRUE_DB_DRIVER", "mysql"),
            ("DB_NAMESPACE", "accounts"),
        ] {
            let error = read(&[(name, value)]).unwrap_err().to_string();
            assert!(error.starts_with(&format!("{name}: expected")), "{error}");
        }
    }

    #[test]
    fn files_are_read_as_upstream_reads_them() {
        let folder = tempfile::tempdir().unwrap();
        let write = |name: &str, text: &str| std::fs::write(folder.path().join(name), text).unwrap();
        write("20_b.env", "GOTRUE_JWT_EXP=1\n");
        write("10_a.env", "GOTRUE_JWT_EXP=2\n");
        write("30_c.env", "GOTRUE_JWT_EXP=3\n");
        write("30_c.json", "{\"GOTRUE_JWT_EXP\": \"4\"}");
        write("40.txt", "GOTRUE_JWT_EXP=5\n");
        let names: Vec<_> = files(folder.path())
            .unwrap()
            .iter()
            .map(|path| path.file_name().unwrap().to_str().unwrap().to_owned())
            .collect();
        assert_eq!(names, ["10_a.env", "20_b.env", "30_c.json"]);
        let json = file(&folder.path().join("30_c.json"), true).unwrap();
        assert_eq!(json["GOTRUE_JWT_EXP"], "4");
        assert!(file(&folder.path().join("none.env"), true).is_err());
        assert!(file(&folder.path().join("none.env"), false).unwrap().is_empty());
    }
}

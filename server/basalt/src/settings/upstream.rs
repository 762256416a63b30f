//! Tests that each key of the Supabase CLI's `config.toml` works, or is reported to have no effect, or means nothing
//! here.
//!
//! Source: the CLI's `pkg/config`, its template and its structures.

use std::path::Path;

use super::*;

const TEMPLATE: &str = include_str!("upstream/template_3.toml");
const EARLIER_TEMPLATE: &str = include_str!("upstream/template.toml");
const EVERY_KEY: &str = include_str!("upstream/every_key.toml");

/// Returns a project with the files that [`EVERY_KEY`] names.
fn folder() -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    for (file, text) in [("file.txt", "text"), ("keys.json", "[]"), ("seed.sql", "")] {
        std::fs::write(folder.path().join(file), text).unwrap();
    }
    folder
}

fn read(root: &Path, config: &toml::Table) -> Result<Settings, Invalid> {
    let base = Project {
        base: root.to_owned(),
        root: root.to_owned(),
        config: toml::Table::new(),
        config_path: None,
    };
    let project = Project { config: config.clone(), ..base.clone() };
    let settings = Settings::read(&Invocation::default(), project, &Environment::default(), &Managed::new())?;
    // The file itself is not a setting.
    Ok(Settings { project: base, ..settings })
}

/// Returns everything that a reader of the settings can observe, with the secrets that `Debug` hides.
fn fingerprint(settings: &Settings) -> String {
    let keys = &settings.keys;
    let secrets = [
        &keys.jwt_secret,
        &keys.anon_key,
        &keys.service_role_key,
        &keys.publishable_key,
        &keys.secret_key,
        &keys.signing_keys,
    ];
    let settings = Settings { warnings: Vec::new(), ..settings.clone() };
    format!("{settings:?} {:?} {secrets:?}", settings.database.major_version)
}

fn leaves(table: &toml::Table, path: &mut Vec<String>, into: &mut Vec<Vec<String>>) {
    for (name, value) in table {
        path.push(name.clone());
        match value {
            toml::Value::Table(inner) => leaves(inner, path, into),
            _ => into.push(path.clone()),
        }
        path.pop();
    }
}

fn section<'t>(table: &'t mut toml::Table, path: &[String]) -> &'t mut toml::Table {
    path.iter().fold(table, |table, name| table[name].as_table_mut().unwrap())
}

/// Returns [`EVERY_KEY`] with one provider of text messages, since only one can be used: the one of `path`, if `path`
/// belongs to one.
fn example(path: &[String]) -> toml::Table {
    let mut config: toml::Table = EVERY_KEY.parse().unwrap();
    let sms = section(&mut config, &["auth".to_owned(), "sms".to_owned()]);
    let own = path.get(2).filter(|name| path[1] == "sms" && path.len() > 3 && *name != "test_otp");
    let kept = own.map_or("twilio", String::as_str).to_owned();
    for (name, table) in sms.iter_mut().filter_map(|(name, value)| Some((name, value.as_table_mut()?))) {
        if *name != kept && table.contains_key("enabled") {
            table.insert("enabled".to_owned(), false.into());
        }
    }
    config
}

/// Returns `config` without the key at `path`, and also `config` with the opposite value if that is a switch.
fn others(config: &toml::Table, path: &[String]) -> Vec<toml::Table> {
    let (name, parent) = path.split_last().unwrap();
    let mut without = config.clone();
    let switch = section(&mut without, parent).remove(name).and_then(|value| value.as_bool());
    let mut others = vec![without.clone()];
    if let Some(is_on) = switch {
        section(&mut without, parent).insert(name.clone(), (!is_on).into());
        others.push(without);
    }
    others
}

#[test]
fn a_new_project_of_the_cli_causes_no_warning() {
    let folder = folder();
    for template in [TEMPLATE, EARLIER_TEMPLATE] {
        let settings = read(folder.path(), &template.parse().unwrap()).unwrap();
        assert!(settings.warnings.is_empty(), "{:#?}", settings.warnings);
    }
}

#[test]
fn every_key_of_the_template_is_among_those_that_are_tried() {
    let paths = |text: &str| {
        let mut paths = Vec::new();
        leaves(&text.parse().unwrap(), &mut Vec::new(), &mut paths);
        paths
    };
    let tried = paths(EVERY_KEY);
    for path in paths(TEMPLATE) {
        assert!(tried.contains(&path), "{path:?}");
    }
}

#[test]
fn each_key_works_or_is_reported_to_have_no_effect_or_has_no_meaning_here() {
    let folder = folder();
    let mut paths = Vec::new();
    leaves(&EVERY_KEY.parse().unwrap(), &mut Vec::new(), &mut paths);
    let mut unclear = Vec::new();
    for path in paths {
        let config = example(&path);
        let whole = read(folder.path(), &config).unwrap();
        let unknown: Vec<_> =
            whole.warnings.iter().filter(|warning| warning.starts_with("unknown")).collect();
        assert!(unknown.is_empty(), "{unknown:#?}");
        // A key works if removing or changing it changes the settings, or makes them invalid.
        let works = others(&config, &path).iter().any(|other| {
            read(folder.path(), other).map_or(true, |other| fingerprint(&other) != fingerprint(&whole))
        });
        let key = path.join(".");
        let is_reported =
            whole.warnings.iter().any(|warning| warning.starts_with(&format!("{key} has no effect here: ")));
        let parts: Vec<&str> = path.iter().map(String::as_str).collect();
        let has_no_meaning = known::KNOWN.iter().any(|known| known.is_silent(&parts));
        let verdicts = [works, is_reported, has_no_meaning];
        if verdicts.iter().filter(|holds| **holds).count() != 1 {
            unclear.push(format!("{key}: works, is reported, has no meaning: {verdicts:?}"));
        }
    }
    assert!(unclear.is_empty(), "{unclear:#?}");
}

#[test]
fn disabled_sections_need_no_variables() {
    let folder = folder();
    let warnings = |config: &str| read(folder.path(), &config.parse().unwrap()).unwrap().warnings;
    for config in [
        "[auth.external.github]\nenabled = false\nclient_id = 'env(NONE)'\nsecret = 'env(NONE)'",
        "[auth.external.github]\nclient_id = 'env(NONE)'",
        "[auth.sms.twilio]\nenabled = false\nauth_token = 'env(NONE)'",
        "[auth.email.smtp]\nenabled = false\nhost = 'smtp'\npass = 'env(NONE)'\nport = 'env(NONE)'",
        "[auth.captcha]\nsecret = 'env(NONE)'",
        "[auth]\nenabled = false\nsite_url = 'env(NONE)'\n[auth.external.github]\nenabled = true\nclient_id = 'x'\nsecret = 'env(NONE)'",
        "[auth]\nenabled = false\n[auth.external.github]\nenabled = true\nclient_id = 'env(NONE)'",
        "[auth.hook.send_email]\nenabled = false\nsecrets = 'env(NONE)'",
    ] {
        assert!(warnings(config).is_empty(), "{config}: {:?}", warnings(config));
    }
    let found = warnings("[auth.external.github]\nenabled = true\nclient_id = 'x'\nsecret = 'env(NONE)'");
    assert!(matches!(found.as_slice(), [only] if only.contains("NONE")), "{found:?}");
    let found = warnings("[auth]\nsite_url = 'env(NONE)'");
    assert!(matches!(found.as_slice(), [only] if only.contains("auth.site_url")), "{found:?}");
}

#[test]
fn a_file_of_signing_keys_is_read_beside_the_configuration() {
    let folder = folder();
    let keys = |config: &str| {
        read(folder.path(), &config.parse().unwrap()).map(|settings| settings.keys.signing_keys)
    };
    assert_eq!(keys("[auth]\nsigning_keys_path = './keys.json'"), Ok(Some("[]".to_owned())));
    let refusal = keys("[auth]\nsigning_keys_path = 'none.json'").unwrap_err().to_string();
    assert!(refusal.starts_with("auth.signing_keys_path: expected a file"), "{refusal}");
    assert_eq!(keys("[auth]\nenabled = false\nsigning_keys_path = 'none.json'"), Ok(None));
}

//! `GOTRUE_SECURITY_*` and what `config.toml` has of it.

use std::collections::BTreeMap;
use std::time::Duration;

use auth::{Captcha, CaptchaProvider, EncryptionKey, EncryptionSettings, SecuritySettings};

use super::{Invalid, Reader, gotrue, secret};

pub(super) fn read(reader: &mut Reader<'_>) -> Result<SecuritySettings, Invalid> {
    let default = SecuritySettings::default();
    let algorithm: u16 = gotrue(reader, "", "SECURITY_REFRESH_TOKEN_ALGORITHM_VERSION", 0)?;
    let percentage: u16 = gotrue(reader, "", "SECURITY_REFRESH_TOKEN_UPGRADE_PERCENTAGE", 0)?;
    let bounded = |name: &str, value: u16, most: u8| {
        let number = u8::try_from(value).ok().filter(|value| *value <= most);
        let name = format!("GOTRUE_SECURITY_REFRESH_TOKEN_{name}");
        number.ok_or_else(|| Invalid::new(&name, &format!("a number from 0 to {most}"), &value))
    };
    Ok(SecuritySettings {
        refresh_token_rotation: gotrue(
            reader,
            "auth.enable_refresh_token_rotation",
            "SECURITY_REFRESH_TOKEN_ROTATION_ENABLED",
            default.refresh_token_rotation,
        )?,
        refresh_token_reuse_interval: gotrue(
            reader,
            "auth.refresh_token_reuse_interval",
            "SECURITY_REFRESH_TOKEN_REUSE_INTERVAL",
            default.refresh_token_reuse_interval,
        )?,
        refresh_token_allow_reuse: gotrue(
            reader,
            "",
            "SECURITY_REFRESH_TOKEN_ALLOW_REUSE",
            default.refresh_token_allow_reuse,
        )?,
        refresh_token_algorithm: bounded("ALGORITHM_VERSION", algorithm, 2)?,
        refresh_token_upgrade_percentage: bounded("UPGRADE_PERCENTAGE", percentage, 100)?,
        password_change_requires_reauthentication: gotrue(
            reader,
            "auth.email.secure_password_change",
            "SECURITY_UPDATE_PASSWORD_REQUIRE_REAUTHENTICATION",
            default.password_change_requires_reauthentication,
        )?,
        password_change_requires_current: gotrue(
            reader,
            "",
            "SECURITY_UPDATE_PASSWORD_REQUIRE_CURRENT_PASSWORD",
            default.password_change_requires_current,
        )?,
        manual_linking: gotrue(
            reader,
            "auth.enable_manual_linking",
            "SECURITY_MANUAL_LINKING_ENABLED",
            default.manual_linking,
        )?,
        captcha: captcha(reader)?,
        sb_forwarded_for: gotrue(reader, "", "SECURITY_SB_FORWARDED_FOR_ENABLED", default.sb_forwarded_for)?,
    })
}

/// Longest time that a captcha may take; upstream waits longer than a request may last here.
const CAPTCHA_TIMEOUT: Duration = Duration::from_secs(8);

fn captcha(reader: &mut Reader<'_>) -> Result<Option<Captcha>, Invalid> {
    let enabled = gotrue(reader, "auth.captcha.enabled", "SECURITY_CAPTCHA_ENABLED", false)?;
    let name = "SECURITY_CAPTCHA_PROVIDER";
    let provider = gotrue(reader, "auth.captcha.provider", name, "hcaptcha".to_owned())?;
    let secret = secret(reader, "auth.captcha.secret", "SECURITY_CAPTCHA_SECRET")?;
    let timeout: Duration = gotrue(reader, "", "SECURITY_CAPTCHA_TIMEOUT", CAPTCHA_TIMEOUT)?;
    let url: Option<String> = reader.get("", &["BASALT_CAPTCHA_URL"])?;
    if !enabled {
        return Ok(None);
    }
    let provider = match provider.as_str() {
        "hcaptcha" => CaptchaProvider::Hcaptcha,
        "turnstile" => CaptchaProvider::Turnstile,
        other => {
            let found = format!("{other:?}");
            return Err(Invalid::new(&format!("GOTRUE_{name}"), "hcaptcha or turnstile", &found));
        }
    };
    if secret.expose().trim().is_empty() {
        let expected = "this site's secret at the captcha's provider, since captchas are enabled";
        return Err(Invalid::new("GOTRUE_SECURITY_CAPTCHA_SECRET", expected, &"none"));
    }
    Ok(Some(Captcha { provider, secret, url, timeout: timeout.min(CAPTCHA_TIMEOUT) }))
}

/// Keys that encrypt secrets at rest. Upstream's names begin with `SECURITY_DATABASE_ENCRYPTION_` where they are
/// derived from its configuration, and with `SECURITY_DB_ENCRYPTION_` in its documentation: both are read.
pub(super) fn encryption(reader: &mut Reader<'_>) -> Result<EncryptionSettings, Invalid> {
    let names =
        |part: &str| ["DB", "DATABASE"].map(|middle| format!("GOTRUE_SECURITY_{middle}_ENCRYPTION_{part}"));
    let get = |reader: &mut Reader<'_>, part: &str| -> Result<Option<String>, Invalid> {
        let [short, long] = names(part);
        reader.get("", &[&short, &long])
    };
    let [encrypt, encrypt_long] = names("ENCRYPT");
    let encrypts: bool = reader.get("", &[&encrypt, &encrypt_long])?.unwrap_or(false);
    let (id, key) = (get(reader, "ENCRYPTION_KEY_ID")?, get(reader, "ENCRYPTION_KEY")?);
    let [pairs, pairs_long] = names("DECRYPTION_KEYS");
    let pairs: BTreeMap<String, String> = reader.get("", &[&pairs, &pairs_long])?.unwrap_or_default();
    let parse = |name: &str, text: &str| {
        let refused = || Invalid::new(name, "256 bits in base64url without padding", &"something else");
        EncryptionKey::parse(text).ok_or_else(refused)
    };
    let [decryption, _] = names("DECRYPTION_KEYS");
    let mut keys = BTreeMap::new();
    for (id, text) in &pairs {
        keys.insert(id.clone(), parse(&decryption, text)?);
    }
    if !encrypts {
        return Ok(EncryptionSettings { current: None, keys });
    }
    let [key_name, _] = names("ENCRYPTION_KEY");
    let [id_name, _] = names("ENCRYPTION_KEY_ID");
    let id = id.ok_or_else(|| Invalid::new(&id_name, "the name of the key that encrypts", &"none"))?;
    let key = parse(&key_name, &key.unwrap_or_default())?;
    if keys.get(&id) != Some(&key) {
        let expected = "the key that encrypts among those that decrypt, under the same name";
        return Err(Invalid::new(&decryption, expected, &"another or none"));
    }
    Ok(EncryptionSettings { current: Some((id, key)), keys })
}

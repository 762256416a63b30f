//! Lints of the settings of auth.

use serde_json::{Map, Value, json};

const GUIDES: &str = "https://supabase.com/docs/guides/";

/// What a lint says: name, title, description, detail, and the page about it.
struct Lint {
    name: &'static str,
    title: &'static str,
    description: &'static str,
    detail: String,
    page: &'static str,
}

impl Lint {
    fn report(self) -> Value {
        json!({
            "name": self.name,
            "title": self.title,
            "level": "WARN",
            "facing": "EXTERNAL",
            "categories": ["SECURITY"],
            "description": self.description,
            "detail": self.detail,
            "remediation": format!("{GUIDES}{}", self.page),
            "metadata": { "type": "auth", "entity": "Auth" },
            "cache_key": self.name,
        })
    }
}

/// Returns what is reported of settings with GoTrue's names.
pub(super) fn advise(settings: &Map<String, Value>) -> Vec<Value> {
    if settings.is_empty() {
        // Auth is off.
        return Vec::new();
    }
    let is_on = |name: &str| settings.get(name).and_then(Value::as_bool) == Some(true);
    let number = |name: &str| settings.get(name).and_then(Value::as_i64).unwrap_or_default();
    let (email, phone) = (is_on("external_email_enabled"), is_on("external_phone_enabled"));
    let mut lints = Vec::new();
    if (email || phone) && !is_on("password_hibp_enabled") {
        lints.push(Lint {
            name: "auth_leaked_password_protection",
            title: "Leaked Password Protection Disabled",
            description: "Users can choose passwords that are in public lists of leaked passwords.",
            detail:
                "Set GOTRUE_PASSWORD_HIBP_ENABLED = true: new passwords are then compared with the list of \
                     HaveIBeenPwned.org."
                    .to_owned(),
            page: "auth/password-security#password-strength-and-leaked-password-protection",
        });
    }
    let expiry = number("mailer_otp_exp");
    if email && expiry > 3600 {
        lints.push(Lint {
            name: "auth_otp_long_expiry",
            title: "Auth OTP long expiry",
            description: "Codes and links in mails are valid for more than an hour.",
            detail: format!(
                "Codes and links in mails are valid for {expiry} s. Set auth.email.otp_expiry to 3600 or less."
            ),
            page: "platform/going-into-prod#security",
        });
    }
    let has_factor = |kind: &str| {
        is_on(&format!("mfa_{kind}_enroll_enabled")) && is_on(&format!("mfa_{kind}_verify_enabled"))
    };
    if !["totp", "phone", "web_authn"].into_iter().any(has_factor) {
        lints.push(Lint {
            name: "auth_insufficient_mfa_options",
            title: "Insufficient MFA Options",
            description: "Users cannot add a second factor to their account.",
            detail: "No kind of second factor is on. Set auth.mfa.totp.enroll_enabled and \
                     auth.mfa.totp.verify_enabled."
                .to_owned(),
            page: "auth/auth-mfa",
        });
    }
    let least = number("password_min_length");
    let characters = settings.get("password_required_characters").and_then(Value::as_str);
    if email && least < 8 && characters.is_none_or(str::is_empty) {
        lints.push(Lint {
            name: "auth_password_policy_missing",
            title: "Password Policy Missing",
            description: "Passwords may be short and of any characters.",
            detail: format!(
                "Passwords need {least} characters of any kind. Set auth.minimum_password_length to 8 or more, or \
                 auth.password_requirements."
            ),
            page: "auth/password-security",
        });
    }
    lints.into_iter().map(Lint::report).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn weak_settings_are_reported_and_strong_ones_are_not() {
        let names = |settings: Value| -> Vec<String> {
            let reports = advise(settings.as_object().unwrap());
            reports.iter().map(|report| report["name"].as_str().unwrap().to_owned()).collect()
        };
        let weak = json!({
            "external_email_enabled": true, "password_hibp_enabled": false, "mailer_otp_exp": 7200,
            "mfa_totp_enroll_enabled": true, "mfa_totp_verify_enabled": false, "password_min_length": 6,
            "password_required_characters": "",
        });
        assert_eq!(
            names(weak),
            [
                "auth_leaked_password_protection",
                "auth_otp_long_expiry",
                "auth_insufficient_mfa_options",
                "auth_password_policy_missing"
            ]
        );
        let strong = json!({
            "external_email_enabled": true, "password_hibp_enabled": true, "mailer_otp_exp": 3600,
            "mfa_totp_enroll_enabled": true, "mfa_totp_verify_enabled": true, "password_min_length": 8,
        });
        assert_eq!(names(strong), Vec::<String>::new());
        assert_eq!(names(json!({})), Vec::<String>::new());
    }
}

//! Upstream's variables that mean nothing here, each with the reason that whoever sets it is told.

use super::{Invalid, Reader};

/// Variables that say what Basalt knows from elsewhere; every `.env` has them, so nobody is told.
const REPLACED: [&str; 17] = [
    "API_HOST",
    "API_PORT",
    "API_ENDPOINT",
    "DB_DRIVER",
    "DB_DATABASE_URL",
    "DB_NAMESPACE",
    "DB_MIGRATIONS_PATH",
    "JWT_ADMIN_GROUP_NAME",
    "JWT_VALID_METHODS",
    "LOG_LEVEL",
    "LOG_FILE",
    "LOG_SQL",
    "OPERATOR_TOKEN",
    "DB_MAX_POOL_SIZE",
    "DB_CONN_PERCENTAGE",
    "DB_MAX_IDLE_POOL_SIZE",
    "DB_HEALTH_CHECK_PERIOD",
];

/// Variables of things that are done in another way here or not at all.
const WITHOUT_EFFECT: [(&str, &str); 18] = [
    ("MAILER_EMAIL_BACKGROUND_SENDING", "a mail is handed over before the request is answered"),
    ("MAILER_EMAIL_VALIDATION_EXTENDED", "addresses are checked by their form alone"),
    ("MAILER_EMAIL_VALIDATION_SERVICE_URL", "addresses are checked by their form alone"),
    ("MAILER_EMAIL_VALIDATION_SERVICE_HEADERS", "addresses are checked by their form alone"),
    ("MAILER_EMAIL_VALIDATION_BLOCKED_MX", "addresses are checked by their form alone"),
    (
        "MAILER_TEMPLATE_RELOADING_ENABLED",
        "templates are fetched again when they are older than their maximum age",
    ),
    (
        "MAILER_TEMPLATE_RELOADING_MAX_IDLE",
        "templates are fetched again when they are older than their maximum age",
    ),
    ("SMTP_LOGGING_ENABLED", "set BASALT_LOG to see mails go out"),
    ("PASSWORD_HIBP_USER_AGENT", "requests name Basalt"),
    ("PASSWORD_HIBP_BLOOM_ENABLED", "leaked passwords are asked for each time"),
    ("PASSWORD_HIBP_BLOOM_ITEMS", "leaked passwords are asked for each time"),
    ("PASSWORD_HIBP_BLOOM_FALSE_POSITIVES", "leaked passwords are asked for each time"),
    ("CORS_ALLOWED_HEADERS", "all headers that a browser asks for are allowed"),
    ("TRACING_ENABLED", "metrics are at /metrics of the admin port"),
    ("METRICS_ENABLED", "metrics are at /metrics of the admin port"),
    ("PROFILER_ENABLED", "there is no profiler"),
    ("DB_ADVISOR_ENABLED", "there is no database advisor"),
    ("RELOADING_NOTIFY_ENABLED", "settings are read at the start"),
];

/// Notes which of them are set.
pub(super) fn note(reader: &mut Reader<'_>) -> Result<(), Invalid> {
    for name in REPLACED {
        let _: Option<String> = reader.get("", &[&format!("GOTRUE_{name}")])?;
    }
    for (name, reason) in WITHOUT_EFFECT {
        let name = format!("GOTRUE_{name}");
        let set: Option<String> = reader.get("", &[&name])?;
        if set.is_some_and(|value| !value.eq_ignore_ascii_case("false")) {
            reader.warn(format!("{name} has no effect here: {reason}"));
        }
    }
    Ok(())
}

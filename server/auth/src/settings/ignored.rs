//! Upstream's variables that have no effect here. A warning tells the operator the reason.

use ::settings::{Invalid, Reader};

/// Variables that cause no warning: those that every `.env` has and for which Basalt has another source, and details of
/// features that are switched off.
const REPLACED: &[&str] = &[
    "API_HOST",
    "API_PORT",
    "API_ENDPOINT",
    "DB_DRIVER",
    "DB_DATABASE_URL",
    "DB_NAMESPACE",
    "DB_MIGRATIONS_PATH",
    "JWT_ADMIN_GROUP_NAME",
    "LOG_LEVEL",
    "LOG_FILE",
    "LOG_SQL",
    "OPERATOR_TOKEN",
    "DB_MAX_POOL_SIZE",
    "DB_CONN_PERCENTAGE",
    "DB_MAX_IDLE_POOL_SIZE",
    "DB_HEALTH_CHECK_PERIOD",
    "DB_CONN_MAX_LIFETIME",
    "DB_CONN_MAX_IDLE_TIME",
    "DB_DB_NAMESPACE",
    "API_API_EXTERNAL_URL",
    "LOG_DISABLE_COLORS",
    "LOG_QUOTE_EMPTY_FIELDS",
    "LOG_TSFORMAT",
    "DB_ADVISOR_OBSERVATION_INTERVAL",
    "DB_ADVISOR_SAMPLING_INTERVAL",
    "METRICS_EXPORTER",
    "METRICS_OTEL_EXPORTER_OTLP_PROTOCOL",
    "METRICS_OTEL_EXPORTER_PROMETHEUS_HOST",
    "METRICS_OTEL_EXPORTER_PROMETHEUS_PORT",
    "PROFILER_HOST",
    "PROFILER_PORT",
    "RELOADING_GRACE_PERIOD_INTERVAL",
    "RELOADING_POLLER_INTERVAL",
    "RELOADING_SIGNAL_NUMBER",
    "TRACING_EXPORTER",
    "TRACING_HOST",
    "TRACING_OTEL_EXPORTER_OTLP_PROTOCOL",
    "TRACING_PORT",
    "TRACING_SERVICE_NAME",
    "TRACING_TAGS",
];

/// Variables that upstream reads but does not use. The `API_URL` of each OAuth provider is another one.
const UNUSED: [&str; 9] = [
    "MAILER_URLPATHS_MAGIC_LINK",
    "MAILER_URLPATHS_REAUTHENTICATION",
    "MAILER_URLPATHS_PASSWORD_CHANGED_NOTIFICATION",
    "MAILER_URLPATHS_EMAIL_CHANGED_NOTIFICATION",
    "MAILER_URLPATHS_PHONE_CHANGED_NOTIFICATION",
    "MAILER_URLPATHS_IDENTITY_LINKED_NOTIFICATION",
    "MAILER_URLPATHS_IDENTITY_UNLINKED_NOTIFICATION",
    "MAILER_URLPATHS_MFA_FACTOR_ENROLLED_NOTIFICATION",
    "MAILER_URLPATHS_MFA_FACTOR_UNENROLLED_NOTIFICATION",
];

/// Variables of features that Basalt does not have or does in another way.
const WITHOUT_EFFECT: &[(&str, &str)] = &[
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
    ("RELOADING_POLLERENABLED", "settings are read at the start"),
    ("RELOADING_SIGNAL_ENABLED", "settings are read at the start"),
    ("API_REQUEST_ID_HEADER", "requests are named by X-Request-Id"),
    ("INDEX_WORKER_ENSURE_USER_SEARCH_INDEXES_EXIST", "indexes for searches of users are not made"),
    ("INDEX_WORKER_MAX_USERS_THRESHOLD", "indexes for searches of users are not made"),
    ("EXPERIMENTAL_ENABLE_OTT_AS_SOURCE_OF_TRUTH", "codes are stored with their users and in their table"),
    (
        "EXPERIMENTAL_ONE_TIME_TOKEN_EXPIRES_AT_WRITE_ENABLED",
        "how long a code is valid follows from the time at which it was sent",
    ),
];

/// Marks these variables as known, and warns about those that have no effect.
pub(super) fn note(reader: &mut Reader<'_>) -> Result<(), Invalid> {
    for name in REPLACED.iter().chain(&UNUSED) {
        let _: Option<String> = reader.get("", &[&format!("GOTRUE_{name}")])?;
    }
    for provider in super::providers::PROVIDERS {
        let name = format!("GOTRUE_EXTERNAL_{}_API_URL", provider.to_ascii_uppercase());
        let _: Option<String> = reader.get("", &[&name])?;
    }
    for (name, reason) in WITHOUT_EFFECT {
        let name = format!("GOTRUE_{name}");
        let set: Option<String> = reader.get("", &[&name])?;
        if set.is_some_and(|value| !value.eq_ignore_ascii_case("false") && value != "0") {
            reader.warn(format!("{name} has no effect here: {reason}"));
        }
    }
    Ok(())
}

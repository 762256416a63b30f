//! Settings of what is told of problems.

use ::settings::Secret;
use url::Url;

::settings::settings! {
    /// Settings of what is told of problems.
    #[derive(Debug, Clone, PartialEq, Eq)]
    pub struct Settings {
        /// The URL to which the list of problems is sent as JSON, each day and when a critical one begins.
        #[setting(variables = ["BASALT_HEALTH_WEBHOOK"], key = "basalt.health.webhook", check = webhook)]
        pub webhook: Option<Secret> = None,
        /// The address to which the list is sent as a mail, by the mail server of auth.
        #[setting(variables = ["BASALT_HEALTH_MAIL_TO"], key = "basalt.health.mail_to", check = address)]
        pub mail_to: Option<String> = None,
        /// The time of day at which the list is sent if there is a problem, such as `06:00` (UTC).
        #[setting(variables = ["BASALT_HEALTH_AT"], key = "basalt.health.at", check = time_of_day)]
        pub at: String = "06:00".to_owned(),
    }
}

impl Settings {
    /// Returns the time of day at which the list is sent, in seconds since midnight.
    pub(crate) fn second_of_day(&self) -> u32 {
        let (hour, minute) = ::settings::time_of_day(&self.at).unwrap_or_default();
        u32::from(hour) * 3600 + u32::from(minute) * 60
    }
}

fn webhook(url: Option<Secret>) -> Result<Option<Secret>, &'static str> {
    let is_url = |url: &Secret| {
        Url::parse(url.expose()).is_ok_and(|url| matches!(url.scheme(), "http" | "https") && url.has_host())
    };
    match url {
        Some(url) if !is_url(&url) => Err("a URL that begins with https:// or http://"),
        url => Ok(url),
    }
}

fn address(to: Option<String>) -> Result<Option<String>, &'static str> {
    match &to {
        Some(address) if !address.contains('@') => Err("an address such as ops@example.org"),
        _ => Ok(to),
    }
}

fn time_of_day(text: String) -> Result<String, &'static str> {
    match ::settings::time_of_day(&text) {
        Some(_) => Ok(text),
        None => Err("a time of day such as 06:00"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_cannot_be_used_is_refused() {
        let url = |text: &str| webhook(Some(text.into())).is_ok();
        assert!(url("https://hooks.example/a") && url("http://127.0.0.1:1/"));
        assert!(!url("hooks.example") && !url("ftp://hooks.example") && !url("https://"));
        let of = |text: &str| address(Some(text.to_owned())).is_ok();
        assert!(of("ops@example.org") && !of("ops"));
        assert!(time_of_day("06:00".to_owned()).is_ok() && time_of_day("6".to_owned()).is_err());
        assert_eq!(
            Settings { at: "06:30".to_owned(), ..Settings::default() }.second_of_day(),
            6 * 3600 + 1800
        );
    }
}

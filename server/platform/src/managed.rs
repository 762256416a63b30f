//! Settings of the other services as the interface names, shows and changes them.

use std::collections::BTreeMap;

use futures_util::future::BoxFuture;
use serde_json::{Map, Value};
use settings::{Managed, Secret};
use url::{Host, Url};

settings::words! {
    /// The settings that one endpoint shows and changes, by the end of its path.
    pub enum Section {
        /// REST.
        Rest = "postgrest",
        /// Auth.
        Auth = "config/auth",
        /// Storage.
        Storage = "config/storage",
        /// Realtime.
        Realtime = "config/realtime",
    }
}

/// The form of a value in the interface, and how it becomes the text of the setting.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Form {
    /// `true` or `false`.
    Flag,
    /// A number from 0 on.
    Number,
    /// The same, without 0, which stands for nothing.
    Positive,
    /// A number of hours.
    Hours,
    /// A text.
    Text,
    /// A text that is never shown.
    Secret,
    /// Texts, separated by commas.
    List,
    /// Phone numbers with their codes, `<number>=<code>`, separated by commas.
    Codes,
    /// A URL of any kind, also of an app.
    Address,
    /// A URL of a public server, such as `https://example.com`.
    Url,
    /// The same, or a function of the database.
    Hook,
    /// The name of a mail server.
    MailServer,
}

/// A setting as the interface has it.
#[derive(Debug, Clone, PartialEq)]
pub struct Field {
    /// Its name in the interface, with dots between objects.
    pub name: String,
    /// What it sets: a key of `config.toml` or, if the setting has none, a variable.
    pub setting: String,
    /// The form of its value.
    pub form: Form,
    /// Its value; null for a secret.
    pub value: Value,
    /// The value of a secret, if it has one.
    pub secret: Option<Secret>,
}

impl Field {
    /// Returns a field that is no secret.
    pub fn new(name: impl Into<String>, setting: impl Into<String>, form: Form, value: Value) -> Self {
        Self { name: name.into(), setting: setting.into(), form, value, secret: None }
    }

    /// Returns a field whose value, if it has one, is a secret.
    pub fn secret(name: impl Into<String>, setting: impl Into<String>, secret: Option<Secret>) -> Self {
        Self { secret, ..Self::new(name, setting, Form::Secret, Value::Null) }
    }
}

/// The settings of the other services, in the names of the platform interface. Those of a service that is off are
/// missing.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct ServiceConfig {
    /// Those of REST.
    pub rest: Vec<Field>,
    /// Those of auth, by names of GoTrue's variables without the prefix.
    pub auth: Vec<Field>,
    /// Those of storage.
    pub storage: Vec<Field>,
    /// Those of realtime.
    pub realtime: Vec<Field>,
    /// The managed settings that have no effect, each with the variable of the environment that sets the same.
    pub overruled: BTreeMap<String, String>,
    /// The issuers of other servers whose tokens are accepted.
    pub third_parties: Vec<String>,
}

impl ServiceConfig {
    /// Returns the fields of a section.
    pub(crate) fn of(&self, section: Section) -> &[Field] {
        match section {
            Section::Rest => &self.rest,
            Section::Auth => &self.auth,
            Section::Storage => &self.storage,
            Section::Realtime => &self.realtime,
        }
    }

    /// Returns the values of a section by name, without secrets.
    pub(crate) fn values(&self, section: Section) -> Map<String, Value> {
        self.of(section).iter().map(|field| (field.name.clone(), field.value.clone())).collect()
    }
}

/// The server, which is made of settings.
pub trait Configurable: Send + Sync + 'static {
    /// Returns what the settings would be with these managed ones. Changes nothing.
    ///
    /// Errors: a sentence about a setting that is not valid.
    fn preview(&self, managed: Managed) -> BoxFuture<'_, Result<ServiceConfig, String>>;

    /// Uses these managed settings in place of the previous ones, and returns what the settings are then.
    ///
    /// Errors: a sentence about a setting that is not valid; the previous ones then stay in use.
    fn apply(&self, managed: Managed) -> BoxFuture<'_, Result<ServiceConfig, String>>;
}

impl Form {
    /// Returns the text of the setting for `value`.
    ///
    /// Errors: what was expected.
    pub(crate) fn text(self, value: &Value) -> Result<String, &'static str> {
        match self {
            Self::Flag => value.as_bool().map(|flag| flag.to_string()).ok_or("true or false"),
            Self::Number => number(value).ok_or("a number from 0 on"),
            Self::Positive => number(value).filter(|text| text != "0").ok_or("a number above 0"),
            Self::Hours => {
                number(value).map(|hours| format!("{hours}h")).ok_or("a number of hours from 0 on")
            }
            Self::Text | Self::Secret | Self::List => plain(value).map(str::to_owned),
            Self::Codes => plain(value).map(|text| text.replace('=', ":")),
            Self::Address => plain(value).and_then(address),
            Self::Url => plain(value).and_then(|text| public(text, text.is_empty())),
            Self::Hook => plain(value)
                .and_then(|text| public(text, text.is_empty() || text.starts_with("pg-functions:"))),
            Self::MailServer => plain(value).and_then(mail_server),
        }
    }

    /// Reports whether two values of this form are the same.
    pub(crate) fn is_same(self, one: &Value, other: &Value) -> bool {
        let items = |value: &Value| -> Vec<String> {
            let text = value.as_str().unwrap_or_default();
            let mut items: Vec<String> =
                text.split(',').map(|item| item.trim().to_owned()).filter(|item| !item.is_empty()).collect();
            if self == Self::Codes {
                items.sort();
            }
            items
        };
        match self {
            Self::List | Self::Codes => items(one) == items(other),
            _ => is_same(one, other),
        }
    }
}

/// Reports whether two values mean the same: an empty text is none, and numbers may have a fraction of 0.
pub(crate) fn is_same(one: &Value, other: &Value) -> bool {
    let is_none = |value: &Value| value.is_null() || value.as_str().is_some_and(str::is_empty);
    match (one.as_f64(), other.as_f64()) {
        (Some(one), Some(other)) => one.to_bits() == other.to_bits(),
        _ => one == other || is_none(one) && is_none(other),
    }
}

fn number(value: &Value) -> Option<String> {
    let number = value.as_f64().filter(|number| *number >= 0.0 && number.is_finite())?;
    Some(value.as_u64().map_or_else(|| number.to_string(), |whole| whole.to_string()))
}

/// Returns a text that stands for itself.
fn plain(value: &Value) -> Result<&str, &'static str> {
    let text = value.as_str().ok_or("a text")?;
    // Such a text in config.toml would read a variable of the server. Here it would not, but who writes it expects
    // that.
    let is_reference = text.trim().starts_with("env(") && text.trim().ends_with(')');
    if is_reference || text.contains('\0') {
        return Err("a text itself: variables of the server are not read");
    }
    Ok(text)
}

/// Returns `text`, which must be one URL.
fn address(text: &str) -> Result<String, &'static str> {
    let is_url = !text.contains(',') && Url::parse(text).is_ok();
    if is_url { Ok(text.to_owned()) } else { Err("a URL such as https://example.com") }
}

/// Returns `text`, which must be a URL of a public server unless it `is_other`. Where the name of the host leads is
/// checked again when it is used.
fn public(text: &str, is_other: bool) -> Result<String, &'static str> {
    const EXPECTED: &str = "https:// and the name of a public server";
    let url = Url::parse(text).ok();
    let is_public = url.is_some_and(|url| {
        url.scheme() == "https"
            && url.domain().is_some_and(|name| name.contains('.') && !name.ends_with(".localhost"))
    });
    if is_other || is_public { Ok(text.to_owned()) } else { Err(EXPECTED) }
}

/// Returns `text`, which must be the name of another machine.
fn mail_server(text: &str) -> Result<String, &'static str> {
    let is_name = matches!(Host::parse(text), Ok(Host::Domain(name)) if name.contains('.') && !name.ends_with(".localhost"));
    if text.is_empty() || is_name {
        Ok(text.to_owned())
    } else {
        Err("the name of a mail server, such as smtp.example.com")
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn values_become_texts_of_settings() {
        for (form, value, text) in [
            (Form::Flag, json!(true), "true"),
            (Form::Number, json!(30), "30"),
            (Form::Hours, json!(1.5), "1.5h"),
            (Form::Codes, json!("1=2,3=4"), "1:2,3:4"),
            (Form::Hook, json!("pg-functions://postgres/public/f"), "pg-functions://postgres/public/f"),
            (Form::Address, json!("myapp://home"), "myapp://home"),
            (Form::Url, json!("https://login.example.com/x"), "https://login.example.com/x"),
            (Form::MailServer, json!(""), ""),
        ] {
            assert_eq!(form.text(&value).as_deref(), Ok(text), "{form:?}");
        }
    }

    #[test]
    fn values_of_another_form_are_refused() {
        for (form, value) in [
            (Form::Flag, json!("true")),
            (Form::Number, json!(-1)),
            (Form::Positive, json!(0)),
            (Form::Text, json!(1)),
            (Form::Address, json!("")),
            (Form::Address, json!("https://a.example.com,https://b.example.com")),
            (Form::Text, json!("env(HOME)")),
            (Form::Secret, json!(" env(JWT_SECRET) ")),
            (Form::Text, json!("a\0")),
        ] {
            assert!(form.text(&value).is_err(), "{form:?} {value}");
        }
    }

    #[test]
    fn no_address_leads_to_this_machine_or_its_network() {
        for url in [
            "http://example.com/",
            "https://localhost/",
            "https://a.localhost/",
            "https://127.0.0.1/",
            "https://10.0.0.1/",
            "https://0x7f000001/",
            "https://[::1]/",
            "https://intranet/",
            "file:///etc/passwd",
        ] {
            assert!(Form::Hook.text(&json!(url)).is_err() && Form::Url.text(&json!(url)).is_err(), "{url}");
        }
        for host in ["localhost", "127.0.0.1", "10.1.2.3", "[::1]", "::1", "relay", "2130706433"] {
            assert!(Form::MailServer.text(&json!(host)).is_err(), "{host}");
        }
    }

    #[test]
    fn the_same_value_may_be_written_in_several_ways() {
        assert!(is_same(&json!(30), &json!(30.0)) && is_same(&json!(""), &Value::Null));
        assert!(!is_same(&json!(false), &Value::Null) && !is_same(&json!(0), &Value::Null));
        assert!(
            Form::List.is_same(&json!("a, b"), &json!("a,b"))
                && !Form::List.is_same(&json!("a"), &json!("b"))
        );
        assert!(Form::Codes.is_same(&json!("1=2,3=4"), &json!("3=4,1=2")));
    }
}

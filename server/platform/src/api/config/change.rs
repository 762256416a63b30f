//! Changes of settings: all that a request asks for, or nothing.

use std::collections::BTreeMap;

use http::StatusCode;
use serde_json::{Value, json};
use settings::{Managed, Secret};

use super::{ConfigApi, limits, sections};
use crate::Error;
use crate::access::Operator;
use crate::managed::{Field, Form, Section, ServiceConfig, is_same};
use crate::store::settings::{self as store, Change};

/// How often a change is tried while others come in between.
const ATTEMPTS: usize = 5;

/// The setting that names the schemas of REST.
const SCHEMAS: &str = "api.schemas";

/// The schemas in which the server keeps what is its own, and secrets.
const OWN_SCHEMAS: [&str; 4] = ["basalt", "basalt_http", "basalt_platform", "vault"];

/// What a request asks for, by name. A text, a number or a flag is the new value, and null takes a change back.
type Asked<'a> = Vec<(String, &'a Value)>;

impl ConfigApi {
    /// Changes settings of a section, and returns the section as it is once this node uses them.
    ///
    /// Errors: 400 for a setting that this server does not have or a value that it cannot take, 409 for one that the
    /// server's environment sets. Nothing is changed then.
    pub(super) async fn change(
        &self,
        operator: &Operator,
        section: Section,
        change: &Value,
    ) -> Result<Value, Error> {
        let inner = self.0.inner();
        let reference = inner.project.reference();
        let server = inner.server.as_ref().ok_or_else(|| {
            let message = "The settings of this server cannot be changed while it runs";
            Error::Refused(StatusCode::NOT_IMPLEMENTED, message.into())
        })?;
        let config = &self.0.settings.config;
        if config.of(section).is_empty() {
            return Err(Error::invalid("This server does not run the service"));
        }
        let asked = asked(change)?;
        let changes = changes(&asked, section, config, &reference)?;
        self.check_schemas(&changes).await?;
        let mut used = inner.managed.lock().await;
        for _ in 0..ATTEMPTS {
            let snapshot = store::read(&inner.store, &inner.seal).await?;
            let mut changes = changes.clone();
            // Nothing can be taken back of what was not changed.
            changes.retain(|name, (value, _)| value.is_some() || snapshot.has(name));
            if changes.is_empty() {
                return Ok(self.shown(section));
            }
            let wanted = merged(&snapshot.settings, &changes);
            let preview = server.preview(wanted.clone()).await.map_err(Error::invalid)?;
            check(&asked, section, &preview, &reference)?;
            if !store::write(&inner.store, &inner.seal, operator.name(), &changes, &snapshot).await? {
                continue;
            }
            let names: Vec<&String> = changes.keys().collect();
            self.0.audit(operator, "settings.set", json!({ "names": names })).await?;
            let config = inner.use_settings(server, &mut used, wanted).await.map_err(Error::Internal)?;
            return Ok(sections::shown(section, &config, &reference));
        }
        Err(Error::Refused(
            StatusCode::CONFLICT,
            "The settings are being changed by others: try again".into(),
        ))
    }

    /// Checks that the schemas exist that REST is to serve, since it would serve none otherwise, and that none of them
    /// is the server's own.
    async fn check_schemas(&self, changes: &BTreeMap<String, Change>) -> Result<(), Error> {
        let Some((Some(schemas), _)) = changes.get(SCHEMAS) else { return Ok(()) };
        if let Some(own) = schemas.split(',').map(str::trim).find(|schema| OWN_SCHEMAS.contains(schema)) {
            return Err(Error::invalid(format!("db_schema: the schema {own:?} is the server's own")));
        }
        let missing = store::missing_schemas(&self.0.inner().store, schemas).await?;
        match missing.first() {
            Some(schema) => Err(Error::invalid(format!("db_schema: there is no schema {schema:?}"))),
            None => Ok(()),
        }
    }
}

/// Returns what the body of a request asks for.
///
/// Errors: 400 for anything but an object.
fn asked(body: &Value) -> Result<Asked<'_>, Error> {
    fn collect<'v>(path: &str, value: &'v Value, into: &mut Asked<'v>) {
        match value {
            Value::Object(object) => {
                for (name, value) in object {
                    let name = if path.is_empty() { name.clone() } else { format!("{path}.{name}") };
                    collect(&name, value, into);
                }
            }
            value => into.push((path.to_owned(), value)),
        }
    }
    if !body.is_object() {
        return Err(Error::invalid("Expected an object of settings"));
    }
    let mut asked = Vec::new();
    collect("", body, &mut asked);
    Ok(asked)
}

/// Returns the changes of settings that are `asked` for. What already has the value is not changed.
///
/// Errors: 400 for a setting that there is none of, or a value of another form.
fn changes(
    asked: &Asked<'_>,
    section: Section,
    config: &ServiceConfig,
    reference: &str,
) -> Result<BTreeMap<String, Change>, Error> {
    let shown = sections::shown(section, config, reference);
    let mut changes = BTreeMap::new();
    for (name, value) in asked {
        let field = config.of(section).iter().find(|field| field.name == *name);
        let Some(place) = shown.pointer(&sections::pointer(name)) else {
            return Err(Error::invalid(format!("{name}: there is no such setting")));
        };
        let Some(field) = field else {
            if is_same(value, place) {
                continue;
            }
            return Err(Error::invalid(format!("{name} cannot be changed: this server has no such setting")));
        };
        let is_secret = field.form == Form::Secret;
        if value.is_null() && !is_same(value, place) {
            changes.insert(field.setting.clone(), (None, is_secret));
        } else if !has_value(field, value, place, reference) {
            let text = field.form.text(value);
            let text = text.map_err(|expected| Error::invalid(format!("{name}: expected {expected}")))?;
            limits::check(section, name, value)?;
            changes.insert(field.setting.clone(), (Some(text), is_secret));
        }
    }
    Ok(changes)
}

/// Returns `settings` with `changes`.
fn merged(settings: &Managed, changes: &BTreeMap<String, Change>) -> Managed {
    let mut merged = settings.clone();
    for (name, (value, _)) in changes {
        match value {
            Some(value) => drop(merged.insert(name.clone(), Secret::from(value.clone()))),
            None => drop(merged.remove(name)),
        }
    }
    merged
}

/// Checks that all settings would have the values that are `asked` for.
///
/// Errors: 409 for one that a variable of the environment sets, 400 for one that something else keeps as it is.
fn check(asked: &Asked<'_>, section: Section, config: &ServiceConfig, reference: &str) -> Result<(), Error> {
    let shown = sections::shown(section, config, reference);
    for (name, value) in asked.iter().filter(|(_, value)| !value.is_null()) {
        let field = config.of(section).iter().find(|field| field.name == *name);
        let place = shown.pointer(&sections::pointer(name)).unwrap_or(&Value::Null);
        let Some(field) = field.filter(|field| !has_value(field, value, place, reference)) else { continue };
        if let Some(variable) = config.overruled.get(&field.setting) {
            let message = format!(
                "{name} cannot be changed: the variable {variable} in the server's environment sets it"
            );
            return Err(Error::Refused(StatusCode::CONFLICT, message.into()));
        }
        return Err(Error::invalid(format!("{name} would not have this value beside the other settings")));
    }
    Ok(())
}

/// Reports whether `field`, which is `shown`, has this `value`. A secret may also be given as it is shown.
fn has_value(field: &Field, value: &Value, shown: &Value, reference: &str) -> bool {
    let of_secret = |secret: &str| shown.as_str() == Some(&sections::digest(secret, reference));
    field.form.is_same(value, shown) || field.form == Form::Secret && value.as_str().is_some_and(of_secret)
}

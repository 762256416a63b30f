//! Lifecycles of buckets: the rules by which older versions of objects expire, as clients send them and rows hold them.
//! `expiry.rs` carries them out.

use std::collections::HashSet;

use data_encoding::HEXLOWER;
use md5::{Digest as _, Md5};
use serde_json::{Map, Value, json};

use crate::caller::Caller;
use crate::error::Error;
use crate::row::{display, text};
use crate::store::Rows;

/// Rules that a bucket may have. Source: storage-js, `BucketLifecycleConfiguration`.
const MAX_RULES: usize = 1000;
/// Versions that a rule may keep whatever their age. Source: storage-js, `NoncurrentVersionExpiration`.
const MAX_KEPT: u64 = 100;
/// Days after which versions may expire at the latest; a hundred years, so that times can be reckoned with.
const MAX_DAYS: u64 = 36_500;
/// Characters that the id of a rule may have. Source: Amazon S3 API Reference, "LifecycleRule".
const MAX_ID: usize = 255;

/// The rules of a bucket.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Configuration {
    pub(crate) rules: Vec<Rule>,
}

/// A rule by which older versions of a bucket's objects expire.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Rule {
    pub(crate) id: String,
    pub(crate) is_enabled: bool,
    /// Days after which a version that is no longer current expires.
    pub(crate) days: u64,
    /// How many of the latest versions that are no longer current are kept whatever their age.
    pub(crate) kept: Option<u64>,
}

/// Why rules are refused.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Refused {
    /// S3's code.
    pub(crate) code: &'static str,
    pub(crate) words: String,
}

fn malformed(words: impl Into<String>) -> Refused {
    Refused { code: "MalformedXML", words: words.into() }
}

fn invalid(words: impl Into<String>) -> Refused {
    Refused { code: "InvalidArgument", words: words.into() }
}

impl Configuration {
    /// Reads rules as the clients of the REST interface send them. A rule without an id gets one that depends on what
    /// it says.
    ///
    /// Errors: [`Refused`] for what is wrong, and for everything that would not be carried out.
    pub(crate) fn of_json(json: &Value) -> Result<Self, Refused> {
        let fields = object(json, "The configuration", &["rules"])?;
        let rules = fields.get("rules").and_then(Value::as_array);
        let rules = rules.ok_or_else(|| malformed("rules must be an array"))?;
        Self::of_rules(rules.iter().enumerate().map(|(index, rule)| Rule::of_json(index + 1, rule)))
    }

    /// Puts rules together, those without an id with an empty one.
    ///
    /// Errors: [`Refused`] for too many, for none, and for two of the same id.
    pub(crate) fn of_rules(rules: impl Iterator<Item = Result<Rule, Refused>>) -> Result<Self, Refused> {
        let mut rules: Vec<Rule> = rules.collect::<Result<_, _>>()?;
        if rules.is_empty() || rules.len() > MAX_RULES {
            return Err(malformed(format!("A lifecycle has between 1 and {MAX_RULES} rules")));
        }
        let mut ids = HashSet::new();
        for rule in rules.iter().filter(|rule| !rule.id.is_empty()) {
            if !ids.insert(rule.id.clone()) {
                return Err(invalid("The ids of rules must be unique"));
            }
        }
        for rule in rules.iter_mut().filter(|rule| rule.id.is_empty()) {
            let digest = HEXLOWER.encode(&Md5::digest(rule.to_json().to_string()));
            let names = std::iter::once(format!("rule-{digest}"))
                .chain((1..=MAX_RULES).map(|number| format!("rule-{digest}-{number}")));
            rule.id = names.into_iter().find(|name| !ids.contains(name)).unwrap_or_default();
            ids.insert(rule.id.clone());
        }
        Ok(Self { rules })
    }

    /// Returns the rules as rows and responses of the REST interface have them.
    pub(crate) fn to_json(&self) -> Value {
        json!({ "rules": self.rules.iter().map(Rule::to_json).collect::<Vec<_>>() })
    }
}

impl Rule {
    fn of_json(number: usize, json: &Value) -> Result<Self, Refused> {
        let known = ["id", "status", "filter", "noncurrentVersionExpiration"];
        let fields = object(json, &format!("Rule {number}"), &known)?;
        let id = match fields.get("id") {
            None => "",
            Some(id) => id.as_str().ok_or_else(|| malformed(format!("Rule {number}: id must be a text")))?,
        };
        let filter = fields.get("filter").and_then(Value::as_object);
        if filter.is_none_or(|filter| !filter.is_empty()) {
            return Err(malformed(format!(
                "Rule {number}: filter must be {{}}; other filters are not supported"
            )));
        }
        let name = format!("Rule {number}: noncurrentVersionExpiration");
        let expiration = fields.get("noncurrentVersionExpiration").unwrap_or(&Value::Null);
        let expiration = object(expiration, &name, &["noncurrentDays", "newerNoncurrentVersions"])?;
        let days = expiration.get("noncurrentDays").and_then(Value::as_u64);
        // What is no whole number is outside of what is allowed, too.
        let kept = expiration.get("newerNoncurrentVersions").map(|kept| kept.as_u64().unwrap_or_default());
        let status = fields.get("status").and_then(Value::as_str).unwrap_or_default();
        Self::new(number, id, status, days, kept)
    }

    /// Makes rule `number` of a configuration of its parts; an empty id is none.
    ///
    /// Errors: [`Refused`].
    pub(crate) fn new(
        number: usize,
        id: &str,
        status: &str,
        days: Option<u64>,
        kept: Option<u64>,
    ) -> Result<Self, Refused> {
        let is_enabled = match status {
            "Enabled" => true,
            "Disabled" => false,
            _ => return Err(malformed(format!("Rule {number}: the status must be Enabled or Disabled"))),
        };
        if id.chars().count() > MAX_ID {
            return Err(invalid(format!("Rule {number}: an id has at most {MAX_ID} characters")));
        }
        let days = days.filter(|days| (1..=MAX_DAYS).contains(days)).ok_or_else(|| {
            invalid(format!("Rule {number}: noncurrentDays must be a whole number from 1 to {MAX_DAYS}"))
        })?;
        if kept.is_some_and(|kept| !(1..=MAX_KEPT).contains(&kept)) {
            return Err(invalid(format!(
                "Rule {number}: newerNoncurrentVersions must be a whole number from 1 to {MAX_KEPT}"
            )));
        }
        Ok(Self { id: id.to_owned(), is_enabled, days, kept })
    }

    fn to_json(&self) -> Value {
        let mut expiration = json!({ "noncurrentDays": self.days });
        if let Some(kept) = self.kept {
            expiration["newerNoncurrentVersions"] = kept.into();
        }
        let mut rule = json!({
            "status": if self.is_enabled { "Enabled" } else { "Disabled" },
            "filter": {},
            "noncurrentVersionExpiration": expiration,
        });
        if !self.id.is_empty() {
            rule["id"] = self.id.as_str().into();
        }
        rule
    }
}

/// Returns the fields of an object that has no others than `known`.
fn object<'a>(json: &'a Value, name: &str, known: &[&str]) -> Result<&'a Map<String, Value>, Refused> {
    let fields = json.as_object().ok_or_else(|| malformed(format!("{name} must be an object")))?;
    match fields.keys().find(|field| !known.contains(&field.as_str())) {
        Some(other) => Err(malformed(format!("{name}: {other} is not supported"))),
        None => Ok(fields),
    }
}

/// Returns the rules of bucket `id`, if `caller` may see it.
///
/// Errors: [`Error::NoSuchBucket`], [`Error::NoSuchLifecycle`].
pub(crate) async fn get(
    rows: &Rows,
    caller: &Caller,
    id: &str,
    operation: &'static str,
) -> Result<Configuration, Error> {
    let sql = "select lifecycle_configuration from storage.buckets where id = $1";
    let reply = rows.look_up_as(caller, operation, sql, vec![text(id)]).await?;
    let json = reply.row().ok_or(Error::NoSuchBucket)?.get(0).ok_or(Error::NoSuchLifecycle)?;
    stored(json).map_err(Error::Backend)
}

/// Reads the rules of a row. Users' SQL may have written others than this service would.
pub(crate) fn stored(json: &[u8]) -> Result<Configuration, String> {
    let json: Value = serde_json::from_slice(json).map_err(|error| error.to_string())?;
    Configuration::of_json(&json).map_err(|refused| refused.words)
}

/// Replaces the rules of bucket `id`, if `caller` may change it, and returns them as a JSON document.
///
/// Errors: [`Error::NoSuchBucket`].
pub(crate) async fn put(
    rows: &Rows,
    caller: &Caller,
    id: &str,
    configuration: &Configuration,
    operation: &'static str,
) -> Result<String, Error> {
    let json = configuration.to_json().to_string();
    change(rows, caller, id, Some(&json), operation).await?;
    Ok(json)
}

/// Removes the rules of bucket `id`, if there are any and `caller` may change it.
///
/// Errors: [`Error::NoSuchBucket`].
pub(crate) async fn delete(
    rows: &Rows,
    caller: &Caller,
    id: &str,
    operation: &'static str,
) -> Result<(), Error> {
    change(rows, caller, id, None, operation).await
}

/// Upstream lets only the service write the columns: the caller's right to change the bucket is tried before.
async fn change(
    rows: &Rows,
    caller: &Caller,
    id: &str,
    json: Option<&str>,
    operation: &'static str,
) -> Result<(), Error> {
    let sql = "update storage.buckets set public = public where id = $1 returning id";
    let trial = caller.transaction(operation).statement(sql, vec![text(id)]).rollback();
    let reply = rows.run(&trial).await.map_err(|error| caller.refusal(error))?;
    reply.row().ok_or(Error::NoSuchBucket)?;
    let update = caller.service_transaction(operation).statement(
        "update storage.buckets set lifecycle_configuration = $2::jsonb, \
         lifecycle_configuration_generation = case when $2 is not null then gen_random_uuid() end \
         where id = $1 and lifecycle_configuration is distinct from $2::jsonb",
        vec![text(id), json.and_then(display)],
    );
    rows.change(&update).await?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rule(change: impl FnOnce(&mut Value)) -> Result<Configuration, Refused> {
        let mut rule = json!({
            "id": "a", "status": "Enabled", "filter": {},
            "noncurrentVersionExpiration": { "noncurrentDays": 30, "newerNoncurrentVersions": 2 },
        });
        change(&mut rule);
        Configuration::of_json(&json!({ "rules": [rule] }))
    }

    #[test]
    fn rules_survive_the_way_into_the_row_and_back() {
        let read = rule(|_| ()).unwrap();
        let expected = Rule { id: "a".to_owned(), is_enabled: true, days: 30, kept: Some(2) };
        assert_eq!(read.rules, [expected]);
        assert_eq!(stored(read.to_json().to_string().as_bytes()), Ok(read));
    }

    #[test]
    fn rules_without_an_id_get_one_that_stays_the_same() {
        let expiration = json!({ "noncurrentDays": 1 });
        let one = json!({ "status": "Disabled", "filter": {}, "noncurrentVersionExpiration": expiration });
        let configuration = Configuration::of_json(&json!({ "rules": [one, one] })).unwrap();
        let ids: Vec<&str> = configuration.rules.iter().map(|rule| &*rule.id).collect();
        assert!(ids[0].starts_with("rule-") && ids[1] == format!("{}-1", ids[0]), "{ids:?}");
        let again = Configuration::of_json(&json!({ "rules": [one, one] })).unwrap();
        assert_eq!(again, configuration);
    }

    #[test]
    fn what_would_not_be_carried_out_is_refused() {
        let code = |change: &dyn Fn(&mut Value)| rule(change).unwrap_err().code;
        let expiration = |name: &'static str, value: Value| {
            move |rule: &mut Value| rule["noncurrentVersionExpiration"][name] = value.clone()
        };
        assert_eq!(code(&|rule| rule["filter"] = json!({ "prefix": "a" })), "MalformedXML");
        assert_eq!(code(&|rule| rule["filter"] = Value::Null), "MalformedXML");
        assert_eq!(code(&|rule| rule["expiration"] = json!({ "days": 1 })), "MalformedXML");
        assert_eq!(code(&|rule| rule["status"] = "enabled".into()), "MalformedXML");
        assert_eq!(code(&|rule| rule["noncurrentVersionExpiration"] = json!([])), "MalformedXML");
        assert_eq!(code(&|rule| rule["id"] = "a".repeat(256).into()), "InvalidArgument");
        for days in [json!(0), json!(-1), json!(1.5), json!("1"), json!(36_501), Value::Null] {
            assert_eq!(code(&expiration("noncurrentDays", days)), "InvalidArgument");
        }
        for kept in [json!(0), json!(101), json!("2"), Value::Null] {
            assert_eq!(code(&expiration("newerNoncurrentVersions", kept)), "InvalidArgument");
        }
        assert_eq!(Configuration::of_json(&json!({ "rules": [] })).unwrap_err().code, "MalformedXML");
        let same = rule(|_| ()).unwrap().to_json()["rules"][0].clone();
        let twice = Configuration::of_json(&json!({ "rules": [same, same] }));
        assert_eq!(twice.unwrap_err().code, "InvalidArgument");
    }
}

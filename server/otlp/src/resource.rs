//! The attributes of this server in spans and metrics.

use opentelemetry::KeyValue;
use opentelemetry_sdk::Resource;
use uuid::Uuid;

use crate::settings::{Settings, pairs};

const SERVICE_NAME: &str = "service.name";

/// Returns the attributes of this server. Source: OpenTelemetry's semantic conventions, "Resource".
pub(crate) fn of(settings: &Settings) -> Resource {
    let set = pairs(&settings.resource_attributes).unwrap_or_default();
    let named = settings.service_name.as_ref().map(|name| (SERVICE_NAME.to_owned(), name.clone()));
    let own = [
        (SERVICE_NAME, "basalt".to_owned()),
        ("service.version", env!("CARGO_PKG_VERSION").to_owned()),
        // Several servers may have the same name.
        ("service.instance.id", Uuid::new_v4().to_string()),
        ("telemetry.sdk.language", "rust".to_owned()),
        ("telemetry.sdk.name", "opentelemetry".to_owned()),
    ];
    let own = own.map(|(name, value)| (name.to_owned(), value));
    // Of attributes with the same name, the last one counts.
    let all = own.into_iter().chain(set).chain(named).map(|(name, value)| KeyValue::new(name, value));
    Resource::builder_empty().with_attributes(all).build()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_name_with_the_highest_precedence_is_used() {
        let name = |service_name: Option<&str>, resource_attributes: &str| {
            let settings = Settings {
                service_name: service_name.map(str::to_owned),
                resource_attributes: resource_attributes.to_owned(),
                ..Settings::default()
            };
            of(&settings).get(&SERVICE_NAME.into()).unwrap().to_string()
        };
        assert_eq!(name(None, ""), "basalt");
        assert_eq!(name(None, "service.name=shop,a=b"), "shop");
        assert_eq!(name(Some("till"), "service.name=shop"), "till");
    }
}

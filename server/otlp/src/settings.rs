//! Settings under the names that OpenTelemetry gives them.

use std::time::Duration;

use ::settings::{Invalid, Reader, Secret};
use http::{HeaderMap, HeaderName, HeaderValue};
use opentelemetry_sdk::trace::Sampler;
use percent_encoding::percent_decode_str;
use url::Url;

/// The expected form of pairs, for messages.
const PAIRS: &str = "pairs name=value, separated by commas, with other characters percent-encoded";

::settings::settings! {
    /// Where spans and metrics are sent, and which.
    #[derive(Debug, Clone)]
    pub struct Settings {
        /// The collector's address, such as `http://127.0.0.1:4318`; `/v1/traces` and `/v1/metrics` are appended.
        /// Nothing is sent unless this or one of the next two is set.
        #[setting(variables = ["OTEL_EXPORTER_OTLP_ENDPOINT"], check = address)]
        pub endpoint: Option<String> = None,
        /// The complete address for spans, if it is different.
        #[setting(variables = ["OTEL_EXPORTER_OTLP_TRACES_ENDPOINT"], check = address)]
        pub traces_endpoint: Option<String> = None,
        /// The complete address for metrics, if it is different.
        #[setting(variables = ["OTEL_EXPORTER_OTLP_METRICS_ENDPOINT"], check = address)]
        pub metrics_endpoint: Option<String> = None,
        /// The protocol.
        #[setting(variables = ["OTEL_EXPORTER_OTLP_PROTOCOL"])]
        pub protocol: Protocol = Protocol::HttpProtobuf,
        /// The protocol for spans.
        #[setting(variables = ["OTEL_EXPORTER_OTLP_TRACES_PROTOCOL"])]
        pub traces_protocol: Protocol = Protocol::HttpProtobuf,
        /// The protocol for metrics.
        #[setting(variables = ["OTEL_EXPORTER_OTLP_METRICS_PROTOCOL"])]
        pub metrics_protocol: Protocol = Protocol::HttpProtobuf,
        /// Headers to send, such as those of a login: pairs `name=value`, separated by commas, percent-encoded.
        #[setting(variables = ["OTEL_EXPORTER_OTLP_HEADERS"])]
        pub headers: Secret = Secret::default(),
        /// Further headers for spans.
        #[setting(variables = ["OTEL_EXPORTER_OTLP_TRACES_HEADERS"])]
        pub traces_headers: Secret = Secret::default(),
        /// Further headers for metrics.
        #[setting(variables = ["OTEL_EXPORTER_OTLP_METRICS_HEADERS"])]
        pub metrics_headers: Secret = Secret::default(),
        /// How many milliseconds to wait for the collector's response.
        #[setting(variables = ["OTEL_EXPORTER_OTLP_TIMEOUT"])]
        pub timeout: u64 = 10_000,
        /// How many milliseconds to wait for the response to spans.
        #[setting(variables = ["OTEL_EXPORTER_OTLP_TRACES_TIMEOUT"])]
        pub traces_timeout: Option<u64> = None,
        /// How many milliseconds to wait for the response to metrics.
        #[setting(variables = ["OTEL_EXPORTER_OTLP_METRICS_TIMEOUT"])]
        pub metrics_timeout: Option<u64> = None,
        /// How what is sent is compressed.
        #[setting(variables = ["OTEL_EXPORTER_OTLP_COMPRESSION"])]
        pub compression: Compression = Compression::None,
        /// The name of this server in traces and metrics. The default is `service.name` of the attributes, else
        /// `basalt`.
        #[setting(variables = ["OTEL_SERVICE_NAME"])]
        pub service_name: Option<String> = None,
        /// Attributes of this server: pairs `name=value`, separated by commas, percent-encoded.
        #[setting(variables = ["OTEL_RESOURCE_ATTRIBUTES"])]
        pub resource_attributes: String = String::new(),
        /// Which traces are recorded. The samplers that begin with `parentbased_` follow the client's header
        /// `traceparent`, if there is one.
        #[setting(variables = ["OTEL_TRACES_SAMPLER"])]
        pub sampler_kind: SamplerKind = SamplerKind::ParentBasedAlwaysOn,
        /// Which part of the traces the samplers with `ratio` in their name record, from 0 to 1.
        #[setting(variables = ["OTEL_TRACES_SAMPLER_ARG"], check = ratio)]
        pub sampler_argument: f64 = 1.0,
        /// Whether spans are sent.
        #[setting(variables = ["OTEL_TRACES_EXPORTER"])]
        pub traces_exporter: ExporterKind = ExporterKind::Otlp,
        /// Whether metrics are sent.
        #[setting(variables = ["OTEL_METRICS_EXPORTER"])]
        pub metrics_exporter: ExporterKind = ExporterKind::Otlp,
        /// Whether all of this is switched off.
        #[setting(variables = ["OTEL_SDK_DISABLED"])]
        pub disabled: bool = false,
        /// How many milliseconds a span waits, so that it is sent together with others.
        #[setting(variables = ["OTEL_BSP_SCHEDULE_DELAY"])]
        pub schedule_delay: u64 = 5000,
        /// How many spans may wait; further ones are lost.
        #[setting(variables = ["OTEL_BSP_MAX_QUEUE_SIZE"])]
        pub queue_size: usize = 2048,
        /// How many spans are sent at once.
        #[setting(variables = ["OTEL_BSP_MAX_EXPORT_BATCH_SIZE"])]
        pub batch_size: usize = 512,
        /// How often metrics are sent, in milliseconds.
        #[setting(variables = ["OTEL_METRIC_EXPORT_INTERVAL"])]
        pub metric_interval: u64 = 60_000,
    }
}

::settings::words! {
    /// How the collector is spoken to.
    pub enum Protocol: "http/protobuf; collectors take it at port 4318" after trim {
        /// Protobuf over HTTP.
        HttpProtobuf = "http/protobuf",
    }
}

::settings::words! {
    /// How what is sent is compressed.
    pub enum Compression: "none or gzip" after trim {
        /// Not at all.
        None = "none",
        /// With gzip.
        Gzip = "gzip",
    }
}

::settings::words! {
    /// Whether something is sent.
    pub enum ExporterKind: "otlp or none" after trim {
        /// By OTLP.
        Otlp = "otlp",
        /// Not at all.
        None = "none",
    }
}

::settings::words! {
    /// Which traces are recorded.
    pub enum SamplerKind: "always_on, always_off, traceidratio, or one of these after parentbased_" after trim {
        /// All.
        AlwaysOn = "always_on",
        /// None.
        AlwaysOff = "always_off",
        /// A part of them.
        Ratio = "traceidratio",
        /// All, unless their parent is not.
        ParentBasedAlwaysOn = "parentbased_always_on",
        /// None, unless their parent is.
        ParentBasedAlwaysOff = "parentbased_always_off",
        /// A part of them; of those with a parent, the ones whose parent is.
        ParentBasedRatio = "parentbased_traceidratio",
    }
}

/// The address of the collector, and how to send to it.
pub(crate) struct Target {
    pub(crate) url: Url,
    pub(crate) headers: HeaderMap,
    pub(crate) timeout: Duration,
    pub(crate) compression: Compression,
}

impl Settings {
    /// Reads and checks the settings.
    ///
    /// Errors: [`Invalid`] for the first invalid value; it does not repeat headers.
    pub fn read(reader: &mut Reader<'_>) -> Result<Self, Invalid> {
        let settings: Self = reader.read()?;
        for (name, text) in [
            ("OTEL_EXPORTER_OTLP_HEADERS", &settings.headers),
            ("OTEL_EXPORTER_OTLP_TRACES_HEADERS", &settings.traces_headers),
            ("OTEL_EXPORTER_OTLP_METRICS_HEADERS", &settings.metrics_headers),
        ] {
            headers(text).ok_or_else(|| Invalid::new(name, PAIRS, &"something else"))?;
        }
        let attributes = pairs(&settings.resource_attributes);
        attributes
            .ok_or_else(|| Invalid::new("OTEL_RESOURCE_ATTRIBUTES", PAIRS, &settings.resource_attributes))?;
        Ok(settings)
    }

    /// Returns the target of spans; `None` if they are not sent.
    pub(crate) fn traces(&self) -> Option<Target> {
        let own = (&self.traces_endpoint, &self.traces_headers, self.traces_timeout);
        self.target(self.traces_exporter, own, "v1/traces")
    }

    /// Returns the target of metrics; `None` if they are not sent.
    pub(crate) fn metrics(&self) -> Option<Target> {
        let own = (&self.metrics_endpoint, &self.metrics_headers, self.metrics_timeout);
        self.target(self.metrics_exporter, own, "v1/metrics")
    }

    fn target(
        &self,
        kind: ExporterKind,
        (endpoint, own_headers, timeout): (&Option<String>, &Secret, Option<u64>),
        path: &str,
    ) -> Option<Target> {
        if self.disabled || kind == ExporterKind::None {
            return None;
        }
        let common = || self.endpoint.as_ref().map(|base| format!("{}/{path}", base.trim_end_matches('/')));
        let url = endpoint.clone().or_else(common)?.parse().ok()?;
        let mut all = headers(&self.headers)?;
        for (name, value) in &headers(own_headers)? {
            all.insert(name, value.clone());
        }
        let timeout = Duration::from_millis(timeout.unwrap_or(self.timeout).max(1));
        Some(Target { url, headers: all, timeout, compression: self.compression })
    }

    pub(crate) fn sampler(&self) -> Sampler {
        let ratio = || Sampler::TraceIdRatioBased(self.sampler_argument);
        match self.sampler_kind {
            SamplerKind::AlwaysOn => Sampler::AlwaysOn,
            SamplerKind::AlwaysOff => Sampler::AlwaysOff,
            SamplerKind::Ratio => ratio(),
            SamplerKind::ParentBasedAlwaysOn => Sampler::ParentBased(Box::new(Sampler::AlwaysOn)),
            SamplerKind::ParentBasedAlwaysOff => Sampler::ParentBased(Box::new(Sampler::AlwaysOff)),
            SamplerKind::ParentBasedRatio => Sampler::ParentBased(Box::new(ratio())),
        }
    }
}

fn address(text: Option<String>) -> Result<Option<String>, &'static str> {
    let is_web = |text: &String| {
        text.parse::<Url>().is_ok_and(|url| matches!(url.scheme(), "http" | "https") && url.has_host())
    };
    match text {
        Some(text) if !is_web(&text) => Err("a URL of http or https"),
        text => Ok(text),
    }
}

fn ratio(number: f64) -> Result<f64, &'static str> {
    if number <= 1.0 { Ok(number) } else { Err("a number from 0 to 1") }
}

/// Parses pairs; `None` if `text` is malformed. Source: W3C Baggage, which OpenTelemetry refers to.
pub(crate) fn pairs(text: &str) -> Option<Vec<(String, String)>> {
    let pairs = text.split(',').map(str::trim).filter(|pair| !pair.is_empty());
    pairs
        .map(|pair| {
            let (name, value) = pair.split_once('=')?;
            let value = percent_decode_str(value.trim()).decode_utf8().ok()?;
            Some(name.trim())
                .filter(|name| !name.is_empty())
                .map(|name| (name.to_owned(), value.into_owned()))
        })
        .collect()
}

fn headers(text: &Secret) -> Option<HeaderMap> {
    let header = |(name, value): (String, String)| {
        let mut value = HeaderValue::try_from(value).ok()?;
        value.set_sensitive(true);
        Some((HeaderName::try_from(name).ok()?, value))
    };
    pairs(text.expose())?.into_iter().map(header).collect()
}

#[cfg(test)]
mod tests {
    use ::settings::Environment;

    use super::*;

    fn read(pairs: &[(&str, &str)]) -> Result<Settings, String> {
        let pairs = pairs.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned()));
        let (environment, config) = (Environment::from_pairs(pairs), Default::default());
        Settings::read(&mut Reader::new(&environment, &config, &[])).map_err(|error| error.to_string())
    }

    #[test]
    fn nothing_is_sent_unless_an_address_is_set() {
        let settings = read(&[("OTEL_SERVICE_NAME", "shop")]).unwrap();
        assert!(settings.traces().is_none() && settings.metrics().is_none());
    }

    #[test]
    fn addresses_derive_from_the_common_one_or_are_set_separately() {
        let settings = read(&[
            ("OTEL_EXPORTER_OTLP_ENDPOINT", "http://collector:4318/base/"),
            ("OTEL_EXPORTER_OTLP_METRICS_ENDPOINT", "https://metrics.example/otlp?tenant=1"),
            ("OTEL_EXPORTER_OTLP_HEADERS", "authorization=Basic%20eA%3D%3D, x-a=1"),
            ("OTEL_EXPORTER_OTLP_METRICS_HEADERS", "x-a=2"),
            ("OTEL_EXPORTER_OTLP_TRACES_TIMEOUT", "50"),
        ])
        .unwrap();
        let (traces, metrics) = (settings.traces().unwrap(), settings.metrics().unwrap());
        assert_eq!(traces.url.as_str(), "http://collector:4318/base/v1/traces");
        assert_eq!(metrics.url.as_str(), "https://metrics.example/otlp?tenant=1");
        assert_eq!(traces.headers["authorization"], "Basic eA==");
        assert_eq!(
            (&traces.headers["x-a"], &metrics.headers["x-a"]),
            (&"1".parse().unwrap(), &"2".parse().unwrap())
        );
        assert_eq!((traces.timeout.as_millis(), metrics.timeout.as_millis()), (50, 10_000));
    }

    #[test]
    fn each_switch_disables_its_part() {
        let endpoint = ("OTEL_EXPORTER_OTLP_ENDPOINT", "http://collector:4318");
        for (switch, sends_traces, sends_metrics) in [
            (("OTEL_SDK_DISABLED", "true"), false, false),
            (("OTEL_TRACES_EXPORTER", "none"), false, true),
            (("OTEL_METRICS_EXPORTER", "none"), true, false),
        ] {
            let settings = read(&[endpoint, switch]).unwrap();
            assert_eq!(settings.traces().is_some(), sends_traces, "{switch:?}");
            assert_eq!(settings.metrics().is_some(), sends_metrics, "{switch:?}");
        }
    }

    #[test]
    fn invalid_values_are_refused_and_headers_are_not_repeated() {
        for (name, value) in [
            ("OTEL_EXPORTER_OTLP_ENDPOINT", "collector:4317"),
            ("OTEL_EXPORTER_OTLP_PROTOCOL", "grpc"),
            ("OTEL_TRACES_SAMPLER", "sometimes"),
            ("OTEL_TRACES_SAMPLER_ARG", "1.5"),
            ("OTEL_RESOURCE_ATTRIBUTES", "a"),
        ] {
            let error = read(&[(name, value)]).unwrap_err();
            assert!(error.contains(name) && error.contains(value), "{error}");
        }
        for value in ["hunter2", "a=b\nhunter2", "na me=hunter2"] {
            let error = read(&[("OTEL_EXPORTER_OTLP_HEADERS", value)]).unwrap_err();
            assert!(error.contains("OTEL_EXPORTER_OTLP_HEADERS") && !error.contains("hunter2"), "{error}");
        }
    }
}

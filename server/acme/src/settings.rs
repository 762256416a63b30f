//! Settings of HTTPS.

use std::net::{IpAddr, Ipv6Addr};
use std::path::PathBuf;

settings::settings! {
    /// Settings of HTTPS.
    #[derive(Debug, Clone, PartialEq)]
    pub struct Settings {
        /// The names under which clients reach the server, such as `api.example.org`. Setting them turns HTTPS on: an
        /// ACME server issues the certificate, unless `basalt.tls.certificate` names one. `--domain`.
        #[setting(variables = ["BASALT_TLS_DOMAINS"], key = "basalt.tls.domains", check = domains)]
        pub domains: Vec<String> = Vec::new(),
        /// The file of a certificate of one's own, with its chain, in PEM. It turns HTTPS on, and is read again when it
        /// changes.
        #[setting(variables = ["BASALT_TLS_CERTIFICATE"], key = "basalt.tls.certificate")]
        pub certificate: Option<PathBuf> = None,
        /// The file of that certificate's private key, in PEM.
        #[setting(variables = ["BASALT_TLS_KEY"], key = "basalt.tls.key")]
        pub key: Option<PathBuf> = None,
        /// The address of the ports of HTTPS and of its redirects; `::` for all of IPv6 and IPv4.
        #[setting(variables = ["BASALT_TLS_HOST"], key = "basalt.tls.host")]
        pub host: IpAddr = IpAddr::V6(Ipv6Addr::UNSPECIFIED),
        /// The port of HTTPS. An ACME server looks for 443 only, to which a router may add another number.
        #[setting(variables = ["BASALT_TLS_PORT"], key = "basalt.tls.port")]
        pub port: u16 = 443,
        /// The port that redirects to HTTPS and answers an ACME server.
        #[setting(variables = ["BASALT_TLS_HTTP_PORT"], key = "basalt.tls.http_port")]
        pub http_port: u16 = 80,
        /// The directory of the ACME server. To have a certificate from Let's Encrypt is to agree to its terms.
        #[setting(variables = ["BASALT_TLS_ACME_DIRECTORY"], key = "basalt.tls.acme_directory", check = directory)]
        pub acme_directory: String = LETS_ENCRYPT.to_owned(),
        /// A file with certificate authorities that the ACME server's own certificate may be from, in PEM, beside those
        /// of the machine.
        #[setting(variables = ["BASALT_TLS_ACME_ROOT"], key = "basalt.tls.acme_root")]
        pub acme_root: Option<PathBuf> = None,
        /// The address to which the ACME server may send mails about the certificate.
        #[setting(variables = ["BASALT_TLS_ACME_CONTACT"], key = "basalt.tls.acme_contact")]
        pub acme_contact: Option<String> = None,
        /// For how many seconds browsers use only HTTPS for the host (`Strict-Transport-Security`). 0: they are not told
        /// to.
        #[setting(variables = ["BASALT_TLS_HSTS_SECONDS"], key = "basalt.tls.hsts_seconds")]
        pub hsts_seconds: u32 = 0,
    }
}

/// The directory of Let's Encrypt.
const LETS_ENCRYPT: &str = "https://acme-v02.api.letsencrypt.org/directory";

impl Settings {
    /// Reports whether HTTPS is on.
    pub fn is_on(&self) -> bool {
        !self.domains.is_empty() || self.certificate.is_some()
    }

    /// Returns the URL of the API for clients; `None` if no domain is named.
    pub fn url(&self) -> Option<String> {
        let domain = self.domains.first()?;
        Some(match self.port {
            443 => format!("https://{domain}"),
            port => format!("https://{domain}:{port}"),
        })
    }
}

/// Checks the names of a certificate and returns them in lower case.
///
/// Errors: the expected form.
pub fn domains(names: Vec<String>) -> Result<Vec<String>, &'static str> {
    let names: Vec<_> = names.into_iter().map(|name| name.trim().to_ascii_lowercase()).collect();
    let is_valid = names.iter().all(|name| is_domain(name));
    is_valid.then_some(names).ok_or("names of hosts such as api.example.org, without a scheme, a port or *")
}

/// Reports whether `name` is the name of a host (RFC 1123, section 2.1), and no address.
fn is_domain(name: &str) -> bool {
    let is_label = |label: &str| {
        (1..=63).contains(&label.len())
            && !label.starts_with('-')
            && !label.ends_with('-')
            && label.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-')
    };
    name.len() <= 253 && name.split('.').all(is_label) && name.parse::<IpAddr>().is_err()
}

fn directory(url: String) -> Result<String, &'static str> {
    // The account's key signs every request, but only encryption tells who answers.
    if url.starts_with("https://") { Ok(url) } else { Err("a URL that begins with https://") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn domains_are_names_of_hosts() {
        let read = |name: &str| domains(vec![name.to_owned()]);
        assert_eq!(read("API.example.org").unwrap(), ["api.example.org"]);
        for name in ["localhost", "a-b.example", "xn--bcher-kva.example"] {
            assert!(read(name).is_ok(), "{name}");
        }
        for name in
            ["", "*.example.org", "https://a.example", "a.example:443", "-a.example", "a..b", "127.0.0.1"]
        {
            assert!(read(name).is_err(), "{name}");
        }
    }

    #[test]
    fn the_url_has_a_port_only_if_it_is_not_the_schemes_own() {
        let settings = Settings { domains: vec!["a.example".to_owned()], ..Settings::default() };
        assert_eq!(settings.url().as_deref(), Some("https://a.example"));
        assert_eq!(Settings { port: 8443, ..settings }.url().as_deref(), Some("https://a.example:8443"));
        assert_eq!(Settings::default().url(), None);
    }
}

//! Settings of HTTPS, and what else has to be set with them.

use acme::Settings;
use settings::{Invalid, Reader};

use super::{Invocation, Project};

/// Reads the settings. Paths are relative to the folder of `config.toml`.
///
/// Errors: also if only one file of a certificate is named.
pub(super) fn read(
    reader: &mut Reader<'_>,
    project: &Project,
    invocation: &Invocation,
) -> Result<Settings, Invalid> {
    let mut settings: Settings = reader.read()?;
    if !invocation.domains.is_empty() {
        let named = invocation.domains.clone();
        let refused = |expected| Invalid::new("--domain", expected, &named.join(", "));
        settings.domains = acme::domains(named.clone()).map_err(refused)?;
    }
    for path in [&mut settings.certificate, &mut settings.key, &mut settings.acme_root] {
        *path = path.take().map(|path| project.resolve(path));
    }
    match (&settings.certificate, &settings.key) {
        (Some(_), None) => {
            Err(Invalid::new("basalt.tls.key", "the file of the certificate's key", &"nothing"))
        }
        (None, Some(_)) => {
            Err(Invalid::new("basalt.tls.certificate", "the file of the key's certificate", &"nothing"))
        }
        _ => Ok(settings),
    }
}

/// Checks that nothing trusts clients of the port of HTTPS more than strangers.
pub(super) fn check(settings: &super::Settings) -> Result<(), Invalid> {
    if settings.tls.is_on() && settings.gateway.trusted_proxies > 0 {
        let expected =
            "0 with basalt.tls: clients reach the server without a proxy, and could pretend to be one";
        return Err(Invalid::new("basalt.trusted_proxies", expected, &settings.gateway.trusted_proxies));
    }
    Ok(())
}

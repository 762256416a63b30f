//! `[auth.third_party]`: identity providers whose tokens the services accept in addition to the project's own.

use ::settings::{Invalid, Reader};

/// Returns the issuers of the providers that are switched on: the URLs in the claim `iss` of their tokens, for
/// [`ThirdParties::new`](crate::ThirdParties::new). The CLI makes the same URLs of these keys.
///
/// A provider counts as switched off if one of its keys refers to a variable that is not set.
///
/// Errors: [`Invalid`] for a provider that lacks a key, or has a key that cannot be used.
pub fn read_third_parties(reader: &mut Reader<'_>) -> Result<Vec<String>, Invalid> {
    let mut issuers = Vec::new();
    // All keys are read, also those of providers that are switched off, so that nothing warns about them as unknown.
    for (provider, issuer) in PROVIDERS {
        let enabled = reader.get(&format!("auth.third_party.{provider}.enabled"), &[])?.unwrap_or(false);
        let mut fields = Fields { reader: &mut *reader, provider, missing: None };
        let issuer = issuer(&mut fields)?;
        let missing = fields.missing;
        match missing {
            Some(key) if enabled => {
                let effect = format!("auth.third_party.{provider} is off");
                if reader.unset(&key, &effect).is_some() {
                    continue;
                }
                let expected = format!("a value, since auth.third_party.{provider} is enabled");
                return Err(Invalid::new(&key, &expected, &"none"));
            }
            _ if enabled => issuers.push(issuer),
            _ => {}
        }
    }
    Ok(issuers)
}

/// Returns the issuer's URL, made from the keys of its provider.
type Make = fn(&mut Fields<'_, '_>) -> Result<String, Invalid>;

const PROVIDERS: [(&str, Make); 5] = [
    ("firebase", firebase),
    ("auth0", auth0),
    ("aws_cognito", cognito),
    ("clerk", clerk),
    ("workos", workos),
];

/// The keys of one provider.
struct Fields<'f, 'r> {
    reader: &'f mut Reader<'r>,
    provider: &'static str,
    /// The first required key that is not set.
    missing: Option<String>,
}

impl Fields<'_, '_> {
    fn key(&self, name: &str) -> String {
        format!("auth.third_party.{}.{name}", self.provider)
    }

    fn optional(&mut self, name: &str) -> Result<Option<String>, Invalid> {
        let key = self.key(name);
        let value: Option<String> = self.reader.get(&key, &[])?;
        Ok(value.filter(|value| !value.is_empty()))
    }

    fn required(&mut self, name: &str) -> Result<String, Invalid> {
        let value = self.optional(name)?;
        if value.is_none() {
            self.missing = self.missing.take().or_else(|| Some(self.key(name)));
        }
        Ok(value.unwrap_or_default())
    }
}

fn firebase(fields: &mut Fields<'_, '_>) -> Result<String, Invalid> {
    Ok(format!("https://securetoken.google.com/{}", fields.required("project_id")?))
}

fn auth0(fields: &mut Fields<'_, '_>) -> Result<String, Invalid> {
    let tenant = fields.required("tenant")?;
    Ok(match fields.optional("tenant_region")? {
        Some(region) => format!("https://{tenant}.{region}.auth0.com"),
        None => format!("https://{tenant}.auth0.com"),
    })
}

fn cognito(fields: &mut Fields<'_, '_>) -> Result<String, Invalid> {
    let (pool, region) = (fields.required("user_pool_id")?, fields.required("user_pool_region")?);
    Ok(format!("https://cognito-idp.{region}.amazonaws.com/{pool}"))
}

fn clerk(fields: &mut Fields<'_, '_>) -> Result<String, Invalid> {
    let domain = fields.required("domain")?;
    if !domain.is_empty() && !is_clerk_domain(&domain) {
        let expected = "a domain of Clerk's such as clerk.example.com or example.clerk.accounts.dev";
        return Err(Invalid::new(&fields.key("domain"), expected, &format!("{domain:?}")));
    }
    Ok(format!("https://{domain}"))
}

fn is_clerk_domain(domain: &str) -> bool {
    let labels: Vec<_> = domain.split('.').collect();
    let plain = |label: &&str| {
        !label.is_empty()
            && label.bytes().all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-')
    };
    labels.iter().all(plain)
        && (matches!(labels.as_slice(), ["clerk", _, _, ..])
            || matches!(labels.as_slice(), [_, .., "clerk", "accounts", "dev"]))
}

fn workos(fields: &mut Fields<'_, '_>) -> Result<String, Invalid> {
    let issuer = fields.required("issuer_url")?;
    if issuer.is_empty() || issuer.starts_with("https://") || issuer.starts_with("http://") {
        return Ok(issuer);
    }
    let expected = "a URL such as https://api.workos.com/user_management/client_01";
    Err(Invalid::new(&fields.key("issuer_url"), expected, &format!("{issuer:?}")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn domains_of_clerk_are_known() {
        for domain in [
            "clerk.example.com",
            "clerk.a.example.com",
            "example.clerk.accounts.dev",
            "a.b.clerk.accounts.dev",
        ] {
            assert!(is_clerk_domain(domain), "{domain}");
        }
        for domain in [
            "clerk.com",
            "example.com",
            "clerk.accounts.dev",
            "Clerk.example.com",
            "clerk..com",
            "https://clerk.example.com",
        ] {
            assert_eq!(is_clerk_domain(domain), domain == "clerk.accounts.dev", "{domain}");
        }
    }
}

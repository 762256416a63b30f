//! The keys of every local stack of the Supabase CLI, which are public knowledge.

use crate::KeyOverrides;

/// The shared secret. Source: the CLI's documentation of `auth.jwt_secret`.
const SECRET: &str = "super-secret-jwt-token-with-at-least-32-characters-long";
/// The publishable key. It shows that a server has these keys.
pub const CLI_PUBLISHABLE_KEY: &str = "sb_publishable_ACJWlzQHlZjBrEguHvfOxg_3BJgxAaH";
const SECRET_KEY: &str = "sb_secret_N7UND0UgjKTVK-Uodkm0Hg_xSvEMPvz";
/// The legacy API keys: tokens that the secret has signed.
const ANON: &str = "eyJhbGciOiJIUzI1NiIsInR5cCI6IkpXVCJ9.eyJpc3MiOiJzdXBhYmFzZS1kZW1vIiwicm9sZSI6ImFub24iLCJleHAiOjE5ODM4MTI5OTZ9.CRXP1A7WOeoJeXxjNni43kdQwgnWNReilDMblYTn_I0";
const SERVICE_ROLE: &str = "eyJhbGciOiJIUzI1NiIsInR5cCI6IkpXVCJ9.eyJpc3MiOiJzdXBhYmFzZS1kZW1vIiwicm9sZSI6InNlcnZpY2Vfcm9sZSIsImV4cCI6MTk4MzgxMjk5Nn0.EGIM96RAZx35lJzdJsyH-qQwv8Hdp7fsn3W0YpN81IU";

/// The public part of the key with which the CLI signs tokens, as by `supabase gen bearer-jwt`.
const SIGNING_KEY: &str = r#"{"kty":"EC","kid":"b81269f1-21d8-4f2e-b719-c2240a840d90","use":"sig","alg":"ES256","crv":"P-256","x":"M5Sjqn5zwC9Kl1zVfUUGvv9boQjCGd45G8sdopBExB4","y":"P6IXMvA2WYXSHSOMTBH2jsw_9rrzGy89FjPf6oOsIxQ"}"#;

impl KeyOverrides {
    /// Returns the settings with the CLI's secret and API keys in place of what they name. Signing keys of the project
    /// stay.
    #[must_use]
    pub fn with_cli_keys(self) -> Self {
        Self {
            jwt_secret: Some(SECRET.to_owned()),
            secret_is_base64: false,
            anon_key: Some(ANON.to_owned()),
            service_role_key: Some(SERVICE_ROLE.to_owned()),
            publishable_key: Some(CLI_PUBLISHABLE_KEY.to_owned()),
            secret_key: Some(SECRET_KEY.to_owned()),
            verification_keys: Some(SIGNING_KEY.to_owned()),
            ..self
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Keys;

    #[test]
    fn the_legacy_keys_are_tokens_of_the_secret() {
        let keys = Keys::from_settings(KeyOverrides::default().with_cli_keys()).unwrap();
        for (token, role) in [(ANON, "anon"), (SERVICE_ROLE, "service_role")] {
            assert_eq!(keys.verifier().verify(token).unwrap().role(), Some(role));
        }
        assert_eq!(keys.api_keys().publishable(), CLI_PUBLISHABLE_KEY);
        // What `supabase gen bearer-jwt --role anon --exp 2020-01-01T00:00:00Z` prints.
        let own = "eyJhbGciOiJFUzI1NiIsImtpZCI6ImI4MTI2OWYxLTIxZDgtNGYyZS1iNzE5LWMyMjQwYTg0MGQ5MCIsInR5cCI6IkpXVCJ9.eyJleHAiOjE1Nzc4MzY4MDAsImlhdCI6MTU3NzgzNTAwMCwicm9sZSI6ImFub24ifQ.1nW_FpCyQMXFp0VHMKm5pHbnsf1oNqKhuQLyc9Cv1NVbVAlyGqaI9mZzczO2-P1ClLiAMHsr_3x5Y-QjsI6RpQ";
        assert!(matches!(keys.verifier().verify(own), Err(crate::Error::Expired)), "its signature is right");
    }
}

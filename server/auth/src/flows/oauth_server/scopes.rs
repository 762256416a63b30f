//! Scopes of the OAuth server (RFC 6749, section 3.3).

pub(super) const OPENID: &str = "openid";
pub(super) const PROFILE: &str = "profile";
pub(super) const EMAIL: &str = "email";
pub(super) const PHONE: &str = "phone";

/// All scopes that there are.
pub(crate) const SUPPORTED: [&str; 5] = [OPENID, PROFILE, EMAIL, PHONE, "offline_access"];

/// Returns the scopes in `text`, each once, in their order.
pub(crate) fn parse(text: &str) -> Vec<&str> {
    let mut scopes = Vec::new();
    for scope in text.split(' ').map(str::trim).filter(|scope| !scope.is_empty()) {
        if !scopes.contains(&scope) {
            scopes.push(scope);
        }
    }
    scopes
}

/// Returns whether `granted` has all of `wanted`.
pub(super) fn covers(granted: &str, wanted: &str) -> bool {
    let granted = parse(granted);
    parse(wanted).iter().all(|scope| granted.contains(scope))
}

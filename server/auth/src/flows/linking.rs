//! The decision to which account a provider's user belongs. It depends on its arguments alone and does not use the
//! database.

use std::collections::BTreeMap;

use uuid::Uuid;

use crate::providers::Profile;
use crate::store::accounts::{Candidates, Owner};
use crate::store::model::user::Identity;

/// The linking domain of all providers that settings give none.
pub(crate) const DEFAULT_DOMAIN: &str = "default";

/// The account that a provider's user gets.
#[derive(Debug)]
pub(crate) enum LinkingDecision {
    /// The user has signed in with this identity before.
    Known(Box<Identity>),
    /// An existing user, who gets a new identity.
    Link(Uuid),
    /// A new user with this address: empty if the user has none, or if it is unverified and another user's.
    Create { address: String },
    /// Several users are possible.
    Ambiguous,
}

/// Returns the domain of a provider. Providers of one domain share accounts. Each provider of single sign-on is a
/// domain of its own; all others belong to the domain that `settings` name, or to the default one.
pub(crate) fn domain<'a>(provider: &'a str, settings: &'a BTreeMap<String, String>) -> &'a str {
    if provider.starts_with("sso:") {
        return provider;
    }
    settings.get(provider).map_or(DEFAULT_DOMAIN, String::as_str)
}

/// Returns the addresses that a profile proves to be the user's; with `autoconfirm`, all of them.
pub(crate) fn verified_addresses(profile: &Profile, autoconfirm: bool) -> Vec<String> {
    let proved = profile.emails.iter().filter(|email| email.verified || autoconfirm);
    proved.map(|email| email.address.clone()).collect()
}

/// Returns the address that a new user gets: the primary one alone.
pub(crate) fn candidate_address(profile: &Profile) -> &str {
    let primary = profile.emails.iter().rev().find(|email| email.primary);
    primary.map_or("", |email| email.address.as_str())
}

/// Decides who the user of `provider` with `profile` is.
pub(crate) fn decide(
    candidates: Candidates,
    provider: &str,
    profile: &Profile,
    audience: &str,
    (autoconfirm, domains): (bool, &BTreeMap<String, String>),
) -> LinkingDecision {
    if let Some(identity) = candidates.identity {
        return LinkingDecision::Known(Box::new(identity));
    }
    let address = candidate_address(profile);
    let own = domain(provider, domains);
    let in_domain = |owner: &&Owner, of: &str| domain(&owner.provider, domains) == of;
    if verified_addresses(profile, autoconfirm).is_empty() {
        let elsewhere = candidates
            .address_owners
            .iter()
            .filter(|owner| in_domain(owner, DEFAULT_DOMAIN))
            .any(|owner| owner.aud.as_deref() == Some(audience));
        // A user does not get another user's address only by claiming it.
        let address = if elsewhere || candidates.address_taken { "" } else { address };
        return LinkingDecision::Create { address: address.to_owned() };
    }
    let mut linked =
        candidates.owners.iter().filter(|owner| in_domain(owner, own)).map(|owner| owner.user_id);
    if let Some(user) = linked.next() {
        return if linked.all(|other| other == user) {
            LinkingDecision::Link(user)
        } else {
            LinkingDecision::Ambiguous
        };
    }
    let users = if own == DEFAULT_DOMAIN { candidates.users.as_slice() } else { &[] };
    match users {
        [] => LinkingDecision::Create { address: address.to_owned() },
        [user] => LinkingDecision::Link(*user),
        _ => LinkingDecision::Ambiguous,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::providers::{Claims, Email};

    fn profile(verified: bool) -> Profile {
        Profile::with_email(Claims::of("iss", "1"), Email::primary("Ada@Example.com", verified))
    }

    fn nobody() -> Candidates {
        Candidates {
            identity: None,
            owners: Vec::new(),
            users: Vec::new(),
            address_owners: Vec::new(),
            address_taken: false,
        }
    }

    fn owner(user: u128, provider: &str) -> Owner {
        Owner { user_id: Uuid::from_u128(user), provider: provider.into(), aud: Some("aud".into()) }
    }

    fn decide_on(candidates: Candidates, provider: &str, verified: bool) -> LinkingDecision {
        let domains = BTreeMap::from([("acme".to_owned(), "staff".to_owned())]);
        decide(candidates, provider, &profile(verified), "aud", (false, &domains))
    }

    #[test]
    fn a_new_address_makes_a_new_user() {
        for verified in [true, false] {
            let decision = decide_on(nobody(), "github", verified);
            assert!(matches!(decision, LinkingDecision::Create { address } if address == "ada@example.com"));
        }
    }

    #[test]
    fn a_verified_address_links() {
        let owners = vec![owner(1, "google"), owner(1, "email")];
        let decision = decide_on(Candidates { owners, ..nobody() }, "github", true);
        assert!(matches!(decision, LinkingDecision::Link(user) if user == Uuid::from_u128(1)));
        let users = vec![Uuid::from_u128(2)];
        let decision = decide_on(Candidates { users, ..nobody() }, "github", true);
        assert!(matches!(decision, LinkingDecision::Link(user) if user == Uuid::from_u128(2)));
    }

    #[test]
    fn an_address_of_several_users_decides_nothing() {
        let owners = vec![owner(1, "google"), owner(2, "email")];
        assert!(matches!(
            decide_on(Candidates { owners, ..nobody() }, "github", true),
            LinkingDecision::Ambiguous
        ));
        let users = vec![Uuid::from_u128(1), Uuid::from_u128(2)];
        assert!(matches!(
            decide_on(Candidates { users, ..nobody() }, "github", true),
            LinkingDecision::Ambiguous
        ));
    }

    #[test]
    fn an_unverified_address_never_links_and_is_given_to_nobody_else() {
        for candidates in [
            Candidates { address_owners: vec![owner(1, "google")], ..nobody() },
            Candidates { address_taken: true, ..nobody() },
        ] {
            let decision = decide_on(candidates, "github", false);
            assert!(matches!(decision, LinkingDecision::Create { address } if address.is_empty()));
        }
        // Single sign-on has its own accounts.
        let address_owners = vec![owner(1, "sso:1")];
        let decision = decide_on(Candidates { address_owners, ..nobody() }, "github", false);
        assert!(matches!(decision, LinkingDecision::Create { address } if !address.is_empty()));
    }

    #[test]
    fn identities_are_linked_within_one_linking_domain_only() {
        let known =
            || Candidates { owners: vec![owner(1, "google")], users: vec![Uuid::from_u128(1)], ..nobody() };
        for provider in ["sso:1", "acme"] {
            assert!(
                matches!(decide_on(known(), provider, true), LinkingDecision::Create { .. }),
                "{provider}"
            );
        }
        let owners = vec![owner(3, "acme"), owner(1, "google")];
        let decision = decide_on(Candidates { owners, ..nobody() }, "acme", true);
        assert!(matches!(decision, LinkingDecision::Link(user) if user == Uuid::from_u128(3)));
    }
}

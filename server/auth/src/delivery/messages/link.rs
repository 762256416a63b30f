//! Links in mails.

use std::borrow::Cow;

use url::Url;
use url::form_urlencoded::byte_serialize;

use crate::store::model::client::RequestedHost;
use crate::{MailKind, Settings};

/// Returns the URL that links of a request lead to: the external one, its host replaced by the one that the request
/// came to if the settings list that. Such links have TLS, but on a developer's own machine.
pub(crate) fn link_base<'a>(settings: &'a Settings, requested_host: &RequestedHost<'_>) -> Cow<'a, str> {
    let external = settings.external_url.trim_end_matches('/');
    let listed = |host: &&str| settings.mail.external_hosts.iter().any(|known| known == host);
    let with_port = requested_host.host.filter(listed);
    let name =
        || requested_host.host.and_then(|host| host.rsplit_once(':')).map(|(name, _)| name).filter(listed);
    let Some(host) = with_port.or_else(name) else { return external.into() };
    let name = host.split_once(':').map_or(host, |(name, _)| name);
    let scheme = if name == "localhost" && requested_host.is_plain { "http" } else { "https" };
    let path = Url::parse(external).map(|url| url.path().trim_end_matches('/').to_owned());
    format!("{scheme}://{host}{}", path.unwrap_or_default()).into()
}

/// Returns the link that uses up the code with this `hash` and leads to `redirect_to`.
///
/// It opens `/verify` below the base of links, or the path that settings name for the kind; an absolute path replaces
/// that of the base.
pub(crate) fn action_link(
    settings: &Settings,
    requested_host: &RequestedHost<'_>,
    kind: MailKind,
    hash: &str,
    redirect_to: &str,
) -> String {
    let base = link_base(settings, requested_host);
    // Links that sign in open the path of recovery, as upstream's do.
    let path_of = if kind == MailKind::MagicLink { MailKind::Recovery } else { kind };
    let set = settings.mail.url_paths.get(&path_of).filter(|path| !path.is_empty());
    let joined = set.and_then(|path| Url::parse(&base).and_then(|base| base.join(path)).ok());
    let query = format!(
        "token={}&type={}&redirect_to={}",
        escape(hash),
        escape(kind.action_type()),
        // A URL without any of these characters was escaped by its sender.
        if redirect_to.contains(['&', '=', '#']) { escape(redirect_to) } else { redirect_to.to_owned() },
    );
    match joined {
        Some(mut url) => {
            url.set_query(Some(&query));
            url.into()
        }
        None => format!("{base}/verify?{query}"),
    }
}

fn escape(text: &str) -> String {
    byte_serialize(text.as_bytes()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn link(path: Option<&str>, redirect_to: &str) -> String {
        let mut settings =
            Settings { external_url: "https://a.example/auth/v1".to_owned(), ..Settings::default() };
        settings.mail.url_paths.extend(path.map(|path| (MailKind::Recovery, path.to_owned())));
        action_link(&settings, &RequestedHost::default(), MailKind::MagicLink, "pkce_ab", redirect_to)
    }

    #[test]
    fn links_open_verify_below_the_external_url_or_the_path_that_is_set() {
        let query = "?token=pkce_ab&type=magiclink&redirect_to=https://b.example/x";
        assert_eq!(link(None, "https://b.example/x"), format!("https://a.example/auth/v1/verify{query}"));
        assert_eq!(
            link(Some("/auth/v1/go?x=y"), "https://b.example/x"),
            format!("https://a.example/auth/v1/go{query}")
        );
        assert_eq!(
            link(Some("https://c.example/go"), "https://b.example/x"),
            format!("https://c.example/go{query}")
        );
    }

    #[test]
    fn links_lead_to_the_host_that_was_addressed_if_it_is_listed() {
        let mut settings =
            Settings { external_url: "https://a.example:8443/auth/v1/".to_owned(), ..Settings::default() };
        settings.mail.external_hosts = ["b.example", "localhost", "c.example:444"].map(str::to_owned).into();
        let base = |host, is_plain| link_base(&settings, &RequestedHost { host, is_plain }).into_owned();
        for host in
            [None, Some("evil.example"), Some("b.example.evil.example"), Some("evil.example:b.example")]
        {
            assert_eq!(base(host, true), "https://a.example:8443/auth/v1", "{host:?}");
        }
        assert_eq!(base(Some("b.example"), true), "https://b.example/auth/v1");
        assert_eq!(base(Some("b.example:8443"), false), "https://b.example/auth/v1");
        assert_eq!(base(Some("c.example:444"), false), "https://c.example:444/auth/v1");
        assert_eq!(base(Some("localhost"), true), "http://localhost/auth/v1");
        assert_eq!(base(Some("localhost"), false), "https://localhost/auth/v1");
    }

    #[test]
    fn a_target_cannot_add_parameters_of_its_own() {
        assert!(
            link(None, "https://b.example/?a=b&type=x#c")
                .ends_with("&type=magiclink&redirect_to=https%3A%2F%2Fb.example%2F%3Fa%3Db%26type%3Dx%23c")
        );
    }
}

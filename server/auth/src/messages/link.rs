//! Links in mails.

use url::Url;
use url::form_urlencoded::byte_serialize;

use crate::{MailKind, Settings};

/// The link that uses up the code with this `hash` and leads to `redirect_to`.
///
/// It opens `/verify` below the external URL, or the path that settings name for the kind; an absolute path replaces
/// that of the external URL.
pub(crate) fn action_link(settings: &Settings, kind: MailKind, hash: &str, redirect_to: &str) -> String {
    let base = settings.external_url.trim_end_matches('/');
    // Links that sign in open the path of recovery, as upstream's do.
    let path_of = if kind == MailKind::MagicLink { MailKind::Recovery } else { kind };
    let set = settings.mail.url_paths.get(&path_of).filter(|path| !path.is_empty());
    let joined = set.and_then(|path| Url::parse(base).and_then(|base| base.join(path)).ok());
    let query = format!(
        "token={}&type={}&redirect_to={}",
        escaped(hash),
        escaped(kind.action_type()),
        // What holds none of these was escaped by whoever sent it.
        if redirect_to.contains(['&', '=', '#']) { escaped(redirect_to) } else { redirect_to.to_owned() },
    );
    match joined {
        Some(mut url) => {
            url.set_query(Some(&query));
            url.into()
        }
        None => format!("{base}/verify?{query}"),
    }
}

fn escaped(text: &str) -> String {
    byte_serialize(text.as_bytes()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn link(path: Option<&str>, redirect_to: &str) -> String {
        let mut settings =
            Settings { external_url: "https://a.example/auth/v1".to_owned(), ..Settings::default() };
        settings.mail.url_paths.extend(path.map(|path| (MailKind::Recovery, path.to_owned())));
        action_link(&settings, MailKind::MagicLink, "pkce_ab", redirect_to)
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
    fn a_target_cannot_add_parameters_of_its_own() {
        assert!(
            link(None, "https://b.example/?a=b&type=x#c")
                .ends_with("&type=magiclink&redirect_to=https%3A%2F%2Fb.example%2F%3Fa%3Db%26type%3Dx%23c")
        );
    }
}

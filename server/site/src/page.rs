//! The page of the client, with the deployment's settings, the head and the first screen of the requested path.

use std::collections::HashMap;
use std::collections::hash_map::DefaultHasher;
use std::hash::{Hash as _, Hasher as _};

use bytes::Bytes;
use parking_lot::Mutex;

use crate::heads::Head;
use crate::{Encoding, File};

/// The maximum number of rendered pages in the cache. There is one per path, origin and encoding; only invented values
/// of `Host` and paths cause more.
const CACHE_SIZE: usize = 256;

/// The attribute of the element that receives the settings.
const MARKER: &str = "id=\"basalt-config\"";

/// The marks around the default head in the page.
const HEAD: (&str, &str) = ("<!--head-->", "<!--/head-->");

/// The mark that is replaced by the first screen, which the page shows until its scripts run.
const SCREEN: &str = "<!--screen-->";

/// The page, with a cache of rendered results.
#[derive(Default)]
pub(crate) struct Page {
    rendered: Mutex<HashMap<u64, File>>,
}

impl Page {
    /// Renders `template` with `config` (JSON) in its settings block and `head` in place of the default one, compressed
    /// with `encoding`.
    pub(crate) fn render(
        &self,
        template: &File,
        head: Option<&Head>,
        config: &str,
        encoding: Encoding,
    ) -> File {
        let mut hasher = DefaultHasher::new();
        let written = head.map(|head| (&head.html, &head.screen));
        (&template.etag, written, config, encoding).hash(&mut hasher);
        let id = hasher.finish();
        if let Some(file) = self.rendered.lock().get(&id) {
            return file.clone();
        }
        let html = Self::inject(&String::from_utf8_lossy(&template.body), config);
        let html = head.and_then(|head| with_head(&html, head)).unwrap_or(html);
        let (body, encoding) = match encoding.compress(html.as_bytes()) {
            Ok(compressed) => (Bytes::from(compressed), encoding),
            Err(_) => (Bytes::from(html), Encoding::Identity),
        };
        let file = File {
            body,
            encoding,
            etag: format!("\"{id:016x}\""),
            content_type: template.content_type.clone(),
        };
        let mut rendered = self.rendered.lock();
        if rendered.len() >= CACHE_SIZE {
            rendered.clear();
        }
        rendered.insert(id, file.clone());
        file
    }

    /// Writes `config` into the settings block of `html`. A page without one stays unchanged.
    pub(crate) fn inject(html: &str, config: &str) -> String {
        let block = html.find(MARKER).and_then(|marker| {
            let start = marker + html[marker..].find('>')? + 1;
            let end = start + html[start..].find("</script>")?;
            Some((start, end))
        });
        match block {
            Some((start, end)) => format!("{}{}{}", &html[..start], escape(config), &html[end..]),
            None => html.to_owned(),
        }
    }
}

/// Replaces the head and the first screen in `html`; `None` if the page does not have the marks.
fn with_head(html: &str, head: &Head) -> Option<String> {
    let (before, rest) = html.split_once(HEAD.0)?;
    let (_, after) = rest.split_once(HEAD.1)?;
    let body = after.replacen(SCREEN, head.screen.as_deref().unwrap_or_default(), 1);
    Some(format!("{before}{}{body}", head.html))
}

/// Escapes JSON for a script element, so that it cannot end the element or begin a comment. Source: HTML
/// standard, "Restrictions for contents of script elements".
pub(crate) fn escape(json: &str) -> String {
    json.replace('<', "\\u003c").replace('>', "\\u003e").replace('&', "\\u0026")
}

#[cfg(test)]
mod tests {
    use super::*;

    const HTML: &str = "<head><script id=\"basalt-config\" type=\"application/json\">\n{ \"url\": \"%X%\" }\n</script></head>";

    #[test]
    fn settings_replace_the_blocks_content() {
        let page = Page::inject(HTML, "{\"url\":\"http://a\"}");
        assert_eq!(
            page,
            "<head><script id=\"basalt-config\" type=\"application/json\">{\"url\":\"http://a\"}</script></head>"
        );
        assert_eq!(Page::inject("<p>no block</p>", "{}"), "<p>no block</p>");
    }

    #[test]
    fn settings_cannot_break_out_of_the_block() {
        let page = Page::inject(HTML, "{\"key\":\"</script><script>alert(1)</script>&\"}");
        assert_eq!(page.matches("<script").count(), 1);
        assert!(page.contains("\\u003c/script\\u003e"), "{page}");
    }
}

//! HTML as text, for mail programs that show no HTML.
//!
//! Not from a library: those that are small change or drop the addresses of links, the others bring a parser of web
//! pages (`docs/decisions/0048-our-own-code-makes-the-plain-text-of-mails.md`).

/// Elements that begin a line of their own.
const BLOCKS: [&str; 16] = [
    "address",
    "blockquote",
    "br",
    "div",
    "h1",
    "h2",
    "h3",
    "h4",
    "hr",
    "li",
    "ol",
    "p",
    "table",
    "tr",
    "ul",
    "center",
];
/// Elements whose content is not shown.
const HIDDEN: [&str; 4] = ["head", "script", "style", "title"];

/// Returns the words of `html`, a line per block, links with their address behind them.
pub(super) fn text(html: &str) -> String {
    let mut writer = Writer::default();
    let mut rest = html;
    while let Some(start) = rest.find('<') {
        writer.words(&rest[..start]);
        let tag = &rest[start + 1..];
        if let Some(comment) = tag.strip_prefix("!--") {
            rest = comment.find("-->").map_or("", |end| &comment[end + 3..]);
            continue;
        }
        let end = tag.find('>').unwrap_or(tag.len());
        writer.tag(&tag[..end]);
        rest = tag.get(end + 1..).unwrap_or_default();
    }
    writer.words(rest);
    writer.finish()
}

#[derive(Default)]
struct Writer {
    lines: Vec<String>,
    line: String,
    hidden: Option<String>,
    /// The address of the link that is open, and the line's length where it begins.
    link: Option<(String, usize)>,
}

impl Writer {
    fn words(&mut self, text: &str) {
        if self.hidden.is_some() {
            return;
        }
        let text = decode_references(text);
        if text.starts_with(char::is_whitespace) && !self.line.is_empty() && !self.line.ends_with(' ') {
            self.line.push(' ');
        }
        let mut first = true;
        for word in text.split_whitespace() {
            if !first {
                self.line.push(' ');
            }
            self.line.push_str(word);
            first = false;
        }
        if !first && text.ends_with(char::is_whitespace) {
            self.line.push(' ');
        }
    }

    fn tag(&mut self, tag: &str) {
        let (closes, tag) = tag.strip_prefix('/').map_or((false, tag), |name| (true, name));
        let end = tag.find(|c: char| !c.is_ascii_alphanumeric()).unwrap_or(tag.len());
        let name = tag[..end].to_ascii_lowercase();
        if self.hidden.as_ref().is_some_and(|hidden| closes && *hidden == name) {
            self.hidden = None;
        }
        if self.hidden.is_some() || (closes && HIDDEN.contains(&name.as_str())) {
            return;
        }
        if HIDDEN.contains(&name.as_str()) {
            self.hidden = Some(name);
        } else if name == "a" {
            self.link(closes, &tag[end..]);
        } else if BLOCKS.contains(&name.as_str()) {
            self.end_line();
            if name == "li" && !closes {
                self.line.push_str("- ");
            }
            if name == "p" || name.starts_with('h') {
                self.lines.push(String::new());
            }
        }
    }

    fn link(&mut self, closes: bool, attributes: &str) {
        if !closes {
            self.link = attribute(attributes, "href").map(|href| (href, self.line.len()));
            return;
        }
        let Some((href, start)) = self.link.take() else { return };
        let label = self.line.get(start..).unwrap_or_default().trim();
        if !href.starts_with('#') && label != href {
            self.line.push_str(&if label.is_empty() { href } else { format!(" ( {href} )") });
        }
    }

    fn end_line(&mut self) {
        let line = std::mem::take(&mut self.line);
        if !line.trim().is_empty() {
            self.lines.push(line.trim().to_owned());
        }
        if let Some((_, start)) = &mut self.link {
            *start = 0;
        }
    }

    fn finish(mut self) -> String {
        self.end_line();
        self.lines.dedup_by(|line, before| line.is_empty() && before.is_empty());
        self.lines.join("\n").trim().to_owned() + "\n"
    }
}

/// Returns the value of attribute `name` in a tag.
fn attribute(attributes: &str, name: &str) -> Option<String> {
    let lower = attributes.to_ascii_lowercase();
    let start = lower.find(&format!("{name}="))? + name.len() + 1;
    let value = attributes.get(start..)?;
    let value = match value.chars().next()? {
        quote @ ('"' | '\'') => value[1..].split(quote).next()?,
        _ => value.split_whitespace().next()?,
    };
    Some(decode_references(value))
}

/// Returns `text` with the character references resolved that mails use (HTML, section 13.5): only those that end in a
/// semicolon, since an address may hold what looks like the beginning of one (`&copy=1`).
fn decode_references(text: &str) -> String {
    let mut output = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(start) = rest.find('&') {
        output.push_str(&rest[..start]);
        rest = &rest[start..];
        let end = rest.find(';').filter(|end| *end <= 10);
        match end.and_then(|end| Some((character(&rest[1..end])?, end))) {
            Some((character, end)) => {
                output.push(character);
                rest = &rest[end + 1..];
            }
            None => {
                output.push('&');
                rest = &rest[1..];
            }
        }
    }
    output + rest
}

fn character(reference: &str) -> Option<char> {
    if let Some(number) = reference.strip_prefix('#') {
        let hexadecimal = number.strip_prefix(['x', 'X']).map(|digits| u32::from_str_radix(digits, 16));
        return char::from_u32(hexadecimal.unwrap_or_else(|| number.parse()).ok()?);
    }
    Some(match reference {
        "amp" => '&',
        "lt" => '<',
        "gt" => '>',
        "quot" => '"',
        "apos" => '\'',
        "nbsp" | "zwnj" => ' ',
        "mdash" => '—',
        "ndash" => '–',
        "hellip" => '…',
        "rsquo" => '’',
        "copy" => '©',
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_lines_and_links_remain() {
        let html = "<html><head><title>T</title><style>p { x }</style></head><body><!-- c --><h2>Hello &amp; \
                    welcome</h2>\n<p>Follow   <a\n href=\"https://a.b/?c=d&amp;e=f\">this link</a>, <b>now</b>.</p>\
                    <ul><li>one<li>two</ul><a href='https://a.b'>https://a.b</a><br>1 &lt; 2 &#39;x&#x27; &unknown; AT&T";
        assert_eq!(
            text(html),
            "Hello & welcome\n\nFollow this link ( https://a.b/?c=d&e=f ), now.\n\n- one\n- two\nhttps://a.b\n\
             1 < 2 'x' &unknown; AT&T\n"
        );
    }

    #[test]
    fn addresses_of_links_stay_as_they_are() {
        // Templates of projects seldom escape the ampersand, and `&lang`, `&order`, `&phone` and `&copy` have names in
        // HTML.
        let address = "https://a.b/confirm?token_hash=x&type=email&lang=de&order=1&phone=2&copy=3&next=/";
        assert_eq!(text(&format!("<a href=\"{address}\">Go</a>")), format!("Go ( {address} )\n"));
    }

    #[test]
    fn broken_html_is_no_reason_to_panic() {
        for html in ["<", "<a", "<a href=", "<a href='x", "</a>", "<!--", "&", "&#x;", "<style>p", "é<é>é"]
        {
            text(html);
        }
    }
}

//! Escapes values so that they cannot change the structure of the HTML around them, whatever they contain.
//!
//! The template's own text is parsed into the states of an HTML reader, so that the context of each value is known. The
//! value is escaped for that context and does not change the state.
//!
//! Source: the documentation of Go's `html/template`, sections "Contexts" and "Security Model".

use super::Value;
use super::functions::sprint;
use super::json::{self, Place};

/// Go's replacement for a value that has no safe form in its context.
const REFUSED: &str = "ZgotmplZ";

/// Attributes whose value is a URL.
const URL_ATTRIBUTES: [&str; 17] = [
    "action",
    "archive",
    "background",
    "cite",
    "classid",
    "codebase",
    "data",
    "formaction",
    "href",
    "icon",
    "longdesc",
    "manifest",
    "poster",
    "profile",
    "src",
    "srcset",
    "usemap",
];

/// Types of scripts that are JSON.
const JSON_TYPES: [&str; 2] = ["application/json", "application/ld+json"];

/// Types of other scripts that are programs; so are those without a type.
const PROGRAM_TYPES: [&str; 19] = [
    "",
    "application/ecmascript",
    "application/javascript",
    "application/x-ecmascript",
    "application/x-javascript",
    "importmap",
    "module",
    "speculationrules",
    "text/ecmascript",
    "text/javascript",
    "text/javascript1.0",
    "text/javascript1.1",
    "text/javascript1.2",
    "text/javascript1.3",
    "text/javascript1.4",
    "text/javascript1.5",
    "text/jscript",
    "text/livescript",
    "text/x-javascript",
];

/// Elements whose content is not HTML.
const RAW_ELEMENTS: [&str; 4] = ["script", "style", "textarea", "title"];

/// The meaning of an attribute's value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Meaning {
    Plain,
    Url,
    Style,
    Script,
}

/// The part of a URL that has been reached.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum UrlPart {
    Start,
    Path,
    /// After `?` or `#`.
    Query,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum State {
    Text,
    Comment,
    /// In the name of an element.
    Element,
    /// Between attributes.
    Tag,
    /// In the name of an attribute.
    Name,
    /// After an attribute's name.
    AfterName,
    /// After the equals sign.
    BeforeValue,
    /// In an attribute's value; without a quote, white space ends it.
    Attribute {
        quote: Option<char>,
    },
    /// In the content of one of [`RAW_ELEMENTS`].
    Raw(&'static str),
    /// In a script of one of [`JSON_TYPES`].
    Json(Place),
}

/// Writes HTML from the template's text and values.
pub(super) struct Escaper {
    output: String,
    state: State,
    element: String,
    name: String,
    meaning: Meaning,
    part: UrlPart,
    /// The type of the script whose tag has been reached, if the tag has one; the first counts, as for browsers.
    script_type: Option<String>,
    /// Whether the attribute that has been reached is that type.
    is_script_type: bool,
}

impl Escaper {
    pub(super) fn new() -> Self {
        Self {
            output: String::new(),
            state: State::Text,
            element: String::new(),
            name: String::new(),
            meaning: Meaning::Plain,
            part: UrlPart::Start,
            script_type: None,
            is_script_type: false,
        }
    }

    pub(super) fn len(&self) -> usize {
        self.output.len()
    }

    pub(super) fn finish(self) -> String {
        self.output
    }

    /// Appends text of the template itself. Comments are left out, as Go does.
    pub(super) fn text(&mut self, text: &str) {
        let mut rest = text;
        while let Some(character) = rest.chars().next() {
            let taken = match self.state {
                State::Text if rest.starts_with("<!--") => {
                    self.state = State::Comment;
                    rest = &rest[4..];
                    continue;
                }
                State::Comment => {
                    let end = rest.find("-->");
                    if end.is_some() {
                        self.state = State::Text;
                    }
                    rest = end.map_or("", |end| &rest[end + 3..]);
                    continue;
                }
                State::Raw(element) => self.raw(rest, element),
                State::Json(_) if closes(rest, "script") => {
                    self.state = State::Text;
                    continue;
                }
                _ => {
                    self.step(character, rest);
                    character.len_utf8()
                }
            };
            self.output.push_str(&rest[..taken]);
            rest = &rest[taken..];
        }
    }

    /// Returns the number of bytes of `rest` that are content of `element`; the rest after them begins with its closing
    /// tag.
    fn raw(&mut self, rest: &str, element: &str) -> usize {
        let end = rest.match_indices("</").find(|(start, _)| closes(&rest[*start..], element));
        if end.is_some() {
            self.state = State::Text;
        }
        end.map_or(rest.len(), |(start, _)| start)
    }

    fn step(&mut self, character: char, rest: &str) {
        let space = character.is_ascii_whitespace();
        match self.state {
            State::Text => {
                let name = rest.strip_prefix("</").or_else(|| rest.strip_prefix('<'));
                if name.is_some_and(|name| name.starts_with(|c: char| c.is_ascii_alphabetic())) {
                    self.element.clear();
                    self.script_type = None;
                    self.state = State::Element;
                    if rest.starts_with("</") {
                        self.element.push('/');
                    }
                }
            }
            State::Element if character == '>' => self.close_tag(),
            State::Element if space => self.state = State::Tag,
            State::Element if character != '<' && character != '/' => {
                self.element.push(character.to_ascii_lowercase());
            }
            State::Tag | State::AfterName if character == '>' => self.close_tag(),
            State::AfterName if character == '=' => self.state = State::BeforeValue,
            State::Tag | State::AfterName if !space && character != '/' => {
                self.name.clear();
                self.name.push(character.to_ascii_lowercase());
                self.state = State::Name;
            }
            State::Name if character == '>' => self.close_tag(),
            State::Name if character == '=' => self.state = State::BeforeValue,
            State::Name if space || character == '/' => self.state = State::AfterName,
            State::Name => self.name.push(character.to_ascii_lowercase()),
            State::BeforeValue if character == '>' => self.close_tag(),
            State::BeforeValue if !space => {
                let quote = matches!(character, '"' | '\'').then_some(character);
                self.begin_attribute(quote);
                if quote.is_none() {
                    self.advance_attribute(character);
                }
            }
            State::Attribute { quote: Some(quote) } if character == quote => self.state = State::Tag,
            State::Attribute { quote: None } if character == '>' => self.close_tag(),
            State::Attribute { quote: None } if space => self.state = State::Tag,
            State::Attribute { .. } => self.advance_attribute(character),
            State::Json(place) => self.state = State::Json(place.after(character)),
            State::Comment
            | State::Element
            | State::Tag
            | State::AfterName
            | State::BeforeValue
            | State::Raw(_) => {}
        }
    }

    fn close_tag(&mut self) {
        let raw = RAW_ELEMENTS.into_iter().find(|element| *element == self.element);
        self.state = match raw {
            Some("script") => script(self.script_type.as_deref()),
            Some(element) => State::Raw(element),
            None => State::Text,
        };
    }

    fn begin_attribute(&mut self, quote: Option<char>) {
        self.state = State::Attribute { quote };
        self.meaning = meaning(&self.name);
        self.part = UrlPart::Start;
        self.is_script_type = self.element == "script" && self.name == "type" && self.script_type.is_none();
        if self.is_script_type {
            self.script_type = Some(String::new());
        }
    }

    fn advance_attribute(&mut self, character: char) {
        self.advance_url(character);
        if self.is_script_type
            && let Some(script_type) = &mut self.script_type
        {
            script_type.push(character);
        }
    }

    fn advance_url(&mut self, character: char) {
        if matches!(character, '?' | '#') {
            self.part = UrlPart::Query;
        } else if self.part == UrlPart::Start && !character.is_ascii_whitespace() {
            self.part = UrlPart::Path;
        }
    }

    /// Appends a value. Errors: the reason why no value is allowed here.
    pub(super) fn value(&mut self, value: &Value) -> Result<(), &'static str> {
        const SCRIPTS: &str = "values inside scripts are not supported: no mail program runs them";
        let text = if *value == Value::Nil { String::new() } else { sprint(std::slice::from_ref(value)) };
        if self.state == State::BeforeValue {
            self.begin_attribute(None);
        }
        let escaped = match self.state {
            State::Comment => return Ok(()),
            State::Text | State::Raw("title" | "textarea") => html(&text),
            State::Raw("style") => style(&text),
            State::Raw(_) | State::Json(Place::Unknown) => return Err(SCRIPTS),
            State::Json(Place::Value) => json::value(value),
            State::Json(Place::String(_)) => json::in_string(&text),
            State::Json(Place::Escape(_)) => return Err("a backslash before a value in a string of JSON"),
            State::Attribute { quote } => {
                if self.is_script_type {
                    // What the type is depends on the value.
                    self.script_type = Some(String::new());
                    self.is_script_type = false;
                }
                let meant = match self.meaning {
                    Meaning::Plain => text,
                    Meaning::Style => style(&text),
                    Meaning::Url => self.url(&text),
                    Meaning::Script => return Err(SCRIPTS),
                };
                if quote.is_some() { html(&meant) } else { unquoted(&meant) }
            }
            State::Element | State::Tag | State::Name | State::AfterName | State::BeforeValue => {
                if self.state == State::Tag {
                    self.name.clear();
                    self.state = State::Name;
                }
                let plain = !text.is_empty() && text.chars().all(|c| c.is_ascii_alphanumeric());
                let safe = plain && meaning(&text.to_ascii_lowercase()) == Meaning::Plain;
                if safe { text } else { REFUSED.to_owned() }
            }
        };
        self.output.push_str(&escaped);
        Ok(())
    }

    fn url(&mut self, text: &str) -> String {
        let escaped = match self.part {
            UrlPart::Start if !is_safe_url(text) => format!("#{REFUSED}"),
            UrlPart::Start | UrlPart::Path => percent_encoded(text, true),
            UrlPart::Query => percent_encoded(text, false),
        };
        if self.part == UrlPart::Start {
            self.part = UrlPart::Path;
        }
        escaped
    }
}

/// Returns whether `rest` begins with the closing tag of `element`.
fn closes(rest: &str, element: &str) -> bool {
    let name = rest.strip_prefix("</").and_then(|name| name.get(..element.len()));
    name.is_some_and(|name| name.eq_ignore_ascii_case(element))
}

/// Returns the state at the begin of a script with this value of attribute `type`. One that is neither a program nor
/// JSON is read as HTML, as Go does, so that values in it are escaped for that.
fn script(script_type: Option<&str>) -> State {
    let kind =
        script_type.unwrap_or_default().split(';').next().unwrap_or_default().trim().to_ascii_lowercase();
    if JSON_TYPES.contains(&&*kind) {
        return State::Json(Place::Value);
    }
    // A character reference may stand for any character.
    if PROGRAM_TYPES.contains(&&*kind) || kind.contains('&') { State::Raw("script") } else { State::Text }
}

fn meaning(attribute: &str) -> Meaning {
    let name = attribute.strip_prefix("data-").unwrap_or(attribute);
    let name = name.rsplit(':').next().unwrap_or(name);
    match name {
        "style" => Meaning::Style,
        name if name.starts_with("on") => Meaning::Script,
        name if URL_ATTRIBUTES.contains(&name) || attribute.starts_with("xmlns:") => Meaning::Url,
        name if name.contains("src") || name.contains("uri") || name.contains("url") => Meaning::Url,
        _ => Meaning::Plain,
    }
}

/// Returns whether a URL is relative or has a scheme that does not run code.
fn is_safe_url(url: &str) -> bool {
    match url.split_once(':') {
        Some((scheme, _)) if !scheme.contains('/') => {
            ["http", "https", "mailto"].iter().any(|safe| scheme.eq_ignore_ascii_case(safe))
        }
        _ => true,
    }
}

/// Encodes `text` as part of a URL; with `whole`, the characters that separate a URL's parts stay unchanged.
fn percent_encoded(text: &str, whole: bool) -> String {
    let bytes = text.as_bytes();
    let mut encoded = String::with_capacity(text.len());
    for (index, &byte) in bytes.iter().enumerate() {
        let is_escape =
            || bytes.get(index + 1..index + 3).is_some_and(|digits| digits.iter().all(u8::is_ascii_hexdigit));
        let stays = match byte {
            b'-' | b'.' | b'_' | b'~' => true,
            b'!' | b'#' | b'$' | b'&' | b'*' | b'+' | b',' | b'/' | b':' | b';' | b'=' | b'?' | b'@'
            | b'[' | b']' => whole,
            b'%' => whole && is_escape(),
            byte => byte.is_ascii_alphanumeric(),
        };
        if stays {
            encoded.push(char::from(byte));
        } else {
            encoded.push_str(&format!("%{byte:02x}"));
        }
    }
    encoded
}

/// Returns `text` as a value in CSS: words, numbers and colours, without characters that have a meaning in CSS.
fn style(text: &str) -> String {
    let safe =
        |c: char| c.is_alphanumeric() || matches!(c, ' ' | '#' | '.' | ',' | '%' | '-' | '_' | '+' | '!');
    let lower = text.to_ascii_lowercase();
    let active = ["expression", "mozbinding", "--"].iter().any(|word| lower.contains(word));
    if active || !text.chars().all(safe) { REFUSED.to_owned() } else { text.to_owned() }
}

/// Returns `text` with the characters replaced that have a meaning in HTML. The characters and their references are
/// those of Go's `html/template` (also `+` and NUL, and `&#34;` for a quote), so that mails have the same bytes as
/// upstream's.
pub(super) fn html(text: &str) -> String {
    replace(text, |character| match character {
        '\0' => Some("\u{fffd}"),
        '"' => Some("&#34;"),
        '&' => Some("&amp;"),
        '\'' => Some("&#39;"),
        '+' => Some("&#43;"),
        '<' => Some("&lt;"),
        '>' => Some("&gt;"),
        _ => None,
    })
}

/// Escapes `text` as [`html`] does, for a value without quotes around it.
fn unquoted(text: &str) -> String {
    replace(&html(text), |character| match character {
        '\t' => Some("&#9;"),
        '\n' => Some("&#10;"),
        '\u{b}' => Some("&#11;"),
        '\u{c}' => Some("&#12;"),
        '\r' => Some("&#13;"),
        ' ' => Some("&#32;"),
        '=' => Some("&#61;"),
        '`' => Some("&#96;"),
        _ => None,
    })
}

fn replace(text: &str, replacement: impl Fn(char) -> Option<&'static str>) -> String {
    let mut output = String::with_capacity(text.len());
    for character in text.chars() {
        match replacement(character) {
            Some(replacement) => output.push_str(replacement),
            None => output.push(character),
        }
    }
    output
}

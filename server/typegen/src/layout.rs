//! The layout of types: that of Prettier (no semicolons, 80 columns), as in the Supabase CLI's output.

/// The maximum number of columns of a line.
const WIDTH: usize = 80;

/// A type that may have to be broken into lines.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Ts {
    /// Never broken.
    Atom(String),
    /// Broken into one line per member.
    Union(Vec<Self>),
    /// An object type and the text after its closing brace. Broken into one line per property if it does not fit, or
    /// always if `expanded`.
    Object { properties: Vec<(String, Self)>, suffix: String, expanded: bool },
    /// A generic type and its arguments. Broken into one line per argument.
    Generic { name: &'static str, arguments: Vec<Self> },
}

impl Ts {
    pub(crate) fn atom(text: impl Into<String>) -> Self {
        Self::Atom(text.into())
    }

    /// Returns `self | null`, or `unknown` unchanged.
    pub(crate) fn or_null(self) -> Self {
        match self {
            Self::Atom(text) if text == "unknown" => Self::Atom(text),
            Self::Union(mut members) => {
                members.push(Self::atom("null"));
                Self::Union(members)
            }
            Self::Object { properties, suffix, expanded } => {
                Self::Object { properties, suffix: format!("{suffix} | null"), expanded }
            }
            other => Self::Union(vec![other, Self::atom("null")]),
        }
    }

    /// Returns an array of `self`.
    pub(crate) fn array(self) -> Self {
        match self {
            Self::Object { properties, suffix, expanded } => {
                Self::Object { properties, suffix: format!("{suffix}[]"), expanded }
            }
            Self::Atom(text) => Self::Atom(format!("{text}[]")),
            union @ Self::Union(_) => Self::Atom(format!("({})[]", union.flat().unwrap_or_default())),
            generic @ Self::Generic { .. } => Self::Atom(format!("{}[]", generic.flat().unwrap_or_default())),
        }
    }

    /// Returns the type on one line; `None` if it must be broken.
    fn flat(&self) -> Option<String> {
        match self {
            Self::Atom(text) => Some(text.clone()),
            Self::Union(members) => {
                Some(members.iter().map(Self::flat).collect::<Option<Vec<_>>>()?.join(" | "))
            }
            Self::Object { expanded: true, .. } => None,
            Self::Object { properties, suffix, .. } => {
                let flat = |(name, ts): &(String, Self)| Some(format!("{name}: {}", ts.flat()?));
                let inner = properties.iter().map(flat).collect::<Option<Vec<_>>>()?.join("; ");
                Some(format!("{{ {inner} }}{suffix}"))
            }
            Self::Generic { name, arguments } => {
                let inner = arguments.iter().map(Self::flat).collect::<Option<Vec<_>>>()?.join(", ");
                Some(format!("{name}<{inner}>"))
            }
        }
    }
}

/// Text under construction.
#[derive(Debug, Default)]
pub(crate) struct Layout {
    text: String,
    depth: usize,
}

impl Layout {
    /// Writes a line at the current depth.
    pub(crate) fn line(&mut self, text: &str) {
        if !text.is_empty() {
            self.text.extend(std::iter::repeat_n(' ', self.depth * 2));
            self.text.push_str(text);
        }
        self.text.push('\n');
    }

    /// Writes `open`, the output of `inner` one step deeper, and `close`.
    pub(crate) fn block(&mut self, open: &str, close: &str, inner: impl FnOnce(&mut Self)) {
        self.line(open);
        self.depth += 1;
        inner(self);
        self.depth -= 1;
        self.line(close);
    }

    /// Writes `name: {`, properties and `}`.
    pub(crate) fn object(&mut self, name: &str, properties: &[(String, Ts)]) {
        if properties.is_empty() {
            return self.line(&format!("{name}: {{}}"));
        }
        self.block(&format!("{name}: {{"), "}", |layout| {
            for (name, ts) in properties {
                layout.property(name, ts);
            }
        });
    }

    /// Writes `name: ts`, broken as needed.
    pub(crate) fn property(&mut self, name: &str, ts: &Ts) {
        self.labelled(&format!("{name}: "), ts);
    }

    /// Writes `label[ts]`, broken as needed.
    pub(crate) fn indexed(&mut self, label: &str, ts: &Ts) {
        self.enclosed(&format!("{label}["), ts, "]");
    }

    fn labelled(&mut self, label: &str, ts: &Ts) {
        self.enclosed(label, ts, "");
    }

    /// Writes `label`, a type and `end`, which unions cannot have.
    fn enclosed(&mut self, label: &str, ts: &Ts, end: &str) {
        let room = WIDTH.saturating_sub(self.depth * 2 + label.chars().count() + end.len());
        match (ts.flat(), ts) {
            (Some(flat), _) if flat.chars().count() <= room => {
                self.line(&format!("{label}{flat}{end}"));
            }
            (flat, Ts::Atom(_)) => self.line(&format!("{label}{}{end}", flat.unwrap_or_default())),
            (_, Ts::Union(members)) => {
                self.line(label.trim_end());
                self.depth += 1;
                for member in members {
                    self.member(member);
                }
                self.depth -= 1;
            }
            (_, Ts::Object { properties, suffix, .. }) => {
                self.block(&format!("{label}{{"), &format!("}}{suffix}{end}"), |layout| {
                    for (name, ts) in properties {
                        layout.property(name, ts);
                    }
                });
            }
            (_, Ts::Generic { name, arguments }) => {
                self.block(&format!("{label}{name}<"), &format!(">{end}"), |layout| {
                    for (position, argument) in arguments.iter().enumerate() {
                        let comma = if position + 1 < arguments.len() { "," } else { "" };
                        layout.line(&format!("{}{comma}", argument.flat().unwrap_or_default()));
                    }
                });
            }
        }
    }

    /// Writes a member of a broken union. An object's properties are two steps deeper, after the bar.
    fn member(&mut self, ts: &Ts) {
        let fits = ts.flat().filter(|flat| self.depth * 2 + 2 + flat.chars().count() <= WIDTH);
        match (fits, ts) {
            (None, Ts::Object { properties, suffix, .. }) => {
                self.line("| {");
                self.depth += 2;
                for (name, ts) in properties {
                    self.property(name, ts);
                }
                self.depth -= 1;
                self.line(&format!("}}{suffix}"));
                self.depth -= 1;
            }
            (fits, ts) => {
                let flat = fits.or_else(|| ts.flat()).unwrap_or_default();
                self.line(&format!("| {flat}"));
            }
        }
    }

    /// Writes `label[…]end` of string literals, one per line where they do not fit.
    pub(crate) fn strings(&mut self, label: &str, strings: &[String], end: &str) {
        let flat = format!("{label}[{}]{end}", strings.join(", "));
        if self.depth * 2 + flat.chars().count() <= WIDTH {
            return self.line(&flat);
        }
        self.block(&format!("{label}["), &format!("]{end}"), |layout| {
            for string in strings {
                layout.line(&format!("{string},"));
            }
        });
    }

    pub(crate) fn finish(self) -> String {
        self.text
    }
}

/// Returns a property's name, quoted if necessary.
pub(crate) fn key(name: &str) -> String {
    let plain = name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_' || c == '$')
        && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_' || c == '$');
    if plain { name.to_owned() } else { string(name) }
}

/// Returns a string literal, in the quotes that need fewer backslashes.
pub(crate) fn string(text: &str) -> String {
    let json = json_string(text);
    let count = |quote: char| text.chars().filter(|c| *c == quote).count();
    if count('"') <= count('\'') {
        return json;
    }
    let inner = json.strip_prefix('"').and_then(|json| json.strip_suffix('"')).unwrap_or(&json);
    format!("'{}'", inner.replace('\'', "\\'").replace("\\\"", "\""))
}

/// Returns a string of JSON.
pub(crate) fn json_string(text: &str) -> String {
    serde_json::Value::from(text).to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn laid_out(name: &str, ts: &Ts) -> String {
        let mut layout = Layout { depth: 4, ..Layout::default() };
        layout.property(name, ts);
        layout.finish()
    }

    #[test]
    fn unions_that_do_not_fit_have_one_member_per_line() {
        let short = Ts::atom("string").or_null();
        assert_eq!(laid_out("name", &short), "        name: string | null\n");
        let long = Ts::atom(format!("Database[\"public\"][\"Enums\"][\"{}\"]", "x".repeat(40))).or_null();
        let text = laid_out("name", &long);
        assert!(
            text.starts_with("        name:\n          | Database[") && text.ends_with("          | null\n"),
            "{text}"
        );
    }

    #[test]
    fn strings_have_the_quotes_that_need_fewer_backslashes() {
        assert_eq!(string("plain"), "\"plain\"");
        assert_eq!(string("it's"), "\"it's\"");
        assert_eq!(string("a \"b\" c"), "'a \"b\" c'");
        assert_eq!(string("\"it's\" \\"), r#"'"it\'s" \\'"#);
        assert_eq!(string("\"'"), r#""\"'""#);
    }

    #[test]
    fn generic_types_that_do_not_fit_have_one_argument_per_line() {
        let pick = |argument: String| Ts::Generic {
            name: "Omit",
            arguments: vec![Ts::Atom(argument), Ts::atom("never")],
        };
        assert_eq!(laid_out("row", &pick("Row".to_owned())), "        row: Omit<Row, never>\n");
        let long = "X".repeat(60);
        let broken = format!("        row: Omit<\n          {long},\n          never\n        >\n");
        assert_eq!(laid_out("row", &pick(long)), broken);
    }

    #[test]
    fn names_are_quoted_only_where_they_must_be() {
        assert_eq!(key("created_at"), "created_at");
        assert_eq!(key("first name"), "\"first name\"");
        assert_eq!(key("1st"), "\"1st\"");
    }
}

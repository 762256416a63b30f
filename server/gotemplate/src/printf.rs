//! The part of Go's `fmt.Sprintf` that templates use.

use super::Value;

/// A verb with its flags, `%-8.3s` for example.
#[derive(Default)]
struct Verb {
    left: bool,
    zeros: bool,
    plus: bool,
    width: usize,
    precision: Option<usize>,
}

/// The maximum width and precision.
const MAX_WIDTH: usize = 1000;

/// Returns the first argument with its verbs replaced by the other arguments. Errors: the reason.
pub(super) fn printf(arguments: &[Value]) -> Result<String, String> {
    let Some((Value::String(format), arguments)) = arguments.split_first() else {
        return Err("the first argument must be a text".to_owned());
    };
    let mut arguments = arguments.iter();
    let mut output = String::new();
    let mut rest = format.as_str();
    while let Some(start) = rest.find('%') {
        output.push_str(&rest[..start]);
        let (verb, kind, tail) = Verb::parse(&rest[start + 1..])?;
        rest = tail;
        if kind == '%' {
            output.push('%');
            continue;
        }
        match arguments.next() {
            Some(argument) => output.push_str(&verb.format(kind, argument)),
            None => output.push_str(&format!("%!{kind}(MISSING)")),
        }
    }
    output.push_str(rest);
    let extra: Vec<String> = arguments.map(|argument| format!("{}={argument}", argument.kind())).collect();
    if !extra.is_empty() {
        output.push_str(&format!("%!(EXTRA {})", extra.join(", ")));
    }
    Ok(output)
}

impl Verb {
    /// Parses the text after a `%`: the verb, its letter, the rest.
    fn parse(text: &str) -> Result<(Self, char, &str), String> {
        let mut verb = Self::default();
        let flags = text.len() - text.trim_start_matches(['-', '+', '0', ' ', '#']).len();
        for flag in text[..flags].chars() {
            match flag {
                '-' => verb.left = true,
                '0' => verb.zeros = true,
                '+' => verb.plus = true,
                _ => {}
            }
        }
        let (width, rest) = number(&text[flags..])?;
        verb.width = width.unwrap_or_default();
        let rest = match rest.strip_prefix('.') {
            Some(rest) => {
                let (precision, rest) = number(rest)?;
                verb.precision = Some(precision.unwrap_or_default());
                rest
            }
            None => rest,
        };
        let kind = rest.chars().next().ok_or("a verb is missing after %")?;
        Ok((verb, kind, &rest[kind.len_utf8()..]))
    }

    fn format(&self, kind: char, argument: &Value) -> String {
        let body = match (kind, argument) {
            ('v', Value::Float(_)) if self.precision.is_some() => self.float('f', argument),
            ('v', value) => value.to_string(),
            ('s', Value::String(text)) => self.cut(text),
            ('q', Value::String(text)) => quote(text),
            ('t', Value::Bool(value)) => value.to_string(),
            ('d', Value::Int(number)) => self.signed(number.to_string(), *number >= 0),
            ('x', Value::Int(number)) => format!("{number:x}"),
            ('x', Value::String(text)) => text.bytes().map(|byte| format!("{byte:02x}")).collect(),
            ('c', Value::Int(number)) => {
                u32::try_from(*number).ok().and_then(char::from_u32).unwrap_or('\u{fffd}').to_string()
            }
            ('f' | 'F' | 'g' | 'e', Value::Float(_)) => self.float(kind, argument),
            (kind, value) => format!("%!{kind}({}={value})", value.kind()),
        };
        self.pad(body)
    }

    fn cut(&self, text: &str) -> String {
        text.chars().take(self.precision.unwrap_or(usize::MAX)).collect()
    }

    fn float(&self, kind: char, value: &Value) -> String {
        let number = value.number().unwrap_or_default();
        let text = match (kind, self.precision) {
            ('g', None) => value.to_string(),
            ('e', precision) => exponent(&format!("{number:.*e}", precision.unwrap_or(6))),
            (_, precision) => format!("{number:.*}", precision.unwrap_or(6)),
        };
        self.signed(text, number >= 0.0)
    }

    fn signed(&self, text: String, positive: bool) -> String {
        if self.plus && positive { format!("+{text}") } else { text }
    }

    fn pad(&self, body: String) -> String {
        let missing = self.width.saturating_sub(body.chars().count());
        if self.left {
            return body + &" ".repeat(missing);
        }
        match body.strip_prefix(['-', '+']) {
            Some(digits) if self.zeros => format!("{}{}{digits}", &body[..1], "0".repeat(missing)),
            _ => (if self.zeros { "0" } else { " " }).repeat(missing) + &body,
        }
    }
}

fn number(text: &str) -> Result<(Option<usize>, &str), String> {
    let end = text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
    if end == 0 {
        return Ok((None, text));
    }
    let number = text[..end].parse().ok().filter(|number| *number <= MAX_WIDTH);
    number.map(|number| (Some(number), &text[end..])).ok_or_else(|| "a width is too large".to_owned())
}

/// Writes an exponent as Go does, with a sign and at least two digits.
fn exponent(text: &str) -> String {
    match text.split_once('e') {
        Some((digits, exponent)) => {
            let (sign, exponent) = exponent.strip_prefix('-').map_or(('+', exponent), |number| ('-', number));
            format!("{digits}e{sign}{exponent:0>2}")
        }
        None => text.to_owned(),
    }
}

/// Does the same as Go's `strconv.Quote`.
fn quote(text: &str) -> String {
    let mut quoted = String::from("\"");
    for character in text.chars() {
        match character {
            '"' | '\\' => quoted.extend(['\\', character]),
            '\n' => quoted.push_str("\\n"),
            '\r' => quoted.push_str("\\r"),
            '\t' => quoted.push_str("\\t"),
            control if control.is_control() => quoted.push_str(&format!("\\x{:02x}", u32::from(control))),
            other => quoted.push(other),
        }
    }
    quoted.push('"');
    quoted
}

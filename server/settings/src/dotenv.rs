//! The text of `.env` files, read as the Supabase CLI reads it.
//!
//! Source: `parser.go` of github.com/joho/godotenv 1.5.1, which the CLI is built with, with three corrections of later
//! versions: hyphens in names, an escaped backslash before the closing quote, and comments that contain another `#`.
//! Two differences are this module's own: a byte order mark is skipped, and a quoted value may end with an escaped
//! quote.

use std::collections::BTreeMap;

/// The prefix with which shells export a variable.
const EXPORT: &str = "export";

/// The reason why a text cannot be parsed. It contains no part of the text, which may contain secrets.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("{what} in line {line}")]
pub(crate) struct SyntaxError {
    what: &'static str,
    /// Counted from 1.
    line: usize,
}

/// Parses the variables of `text`. If a name occurs several times, the last value counts.
///
/// Errors: [`SyntaxError`] for a character that is not allowed in names, and for a quote that is not closed.
pub(crate) fn parse(text: &str) -> Result<BTreeMap<String, String>, SyntaxError> {
    let text = text.strip_prefix('\u{feff}').unwrap_or(text).replace("\r\n", "\n");
    let error_at = |what, rest: &str| {
        let before = &text.as_bytes()[..text.len() - rest.len()];
        SyntaxError { what, line: 1 + before.iter().filter(|byte| **byte == b'\n').count() }
    };
    let mut values = BTreeMap::new();
    let mut rest = statement(&text);
    while !rest.is_empty() {
        let (name, at_value) =
            name(rest).map_err(|rest| error_at("a character that no name may have", rest))?;
        let (value, after) = value(at_value, &values)
            .ok_or_else(|| error_at("a quote that is not closed, which begins", at_value))?;
        if !name.is_empty() {
            values.insert(name.to_owned(), value);
        }
        rest = statement(after);
    }
    Ok(values)
}

/// Skips white space and comment lines.
fn statement(text: &str) -> &str {
    let mut rest = text.trim_start();
    while rest.starts_with('#') {
        rest = rest.find('\n').map_or("", |end| rest[end..].trim_start());
    }
    rest
}

/// Splits `text` after the separator of its first name. A last line without a separator has no name.
///
/// Errors: the rest of the text, from the first character that a name cannot have.
fn name(text: &str) -> Result<(&str, &str), &str> {
    let text = match text.strip_prefix(EXPORT) {
        Some(rest) if rest.starts_with(is_blank) => rest.trim_start_matches(is_blank),
        _ => text,
    };
    let is_of_name = |char: char| is_blank(char) || char.is_alphanumeric() || matches!(char, '_' | '.' | '-');
    let Some(end) = text.find(|char| !is_of_name(char)) else { return Ok(("", "")) };
    let (name, rest) = text.split_at(end);
    let after = rest.strip_prefix(['=', ':']).ok_or(rest)?;
    Ok((name.trim_end(), after.trim_start_matches(is_blank)))
}

/// Returns the value that `text` begins with, and what follows it; `None` for a quote that is not closed. `values` has
/// the variables that the value may refer to.
fn value<'t>(text: &'t str, values: &BTreeMap<String, String>) -> Option<(String, &'t str)> {
    if let Some(text) = text.strip_prefix('\'') {
        let (quoted, rest) = up_to_quote(text, '\'')?;
        return Some((quoted.to_owned(), rest));
    }
    if let Some(text) = text.strip_prefix('"') {
        let (quoted, rest) = up_to_quote(text, '"')?;
        return Some((expanded(&unescaped(quoted), values), rest));
    }
    let (line, rest) = text.split_at(text.find(['\n', '\r']).unwrap_or(text.len()));
    let mut signs = line.match_indices('#').map(|(at, _)| &line[..at]);
    let value = signs.find(|before| before.ends_with(is_blank)).unwrap_or(line);
    Some((expanded(value.trim_matches(is_blank), values), rest))
}

/// Splits `text` at the first `quote` that is not escaped by a backslash.
fn up_to_quote(text: &str, quote: char) -> Option<(&str, &str)> {
    let mut is_escaped = false;
    let end = text.find(|char| {
        let is_end = char == quote && !is_escaped;
        is_escaped = char == '\\' && !is_escaped;
        is_end
    })?;
    Some((&text[..end], &text[end + quote.len_utf8()..]))
}

/// Replaces the escapes of a text in double quotes, except those of dollar signs, which [`expanded`] replaces.
fn unescaped(text: &str) -> String {
    let mut unescaped = String::with_capacity(text.len());
    let mut chars = text.chars();
    while let Some(char) = chars.next() {
        let next = if char == '\\' { chars.next() } else { None };
        match next {
            Some('n') => unescaped.push('\n'),
            Some('r') => unescaped.push('\r'),
            Some('$') => unescaped.push_str("\\$"),
            Some(other) => unescaped.push(other),
            None => unescaped.push(char),
        }
    }
    unescaped
}

/// Replaces `$NAME` and `${NAME}` by the values of the variables, or by nothing if there is none. A name consists of
/// capital letters, digits and underscores. A dollar sign without a name, or after a backslash, stays unchanged. As in
/// the source, braces need not be paired, and `(` may precede a name.
fn expanded(text: &str, values: &BTreeMap<String, String>) -> String {
    let mut expanded = String::with_capacity(text.len());
    let mut rest = text;
    while let Some((before, after)) = rest.split_once('$') {
        let name = after.strip_prefix('(').unwrap_or(after);
        let name = name.strip_prefix('{').unwrap_or(name);
        let is_of_name = |char: char| char.is_ascii_uppercase() || char.is_ascii_digit() || char == '_';
        let (name, end) = name.split_at(name.find(|char| !is_of_name(char)).unwrap_or(name.len()));
        rest = end.strip_prefix('}').unwrap_or(end);
        let plain = before.strip_suffix('\\');
        expanded.push_str(plain.unwrap_or(before));
        if plain.is_some() || name.is_empty() {
            expanded.push('$');
            expanded.push_str(&after[..after.len() - rest.len()]);
        } else {
            expanded.push_str(values.get(name).map_or("", String::as_str));
        }
    }
    expanded.push_str(rest);
    expanded
}

/// Reports whether `char` is white space within a line. Before a value, that includes a carriage return without a
/// newline.
fn is_blank(char: char) -> bool {
    matches!(char, '\t' | '\u{b}' | '\u{c}' | '\r' | ' ' | '\u{85}' | '\u{a0}')
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns the variables of `text`, as pairs.
    fn pairs(text: &str) -> Vec<(String, String)> {
        parse(text).unwrap_or_else(|error| panic!("{text:?}: {error}")).into_iter().collect()
    }

    /// Checks that each text sets `A` to the value next to it, and nothing else.
    fn check(cases: &[(&str, &str)]) {
        for (text, value) in cases {
            assert_eq!(pairs(text), [("A".to_owned(), (*value).to_owned())], "{text:?}");
        }
    }

    #[test]
    fn unquoted_values_are_the_rest_of_their_line() {
        check(&[
            ("A=My App Name", "My App Name"),
            (r#"A=[{"id": "x"}]"#, r#"[{"id": "x"}]"#),
            (r#"A={"a":1,"b":"c"}"#, r#"{"a":1,"b":"c"}"#),
            ("A: b", "b"),
            ("A:b=c", "b=c"),
            ("A=it's", "it's"),
            ("A=-----BEGIN KEY-----", "-----BEGIN KEY-----"),
            ("A=pa$$w0rd", "pa$$w0rd"),
            ("A=eyJ.x-_y==", "eyJ.x-_y=="),
            ("A=postgres://a:b@h/d?x=y#z", "postgres://a:b@h/d?x=y#z"),
            (r"A=C:\new\dir", r"C:\new\dir"),
            (" \t A \t= \t b \t ", "b"),
            ("A=", ""),
            ("A= \n", ""),
            ("export A=b", "b"),
            ("export \tA=b", "b"),
            ("A=b\r\n", "b"),
            ("A=b\r", "b"),
            ("\u{feff}A=b", "b"),
            ("A=1\nA=2", "2"),
        ]);
        assert_eq!(pairs("A=\nB=b\r\n\r\n\tC=c"), pairs("A=''\nB='b'\nC='c'"));
        assert_eq!(pairs("export=1\nexportA=2\nA.b-C=3\nÄ=4").len(), 4);
    }

    #[test]
    fn comments_follow_white_space() {
        check(&[
            ("# B=b\n\n  # C=c\nA=b", "b"),
            ("A=b # c", "b"),
            ("A=b\t#c", "b"),
            ("A=b # c # d", "b"),
            ("A=b#c", "b#c"),
            ("A=b#c # d", "b#c"),
            ("A=#b", "#b"),
            ("A= #b", "#b"),
            ("A='b # c' # d", "b # c"),
            ("A=\"b # c\"#d\n#", "b # c"),
        ]);
        assert_eq!(pairs("# A=b"), []);
        assert_eq!(pairs(" \n"), []);
    }

    #[test]
    fn quotes_of_quoted_values_are_removed() {
        check(&[
            (r#"A="b c""#, "b c"),
            ("A=' b '", " b "),
            ("A=''", ""),
            (r#"A="""#, ""),
            ("A=\"b\nc\r\nd\"", "b\nc\nd"),
            ("A='b\nc'", "b\nc"),
            (r#"A='{"b": "$c"}'"#, r#"{"b": "$c"}"#),
            (r#"A="it's""#, "it's"),
            (r"A='it\'s'", r"it\'s"),
            (r"A='b\n$C\$'", r"b\n$C\$"),
        ]);
        assert_eq!(pairs("A='a' B=\"b\"C=c"), pairs("A=a\nB=b\nC=c"));
    }

    #[test]
    fn double_quotes_support_escapes() {
        check(&[
            (r#"A="b\nc\rd\te""#, "b\nc\rdte"),
            (r#"A="b\\nc""#, r"b\nc"),
            (r#"A="{\"b\":\"c\"}""#, r#"{"b":"c"}"#),
            (r#"A="say \"b\"""#, r#"say "b""#),
            (r#"A="C:\\""#, r"C:\"),
            (r#"A="b\$C $ c$""#, "b$C $ c$"),
            (r#"A="\$$""#, "$$"),
        ]);
    }

    #[test]
    fn variables_of_earlier_lines_are_inserted() {
        let value = |text: &str| parse(&format!("B=b\nB_1='$B'\n{text}\nD=d")).unwrap().remove("A").unwrap();
        for (text, expected) in [
            ("A=$B", "b"),
            ("A=${B}", "b"),
            ("A=x${B}y$B/z", "xbyb/z"),
            ("A=\"x $B\"", "x b"),
            ("A=$B_1", "$B"),
            ("A=$B-1", "b-1"),
            ("A='$B'", "$B"),
            (r"A=\$B", "$B"),
            (r"A=\${B}", "${B}"),
            (r#"A="\$B""#, "$B"),
            ("A=$Bc", "bc"),
            ("A=$b", "$b"),
            ("A=${b}", "${b}"),
            ("A=x$D", "x"),
            ("A=x$PATH", "x"),
            ("A=$(b)", "$(b)"),
            ("A=$(B)", "b)"),
            ("A=${B", "b"),
            ("A=$5 $", " $"),
        ] {
            assert_eq!(value(text), expected, "{text}");
        }
    }

    #[test]
    fn an_error_names_its_line() {
        let refusal = |text: &str| parse(text).unwrap_err().to_string();
        let name = |line: u8| format!("a character that no name may have in line {line}");
        assert_eq!(refusal("A=b\n\n# c\nB/C=d"), name(4));
        assert_eq!(refusal("A=b\nB\nC=d"), name(2));
        assert_eq!(refusal("A='b\nc'd\ne"), name(2));
        assert_eq!(refusal("A='it''s'"), name(1));
        assert_eq!(refusal("A=b\r\nB=\"c\r\nhunter2"), "a quote that is not closed, which begins in line 2");
        assert_eq!(refusal("A=\nB='c\\'"), "a quote that is not closed, which begins in line 2");
        // As in the source, an incomplete last line is ignored.
        assert_eq!(pairs("A=b\nB"), pairs("A=b"));
    }
}

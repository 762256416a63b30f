//! Texts without credentials: whoever writes to a log should not, and may do so all the same.

/// What takes the place of the rest of a credential.
const REST: &str = "…";
/// The beginnings of keys and of access tokens, which nothing else has.
const BEGINNINGS: [&str; 2] = ["sb_secret_", "sbp_"];
/// The beginning of a token (RFC 7519): that of an object of JSON in base64url, and the shortest such token.
const TOKEN: &str = "eyJ";
const SHORTEST_TOKEN: usize = 40;

/// Returns `text` without the rest of keys and tokens, and without passwords of URLs.
pub(super) fn masked(text: &str) -> String {
    let mut result = String::with_capacity(text.len());
    let mut rest = text;
    while !rest.is_empty() {
        let length = rest.find(|symbol| !is_of_word(symbol)).unwrap_or(rest.len());
        let (word, after) = rest.split_at(length);
        result.push_str(shown(word));
        if shown(word).len() < word.len() {
            result.push_str(REST);
        }
        rest = after;
        if let Some((login, after)) = password(rest) {
            result.push_str(login);
            result.push_str(REST);
            rest = after;
        } else if let Some(symbol) = rest.chars().next() {
            result.push(symbol);
            rest = &rest[symbol.len_utf8()..];
        }
    }
    result
}

const fn is_of_word(symbol: char) -> bool {
    symbol.is_ascii_alphanumeric() || matches!(symbol, '_' | '-' | '.')
}

/// Returns the part of a word that may be shown.
fn shown(word: &str) -> &str {
    if word.starts_with(TOKEN) && word.len() >= SHORTEST_TOKEN && word.matches('.').count() >= 2 {
        return TOKEN;
    }
    let beginning = BEGINNINGS.into_iter().find(|beginning| word.starts_with(beginning) && word.len() > 16);
    beginning.unwrap_or(word)
}

/// Splits `://login:password@host` before and after the password; `None` for other texts.
fn password(text: &str) -> Option<(&str, &str)> {
    let authority = text.strip_prefix("://")?;
    let end = authority.find(|symbol: char| symbol.is_whitespace() || matches!(symbol, '/' | '?' | '"'));
    let authority = &authority[..end.unwrap_or(authority.len())];
    let at = authority.rfind('@')?;
    let colon = authority[..at].find(':')?;
    let begin = "://".len();
    Some((&text[..begin + colon + 1], &text[begin + at..]))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn credentials_are_left_out() {
        let token = format!("eyJhbGciOiJIUzI1NiJ9.{}.abc-_1", "eyJyb2xlIjoiYW5vbiJ9");
        let cases = [
            ("nothing to hide: a@b.example, 12:30, é", "nothing to hide: a@b.example, 12:30, é"),
            (&format!("Bearer {token}, and more"), "Bearer eyJ…, and more"),
            ("key=sb_secret_0123456789abcdef!", "key=sb_secret_…!"),
            (&format!("sbp_{}", "0".repeat(40)), "sbp_…"),
            (
                "postgresql://postgres:geheim@db:5432/x https://a.example/b:c@d",
                "postgresql://postgres:…@db:5432/x https://a.example/b:c@d",
            ),
            ("eyJ", "eyJ"),
        ];
        for (text, expected) in cases {
            assert_eq!(masked(text), expected, "{text}");
        }
    }
}

//! Patterns of the allow-list of redirects.

/// A pattern in which `.` and `/` separate: `*` stands for any run without separators, `**` for anything, `?` for
/// one character that is no separator, `[a-z]` and `[!a-z]` for one of or out of a class, `{a,b}` for alternatives;
/// `\` takes the next character's meaning away.
#[derive(Debug, Clone)]
pub(crate) struct Glob(Vec<Vec<Token>>);

#[derive(Debug, Clone, PartialEq, Eq)]
enum Token {
    Character(char),
    /// One character that is no separator.
    One,
    /// Any run without separators.
    Run,
    /// Anything.
    Anything,
    Class {
        negated: bool,
        ranges: Vec<(char, char)>,
    },
}

/// Alternatives multiply; more than this many are not taken on.
const MOST_ALTERNATIVES: usize = 256;

impl Glob {
    /// Parses a pattern. `None` for one with an open bracket or brace, or with too many alternatives.
    pub(crate) fn parse(pattern: &str) -> Option<Self> {
        let characters: Vec<char> = pattern.chars().collect();
        let mut rest = characters.as_slice();
        let sequences = alternatives(&mut rest, false)?;
        rest.is_empty().then_some(Self(sequences))
    }

    /// Returns whether the whole of `text` is of this form. Takes time in proportion to the product of both lengths at
    /// most.
    pub(crate) fn matches(&self, text: &str) -> bool {
        let text: Vec<char> = text.chars().collect();
        self.0.iter().any(|tokens| sequence_matches(tokens, &text))
    }
}

/// Reads sequences up to the end or, within braces, up to the closing one.
fn alternatives(rest: &mut &[char], within_braces: bool) -> Option<Vec<Vec<Token>>> {
    let mut finished = Vec::new();
    let mut current: Vec<Vec<Token>> = vec![Vec::new()];
    while let Some((&character, after)) = rest.split_first() {
        *rest = after;
        match character {
            ',' if within_braces => finished.append(&mut std::mem::replace(&mut current, vec![Vec::new()])),
            '}' if within_braces => {
                finished.append(&mut current);
                return Some(finished);
            }
            '{' => {
                let inner = alternatives(rest, true)?;
                current = current
                    .iter()
                    .flat_map(|start| inner.iter().map(move |end| [start.as_slice(), end].concat()))
                    .collect();
                if current.len() > MOST_ALTERNATIVES {
                    return None;
                }
            }
            other => {
                let token = token(other, rest)?;
                current.iter_mut().for_each(|sequence| sequence.push(token.clone()));
            }
        }
    }
    (!within_braces).then_some(current)
}

fn token(first: char, rest: &mut &[char]) -> Option<Token> {
    Some(match first {
        '?' => Token::One,
        '*' if rest.first() == Some(&'*') => {
            *rest = &rest[1..];
            Token::Anything
        }
        '*' => Token::Run,
        '[' => class(rest)?,
        '\\' => {
            let (&escaped, after) = rest.split_first()?;
            *rest = after;
            Token::Character(escaped)
        }
        other => Token::Character(other),
    })
}

fn class(rest: &mut &[char]) -> Option<Token> {
    let end = rest.iter().position(|character| *character == ']')?;
    let (mut members, after) = (&rest[..end], &rest[end + 1..]);
    *rest = after;
    let negated = members.first() == Some(&'!');
    if negated {
        members = &members[1..];
    }
    let mut ranges = Vec::new();
    while let Some((&low, after)) = members.split_first() {
        match after {
            ['-', high, after @ ..] => {
                ranges.push((low, *high));
                members = after;
            }
            _ => {
                ranges.push((low, low));
                members = after;
            }
        }
    }
    Some(Token::Class { negated, ranges })
}

fn separates(character: char) -> bool {
    matches!(character, '.' | '/')
}

/// Keeps the set of positions in `text` that the tokens so far may end at.
fn sequence_matches(tokens: &[Token], text: &[char]) -> bool {
    let mut ends = vec![false; text.len() + 1];
    ends[0] = true;
    for token in tokens {
        let mut next = vec![false; text.len() + 1];
        for position in 0..=text.len() {
            match token {
                Token::Run | Token::Anything => {
                    let extends = position > 0
                        && next[position - 1]
                        && (*token == Token::Anything || !separates(text[position - 1]));
                    next[position] = ends[position] || extends;
                }
                single => {
                    next[position] =
                        position > 0 && ends[position - 1] && one_matches(single, text[position - 1]);
                }
            }
        }
        ends = next;
    }
    ends[text.len()]
}

fn one_matches(token: &Token, character: char) -> bool {
    match token {
        Token::Character(expected) => *expected == character,
        Token::One => !separates(character),
        Token::Class { negated, ranges } => {
            ranges.iter().any(|(low, high)| (*low..=*high).contains(&character)) != *negated
        }
        Token::Run | Token::Anything => true,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn matches(pattern: &str, text: &str) -> bool {
        Glob::parse(pattern).unwrap().matches(text)
    }

    #[test]
    fn stars_stop_at_separators_unless_doubled() {
        assert!(matches("https://*.example.com/**", "https://app.example.com/a/b?c=d.e"));
        assert!(!matches("https://*.example.com/*", "https://a.b.example.com/x"));
        assert!(!matches("https://*.example.com/*", "https://app.example.com/a/b"));
        assert!(matches("http://localhost:*/**", "http://localhost:5173/"));
        assert!(matches("myapp://**", "myapp://"));
        assert!(!matches("https://example.com", "https://example.com/"));
    }

    #[test]
    fn classes_alternatives_and_escapes() {
        assert!(matches("https://example.{com,org}/p?ge", "https://example.org/page"));
        assert!(!matches("https://example.{com,org}/p?ge", "https://example.net/page"));
        assert!(matches("app[0-9]-[!a-c]", "app7-d"));
        assert!(!matches("app[0-9]-[!a-c]", "app7-b"));
        assert!(matches("a\\*b", "a*b") && !matches("a\\*b", "axb"));
        assert!(matches("{a,{b,c}d}", "cd"));
    }

    #[test]
    fn what_is_left_open_is_no_pattern() {
        for pattern in ["{a,b", "[a-z", "a\\", &"{a,b}".repeat(9)] {
            assert!(Glob::parse(pattern).is_none(), "{pattern}");
        }
    }

    #[test]
    fn many_stars_cost_no_more_than_their_product() {
        assert!(!matches(&"**a".repeat(50), &"ab".repeat(2000)));
    }
}

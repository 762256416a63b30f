//! SQL for operators: without values, and as a short summary.

/// The maximum length of an SQL text for operators, in bytes.
const LONGEST: usize = 2000;
/// The maximum length of a summary (OpenTelemetry's semantic conventions, "Database client spans").
const LONGEST_SUMMARY: usize = 255;

/// Returns `sql` with `?` in place of strings and numbers, on one line and without comments. Placeholders and names
/// stay.
pub fn without_values(sql: &str) -> String {
    let mut text = String::with_capacity(sql.len().min(LONGEST));
    let mut rest = sql;
    while let Some(first) = rest.chars().next() {
        if text.len() > LONGEST {
            break;
        }
        let (part, is_value) = next(rest, text.chars().next_back());
        rest = &rest[part.len()..];
        let is_blank = first.is_whitespace() || is_comment(part);
        match (is_value, is_blank) {
            (true, _) => text.push('?'),
            (false, true) if text.is_empty() || text.ends_with(' ') => {}
            (false, true) => text.push(' '),
            (false, false) => text.push_str(part),
        }
    }
    text.truncate(text.trim_end().len());
    truncate(&mut text, LONGEST);
    text
}

/// Shortens `text` to `longest` bytes at most; if it is shortened, appends `…`.
pub(crate) fn truncate(text: &mut String, longest: usize) {
    if text.len() > longest {
        text.truncate(text.floor_char_boundary(longest));
        text.push('…');
    }
}

fn is_comment(part: &str) -> bool {
    part.starts_with("--") || part.starts_with("/*")
}

/// Returns the first part of `sql`, which is not empty, and whether it is a value. `before` is the character before it.
fn next(sql: &str, before: Option<char>) -> (&str, bool) {
    let bytes = sql.as_bytes();
    let follows_name = before.is_some_and(|before| before.is_alphanumeric() || "_$".contains(before));
    let (length, is_value) = match bytes[0] {
        b'\'' => (quoted(bytes, b'\'', false), true),
        // A string with escapes, unless the letter is the end of a name.
        b'e' | b'E' if bytes.get(1) == Some(&b'\'') && !follows_name => {
            (1 + quoted(&bytes[1..], b'\'', true), true)
        }
        b'"' => (quoted(bytes, b'"', false), false),
        b'$' if !follows_name => match dollar_quoted(sql) {
            Some(length) => (length, true),
            None => (1 + run(&bytes[1..], |byte| byte.is_ascii_digit()), false),
        },
        b'-' if bytes.get(1) == Some(&b'-') => (run(bytes, |byte| byte != b'\n'), false),
        b'/' if bytes.get(1) == Some(&b'*') => (comment(bytes), false),
        b'0'..=b'9' if !follows_name => {
            (run(bytes, |byte| byte.is_ascii_alphanumeric() || byte == b'.'), true)
        }
        byte if byte.is_ascii_alphabetic() || byte == b'_' => {
            (run(bytes, |byte| byte.is_ascii_alphanumeric() || byte == b'_'), false)
        }
        _ => (sql.chars().next().map_or(1, char::len_utf8), false),
    };
    (&sql[..length.clamp(1, sql.len())], is_value)
}

fn run(bytes: &[u8], belongs: impl Fn(u8) -> bool) -> usize {
    bytes.iter().take_while(|byte| belongs(**byte)).count()
}

/// Returns the length of a token that begins with `quote`. It does not end at a doubled quote or, with escapes, at a
/// quote after a backslash.
fn quoted(bytes: &[u8], quote: u8, has_escapes: bool) -> usize {
    let mut at = 1;
    while let Some(&byte) = bytes.get(at) {
        match byte {
            b'\\' if has_escapes => at += 2,
            byte if byte == quote && bytes.get(at + 1) == Some(&quote) => at += 2,
            byte if byte == quote => return at + 1,
            _ => at += 1,
        }
    }
    bytes.len()
}

/// Returns the length of `$tag$…$tag$`; `None` if `sql` begins with something else.
fn dollar_quoted(sql: &str) -> Option<usize> {
    let tag = sql[1..].find('$').map(|end| &sql[..end + 2])?;
    let is_name = |name: &str| {
        !name.starts_with(|first: char| first.is_ascii_digit())
            && name.chars().all(|character| character.is_alphanumeric() || character == '_')
    };
    let body = is_name(&tag[1..tag.len() - 1]).then(|| &sql[tag.len()..])?;
    Some(body.find(tag).map_or(sql.len(), |end| end + 2 * tag.len()))
}

/// Returns the length of a comment, which may contain other comments.
fn comment(bytes: &[u8]) -> usize {
    let (mut at, mut depth) = (0, 0_usize);
    while at < bytes.len() {
        match &bytes[at..] {
            [b'/', b'*', ..] => (at, depth) = (at + 2, depth + 1),
            [b'*', b'/', ..] if depth <= 1 => return at + 2,
            [b'*', b'/', ..] => (at, depth) = (at + 2, depth - 1),
            _ => at += 1,
        }
    }
    bytes.len()
}

/// Returns the operation and the table of a statement, such as `INSERT public.goods`. `sql` must have no values.
pub(crate) fn summary(sql: &str) -> String {
    let words: Vec<&str> = words(sql).collect();
    let is = |at: usize, word: &str| words.get(at).is_some_and(|found| found.eq_ignore_ascii_case(word));
    let is_change = |at: &usize| {
        // Unlike the word in `for update` and `on conflict do update`.
        let is_clause = *at > 0 && ["for", "key", "do", "on"].iter().any(|before| is(*at - 1, before));
        ["insert", "update", "delete", "merge"].iter().any(|change| is(*at, change)) && !is_clause
    };
    let begin = (0..words.len()).find(is_change);
    let begin = begin.or_else(|| (0..words.len()).find(|at| is(*at, "select"))).unwrap_or(0);
    let operation = words.get(begin).map_or_else(|| "statement".to_owned(), |word| word.to_ascii_uppercase());
    let leads = match operation.as_str() {
        "INSERT" | "MERGE" => "into",
        "UPDATE" => "update",
        _ => "from",
    };
    let is_name =
        |word: &&&str| word.starts_with(|first: char| first.is_alphabetic() || "\"_".contains(first));
    let target =
        (begin..words.len()).filter(|at| is(*at, leads)).find_map(|at| words.get(at + 1).filter(is_name));
    let mut summary = match target {
        Some(target) => format!("{operation} {}", target.replace('"', "")),
        None => operation,
    };
    truncate(&mut summary, LONGEST_SUMMARY - '…'.len_utf8());
    summary
}

/// Returns the words of `sql`: names with their schemas, and all other characters except blanks, one by one.
fn words(sql: &str) -> impl Iterator<Item = &str> {
    let mut rest = sql;
    std::iter::from_fn(move || {
        rest = rest.trim_start();
        let mut end = 0;
        while let Some(first) = rest[end..].chars().next() {
            let is_part = first.is_alphanumeric() || "_.\"".contains(first);
            if !is_part {
                break;
            }
            end += if first == '"' { quoted(&rest.as_bytes()[end..], b'"', false) } else { first.len_utf8() };
        }
        let end = if end == 0 { rest.chars().next()?.len_utf8() } else { end };
        let (word, tail) = rest.split_at(end);
        rest = tail;
        Some(word)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_not_shown() {
        for (sql, expected) in [
            ("select 'it''s', 1.5e3, $1::text", "select ?, ?, $1::text"),
            (r"select E'a\'b', e'x' , rose'1'", "select ?, ? , rose?"),
            ("select \"a 'b' 1\".\"c\"\"d\" from t1", "select \"a 'b' 1\".\"c\"\"d\" from t1"),
            ("do $$ begin 'x' end $$; select $tag$ secret $tag$, $2", "do ?; select ?, $2"),
            ("select 1 -- a secret\n, 2 /* another /* secret */ one */ , 3", "select ? , ? , ?"),
            ("  select\n\t a\n", "select a"),
            ("select 'unclosed", "select ?"),
            ("select $tag$ unclosed", "select ?"),
            ("select a[1], -5, 'ä', \"ö\"", "select a[?], -?, ?, \"ö\""),
            ("select x'ff', U&'\\0041'", "select x?, U&?"),
        ] {
            assert_eq!(without_values(sql), expected);
        }
    }

    #[test]
    fn long_texts_are_cut_off() {
        let text = without_values(&format!("select {}", "ä, ".repeat(LONGEST)));
        assert!(text.len() < LONGEST + 8 && text.ends_with('…'), "{}", text.len());
    }

    #[test]
    fn summaries_have_the_operation_and_the_table() {
        for (sql, expected) in [
            (
                "SELECT count(*) FROM (SELECT a FROM \"public\".\"play ers\" AS p) AS x",
                "SELECT public.play ers",
            ),
            (
                "WITH s AS (INSERT INTO \"public\".\"teams\" (a) VALUES ($1)) SELECT 1 FROM s",
                "INSERT public.teams",
            ),
            ("insert into t (a) select 1 on conflict do update set a = 1", "INSERT t"),
            ("update auth.users set a = $1", "UPDATE auth.users"),
            ("select id from queue for update skip locked", "SELECT queue"),
            ("delete from only x", "DELETE only"),
            ("merge into m using n", "MERGE m"),
            ("select pg_sleep(?)", "SELECT"),
            ("vacuum full", "VACUUM"),
            ("", "statement"),
        ] {
            assert_eq!(summary(sql), expected, "{sql}");
        }
    }
}

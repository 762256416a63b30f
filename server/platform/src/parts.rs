//! Parts that several statements of SQL share.

/// Returns `sql` with parts in the place of their names: `{name}`, or `{name:argument}`, which stands for the `@` in the
/// part. `parts` are names with their SQL, which may have parts itself. The lines of a part are indented as its name is.
pub(crate) fn assembled(sql: &str, parts: &[(&str, &str)]) -> String {
    let lines: Vec<String> = sql.lines().map(|line| assembled_line(line, parts)).collect();
    lines.join("\n")
}

fn assembled_line(line: &str, parts: &[(&str, &str)]) -> String {
    let named = parts.iter().find_map(|(name, part)| {
        let (before, rest) = line.split_once(&format!("{{{name}"))?;
        let (argument, after) = rest.split_once('}')?;
        let argument = if argument.is_empty() { "" } else { argument.strip_prefix(':')? };
        Some((before, *part, argument, after))
    });
    let Some((before, part, argument, after)) = named else { return line.to_owned() };
    let indent = " ".repeat(line.len() - line.trim_start().len());
    let part = assembled(part, parts).replace('@', argument).replace('\n', &format!("\n{indent}"));
    format!("{before}{part}{after}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_become_parts_with_their_argument_and_indentation() {
        let parts = [("of", "@.a = 1\n  and {not:@}"), ("not", "not @.b"), ("often", "x")];
        assert_eq!(assembled("where\n  {of:t}\n  {often}", &parts), "where\n  t.a = 1\n    and not t.b\n  x");
        assert_eq!(assembled("select '{a}' ~ '{2}'", &parts), "select '{a}' ~ '{2}'");
    }
}

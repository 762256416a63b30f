//! The reference of settings for operators, in Markdown.

use std::fmt::Write as _;

use crate::{Setting, Table};

/// Returns the section `heading` of the reference: a table of the settings of `T`, whose keys in `config.toml` are
/// below `prefix`.
pub fn reference<T: Table>(heading: &str, prefix: &str) -> String {
    reference_of(heading, prefix, &T::default())
}

/// Returns what [`reference()`] returns, with other defaults than those of the table.
pub fn reference_of<T: Table>(heading: &str, prefix: &str, defaults: &T) -> String {
    let mut text =
        format!("## {heading}\n\n| Setting | Value | Default | Meaning |\n| --- | --- | --- | --- |\n");
    for setting in T::settings() {
        let default = (setting.show)(defaults).map_or_else(String::new, |value| code(&value));
        // Writing into a `String` cannot fail.
        let _ = writeln!(
            text,
            "| {} | {} | {default} | {} |",
            names(setting, prefix),
            cell(setting.expected),
            meaning(setting)
        );
    }
    text
}

fn names<T>(setting: &Setting<T>, prefix: &str) -> String {
    let key = (!setting.key.is_empty()).then(|| match prefix {
        "" => setting.key.to_owned(),
        prefix => format!("{prefix}.{}", setting.key),
    });
    let names: Vec<String> =
        key.iter().map(String::as_str).chain(setting.variables.iter().copied()).map(code).collect();
    names.join("<br>")
}

fn meaning<T>(setting: &Setting<T>) -> String {
    let lines: Vec<&str> = setting.documentation.iter().map(|line| line.trim()).collect();
    let reread = if setting.is_reread { " Read again on reload." } else { "" };
    format!("{}{reread}", cell(&lines.join(" ")))
}

fn code(text: &str) -> String {
    format!("`{}`", cell(text))
}

/// Returns `text` in the form for a cell of a table.
fn cell(text: &str) -> String {
    text.replace('|', "\\|")
}

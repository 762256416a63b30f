//! What the words of the command line mean: which command they are for, and what to do about words of earlier versions.

use std::ffi::OsString;
use std::path::Path;

use clap::Parser as _;
use clap::error::{ContextKind, ContextValue, ErrorKind};

use super::Arguments;

/// The names under which this program is one of its commands: those of the programs that the commands replace. Supabase
/// Auth's binary is `auth`, formerly `gotrue`.
const PROGRAMS: [(&str, &str); 3] = [("postgrest", "postgrest"), ("auth", "gotrue"), ("gotrue", "gotrue")];

/// Arguments of `gotrue` that `serve` had.
const OF_GOTRUE: [&str; 4] = ["-c", "--config", "-d", "--config-dir"];
/// Arguments of `postgrest` that `serve` had, beside the configuration file.
const OF_POSTGREST: [&str; 5] = ["--dump-config", "--dump-schema", "--ready", "-e", "--example"];

/// Parses the words of the command line, of which the first is the program's name.
///
/// Errors: those of clap, which also stand for `--help` and `--version`.
pub(crate) fn parse(words: impl IntoIterator<Item = OsString>) -> Result<Arguments, clap::Error> {
    Arguments::try_parse_from(with_command(words.into_iter().collect())).map_err(with_advice)
}

/// Adds the command to `words` if the program's name is that of a program that it replaces.
fn with_command(words: Vec<OsString>) -> Vec<OsString> {
    let name = words.first().and_then(|path| Path::new(path).file_name());
    let command = PROGRAMS.iter().find(|(program, _)| name.is_some_and(|name| name == *program));
    let Some((_, command)) = command else { return words };
    let own = [env!("CARGO_PKG_NAME"), *command].map(OsString::from);
    own.into_iter().chain(words.into_iter().skip(1)).collect()
}

/// Adds the command that has an argument which `serve` does not have any more.
fn with_advice(mut error: clap::Error) -> clap::Error {
    let Some(ContextValue::String(argument)) = error.get(ContextKind::InvalidArg) else { return error };
    let command = match argument.as_str() {
        name if OF_GOTRUE.contains(&name) => "gotrue",
        name if OF_POSTGREST.contains(&name) || !name.starts_with('-') => "postgrest",
        _ => return error,
    };
    if error.kind() == ErrorKind::UnknownArgument && is_about_serve(&error) {
        let advice = format!("'{argument}' is an argument of `basalt {command}`, which takes no --only");
        error.insert(ContextKind::Suggested, ContextValue::StyledStrs(vec![advice.into()]));
    }
    error
}

fn is_about_serve(error: &clap::Error) -> bool {
    let Some(ContextValue::StyledStr(usage)) = error.get(ContextKind::Usage) else { return false };
    // "Usage: basalt serve [OPTIONS]".
    usage.to_string().split_whitespace().nth(2) == Some("serve")
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory as _;

    use super::super::Command;
    use super::*;

    fn parse_words(words: &str) -> Result<Arguments, clap::Error> {
        parse(words.split(' ').map(OsString::from))
    }

    /// Returns what is printed about words that are refused.
    fn refusal(words: &str) -> String {
        parse_words(words).unwrap_err().to_string()
    }

    #[test]
    fn the_command_line_is_consistent() {
        Arguments::command().debug_assert();
    }

    #[test]
    fn the_programs_name_chooses_a_command() {
        let is_postgrest = |words: &str| matches!(parse_words(words).unwrap().command, Command::Postgrest(_));
        let is_gotrue = |words: &str| matches!(parse_words(words).unwrap().command, Command::Gotrue(_));
        for words in ["postgrest", "/usr/bin/postgrest rest.conf --ready", "basalt postgrest -e"] {
            assert!(is_postgrest(words), "{words}");
        }
        for words in
            ["auth", "./auth serve -c a.env", "gotrue -d conf.d serve", "basalt gotrue --config a.env"]
        {
            assert!(is_gotrue(words), "{words}");
        }
        assert!(matches!(parse_words("/opt/basalt-1.0 serve").unwrap().command, Command::Serve(_)));
    }

    #[test]
    fn arguments_that_serve_had_lead_to_the_command_that_has_them() {
        for words in ["--only rest postgrest.conf", "--dump-config", "--only rest --ready", "-e"] {
            let refused = refusal(&format!("basalt serve {words}"));
            assert!(refused.contains("`basalt postgrest`"), "{words}: {refused}");
        }
        for words in ["--only auth -c a.env", "--config=a.env", "--config-dir conf.d", "-d conf.d"] {
            let refused = refusal(&format!("basalt serve {words}"));
            assert!(refused.contains("`basalt gotrue`"), "{words}: {refused}");
        }
        for words in ["serve --prot 1", "functions serve hello", "postgrest --config a.env"] {
            let refused = refusal(&format!("basalt {words}"));
            assert!(!refused.contains("which takes no --only"), "{words}: {refused}");
        }
    }
}

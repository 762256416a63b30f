//! Command lines that `serve` refuses, because they are meant for a program that another command replaces.

use crate::error::Error;
use crate::settings::{GotrueSettings, Invocation, PostgrestSettings, Service};

/// Checks that `invocation` is meant for a project.
///
/// Errors: [`Error::Advice`] with the command to use if `--only` picks one service, and a variable names a database in
/// the way of the program that has only this service.
pub(super) fn refuse(invocation: &Invocation) -> Result<(), Error> {
    let (variable, program, command) = match invocation.only.as_deref() {
        Some([Service::Rest]) => (PostgrestSettings::variable_in(invocation)?, "PostgREST", "postgrest"),
        Some([Service::Auth]) => {
            (GotrueSettings::variable_in(&invocation.variables)?, "Supabase Auth", "gotrue")
        }
        _ => return Ok(()),
    };
    let Some(variable) = variable else { return Ok(()) };
    Err(Error::Advice(format!(
        "{variable} is for {program}, which `basalt {command}` replaces: start that, or unset {variable} to serve a \
         project with --only"
    )))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns the message for `serve --only` with these variables; `None` if a project is served.
    fn refusal(only: &[Service], variables: &[(&str, &str)]) -> Option<String> {
        let variables =
            variables.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
        let only = (!only.is_empty()).then(|| only.to_vec());
        refuse(&Invocation { variables, only, ..Invocation::default() }).err().map(|error| error.to_string())
    }

    #[test]
    fn variables_of_other_programs_are_refused_beside_only_their_service() {
        let uri = ("PGRST_DB_URI", "postgres://a@h/d");
        let refused = refusal(&[Service::Rest], &[uri]).unwrap();
        assert!(refused.contains("PGRST_DB_URI") && refused.contains("`basalt postgrest`"), "{refused}");
        let auth = [("GOTRUE_DB_DRIVER", "postgres"), ("DATABASE_URL", "postgres://a@h/d")];
        let refused = refusal(&[Service::Auth], &auth).unwrap();
        assert!(refused.contains("GOTRUE_DB_DRIVER") && refused.contains("`basalt gotrue`"), "{refused}");

        assert_eq!(refusal(&[], &[uri]), None, "all services are a project's");
        assert_eq!(refusal(&[Service::Rest, Service::Auth], &[uri, auth[0], auth[1]]), None);
        assert_eq!(refusal(&[Service::Rest], &auth), None);
        assert_eq!(refusal(&[Service::Auth], &[uri, auth[1]]), None);
    }
}

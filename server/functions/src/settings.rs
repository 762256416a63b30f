//! What an operator may decide about edge functions.

use std::collections::BTreeMap;

/// Settings of the functions service.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Settings {
    /// The project's functions by name: the folders of its functions folder, with what `[functions.<name>]` of
    /// `config.toml` says about them.
    pub functions: BTreeMap<String, Function>,
}

/// One function.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Function {
    /// Whether it can be called; `enabled` in `config.toml`. Default: true.
    pub enabled: bool,
    /// Whether a caller needs a valid token; `verify_jwt` in `config.toml`. Default: true.
    pub verify_jwt: bool,
}

impl Default for Function {
    fn default() -> Self {
        Self { enabled: true, verify_jwt: true }
    }
}

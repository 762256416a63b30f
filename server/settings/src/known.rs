//! Names that no setting has and that yet draw no warning, or one of their own.
//!
//! In patterns `*` stands for one name, a trailing `**` for any depth.

/// Keys of `config.toml`, and variables, that one crate knows without reading them.
#[derive(Debug, Clone, Copy)]
pub struct KnownKeys {
    /// Keys that mean nothing here.
    pub silent: &'static [&'static str],
    /// Keys that would change what a project sees: each with the value that asks for nothing, if there is one, and why
    /// any other has no effect.
    pub without_effect: &'static [(&'static str, &'static str, &'static str)],
    /// Sections that are off where they do not say `enabled = true`.
    pub off_by_default: &'static [&'static str],
    /// Keys whose value stays the text `env(NAME)` where the variable is not set. Something that is switched on needs
    /// the value, and whoever gets the text refuses it. Every other key counts as absent then.
    pub kept_references: &'static [&'static str],
    /// How the names of the crate's environment variables begin; all others belong to somebody else.
    pub prefixes: &'static [&'static str],
    /// How the names of those variables begin that no reader of settings reads.
    pub read_elsewhere: &'static [&'static str],
}

impl KnownKeys {
    /// No names at all.
    pub const NONE: Self = Self {
        silent: &[],
        without_effect: &[],
        off_by_default: &[],
        kept_references: &[],
        prefixes: &[],
        read_elsewhere: &[],
    };

    /// Returns why the key at `path` has no effect here, if `value` asks for one.
    pub(crate) fn without_effect(&self, path: &[&str], value: &toml::Value) -> Option<&'static str> {
        let (_, nothing, reason) = self.without_effect.iter().find(|(pattern, ..)| fits(pattern, path))?;
        (value.to_string() != *nothing).then_some(*reason)
    }

    /// Reports whether the key at `path` means nothing here.
    pub fn is_silent(&self, path: &[&str]) -> bool {
        self.silent.iter().any(|pattern| fits(pattern, path))
            && !self.without_effect.iter().any(|(pattern, ..)| fits(pattern, path))
    }

    /// Reports whether the section at `path` is off where it says nothing.
    pub(crate) fn is_off_by_default(&self, path: &[&str]) -> bool {
        self.off_by_default.iter().any(|pattern| fits(pattern, path))
    }

    /// Reports whether the key at `path` keeps the text `env(NAME)` of a variable that is not set.
    pub(crate) fn keeps_reference(&self, path: &[&str]) -> bool {
        self.kept_references.iter().any(|pattern| fits(pattern, path))
    }

    /// Reports whether the key at `path` is known, and nobody need read it.
    pub fn is_known(&self, path: &[&str]) -> bool {
        self.patterns().any(|pattern| fits(pattern, path))
    }

    /// Returns the keys without wildcards, as candidates for what a misspelt one meant.
    pub(crate) fn exact(&self) -> impl Iterator<Item = &str> {
        self.patterns().filter(|pattern| !pattern.contains('*'))
    }

    /// Reports whether the environment variable `name` is ours by its name.
    pub(crate) fn is_ours(&self, name: &str) -> bool {
        self.prefixes.iter().any(|prefix| name.starts_with(prefix))
    }

    /// Reports whether the environment variable `name` is ours by its name, and nobody else reads it.
    pub(crate) fn is_to_be_read(&self, name: &str) -> bool {
        self.is_ours(name) && !self.read_elsewhere.iter().any(|known| name.starts_with(known))
    }

    fn patterns(&self) -> impl Iterator<Item = &str> {
        self.silent.iter().copied().chain(self.without_effect.iter().map(|(pattern, ..)| *pattern))
    }
}

fn fits(pattern: &str, path: &[&str]) -> bool {
    matches(&pattern.split('.').collect::<Vec<_>>(), path)
}

fn matches(pattern: &[&str], path: &[&str]) -> bool {
    match (pattern, path) {
        (["**"], [_, ..]) => true,
        ([], []) => true,
        ([first, pattern @ ..], [name, path @ ..]) => {
            (*first == "*" || first == name) && matches(pattern, path)
        }
        _ => false,
    }
}

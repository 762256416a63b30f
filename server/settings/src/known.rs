//! Names that are not settings and cause no warning, or a specific warning.
//!
//! In patterns `*` stands for one name, a trailing `**` for any depth.

/// Keys of `config.toml` and variables that one crate knows without reading them.
#[derive(Debug, Clone, Copy)]
pub struct KnownKeys {
    /// Keys that have no meaning here.
    pub silent: &'static [&'static str],
    /// Keys of features that are missing: each with the value that disables the feature, if there is one, and the
    /// reason why any other value has no effect.
    pub without_effect: &'static [(&'static str, &'static str, &'static str)],
    /// Sections that are off unless they have `enabled = true`.
    pub off_by_default: &'static [&'static str],
    /// Keys whose value stays the text `env(NAME)` if the variable is not set: a provider that is enabled needs the
    /// value, and refuses that text. All other keys count as absent in this case.
    pub kept_references: &'static [&'static str],
    /// The prefixes of the crate's environment variables. Other variables belong to other programs.
    pub prefixes: &'static [&'static str],
    /// The prefixes of those variables that are not read as settings.
    pub read_elsewhere: &'static [&'static str],
}

impl KnownKeys {
    /// No names.
    pub const NONE: Self = Self {
        silent: &[],
        without_effect: &[],
        off_by_default: &[],
        kept_references: &[],
        prefixes: &[],
        read_elsewhere: &[],
    };

    /// Returns the reason why the key at `path` has no effect here, unless `value` disables its feature.
    pub(crate) fn without_effect(&self, path: &[&str], value: &toml::Value) -> Option<&'static str> {
        let (_, nothing, reason) = self.without_effect.iter().find(|(pattern, ..)| fits(pattern, path))?;
        (value.to_string() != *nothing).then_some(*reason)
    }

    /// Reports whether the key at `path` has no meaning here.
    pub fn is_silent(&self, path: &[&str]) -> bool {
        self.silent.iter().any(|pattern| fits(pattern, path))
            && !self.without_effect.iter().any(|(pattern, ..)| fits(pattern, path))
    }

    /// Reports whether the section at `path` is disabled unless it is enabled explicitly.
    pub(crate) fn is_off_by_default(&self, path: &[&str]) -> bool {
        self.off_by_default.iter().any(|pattern| fits(pattern, path))
    }

    /// Reports whether the key at `path` keeps the text `env(NAME)` of a variable that is not set.
    pub(crate) fn keeps_reference(&self, path: &[&str]) -> bool {
        self.kept_references.iter().any(|pattern| fits(pattern, path))
    }

    /// Reports whether the key at `path` is known although it is not read.
    pub fn is_known(&self, path: &[&str]) -> bool {
        self.patterns().any(|pattern| fits(pattern, path))
    }

    /// Returns the keys without wildcards, one of which may have been meant by an unknown key.
    pub(crate) fn exact(&self) -> impl Iterator<Item = &str> {
        self.patterns().filter(|pattern| !pattern.contains('*'))
    }

    /// Reports whether the environment variable `name` has one of the crate's prefixes.
    pub(crate) fn is_ours(&self, name: &str) -> bool {
        self.prefixes.iter().any(|prefix| name.starts_with(prefix))
    }

    /// Reports whether the environment variable `name` has one of the crate's prefixes and must be the name of a
    /// setting.
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

//! Settings as tables: one declaration for the struct, its defaults, its names and its documentation.

use crate::{Invalid, Value};

/// The value of a setting in a source, before it is parsed.
#[derive(Debug, Clone, Copy)]
pub enum RawValue<'a> {
    /// The text of a variable.
    Text(&'a str),
    /// A value of `config.toml`.
    Toml(&'a toml::Value),
}

/// One setting of a `T`.
pub struct Setting<T> {
    /// The lines of its documentation.
    pub documentation: &'static [&'static str],
    /// Its name in `config.toml`, with dots between tables; empty if it has none.
    pub key: &'static str,
    /// The environment variables that set it; earlier ones take precedence.
    pub variables: &'static [&'static str],
    /// A description of the valid values.
    pub expected: &'static str,
    /// Whether a configuration file contains its value without quotes.
    pub is_bare: bool,
    /// Whether it can be read again while the server runs.
    pub is_reread: bool,
    /// Whether an empty text is a valid value. Otherwise it counts as not set.
    pub may_be_empty: bool,
    /// Whether it exists only in a server that runs its service alone.
    pub is_standalone: bool,
    /// Sets it. Errors: what was expected.
    pub read: fn(&mut T, RawValue<'_>) -> Result<(), &'static str>,
    /// Returns its value as the text of a variable; `None` if it has none.
    pub show: fn(&T) -> Option<String>,
}

impl<T> Setting<T> {
    /// Marks it as one that can be read again while the server runs.
    #[must_use]
    pub const fn reread(self) -> Self {
        Self { is_reread: true, ..self }
    }

    /// Marks it as one whose value may be the empty text.
    #[must_use]
    pub const fn may_be_empty(self) -> Self {
        Self { may_be_empty: true, ..self }
    }

    /// Marks it as one that exists only in a server that runs its service alone.
    #[must_use]
    pub const fn standalone(self) -> Self {
        Self { is_standalone: true, ..self }
    }
}

/// A struct that was declared with [`settings!`](crate::settings).
pub trait Table: Default + 'static {
    /// Its fields, in the order of their declaration; `None` for those that are not set by operators.
    const FIELDS: &'static [Option<Setting<Self>>];

    /// Returns its settings.
    fn settings() -> impl Iterator<Item = &'static Setting<Self>> {
        Self::FIELDS.iter().flatten()
    }
}

/// Sets the setting of the environment variable `variable`, and returns whether the table has such a setting. An empty
/// text changes nothing, unless [`Setting::may_be_empty`].
///
/// Errors: [`Invalid`] for an invalid value; nothing is changed then. The error does not repeat a value that may be a
/// secret.
pub fn set<T: Table>(table: &mut T, variable: &str, text: &str) -> Result<bool, Invalid> {
    let Some(setting) = T::settings().find(|setting| setting.variables.contains(&variable)) else {
        return Ok(false);
    };
    if !text.is_empty() || setting.may_be_empty {
        let read = (setting.read)(table, RawValue::Text(text));
        read.map_err(|expected| Invalid::of_value(variable, expected, &format!("{text:?}")))?;
    }
    Ok(true)
}

/// Returns the names of those `settings` that have changed, each given with whether it has.
pub fn changed_names<const N: usize>(settings: [(&'static str, bool); N]) -> Vec<&'static str> {
    settings.into_iter().filter_map(|(name, has_changed)| has_changed.then_some(name)).collect()
}

/// Returns the settings of `table` with their values in the form of a variable, or `None` for those without a value.
pub fn text_values<T: Table>(table: &T) -> impl Iterator<Item = (&'static Setting<T>, Option<String>)> + '_ {
    T::settings().map(|setting| (setting, (setting.show)(table)))
}

impl Invalid {
    /// Returns the error for an invalid value that was `found` for `name`. It does not repeat a value that may be a
    /// secret.
    pub(crate) fn of_value(name: &str, expected: &str, found: &str) -> Self {
        // `security` contains the letters `uri`.
        let lower = name.to_ascii_lowercase().replace("security", "");
        let may_be_secret =
            ["secret", "key", "password", "url", "uri"].iter().any(|word| lower.contains(word));
        Self::new(name, expected, &if may_be_secret { "something else" } else { found })
    }
}

/// Reads a value of a setting's type.
///
/// Errors: what was expected.
pub fn read<V: Value>(found: RawValue<'_>) -> Result<V, &'static str> {
    let value = match found {
        RawValue::Text(text) => V::from_text(text),
        RawValue::Toml(value) => V::from_toml(value),
    };
    value.ok_or(V::EXPECTED)
}

/// Declares a struct of settings: each field has a default, and the names under which operators set it.
///
/// `variables` are environment variables, of which earlier ones take precedence; `key` is the name in `config.toml`;
/// `check` is a function that takes the parsed value and returns the one to use, or what was expected. The marks
/// [`reread`](Setting::reread), [`may_be_empty`](Setting::may_be_empty) and [`standalone`](Setting::standalone) follow
/// a semicolon. A field without `#[setting]` is not set by operators.
///
/// ```
/// settings::settings! {
///     /// Settings of a service.
///     #[derive(Debug)]
///     pub struct Settings {
///         /// Bytes of a header, at most.
///         #[setting(variables = ["MAX_HEADER_LENGTH"], key = "realtime.max_header_length"; reread)]
///         pub max_header_length: usize = 4096,
///     }
/// }
/// let mut settings = Settings::default();
/// assert_eq!(settings::set(&mut settings, "MAX_HEADER_LENGTH", "1"), Ok(true));
/// assert_eq!(settings.max_header_length, 1);
/// ```
#[macro_export]
macro_rules! settings {
    (
        $(#[$meta:meta])*
        $visibility:vis struct $name:ident {$(
            $(#[doc = $line:literal])*
            $(#[setting($($argument:tt)*)])?
            $field_visibility:vis $field:ident: $type:ty = $default:expr
        ),* $(,)?}
    ) => {
        $(#[$meta])*
        $visibility struct $name {$(
            $(#[doc = $line])*
            $field_visibility $field: $type,
        )*}

        impl Default for $name {
            fn default() -> Self {
                Self { $($field: $default,)* }
            }
        }

        impl $crate::Table for $name {
            const FIELDS: &'static [Option<$crate::Setting<Self>>] = &[$(
                $crate::setting!($name, $field, $type, [$($line),*]; $($($argument)*)?),
            )*];
        }
    };
}

/// One entry of a table. Used by [`settings!`](crate::settings).
#[doc(hidden)]
#[macro_export]
macro_rules! setting {
    ($name:ident, $field:ident, $type:ty, [$($line:literal),*];) => {
        None
    };
    (
        $name:ident, $field:ident, $type:ty, [$($line:literal),*];
        variables = [$($variable:literal),*] $(, key = $key:literal)? $(, check = $check:path)? $(; $($mark:ident),*)?
    ) => {
        Some($crate::Setting::<$name> {
            documentation: &[$($line),*],
            key: concat!("" $(, $key)?),
            variables: &[$($variable),*],
            expected: <$type as $crate::Value>::EXPECTED,
            is_bare: <$type as $crate::Value>::IS_BARE,
            is_reread: false,
            may_be_empty: false,
            is_standalone: false,
            read: |settings, found| {
                let value: $type = $crate::read(found)?;
                $(let value: $type = $check(value)?;)?
                settings.$field = value;
                Ok(())
            },
            show: |settings| $crate::Value::show(&settings.$field),
        }
        $($(.$mark())*)?)
    };
}

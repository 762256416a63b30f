//! Enums whose variants are words.

/// Declares an enum whose variants are words, with the constant `ALL` and the functions `name` and `of_name`. The crate
/// `strum` derives as much, but not [`Value`](crate::Value) with its description of the valid values: enums of settings
/// would need a macro beside it, and each word an attribute.
///
/// ```
/// settings::words! {
///     /// A side of a coin.
///     pub enum Side {
///         /// The one with the head.
///         Heads = "heads",
///         /// The other one.
///         Tails = "tails",
///     }
/// }
/// assert_eq!(Side::ALL.map(Side::name), ["heads", "tails"]);
/// assert_eq!((Side::of_name("tails"), Side::of_name("Tails")), (Some(Side::Tails), None));
/// ```
///
/// With a text that describes the valid values, the enum is also a [`Value`](crate::Value). A setting has to be exactly
/// one of the names, or `after` a method of `str` such as `trim`.
///
/// ```
/// use settings::Value as _;
///
/// settings::words! {
///     /// Where bytes are kept.
///     pub enum Backend: "file or s3" {
///         /// In a folder.
///         File = "file",
///         /// In a bucket.
///         S3 = "s3",
///     }
/// }
/// assert_eq!(Backend::from_text("s3"), Some(Backend::S3));
/// assert_eq!((Backend::from_text("S3"), Backend::from_text(" s3")), (None, None));
/// assert_eq!(Backend::File.show().as_deref(), Some("file"));
/// ```
#[macro_export]
macro_rules! words {
    (
        $(#[$meta:meta])*
        $visibility:vis enum $name:ident $(: $expected:literal $(after $method:ident)?)? {
            $($(#[$word_meta:meta])* $variant:ident = $word:literal),* $(,)?
        }
    ) => {
        $(#[$meta])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq)]
        $visibility enum $name {$(
            $(#[$word_meta])*
            $variant,
        )*}

        #[allow(dead_code, reason = "few enums need all three")]
        impl $name {
            /// All variants, in the order of their declaration.
            $visibility const ALL: [Self; [$($word),*].len()] = [$(Self::$variant),*];

            /// Returns the variant's name.
            $visibility const fn name(self) -> &'static str {
                match self { $(Self::$variant => $word,)* }
            }

            /// Returns the variant with this name, or `None` if no variant has it.
            $visibility fn of_name(name: &str) -> Option<Self> {
                match name {
                    $($word => Some(Self::$variant),)*
                    _ => None,
                }
            }
        }

        $(
            impl $crate::Value for $name {
                const EXPECTED: &'static str = $expected;

                fn from_text(text: &str) -> Option<Self> {
                    Self::of_name(text$(.$method())?)
                }

                fn show(&self) -> Option<String> {
                    Some(self.name().to_owned())
                }
            }
        )?
    };
}

//! Settings that are one of a few words.

/// Declares an enum whose variants are words, which is a [`Value`](crate::Value). Spaces around a word are no part of it.
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
/// assert_eq!(Backend::from_text("S3"), None);
/// assert_eq!(Backend::File.show().as_deref(), Some("file"));
/// ```
#[macro_export]
macro_rules! words {
    (
        $(#[$meta:meta])*
        $visibility:vis enum $name:ident: $expected:literal {
            $($(#[$word_meta:meta])* $variant:ident = $word:literal),* $(,)?
        }
    ) => {
        $(#[$meta])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq)]
        $visibility enum $name {$(
            $(#[$word_meta])*
            $variant,
        )*}

        impl $crate::Value for $name {
            const EXPECTED: &'static str = $expected;

            fn from_text(text: &str) -> Option<Self> {
                match text.trim() {
                    $($word => Some(Self::$variant),)*
                    _ => None,
                }
            }

            fn show(&self) -> Option<String> {
                Some(match self { $(Self::$variant => $word,)* }.to_owned())
            }
        }
    };
}

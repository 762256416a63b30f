//! Settings that are one of a few words.

/// Declares an enum whose variants are words, which is a [`Value`](crate::Value). A text has to be a word as it stands,
/// or `after` a method of `str` such as `trim`.
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
        $visibility:vis enum $name:ident: $expected:literal $(after $method:ident)? {
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
                match text$(.$method())? {
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

//! Why pictures are not rendered.

/// Why a picture is not rendered. The messages are those of upstream.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum Refusal {
    /// Not a picture, broken, or in a format that is not read.
    #[error("The source image is invalid or unsupported for rendering")]
    Unsupported,
    /// More pixels than are decoded.
    #[error("The source image resolution is too large to process")]
    Resolution,
    /// More bytes than are read.
    #[error("The source image file is too large to process")]
    FileSize,
    /// Too many pictures are waiting.
    #[error("Too many requests")]
    Overloaded,
    /// It takes too long.
    #[error("Image request timed out")]
    Timeout,
    /// The object's bytes are gone: it was replaced or removed just now.
    #[error("Not found")]
    Missing,
    /// A failure of the service's own.
    #[error("Internal error")]
    Failed,
}

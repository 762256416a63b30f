//! Content encodings that a client accepts. Source: RFC 9110, section 12.5.3.

use poem::http::HeaderMap;

/// A content encoding.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum Encoding {
    /// Not compressed.
    Identity,
    /// RFC 1952.
    Gzip,
    /// RFC 7932.
    Brotli,
}

impl Encoding {
    /// Returns the best encoding that `headers` accept. The order of preference is fixed; a quality of 0 excludes an
    /// encoding.
    pub(crate) fn accepted(headers: &HeaderMap) -> Self {
        if gateway::accepts_coding(headers, "br") {
            Self::Brotli
        } else if gateway::accepts_coding(headers, "gzip") {
            Self::Gzip
        } else {
            Self::Identity
        }
    }

    /// Returns this encoding and then identity, for files that the build has not compressed. Gzip is not a fallback for
    /// Brotli, since the build creates either both or neither.
    pub(crate) fn down_to_identity(self) -> impl Iterator<Item = Self> {
        let compressed = (self != Self::Identity).then_some(self);
        compressed.into_iter().chain([Self::Identity])
    }

    /// Returns the name in `Content-Encoding`.
    pub(crate) const fn name(self) -> Option<&'static str> {
        match self {
            Self::Identity => None,
            Self::Gzip => Some("gzip"),
            Self::Brotli => Some("br"),
        }
    }

    /// Returns the suffix of files that the build script has compressed with this encoding.
    pub(crate) const fn suffix(self) -> Option<&'static str> {
        match self {
            Self::Identity => None,
            Self::Gzip => Some("gz"),
            Self::Brotli => Some("br"),
        }
    }

    /// Compresses `bytes` fast, for the page, which is small and rendered at run time.
    pub(crate) fn compress(self, bytes: &[u8]) -> std::io::Result<Vec<u8>> {
        use std::io::Write as _;
        match self {
            Self::Identity => Ok(bytes.to_vec()),
            Self::Gzip => {
                let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::default());
                encoder.write_all(bytes)?;
                encoder.finish()
            }
            Self::Brotli => {
                let mut compressed = Vec::new();
                let parameters = brotli::enc::BrotliEncoderParams { quality: 5, ..Default::default() };
                brotli::BrotliCompress(&mut &*bytes, &mut compressed, &parameters)?;
                Ok(compressed)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use poem::http::header::ACCEPT_ENCODING;

    use super::*;

    #[test]
    fn the_best_accepted_encoding_is_used() {
        let accepted = |header: &str| {
            let mut headers = HeaderMap::new();
            headers.insert(ACCEPT_ENCODING, header.parse().unwrap());
            Encoding::accepted(&headers)
        };
        assert_eq!(accepted("gzip, deflate, br, zstd"), Encoding::Brotli);
        assert_eq!(accepted("gzip;q=0.5, br;q=0"), Encoding::Gzip);
        assert_eq!(accepted("identity"), Encoding::Identity);
        assert_eq!(accepted("gzip; q=0"), Encoding::Identity);
        assert_eq!(Encoding::accepted(&HeaderMap::new()), Encoding::Identity);
    }
}

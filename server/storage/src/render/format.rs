//! Formats of pictures: of sources, and of responses.

use poem::http::HeaderMap;
use poem::http::header::ACCEPT;

/// Pixels up to which a picture becomes AVIF because `Accept` allows it: half a second of a processor, where WebP takes
/// a twenty-fifth. Beyond this size AVIF is used only when it is requested by name
/// (`docs/decisions/0052-images-are-rendered-in-the-servers-process.md`).
const MAX_NEGOTIATED_AVIF: u64 = 120_000;

::settings::words! {
    /// A format that pictures are read or written in.
    pub(crate) enum Format {
        Jpeg = "jpeg",
        Png = "png",
        Gif = "gif",
        Webp = "webp",
        Avif = "avif",
    }
}

impl Format {
    /// Returns the format of a file by its first bytes, regardless of its name and declared type.
    pub(crate) fn of_bytes(bytes: &[u8]) -> Option<Self> {
        let format = image::guess_format(bytes).ok()?;
        Self::ALL.into_iter().find(|known| known.image_format() == format)
    }

    /// Returns the format with that [`Self::code`].
    pub(crate) fn of_code(code: u8) -> Option<Self> {
        Self::ALL.into_iter().find(|known| known.code() == code)
    }

    /// Returns the number that stands for the format in files of the cache.
    pub(crate) const fn code(self) -> u8 {
        match self {
            Self::Jpeg => b'j',
            Self::Png => b'p',
            Self::Gif => b'g',
            Self::Webp => b'w',
            Self::Avif => b'a',
        }
    }

    pub(crate) fn content_type(self) -> &'static str {
        self.image_format().to_mime_type()
    }

    pub(crate) const fn image_format(self) -> image::ImageFormat {
        match self {
            Self::Jpeg => image::ImageFormat::Jpeg,
            Self::Png => image::ImageFormat::Png,
            Self::Gif => image::ImageFormat::Gif,
            Self::Webp => image::ImageFormat::WebP,
            Self::Avif => image::ImageFormat::Avif,
        }
    }
}

/// The format that a request asks for.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) enum FormatChoice {
    /// The best one that `Accept` names.
    #[default]
    Negotiated,
    /// The source's.
    Origin,
    /// This one.
    Fixed(Format),
}

impl FormatChoice {
    pub(crate) const NAMES: [&str; 3] = ["origin", "avif", "webp"];

    pub(crate) fn of_name(name: &str) -> Option<Self> {
        match name {
            "origin" => Some(Self::Origin),
            "avif" => Some(Self::Fixed(Format::Avif)),
            "webp" => Some(Self::Fixed(Format::Webp)),
            _ => None,
        }
    }

    /// Returns the format if there is only one that the response can have.
    pub(crate) const fn fixed(self) -> Option<Format> {
        match self {
            Self::Fixed(format) => Some(format),
            Self::Negotiated | Self::Origin => None,
        }
    }

    /// Returns the claim `format` of a token.
    pub(crate) const fn claim(self) -> &'static str {
        match self {
            Self::Negotiated => "",
            Self::Origin => "origin",
            Self::Fixed(format) => format.name(),
        }
    }

    /// Returns the formats that the response to a request with `headers` may have.
    pub(crate) fn target(self, headers: &HeaderMap) -> Target {
        match self {
            Self::Fixed(format) => Target::Fixed(format),
            Self::Origin => Target::Source,
            Self::Negotiated => Target::Best(AcceptedFormats::of(headers)),
        }
    }
}

/// The formats that a response may have.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Target {
    /// This one alone.
    Fixed(Format),
    /// The source's.
    Source,
    /// The formats that the client accepts.
    Best(AcceptedFormats),
}

/// The formats that a client accepts. `any` is a wildcard: it allows to keep a source in a newer format, but not to
/// convert another source to one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct AcceptedFormats {
    avif: bool,
    webp: bool,
    any: bool,
}

impl AcceptedFormats {
    fn of(headers: &HeaderMap) -> Self {
        let mut accepted = Self { avif: false, webp: false, any: !headers.contains_key(ACCEPT) };
        let values = headers.get_all(ACCEPT).iter().filter_map(|value| value.to_str().ok());
        for range in values.flat_map(|value| value.split(',')) {
            let mut parts = range.split(';').map(str::trim);
            let name = parts.next().unwrap_or_default().to_ascii_lowercase();
            let is_refused = parts.any(|parameter| {
                let weight = parameter.strip_prefix("q=").or_else(|| parameter.strip_prefix("Q="));
                weight.is_some_and(|weight| weight.parse() == Ok(0.0))
            });
            match &*name {
                "image/avif" => accepted.avif = !is_refused,
                "image/webp" => accepted.webp = !is_refused,
                "image/*" | "*/*" => accepted.any |= !is_refused,
                _ => {}
            }
        }
        // If WebP is accepted, a wildcard makes no difference, so it is left out of the key of the cache, too.
        accepted.any &= !accepted.webp;
        accepted
    }
}

impl Target {
    /// Returns a text that differs between targets.
    pub(crate) fn key(self) -> String {
        match self {
            Self::Fixed(format) => format.name().to_owned(),
            Self::Source => "source".to_owned(),
            Self::Best(AcceptedFormats { avif, webp, any }) => format!("best:{avif}:{webp}:{any}"),
        }
    }

    /// Reports whether the response depends on `Accept`.
    pub(crate) const fn is_negotiated(self) -> bool {
        matches!(self, Self::Best(_))
    }

    /// Returns the format for a result of that many `pixels` from a picture in format `source`.
    pub(crate) const fn choose(self, source: Format, has_alpha: bool, pixels: u64) -> Format {
        let accepted = match self {
            Self::Fixed(format) => return format,
            Self::Source => return source,
            Self::Best(accepted) => accepted,
        };
        match source {
            _ if accepted.avif && pixels <= MAX_NEGOTIATED_AVIF => Format::Avif,
            _ if accepted.webp => Format::Webp,
            Format::Jpeg | Format::Png | Format::Gif => source,
            Format::Webp | Format::Avif if accepted.any => source,
            Format::Webp | Format::Avif if has_alpha => Format::Png,
            Format::Webp | Format::Avif => Format::Jpeg,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn chosen(accept: Option<&str>, source: Format, pixels: u64) -> Format {
        let mut headers = HeaderMap::new();
        if let Some(accept) = accept {
            headers.insert(ACCEPT, accept.parse().unwrap());
        }
        FormatChoice::Negotiated.target(&headers).choose(source, false, pixels)
    }

    #[test]
    fn the_best_format_that_the_client_names_is_chosen() {
        let chrome = "image/avif,image/webp,image/apng,image/svg+xml,image/*,*/*;q=0.8";
        assert_eq!(chosen(Some(chrome), Format::Png, 1000), Format::Avif);
        assert_eq!(chosen(Some(chrome), Format::Png, 300_000), Format::Webp, "AVIF would take too long");
        assert_eq!(chosen(Some("image/webp,*/*"), Format::Jpeg, 1000), Format::Webp);
        assert_eq!(chosen(Some("image/avif;q=0, image/webp"), Format::Jpeg, 1000), Format::Webp);
        assert_eq!(chosen(Some("*/*"), Format::Gif, 1000), Format::Gif);
        assert_eq!(chosen(Some("*/*"), Format::Webp, 1000), Format::Webp);
        assert_eq!(chosen(None, Format::Webp, 1000), Format::Webp);
        assert_eq!(chosen(Some("image/png,image/jpeg"), Format::Webp, 1000), Format::Jpeg);
        assert_eq!(chosen(Some("image/avif"), Format::Png, 4_000_000), Format::Png);
    }

    #[test]
    fn codes_are_those_of_one_format() {
        for format in Format::ALL {
            assert_eq!(Format::of_code(format.code()), Some(format));
        }
        assert_eq!(Format::of_code(0), None);
        assert_eq!(Format::of_bytes(b"<svg xmlns=\"http://www.w3.org/2000/svg\"/>"), None);
    }
}

//! Reading untrusted pictures: what a file claims is checked before anything is allocated for it.

use std::io::Cursor;

use bytes::Bytes;
use image::metadata::Orientation;
use image::{DynamicImage, ImageDecoder, ImageReader, Limits};

use super::format::Format;
use crate::refusal::Refusal;

/// Bytes of one pixel that a decoder may make at most, counted for the limit of pixels.
const BYTES_PER_PIXEL: u64 = 4;
/// What a decoder may allocate besides the pixels: chunks of metadata, tables.
const OVERHEAD: u64 = 32 << 20;

/// A file whose head was read and found to be of an acceptable picture.
pub(crate) struct Source {
    bytes: Bytes,
    pub(crate) format: Format,
    /// How it is to be turned to be upright, as cameras write it (EXIF).
    pub(crate) orientation: Orientation,
    /// The ICC profile that its colours have.
    pub(crate) profile: Option<Vec<u8>>,
    decoded: u64,
    /// Bytes of memory that decoding it takes, roughly.
    pub(crate) memory: u64,
}

impl Source {
    /// Reads the head of a file.
    ///
    /// Errors: [`Refusal::Unsupported`], also for a JPEG that was cut off; [`Refusal::Resolution`] for more than
    /// `max_pixels`.
    pub(crate) fn open(bytes: Bytes, max_pixels: u64) -> Result<Self, Refusal> {
        let format = Format::of_bytes(&bytes).ok_or(Refusal::Unsupported)?;
        let jpeg = match format {
            Format::Jpeg => Some(JpegLayout::of(&bytes).ok_or(Refusal::Unsupported)?),
            _ => None,
        };
        let mut decoder = decoder(&bytes, format, OVERHEAD)?;
        let (size, decoded) = (decoder.dimensions(), decoder.total_bytes());
        let pixels = u64::from(size.0) * u64::from(size.1);
        if pixels == 0 {
            return Err(Refusal::Unsupported);
        }
        if pixels > max_pixels || decoded > max_pixels.saturating_mul(BYTES_PER_PIXEL) {
            return Err(Refusal::Resolution);
        }
        let orientation = decoder.orientation().unwrap_or(Orientation::NoTransforms);
        let profile = decoder.icc_profile().ok().flatten();
        drop(decoder);
        // A progressive JPEG comes in several passes over all of its coefficients, of 16 bits each.
        let coefficients = if jpeg.is_some_and(|jpeg| jpeg.is_progressive) { decoded * 2 } else { 0 };
        let memory = OVERHEAD + decoded + decoded / 2 + coefficients + 2 * bytes.len() as u64;
        Ok(Self { bytes, format, orientation, profile, decoded, memory })
    }

    /// Returns the pixels, with 8 bits per channel. Of an animation it is the first frame.
    ///
    /// Errors: [`Refusal::Unsupported`] for a file that is broken or ends too soon.
    pub(crate) fn decode(self) -> Result<DynamicImage, Refusal> {
        let decoder = decoder(&self.bytes, self.format, self.decoded + OVERHEAD)?;
        let decoded = DynamicImage::from_decoder(decoder).map_err(|error| refusal(&error))?;
        Ok(match decoded {
            DynamicImage::ImageLuma8(_) | DynamicImage::ImageRgb8(_) | DynamicImage::ImageRgba8(_) => decoded,
            DynamicImage::ImageLuma16(_) => DynamicImage::ImageLuma8(decoded.into_luma8()),
            _ if decoded.color().has_alpha() => DynamicImage::ImageRgba8(decoded.into_rgba8()),
            _ => DynamicImage::ImageRgb8(decoded.into_rgb8()),
        })
    }
}

fn decoder(bytes: &Bytes, format: Format, memory: u64) -> Result<impl ImageDecoder + '_, Refusal> {
    let mut reader = ImageReader::with_format(Cursor::new(&bytes[..]), format.image_format());
    let mut limits = Limits::no_limits();
    limits.max_alloc = Some(memory);
    reader.limits(limits);
    reader.into_decoder().map_err(|error| refusal(&error))
}

/// Returns the refusal for an error of a decoder. The details are only in the log.
fn refusal(error: &image::ImageError) -> Refusal {
    tracing::debug!(%error, "a picture cannot be decoded");
    match error {
        image::ImageError::Limits(_) => Refusal::Resolution,
        _ => Refusal::Unsupported,
    }
}

/// The properties of a JPEG that its markers contain but its decoder does not return.
struct JpegLayout {
    is_progressive: bool,
}

impl JpegLayout {
    const END: [u8; 2] = [0xff, 0xd9];
    const START_OF_SCAN: u8 = 0xda;
    const PROGRESSIVE: [u8; 4] = [0xc2, 0xc6, 0xca, 0xce];

    /// Walks from marker to marker up to the first scan. `None` for a file that has no end after it: its decoder would
    /// fill the missing part with grey. Source: ITU-T T.81, annex B.
    fn of(bytes: &[u8]) -> Option<Self> {
        let mut is_progressive = false;
        let mut rest = bytes.get(2..)?;
        loop {
            let marker = match rest {
                [0xff, 0xff, ..] => {
                    rest = &rest[1..];
                    continue;
                }
                [0xff, marker, ..] => *marker,
                _ => return None,
            };
            is_progressive |= Self::PROGRESSIVE.contains(&marker);
            let length = usize::from(u16::from_be_bytes([*rest.get(2)?, *rest.get(3)?]));
            rest = rest.get(2 + length.max(2)..)?;
            if marker == Self::START_OF_SCAN {
                let is_whole = rest.windows(2).rev().any(|pair| pair == Self::END);
                return is_whole.then_some(Self { is_progressive });
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MEGAPIXEL: u64 = 1_000_000;

    fn encoded(image: &DynamicImage, format: image::ImageFormat) -> Bytes {
        let mut bytes = Cursor::new(Vec::new());
        image.write_to(&mut bytes, format).unwrap();
        bytes.into_inner().into()
    }

    fn refused(bytes: Bytes) -> Refusal {
        match Source::open(bytes, MEGAPIXEL) {
            Ok(source) => source.decode().map(drop).unwrap_err(),
            Err(refusal) => refusal,
        }
    }

    #[test]
    fn pixels_come_with_eight_bits() {
        let deep = DynamicImage::new_rgba16(20, 10);
        let source = Source::open(encoded(&deep, image::ImageFormat::Png), MEGAPIXEL).unwrap();
        assert_eq!(source.format, Format::Png);
        let decoded = source.decode().unwrap();
        assert!(matches!(&decoded, DynamicImage::ImageRgba8(pixels) if pixels.dimensions() == (20, 10)));
        let grey = encoded(&DynamicImage::new_luma8(8, 8), image::ImageFormat::Jpeg);
        let source = Source::open(grey, MEGAPIXEL).unwrap();
        assert!(matches!(source.decode().unwrap(), DynamicImage::ImageLuma8(_)));
    }

    #[test]
    fn too_many_pixels_are_refused_by_the_head() {
        let mut png = encoded(&DynamicImage::new_luma8(1, 1), image::ImageFormat::Png).to_vec();
        png[16..24].copy_from_slice(&[0, 0, 0xff, 0xff, 0, 0, 0xff, 0xff]);
        // The head's checksum has to agree, or the file is merely broken.
        let crc = crc32(&png[12..29]);
        png[29..33].copy_from_slice(&crc.to_be_bytes());
        assert_eq!(refused(png.into()), Refusal::Resolution);
        let wide = encoded(&DynamicImage::new_luma8(1001, 1000), image::ImageFormat::Png);
        assert_eq!(refused(wide), Refusal::Resolution);
        let deep = encoded(&DynamicImage::new_rgba16(900, 900), image::ImageFormat::Png);
        assert_eq!(refused(deep), Refusal::Resolution, "8 bytes per pixel");
    }

    #[test]
    fn broken_files_are_refused() {
        let picture = DynamicImage::new_rgb8(64, 64);
        for format in [
            image::ImageFormat::Png,
            image::ImageFormat::Jpeg,
            image::ImageFormat::Gif,
            image::ImageFormat::WebP,
        ] {
            let whole = encoded(&picture, format);
            for length in [whole.len() / 2, whole.len() * 9 / 10, 20] {
                assert_eq!(refused(whole.slice(..length)), Refusal::Unsupported, "{format:?} {length}");
            }
        }
        for bytes in ["", "hello", "<svg xmlns=\"http://www.w3.org/2000/svg\"/>", "GIF89a", "\u{89}PNG"] {
            assert_eq!(refused(bytes.into()), Refusal::Unsupported, "{bytes}");
        }
    }

    fn crc32(bytes: &[u8]) -> u32 {
        !bytes.iter().fold(!0_u32, |crc, byte| {
            (0..8).fold(crc ^ u32::from(*byte), |crc, _| {
                if crc & 1 == 1 { (crc >> 1) ^ 0xedb8_8320 } else { crc >> 1 }
            })
        })
    }
}

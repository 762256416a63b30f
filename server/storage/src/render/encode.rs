//! Writing pictures.

use std::io::Cursor;

use image::codecs::avif::AvifEncoder;
use image::codecs::gif::GifEncoder;
use image::codecs::jpeg::JpegEncoder;
use image::codecs::png::PngEncoder;
use image::{DynamicImage, ImageResult, RgbImage, Rgba};

use super::format::Format;
use crate::refusal::Refusal;

/// The quality if none is requested. AVIF looks the same at a lower number, as upstream's imgproxy is set up.
const QUALITY: u8 = 80;
const AVIF_QUALITY: u8 = 62;
/// From 1 (slow, and small files) to 10. A picture of 640 by 360 pixels takes a second at this speed.
const AVIF_SPEED: u8 = 7;
/// The speed for pictures of more than [`AVIF_SMALL`] pixels: one of 1200 by 800 takes a second.
const AVIF_SPEED_OF_LARGE: u8 = 10;
const AVIF_SMALL: u64 = 300_000;

/// Returns `picture` as a file of `format`, without any metadata.
///
/// Errors: [`Refusal::Failed`].
pub(crate) fn encode(picture: DynamicImage, format: Format, quality: Option<u8>) -> Result<Vec<u8>, Refusal> {
    let mut file = Cursor::new(Vec::new());
    let written = match format {
        Format::Jpeg => jpeg(&opaque(picture), &mut file, quality.unwrap_or(QUALITY)),
        Format::Png => picture.write_with_encoder(PngEncoder::new(&mut file)),
        Format::Gif => GifEncoder::new(&mut file).encode_frame(image::Frame::new(picture.into_rgba8())),
        Format::Webp => return webp(&colourful(picture), quality.unwrap_or(QUALITY)),
        Format::Avif => avif(&colourful(picture), &mut file, quality.unwrap_or(AVIF_QUALITY)),
    };
    written.map_err(|error| failed(&error))?;
    Ok(file.into_inner())
}

fn jpeg(picture: &DynamicImage, file: &mut Cursor<Vec<u8>>, quality: u8) -> ImageResult<()> {
    picture.write_with_encoder(JpegEncoder::new_with_quality(file, quality))
}

fn avif(picture: &DynamicImage, file: &mut Cursor<Vec<u8>>, quality: u8) -> ImageResult<()> {
    let pixels = u64::from(picture.width()) * u64::from(picture.height());
    let speed = if pixels > AVIF_SMALL { AVIF_SPEED_OF_LARGE } else { AVIF_SPEED };
    // The number of the renderer's threads limits the work.
    let encoder = AvifEncoder::new_with_speed_quality(file, speed, quality).with_num_threads(Some(1));
    picture.write_with_encoder(encoder)
}

fn webp(picture: &DynamicImage, quality: u8) -> Result<Vec<u8>, Refusal> {
    let (width, height) = (picture.width(), picture.height());
    let encoder = match picture {
        DynamicImage::ImageRgba8(pixels) => webp::Encoder::from_rgba(pixels, width, height),
        DynamicImage::ImageRgb8(pixels) => webp::Encoder::from_rgb(pixels, width, height),
        _ => return Err(Refusal::Failed),
    };
    let file = encoder.encode_simple(false, f32::from(quality)).map_err(|error| {
        tracing::warn!(?error, width, height, "a picture cannot be written as WebP");
        Refusal::Failed
    })?;
    Ok(file.to_vec())
}

fn failed(error: &image::ImageError) -> Refusal {
    tracing::warn!(%error, "a picture cannot be written");
    Refusal::Failed
}

/// Returns `picture` as one of three or four channels, which is all that some encoders know.
fn colourful(picture: DynamicImage) -> DynamicImage {
    match picture {
        DynamicImage::ImageRgb8(_) | DynamicImage::ImageRgba8(_) => picture,
        _ if picture.color().has_alpha() => DynamicImage::ImageRgba8(picture.into_rgba8()),
        _ => DynamicImage::ImageRgb8(picture.into_rgb8()),
    }
}

/// Returns `picture` on white where it is transparent, as imgproxy does it.
fn opaque(picture: DynamicImage) -> DynamicImage {
    if !picture.color().has_alpha() {
        return picture;
    }
    let pixels = picture.into_rgba8();
    let over_white = |channel: u8, alpha: u8| {
        let (channel, alpha) = (u16::from(channel), u16::from(alpha));
        ((channel * alpha + 255 * (255 - alpha)) / 255) as u8
    };
    DynamicImage::ImageRgb8(RgbImage::from_fn(pixels.width(), pixels.height(), |x, y| {
        let Rgba([red, green, blue, alpha]) = *pixels.get_pixel(x, y);
        image::Rgb([red, green, blue].map(|channel| over_white(channel, alpha)))
    }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_format_can_be_written_from_every_kind_of_picture() {
        let grey = DynamicImage::new_luma8(33, 21);
        let coloured = DynamicImage::new_rgb8(33, 21);
        let transparent = DynamicImage::new_rgba8(33, 21);
        for picture in [grey, coloured, transparent] {
            for format in [Format::Jpeg, Format::Png, Format::Gif, Format::Webp, Format::Avif] {
                let file = encode(picture.clone(), format, Some(50)).unwrap();
                assert_eq!(Format::of_bytes(&file), Some(format), "{:?}", picture.color());
            }
        }
    }

    #[test]
    fn transparency_becomes_white_where_there_is_none() {
        let picture = DynamicImage::new_rgba8(8, 8);
        let file = encode(picture, Format::Jpeg, None).unwrap();
        let read = image::load_from_memory(&file).unwrap().into_rgb8();
        assert!(read.get_pixel(4, 4).0.iter().all(|channel| *channel > 250));
    }
}

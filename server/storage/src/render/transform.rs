//! Resizing, cropping, turning, and colours.

use fast_image_resize::images::{TypedImage, TypedImageRef};
use fast_image_resize::pixels::{U8, U8x3, U8x4};
use fast_image_resize::{FilterType, PixelTrait, ResizeAlg, ResizeOptions, Resizer};
use image::metadata::Orientation;
use image::{DynamicImage, GrayImage, RgbImage, RgbaImage};
use moxcms::{ColorProfile, DataColorSpace, Layout, TransformOptions};

use super::focus;
use super::geometry::{Plan, upright};
use super::options::Options;
use crate::refusal::Refusal;

/// Returns `picture` as `options` ask for it, upright and with the colours of sRGB. `profile` is the ICC profile that
/// it has now.
///
/// Only the result is turned and gets other colours: it is smaller.
///
/// Errors: [`Refusal::Failed`].
pub(crate) fn apply(
    picture: &DynamicImage,
    options: &Options,
    orientation: Orientation,
    profile: Option<&[u8]>,
) -> Result<DynamicImage, Refusal> {
    let source = upright((picture.width(), picture.height()), orientation);
    let find_focus = |width: f64, height: f64| {
        let mut small = picture.thumbnail(256, 256);
        small.apply_orientation(orientation);
        focus::find(&small, width, height)
    };
    let plan = Plan::new(source, options, find_focus).before(orientation, source);
    let mut result = resize(picture, plan)?;
    result.apply_orientation(orientation);
    if let Some(profile) = profile {
        convert(&mut result, profile);
    }
    Ok(result)
}

fn resize(picture: &DynamicImage, plan: Plan) -> Result<DynamicImage, Refusal> {
    let (from, (width, height)) = ((picture.width(), picture.height()), plan.size);
    let result = match picture {
        DynamicImage::ImageLuma8(pixels) => {
            let pixels = resize_pixels::<U8>(pixels, from, plan)?;
            GrayImage::from_raw(width, height, pixels).map(DynamicImage::ImageLuma8)
        }
        DynamicImage::ImageRgb8(pixels) => {
            let pixels = resize_pixels::<U8x3>(pixels, from, plan)?;
            RgbImage::from_raw(width, height, pixels).map(DynamicImage::ImageRgb8)
        }
        DynamicImage::ImageRgba8(pixels) => {
            let pixels = resize_pixels::<U8x4>(pixels, from, plan)?;
            RgbaImage::from_raw(width, height, pixels).map(DynamicImage::ImageRgba8)
        }
        // Decoding returns no other kinds.
        _ => None,
    };
    result.ok_or(Refusal::Failed)
}

fn resize_pixels<P: PixelTrait>(pixels: &[u8], from: (u32, u32), plan: Plan) -> Result<Vec<u8>, Refusal> {
    let (area, (width, height)) = (plan.area, plan.size);
    let options = ResizeOptions::new().resize_alg(ResizeAlg::Convolution(FilterType::Lanczos3)).crop(
        area.left,
        area.top,
        area.width,
        area.height,
    );
    let failed = |error: &dyn std::fmt::Display| {
        tracing::warn!(%error, ?plan, "a picture cannot be resized");
        Refusal::Failed
    };
    let mut result = vec![0; width as usize * height as usize * size_of::<P>()];
    let source = TypedImageRef::<P>::from_buffer(from.0, from.1, pixels).map_err(|error| failed(&error))?;
    let mut target =
        TypedImage::<P>::from_buffer(width, height, &mut result).map_err(|error| failed(&error))?;
    let resized = Resizer::new().resize_typed(&source, &mut target, &options);
    resized.map_err(|error| failed(&error))?;
    Ok(result)
}

/// Converts colours from `profile` to sRGB, which pictures without a profile have. Grey pictures and those with an
/// invalid profile are not changed.
fn convert(picture: &mut DynamicImage, profile: &[u8]) {
    let layout = match picture {
        DynamicImage::ImageRgb8(_) => Layout::Rgb,
        DynamicImage::ImageRgba8(_) => Layout::Rgba,
        _ => return,
    };
    let Ok(profile) = ColorProfile::new_from_slice(profile) else { return };
    if profile.color_space != DataColorSpace::Rgb {
        return;
    }
    let options = TransformOptions::default();
    let transform = profile.create_transform_8bit(layout, &ColorProfile::new_srgb(), layout, options);
    let mut converted = vec![0; picture.as_bytes().len()];
    match transform.and_then(|transform| transform.transform(picture.as_bytes(), &mut converted)) {
        Ok(()) => match picture {
            DynamicImage::ImageRgb8(pixels) => pixels.copy_from_slice(&converted),
            DynamicImage::ImageRgba8(pixels) => pixels.copy_from_slice(&converted),
            _ => {}
        },
        Err(error) => tracing::debug!(%error, "a picture keeps its colours"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use image::Rgb;

    #[test]
    fn colours_of_another_space_become_srgb() {
        let mut picture = DynamicImage::ImageRgb8(RgbImage::from_pixel(2, 2, Rgb([0, 255, 0])));
        let wide = ColorProfile::new_adobe_rgb().encode().unwrap();
        convert(&mut picture, &wide);
        let green = picture.to_rgb8().get_pixel(0, 0).0;
        assert_eq!(green, [0, 255, 0], "beyond what sRGB has");
        let mut picture = DynamicImage::ImageRgb8(RgbImage::from_pixel(2, 2, Rgb([200, 100, 100])));
        convert(&mut picture, &wide);
        let red = picture.to_rgb8().get_pixel(0, 0).0;
        assert!(red[0] > 215 && red[1] < 105, "{red:?}");
        let before = picture.clone();
        convert(&mut picture, b"nonsense");
        assert_eq!(picture, before);
    }

    #[test]
    fn transparent_pixels_do_not_colour_their_neighbours() {
        let picture = image::RgbaImage::from_fn(64, 64, |x, _| {
            image::Rgba(if x < 32 { [255, 0, 0, 255] } else { [0, 255, 0, 0] })
        });
        let options = Options { width: Some(9), ..Options::default() };
        let picture = DynamicImage::ImageRgba8(picture);
        let result = apply(&picture, &options, Orientation::NoTransforms, None).unwrap().into_rgba8();
        for pixel in result.pixels().filter(|pixel| pixel.0[3] > 8) {
            assert!(pixel.0[1] < 16, "{pixel:?}");
        }
    }
}

//! Gravity `sm`: where a picture has the most detail.

use image::{DynamicImage, RgbImage};

/// The longer side of the small picture that is analysed.
const SIDE: u32 = 48;

/// Returns the middle of the part with the most detail, as fractions of the width and the height. The part has `width`
/// and `height`, both fractions of the picture's.
///
/// Edges and strong colours count, skin counts most: the idea of libvips' crop by attention.
pub(crate) fn find(picture: &DynamicImage, width: f64, height: f64) -> (f64, f64) {
    let small = picture.thumbnail(SIDE, SIDE).into_rgb8();
    let columns = sums(&small, |x, _| x, small.width());
    let rows = sums(&small, |_, y| y, small.height());
    (best(&columns, width), best(&rows, height))
}

/// Returns the score of each row or column.
fn sums(small: &RgbImage, line: impl Fn(u32, u32) -> u32, lines: u32) -> Vec<f64> {
    let mut sums = vec![0.0; lines as usize];
    for (x, y, _) in small.enumerate_pixels() {
        sums[line(x, y) as usize] += worth(small, x, y);
    }
    sums
}

fn worth(small: &RgbImage, x: u32, y: u32) -> f64 {
    let at = |x: u32, y: u32| {
        let pixel = small.get_pixel(x.min(small.width() - 1), y.min(small.height() - 1));
        pixel.0.map(f64::from)
    };
    let light = |[red, green, blue]: [f64; 3]| 0.299 * red + 0.587 * green + 0.114 * blue;
    let [red, green, blue] = at(x, y);
    let here = light([red, green, blue]);
    let edge = (here - light(at(x + 1, y))).abs() + (here - light(at(x, y + 1))).abs();
    let strength = red.max(green).max(blue) - red.min(green).min(blue);
    let is_skin = red > 60.0 && red > green && green > blue && (20.0..130.0).contains(&(red - blue));
    edge + strength / 8.0 + if is_skin { 40.0 } else { 0.0 }
}

/// Returns the middle of the section of that `length` (a fraction of the whole) with the highest score. Among equal
/// ones it is the one nearest to the middle.
fn best(sums: &[f64], length: f64) -> f64 {
    let all = sums.len();
    let window = ((all as f64 * length).round() as usize).clamp(1, all);
    let centre = (all - window) as f64 / 2.0;
    let held = |start: usize| sums[start..start + window].iter().sum::<f64>();
    let better = |best: (usize, f64), start: usize| {
        let held = held(start);
        let is_nearer = (start as f64 - centre).abs() < (best.0 as f64 - centre).abs();
        if held > best.1 || (held == best.1 && is_nearer) { (start, held) } else { best }
    };
    let (start, _) = (1..=all - window).fold((0, held(0)), better);
    (start as f64 + window as f64 / 2.0) / all as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_stands_out_is_found() {
        let picture = RgbImage::from_fn(400, 100, |x, y| {
            let is_pattern = (300..380).contains(&x) && (x / 8 + y / 8) % 2 == 0;
            image::Rgb(if is_pattern { [250, 30, 30] } else { [120, 120, 120] })
        });
        let (x, y) = find(&DynamicImage::ImageRgb8(picture), 0.25, 1.0);
        assert!((0.8..0.9).contains(&x), "{x}");
        assert!((y - 0.5).abs() < 0.01, "{y}");
        let plain = DynamicImage::new_rgb8(400, 100);
        let (x, _) = find(&plain, 0.25, 1.0);
        assert!((x - 0.5).abs() < 0.05, "{x}");
    }
}
